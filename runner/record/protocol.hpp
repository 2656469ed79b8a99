#pragma once

#include "base/json.hpp"
#include "problem/operands.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// The work that a run does on its cases.
enum class Mode {
  measure,   ///< verifies and times them; without a GPU, executes GPU kernels
  sustain,   ///< runs each GPU kernel back to back for seconds, and cuBLAS likewise
  accuracy,  ///< compares the results on all kinds of operands with double precision
  count,     ///< executes GPU kernels and counts what they ask of a GPU
  profile,   ///< launches GPU kernels once between marks for a profiler
  judge,     ///< tries files with more than was asked for, and decides about each
  digest,    ///< computes kernels whose bits are defined, and prints hashes of them
  list,      ///< prints the kernels
};

/// The content of the L2 cache when a sample starts.
enum class L2State {
  cold,  ///< nothing of the operands: a larger buffer was written in between
  warm,  ///< the state that the launch before left
};

/// The span that a sample's clock covers.
enum class TimeMode {
  kernel,      ///< the product alone, operands in the memory of the kernel's platform
  end_to_end,  ///< also copying A, B and, where beta is not 0, C to the device, and C back
};

/// The words of the command line and of results: "cold", "warm"; "kernel", "end-to-end".
constexpr std::string_view to_string(L2State state) { return state == L2State::cold ? "cold" : "warm"; }
constexpr std::string_view to_string(TimeMode time) { return time == TimeMode::kernel ? "kernel" : "end-to-end"; }

/// Kinds of operands are words in files as well.
inline void to_json(Json& json, Distribution data) { json = to_string(data); }

/// The settings that hold for every case of a run. Two results are comparable if their protocols are the same.
struct Protocol {
  Mode mode = Mode::measure;
  float alpha = 1.0F;  ///< finite
  float beta = 0.0F;   ///< finite
  std::uint64_t seed = 42;
  std::vector<Distribution> data{Distribution::uniform};  ///< at least one; several only in the mode `accuracy`
  L2State l2 = L2State::cold;
  TimeMode time = TimeMode::kernel;
  double max_seconds = 1.0;  ///< of sampling, for each case
  bool energy = false;       ///< after the samples, turns that tell the energy of a product; in the mode `measure`
  double sustain_s = 0.0;    ///< seconds of a turn in the mode `sustain`
  bool verify = true;
  std::string secret;  ///< of the operands of samples, 32 hexadecimal digits; empty for one that nobody knows
  bool check = false;  ///< the executor watches every access to memory
};

}  // namespace sgemm
