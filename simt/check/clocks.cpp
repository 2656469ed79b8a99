#include "check/clocks.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace simt {
namespace {

/// Sets each time of `clock` to the later of both. `clock` has at least as many times as `other`.
void to_later(Clocks::Clock& clock, const Clocks::Clock& other) {
  std::transform(other.begin(), other.end(), clock.begin(), clock.begin(),
                 [](std::uint32_t x, std::uint32_t y) { return std::max(x, y); });
}

/// Changes what the threads know. Those that knew the same share it still.
template <class Numbers, class Change>
void change(const Numbers& threads, std::vector<std::shared_ptr<const Clocks::Clock>>& known, const Change& one) {
  std::shared_ptr<const Clocks::Clock> before;
  std::shared_ptr<const Clocks::Clock> after;
  for (const auto thread : threads) {
    if (known[thread] != before) {
      before = known[thread];
      const auto clock = std::make_shared<Clocks::Clock>(*before);
      one(*clock);
      after = clock;
    }
    known[thread] = after;
  }
}

}  // namespace

void Clocks::begin(std::size_t threads) {
  added_ = 2 * threads + (threads + WARP - 1) / WARP;
  own_.assign(added_, 1);
  known_.assign(threads, std::make_shared<const Clock>(added_, 0));
}

ThreadNumber Clocks::add() {
  own_.push_back(1);
  std::vector<std::size_t> all(known_.size());
  std::iota(all.begin(), all.end(), 0);
  change(all, known_, [](Clock& clock) { clock.push_back(0); });
  return static_cast<ThreadNumber>(own_.size() - 1);
}

void Clocks::pass_on(const Use& done, Clock& passed_on) const {
  passed_on.resize(own_.size());
  passed_on[done.thread] = std::max(passed_on[done.thread], done.when);
}

void Clocks::learn(ThreadNumber thread, const Use& done) {
  if ((*known_[thread])[done.thread] < done.when) {
    const auto clock = std::make_shared<Clock>(*known_[thread]);
    (*clock)[done.thread] = done.when;
    known_[thread] = clock;
  }
}

void Clocks::join(Threads threads) {
  if (threads.empty()) {
    return;
  }
  const auto joined = std::make_shared<Clock>(*known_[threads.front()]);
  const Clock* merged = known_[threads.front()].get();
  for (const ThreadNumber thread : threads) {
    if (known_[thread].get() != merged) {
      merged = known_[thread].get();
      to_later(*joined, *merged);
    }
  }
  for (const ThreadNumber thread : threads) {
    (*joined)[thread] = own_[thread]++;
  }
  for (const ThreadNumber thread : threads) {
    known_[thread] = joined;
  }
}

void Clocks::release_as(ThreadNumber number, ThreadNumber thread, Clock& passed_on) {
  passed_on.resize(own_.size());
  to_later(passed_on, *known_[thread]);
  passed_on[number] = own_[number]++;
}

void Clocks::acquire(Threads threads, const Clock& passed_on) {
  if (!passed_on.empty()) {
    change(threads, known_, [&](Clock& clock) { to_later(clock, passed_on); });
  }
}

}  // namespace simt
