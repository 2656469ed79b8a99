#include "simt/checked_arrays.hpp"

#include "check/block_order.hpp"
#include "check/checker.hpp"
#include "check/uses.hpp"
#include "core/shared_variables.hpp"
#include "core/workers.hpp"
#include "simt/device_memory.hpp"

#include <algorithm>
#include <utility>

namespace simt {
namespace {

CheckedArrays* current_arrays = nullptr;

/// Kept for the launches to come: its table of shared memory is large.
thread_local std::shared_ptr<BlockChecker> block_checker;

std::shared_ptr<Watcher> checker_of_this_thread(Block&) {
  if (!block_checker) {
    block_checker = std::make_shared<BlockChecker>();
  }
  return block_checker;
}

}  // namespace

CheckedArrays::CheckedArrays(std::vector<GlobalArray> arrays)
    : order_(std::make_unique<BlockOrder>()), arrays_(arrays.size()) {
  SharedVariables::of_program();
  for (GlobalArray& array : arrays) {
    add(std::move(array));
  }
  current_arrays = this;
}

CheckedArrays::~CheckedArrays() { current_arrays = nullptr; }

CheckedArrays* CheckedArrays::current() { return current_arrays; }

void CheckedArrays::launch(const Launch& launch) {
  begin_launch();
  run_watched_blocks(launch, nullptr, checker_of_this_thread, {});
}

void CheckedArrays::add(GlobalArray array) {
  Entry entry{std::move(array), 0, nullptr};
  entry.bytes = entry.array.bytes();
  if (entry.array.writable) {
    entry.uses = std::make_unique<UsesOfWords>(
        entry.bytes, entry.array.undefined ? UsesOfWords::Holds::what_was_written : UsesOfWords::Holds::something);
  }
  entries_.push_back(std::move(entry));
}

void CheckedArrays::host_wrote(const void* begin, std::size_t bytes) {
  for (Entry& entry : entries_) {
    const auto offset = static_cast<const std::byte*>(begin) - static_cast<const std::byte*>(entry.array.begin);
    const std::ptrdiff_t first = std::max<std::ptrdiff_t>(offset, 0);
    const std::ptrdiff_t end =
        std::min(static_cast<std::ptrdiff_t>(entry.bytes), offset + static_cast<std::ptrdiff_t>(bytes));
    if (entry.uses && first < end) {
      entry.uses->define(static_cast<std::size_t>(first), static_cast<std::size_t>(end), launch_);
    }
  }
}

void CheckedArrays::begin_launch() {
  entries_.resize(arrays_);
  ++launch_;
  order_->begin_launch();
  for (GlobalArray& workspace : workspaces()) {
    add(std::move(workspace));
  }
  for (const DeviceVariable* const variable : device_variables()) {
    add(bytes_of_device(variable->name(), variable->address(), variable->bytes(), variable->writable()));
  }
}

}  // namespace simt
