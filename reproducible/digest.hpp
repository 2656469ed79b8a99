#pragma once

#include "cli/options.hpp"
#include "problem/operands.hpp"
#include "problem/sizes.hpp"

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace sgemm {

/// A product whose operands any machine makes alike, to the last bit.
struct DigestCase {
  Size size;
  float alpha = 1.0F;
  float beta = 0.0F;
  Distribution data = Distribution::uniform;
  std::uint64_t seed = 42;
  std::string digest;  ///< of C, 16 hexadecimal digits; empty if it is not known

  /// A line of a file of digests, without the digest: "129x257x65:nt 1 -2.5 uniform 42".
  std::string text() const;
};

/// A hash of the numbers' bits in little-endian order: FNV-1a of 64 bits.
std::string digest_of(const std::vector<float>& numbers);

/// The cases of a file of digests: lines of a case and its digest, and comments that begin with #. Throws UsageError
/// for any other line, and for operands that are not the same on every machine.
std::vector<DigestCase> read_digests(std::istream& in, const std::string& path);

/// Runs the program with --digest: computes each case in every way that there is here, prints its digest, and compares
/// it with the other ways and with the file of --against.
ExitStatus run_digests(const Options& options);

}  // namespace sgemm
