#include "check/block_order.hpp"

#include <algorithm>

namespace simt {

void BlockOrder::begin_launch() {
  blocks_.clear();
  told_at_.clear();
}

std::uint32_t BlockOrder::Block::number_of(ThreadNumber thread, std::uint32_t when) const {
  if (thread >= times.size()) {
    return 0;
  }
  const auto found = std::ranges::lower_bound(times[thread], when, {}, [](const auto& told) { return told.first; });
  return found == times[thread].end() ? 0 : found->second;
}

void BlockOrder::release(const void* at, std::uint32_t number, const Clocks::Clock& times, const Known& of_others) {
  const std::lock_guard lock(mutex_);
  Known& told = told_at_[at];
  for (const auto& [other, known] : of_others) {
    told[other] = std::max(told[other], known);
  }
  Block& block = blocks_[number];
  block.times.resize(std::max(block.times.size(), times.size()));
  std::uint32_t all = 0;
  for (std::size_t thread = 0; thread < times.size(); ++thread) {
    if (times[thread] == 0) {
      continue;
    }
    std::uint32_t tells = block.number_of(static_cast<ThreadNumber>(thread), times[thread]);
    if (tells == 0) {
      tells = block.told + 1;
      block.times[thread].emplace_back(times[thread], tells);
    }
    all = std::max(all, tells);
  }
  block.told = std::max(block.told, all);
  told[number] = std::max(told[number], all);
}

BlockOrder::Known BlockOrder::acquire(const void* at) {
  const std::lock_guard lock(mutex_);
  const auto found = told_at_.find(at);
  return found == told_at_.end() ? Known{} : found->second;
}

std::uint32_t BlockOrder::number_of(std::uint32_t block, const Use& use) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(block);
  return found == blocks_.end() ? 0 : found->second.number_of(use.thread, use.when);
}

Clocks::Clock BlockOrder::times_of(std::uint32_t block, std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  Clocks::Clock times;
  for (const auto& of_thread : blocks_[block].times) {
    const auto behind = std::ranges::upper_bound(of_thread, number, {}, [](const auto& told) { return told.second; });
    times.push_back(behind == of_thread.begin() ? 0 : std::prev(behind)->first);
  }
  return times;
}

}  // namespace simt
