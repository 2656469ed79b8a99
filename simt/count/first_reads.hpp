#pragma once

#include "core/watcher.hpp"
#include "count/counting_context.hpp"
#include "simt/l2_model.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <utility>

namespace simt {

/// Finds the first address that each block reads in some arrays, in bytes from their begin. It ends each block as soon
/// as the last of these is known.
class FirstReads final : public Watcher {
 public:
  /// `wanted` has a bit for each array; `stop` ends the block.
  FirstReads(const CountingContext& context, std::uint32_t wanted, std::function<void()> stop)
      : context_(context), wanted_(wanted), stop_(std::move(stop)) {}

  void begin(const Launch& /*launch*/, std::uint64_t /*block*/) override {
    missing_ = wanted_;
    found_.fill(NOT_READ);
  }
  Complaint access(ThreadNumber /*thread*/, const Access& access, const void* /*code*/) override {
    if (!access.write) {
      read(access.address);
    }
    return {};
  }
  Complaint copy_starts(ThreadNumber /*thread*/, const Copy& copy, Site /*site*/) override {
    if (copy.source != nullptr) {
      read(copy.source);
    }
    return {};
  }
  Complaint bulk_copy(ThreadNumber /*thread*/, const Copy& copy, const Phase& /*phase*/, Site /*site*/) override {
    read(copy.source);
    return {};
  }

  const std::array<std::int64_t, MAX_ARRAYS>& found() const { return found_; }

  static constexpr std::int64_t NOT_READ = -1;

 private:
  void read(const void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto [memory, begin] = context_.array_at(at);
    if (memory.index != Memory::ELSEWHERE && (missing_ >> memory.index & 1U) != 0) {
      missing_ &= ~(1U << memory.index);
      found_[memory.index] = static_cast<std::int64_t>(at - begin);
    }
    if (missing_ == 0) {
      stop_();
    }
  }

  const CountingContext& context_;
  const std::uint32_t wanted_;
  const std::function<void()> stop_;
  std::uint32_t missing_ = 0;
  std::array<std::int64_t, MAX_ARRAYS> found_{};
};

}  // namespace simt
