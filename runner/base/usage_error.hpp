#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace sgemm {

/// Input that the runner can not act on. The message is one line that names what is wrong; main() prints it, with
/// `details` above it, and exits with status 2 before anything is measured.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(std::string message, std::string details = "")
      : std::runtime_error(one_line(std::move(message))), details_(std::move(details)) {}

  /// Lines for people, such as a compiler's messages; empty, or ending with a line's end.
  const std::string& details() const { return details_; }

 private:
  // Messages quote what was typed, which may hold anything.
  static std::string one_line(std::string text) {
    std::ranges::replace_if(
        text, [](unsigned char c) { return c < ' ' || c == 0x7F; }, '?');
    return text;
  }

  std::string details_;
};

}  // namespace sgemm
