#include "simt/checked_arrays.hpp"

#include "check/checker.hpp"
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

CheckedArrays::CheckedArrays(std::vector<GlobalArray> arrays) : arrays_(arrays.size()) {
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
  const std::size_t bytes = array.bytes();
  Entry entry;
  entry.array = std::move(array);
  entry.bytes = bytes;
  if (entry.array.writable) {
    entry.writers = std::make_unique<Writer[]>(entry.units());
    if (entry.array.undefined) {
      entry.defined = std::make_unique<bool[]>(entry.units());
    }
    entry.writing_code = std::make_unique<std::atomic<const void*>[]>(entry.units());
    if (!entry.array.passed_between_blocks) {
      entry.plain_writers = std::make_unique<Writer[]>(entry.units());
      entry.plain_writing_code = std::make_unique<std::atomic<const void*>[]>(entry.units());
    }
  }
  entries_.push_back(std::move(entry));
}

void CheckedArrays::host_wrote(const void* begin, std::size_t bytes) {
  for (Entry& entry : entries_) {
    const auto offset = static_cast<const std::byte*>(begin) - static_cast<const std::byte*>(entry.array.begin);
    const auto unit = static_cast<std::ptrdiff_t>(entry.array.unit);
    // Units that the write covers as a whole.
    const std::ptrdiff_t first = offset <= 0 ? 0 : (offset + unit - 1) / unit;
    const std::ptrdiff_t end =
        std::min(static_cast<std::ptrdiff_t>(entry.units()), (offset + static_cast<std::ptrdiff_t>(bytes)) / unit);
    if (entry.defined && first < end) {
      std::fill(entry.defined.get() + first, entry.defined.get() + end, true);
    }
  }
}

void CheckedArrays::begin_launch() {
  entries_.resize(arrays_);
  for (Entry& entry : entries_) {
    for (std::size_t unit = 0; entry.writers && unit < entry.units(); ++unit) {
      const bool written = entry.writers[unit].exchange(0, std::memory_order_relaxed) != 0;
      if (entry.plain_writers) {
        entry.plain_writers[unit].store(0, std::memory_order_relaxed);
      }
      if (entry.defined) {
        entry.defined[unit] = entry.defined[unit] || written;
      }
    }
  }
  for (GlobalArray& workspace : workspaces()) {
    add(std::move(workspace));
  }
  for (const DeviceVariable* const variable : device_variables()) {
    const std::size_t bytes = variable->bytes();
    add({.name = variable->name(),
         .begin = variable->address(),
         .row_bytes = bytes,
         .stride = bytes,
         .unit = 1,
         .writable = variable->writable(),
         .passed_between_blocks = true});
  }
}

}  // namespace simt
