#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sgemm {

/// What the judge's random numbers of a run are made of. It comes from the operating system and is told when the run is
/// over, so that nobody foresees operands, and the run can be repeated.
///
/// A kernel sees numbers that were made from a seed(), and may find that seed with much work. Both halves enter into
/// each seed, so that one says nothing of the others.
class Secret {
 public:
  static Secret draw();
  /// Of 32 hexadecimal digits. Throws UsageError for anything else.
  static Secret parse(std::string_view text);
  std::string text() const;

  std::uint64_t seed(std::uint64_t counter) const;

  bool operator==(const Secret&) const = default;

 private:
  explicit Secret(const std::array<std::uint64_t, 2>& halves) : halves_(halves) {}

  std::array<std::uint64_t, 2> halves_;
};

}  // namespace sgemm
