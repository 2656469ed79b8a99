#pragma once

// Kernels that are checked or counted, and what is said of them.

#include "simt/checked_arrays.hpp"
#include "simt/counter.hpp"
#include "simt/executor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace simt::test {

/// What `run` ends with; empty where it ends well.
template <class Exception = Error, class Run>
std::string message_of(const Run& run) {
  try {
    run();
  } catch (const Exception& error) {
    return error.what();
  }
  return "";
}

/// Expects all `parts` in the message.
inline void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << '\'' << part << "' is not in: " << message;
  }
}

/// Expects the block, a thread and a line of `file` in the message, and all `parts`.
inline void expect_message(const std::string& message, const std::string& file, const std::vector<std::string>& parts) {
  EXPECT_EQ(message.rfind("block (0,0,0), thread (", 0), 0U) << message;
  expect_parts(message, {file + ":"});
  expect_parts(message, parts);
}

/// The message of the checks about what `run` launches on these arrays; empty where there is none.
template <class Run>
std::string complaint_about(std::vector<GlobalArray> arrays, const Run& run) {
  const CheckedArrays checked(std::move(arrays));
  return message_of(run);
}

inline std::size_t l1_bytes(std::size_t /*smem_bytes*/, unsigned /*threads*/) { return std::size_t{32} * 1024; }

/// The counts of what `run` launches on these arrays.
template <class Run>
LaunchCounts counts_of(const std::vector<GlobalArray>& arrays, const Run& run,
                       std::optional<TracedWarp> traced = std::nullopt) {
  std::vector<CountedArray> counted(arrays.size());
  std::ranges::transform(arrays, counted.begin(), [](const GlobalArray& array) { return CountedArray{array}; });
  Counting counting(std::move(counted), l1_bytes, {}, traced);
  run();
  return std::move(counting.take().front());
}

/// Floats with others around them: what lies next to one array is no other array. Aligned to 16 bytes.
class GuardedArray {
 public:
  GuardedArray(std::size_t size, float value) : storage_(size + 2 * GUARD, value) {}

  float* data() { return storage_.data() + GUARD; }

 private:
  static constexpr std::size_t GUARD = 64;
  std::vector<float> storage_;
};

/// An input IN of ones and an array OUT of zeros, which `run(in, out)` uses. Units of OUT may have different writers.
class InAndOut {
 public:
  explicit InAndOut(std::size_t size, std::size_t unit_of_out = sizeof(float))
      : in_(size, 1.0F), out_(size, 0.0F), arrays_{input("IN", in_.data(), size), in_out("OUT", out_.data(), size)} {
    arrays_.back().unit = unit_of_out;
  }

  template <class Run>
  std::string complaint_about(const Run& run) {
    return test::complaint_about(arrays_, [&] { run(in_.data(), out_.data()); });
  }
  template <class Run>
  LaunchCounts counts_of(const Run& run, std::optional<TracedWarp> traced = std::nullopt) {
    return test::counts_of(
        arrays_, [&] { run(in_.data(), out_.data()); }, traced);
  }

 private:
  GuardedArray in_;
  GuardedArray out_;
  std::vector<GlobalArray> arrays_;
};

}  // namespace simt::test
