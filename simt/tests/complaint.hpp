#pragma once

// Complaints of the checks, and what they have to say.

#include "simt/executor.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace simt::test {

/// What `run` ends with; empty where it ends well.
template <class Run>
std::string message_of(const Run& run) {
  try {
    run();
  } catch (const simt::Error& error) {
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
  EXPECT_NE(message.find(file + ":"), std::string::npos) << message;
  expect_parts(message, parts);
}

}  // namespace simt::test
