#include "core/warp_barriers.hpp"

#include <algorithm>
#include <bit>

namespace simt {

void WarpBarriers::begin() {
  for (Warp& warp : warps_) {
    warp.waiting = 0;
  }
}

bool WarpBarriers::sync(unsigned mask, Site site) {
  Scheduler& scheduler = context_.scheduler;
  const ThreadNumber current = scheduler.current();
  const unsigned first = current / WARP * WARP;
  const unsigned lanes = std::min(scheduler.threads() - first, WARP);
  const unsigned existing = lanes == WARP ? ALL_LANES : (1U << lanes) - 1U;
  const unsigned own = 1U << (current - first);
  if ((mask & own) == 0) {
    context_.fail("the mask of a warp-level operation leaves out the lane that calls it", site);
  }
  const unsigned others = mask & existing & ~own;
  context_.watcher->arrive(current, false);
  Warp& warp = warps_[current / WARP];
  bool complete = (warp.waiting & others) == others;
  for (unsigned left = others; complete && left != 0; left &= left - 1) {
    complete = warp.mask[static_cast<unsigned>(std::countr_zero(left))] == mask;
  }
  if (complete) {
    warp.waiting &= ~others;
    std::array<ThreadNumber, WARP> met;
    unsigned count = 0;
    for (unsigned left = others; left != 0; left &= left - 1) {
      met[count++] = static_cast<ThreadNumber>(first + static_cast<unsigned>(std::countr_zero(left)));
    }
    met[count] = current;
    context_.watcher->meet(Threads(met).first(count + 1));
    scheduler.make_ready(Threads(met).first(count));
    return true;
  }
  warp.mask[current - first] = mask;
  warp.waiting |= own;
  scheduler.wait_at(*this, mask, site);
  return false;
}

std::uint64_t WarpBarriers::exchange(unsigned mask, std::uint64_t value, unsigned source, Site site) {
  if ((mask >> source & 1U) == 0) {
    context_.fail("a shuffle reads lane " + std::to_string(source) + ", which its mask leaves out", site);
  }
  return gather(mask, value, site)[source];
}

std::array<std::uint64_t, WARP> WarpBarriers::gather(unsigned mask, std::uint64_t value, Site site) {
  Warp& warp = warps_[context_.current() / WARP];
  warp.given[context_.current() % WARP] = value;
  sync(mask, site);
  const std::array<std::uint64_t, WARP> result = warp.given;
  sync(mask, site);
  return result;
}

std::string WarpBarriers::describe(unsigned /*mask*/) const {
  return "a warp-level operation that not all lanes of its mask reach";
}

bool WarpBarriers::needs(ThreadNumber waiting, ThreadNumber other) const {
  const unsigned mask = warps_[waiting / WARP].mask[waiting % WARP];
  return other / WARP == waiting / WARP && (mask >> other % WARP & 1U) != 0;
}

}  // namespace simt
