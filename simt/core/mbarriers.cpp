#include "core/mbarriers.hpp"

#include <algorithm>
#include <sstream>

namespace simt {
namespace {

/// Arrivals and bytes that an mbarrier can count.
constexpr unsigned MOST = (1U << 20U) - 1;

std::string name_of(unsigned address) {
  std::ostringstream text;
  text << "the mbarrier at shared address 0x" << std::hex << address;
  return text.str();
}

}  // namespace

const Mbarrier* Mbarriers::find(unsigned address) const {
  const auto found = std::ranges::find(mbarriers_, address, &Mbarrier::address);
  return found == mbarriers_.end() ? nullptr : &*found;
}

void Mbarriers::check(unsigned address, bool init, Site site) const {
  constexpr unsigned ALIGNMENT = 8;
  if (address % ALIGNMENT != 0) {
    context_.fail(name_of(address) + " is not aligned to " + std::to_string(ALIGNMENT) + " bytes", site);
  }
  if ((find(address) != nullptr) == init) {
    context_.fail(name_of(address) + (init ? " is in use already" : " was never initialised"), site);
  }
}

void Mbarriers::init(unsigned address, unsigned arrivals, Site site) {
  if (arrivals == 0 || arrivals > MOST) {
    context_.fail("an mbarrier takes 1 to " + std::to_string(MOST) + " arrivals, not " + std::to_string(arrivals),
                  site);
  }
  check(address, true, site);
  context_.check("an operation on an mbarrier ", context_.watcher->mbarrier_init(context_.current(), address), site);
  mbarriers_.push_back({address, arrivals, arrivals, 0, 0, {}});
}

Mbarrier& Mbarriers::at(unsigned address, Site site) {
  check(address, false, site);
  context_.check("an operation on an mbarrier ", context_.watcher->mbarrier_use(context_.current(), address), site);
  return *std::ranges::find(mbarriers_, address, &Mbarrier::address);
}

void Mbarriers::arrive(unsigned address, Site site) { arrive(at(address, site), false, site); }

void Mbarriers::arrive_expecting(unsigned address, unsigned bytes, Site site) {
  if (bytes > MOST) {
    context_.fail("an mbarrier expects at most " + std::to_string(MOST) + " bytes, not " + std::to_string(bytes), site);
  }
  Mbarrier& mbarrier = at(address, site);
  mbarrier.missing += bytes;
  arrive(mbarrier, false, site);
}

void Mbarriers::arrive(Mbarrier& mbarrier, bool copies, Site site) {
  context_.watcher->mbarrier_arrive(context_.current(), mbarrier.address, copies);
  if (mbarrier.pending == 0) {
    context_.fail(name_of(mbarrier.address) + " gets one arrival more than a phase takes: bytes are missing yet", site);
  }
  --mbarrier.pending;
  end_phase_if_complete(mbarrier, site);
}

void Mbarriers::receive(Mbarrier& mbarrier, unsigned bytes, Site site) {
  mbarrier.missing -= bytes;
  end_phase_if_complete(mbarrier, site);
}

void Mbarriers::end_phase_if_complete(Mbarrier& mbarrier, Site site) {
  if (mbarrier.pending > 0 || mbarrier.missing > 0) {
    return;
  }
  if (mbarrier.missing < 0) {
    context_.fail(name_of(mbarrier.address) + " gets " + std::to_string(-mbarrier.missing) +
                      " bytes more than its phase " + std::to_string(mbarrier.phase) + " expects",
                  site);
  }
  mbarrier.pending = mbarrier.expected;
  ++mbarrier.phase;
  context_.watcher->mbarrier_complete(mbarrier.address, mbarrier.waiting);
  context_.scheduler.make_ready(mbarrier.waiting);
  mbarrier.waiting.clear();
}

void Mbarriers::wait(unsigned address, unsigned parity, Site site) {
  if (parity > 1) {
    context_.fail("the parity of a phase is 0 or 1, not " + std::to_string(parity), site);
  }
  Mbarrier& mbarrier = at(address, site);
  const bool ended = mbarrier.phase % 2 != parity;
  context_.watcher->mbarrier_wait(context_.current(), {address, ended ? mbarrier.phase - 1 : mbarrier.phase}, ended);
  if (!ended) {
    mbarrier.waiting.push_back(context_.current());
    context_.scheduler.wait_at(*this, address, site);
  }
}

std::string Mbarriers::describe(unsigned address) const {
  const Mbarrier& mbarrier = *find(address);
  std::ostringstream text;
  text << name_of(address) << ", to whose phase " << mbarrier.phase << " only " << mbarrier.expected - mbarrier.pending
       << " of " << mbarrier.expected << " arrivals have come";
  if (mbarrier.missing > 0) {
    text << " and " << mbarrier.missing << " bytes are missing that it expects";
  } else if (mbarrier.missing < 0) {
    text << " and " << -mbarrier.missing << " bytes more than it expects so far";
  }
  return text.str();
}

}  // namespace simt
