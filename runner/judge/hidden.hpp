#pragma once

#include "problem/operands.hpp"
#include "problem/sizes.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

// What a kernel is tried with beside what was asked for. Nobody foresees it who does not know the secret.

/// Numbers that a secret makes, one after the other. Files have different ones (`first`, in which their contents
/// differ), so that none of them can tell another one what it was tried with.
class SecretNumbers {
 public:
  explicit SecretNumbers(const Secret& secret, std::uint64_t first = 0) : secret_(secret), counter_(first) {}

  std::uint64_t next() { return secret_.seed(counter_++); }
  /// From 0 to before `end`.
  std::int64_t below(std::int64_t end) { return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(end)); }

 private:
  Secret secret_;
  std::uint64_t counter_;
};

/// What all extents of a hidden size are an odd multiple of, and whether they are the same: some kernels take no
/// others.
struct Grain {
  std::int64_t step = 1;
  bool square = false;

  bool operator==(const Grain&) const = default;
};

/// From the one that is hardest to foresee. A kernel is tried with sizes of the first grain of which it takes any.
inline constexpr std::array GRAINS{Grain{1},       Grain{2},        Grain{4},         Grain{8},        Grain{16},
                                   Grain{32},      Grain{64},       Grain{128},       Grain{256},      Grain{1, true},
                                   Grain{8, true}, Grain{32, true}, Grain{128, true}, Grain{256, true}};

/// A size whose extents are off those of `asked` by a few steps, an odd number of them. Extents above `most` count as
/// `most`. It is none of `taken`, and is added to them.
Size near_size(const Size& asked, const Grain& grain, std::int64_t most, std::vector<Size>& taken,
               SecretNumbers& numbers);

/// Of each extent, in 64ths: a half, three quarters and the whole in some order.
using Parts = std::array<std::int64_t, 3>;
Parts drawn_parts(SecretNumbers& numbers);
/// The other way round: of any two extents the other one is now the longer one.
Parts reversed(const Parts& parts);

/// Likewise one whose extents are about these parts of those of `asked`. Of squares it is a smaller one.
Size lopsided_size(const Size& asked, const Grain& grain, std::int64_t most, std::vector<Size>& taken,
                   const Parts& parts, SecretNumbers& numbers);

/// Likewise one of any proportions: extents are between 64 and those of `asked`, evenly on a logarithmic scale.
Size any_size(const Size& asked, const Grain& grain, std::int64_t most, std::vector<Size>& taken,
              SecretNumbers& numbers);

/// Whether a file has to keep the bound of FP32 on such operands. A kernel may make FP32 products of several products
/// on tensor cores. It loses denormal numbers then, or numbers far smaller than their neighbours, and infinities become
/// NaN. What it loses is told, and does not refuse it.
bool is_required(Distribution data);

/// All kinds of operands in an order that the secret makes: the kinds of --accuracy and the decoys.
std::vector<Distribution> hidden_kinds(SecretNumbers& numbers);

/// Of the sizes that were asked for: the smallest and the largest, and up to three between them, at which decoys are
/// timed. The smallest comes first, and the largest last.
std::vector<Size> decoy_sizes(const std::vector<Size>& asked, SecretNumbers& numbers);

/// How many launches a sample has, from half of `most` on. C is looked at behind the last one, and no launch in the
/// second half knows whether it is that, so that none there can leave its work to it.
int number_of_launches(int most, std::uint64_t seed);

/// A size of which each extent is below 15. Hidden sizes beside larger ones have none so small.
Size tiny_size(SecretNumbers& numbers);

}  // namespace sgemm
