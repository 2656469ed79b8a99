#pragma once

#include "core/scheduler.hpp"

namespace simt {

/// Flags in global memory by which one block tells another of the same launch that data is there.
void raise_global_flag(unsigned* flag);
/// Gives way to the other threads of the block and to other OS threads. Throws Stopped where the launch ends.
void wait_for_global_flag(unsigned* flag, Scheduler& scheduler);

}  // namespace simt
