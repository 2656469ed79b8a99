#include "core/global_flags.hpp"

#include "core/workers.hpp"

#include <atomic>
#include <thread>

namespace simt {

void raise_global_flag(unsigned* flag) { std::atomic_ref(*flag).store(1, std::memory_order_release); }

void wait_for_global_flag(unsigned* flag, Scheduler& scheduler) {
  const std::atomic_ref raised(*flag);
  while (raised.load(std::memory_order_acquire) == 0) {
    if (launch_ends()) {
      throw Stopped("a block waits for another one, which has not finished");
    }
    scheduler.give_way();
    std::this_thread::yield();
  }
  raised.store(0, std::memory_order_relaxed);
}

}  // namespace simt
