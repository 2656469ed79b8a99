#pragma once

#include "base/usage_error.hpp"

#include <string>

namespace sgemm {

/// The message of the UsageError that `action` throws, or a text that says there was none.
template <class Action>
std::string usage_message(const Action& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "(no UsageError)";
}

}  // namespace sgemm
