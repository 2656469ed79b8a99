#pragma once

namespace sgemm {

/// From now on the first SIGINT or SIGTERM is only noted, so that the case at hand ends in order and the results file
/// is completed; the second one ends the process as usual.
void catch_interrupts();

/// Whether one has been noted.
bool interrupted();

}  // namespace sgemm
