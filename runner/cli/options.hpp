#pragma once

#include "problem/operands.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// What the L2 cache holds when a sample starts.
enum class L2State {
  cold,  ///< nothing of the operands: a larger buffer was written in between
  warm,  ///< what the launch before left there
};

/// What a sample's clock covers.
enum class TimeMode {
  kernel,      ///< the product alone, operands in the memory of the kernel's platform
  end_to_end,  ///< also copying A, B and, where beta is not 0, C to the device, and C back
};

enum class ListMode { none, table, json };

/// The words of the command line: "cold", "warm"; "kernel", "end-to-end".
std::string_view to_string(L2State state);
std::string_view to_string(TimeMode mode);

/// The command line, checked as far as is possible without knowing kernels and devices.
struct Options {
  std::string kernels = "all";     ///< for select_kernels()
  std::string sizes = "256:8192";  ///< for parse_sizes()
  float alpha = 1.0F;              ///< finite
  float beta = 0.0F;               ///< finite
  std::uint64_t seed = 42;         ///< of the operands
  Distribution data = Distribution::uniform;
  bool accuracy = false;                    ///< errors are measured, and no times
  std::vector<Distribution> accuracy_data;  ///< with `accuracy`, instead of `data`; empty without
  bool sizes_given = false;                 ///< without --sizes, `accuracy` has default sizes of its own
  L2State l2 = L2State::cold;
  TimeMode time = TimeMode::kernel;
  int device = 0;                          ///< CUDA's index, at least 0
  bool on_executor = false;                ///< "--device cpu": GPU kernels run on the executor
  bool check = false;                      ///< the executor watches every access to memory; sets on_executor
  bool count = false;                      ///< the executor counts what kernels ask of a GPU; sets on_executor
  std::string gpu_model = "h200";          ///< whose caches are modelled: an id of simt::gpu_models()
  std::optional<int> blocks_per_sm;        ///< instead of what that GPU would hold
  bool force = false;                      ///< cases that would take the executor long are run
  std::optional<std::string> out;          ///< path of the results file; without one it is derived from device and time
  bool tune = false;                       ///< find the fastest configurations instead of measuring kernels
  std::optional<std::string> tuning_file;  ///< path; without one it is derived from the device
  bool use_tuning = true;                  ///< whether to look for a tuning file
  double max_seconds = 1.0;                ///< sampling budget of one case, finite and above 0
  bool verify = true;
  ListMode list = ListMode::none;
  std::vector<std::string> benchmark_flags;  ///< "--benchmark_...", for Google Benchmark
  std::vector<std::string> argv;             ///< as given, program name first
};

/// What to do with a command line: run with `options`, or print `text` to standard output and exit with status 0.
struct ParseResult {
  Options options;
  std::optional<std::string> text;  ///< set by --help and --version
};

/// Parses the command line; `version` is what --version prints. Throws UsageError.
ParseResult parse_options(int argc, const char* const* argv, const std::string& version);

}  // namespace sgemm
