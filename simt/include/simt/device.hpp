#pragma once

namespace simt {

/// Sets how many multiprocessors the device is said to have, an H200's at first. Hosts divide work by that number.
void set_multiprocessors(int count);

}  // namespace simt
