#pragma once

#include "base/outcome.hpp"
#include "bench/bench.hpp"
#include "cli/benchmarks.hpp"
#include "count/count.hpp"
#include "record/protocol.hpp"
#include "user/user_kernels.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

enum class ListFormat { table, json };
constexpr std::string_view to_string(ListFormat format) { return format == ListFormat::json ? "json" : "table"; }

/// The command line, checked as far as is possible without knowing kernels and devices.
struct Options {
  Protocol protocol;
  std::string kernels = "all";            ///< for kernel_terms(); with --judge for judged_files()
  UserOptions user;                       ///< for the files among them
  std::optional<std::string> sizes;       ///< for parse_sizes(); without it default_sizes()
  int device = 0;                         ///< CUDA's index, at least 0
  bool on_executor = false;               ///< GPU kernels run on the executor: with --device cpu, --check and --count
  std::string gpu_model = "h200";         ///< whose caches --count models: an id of simt::gpu_models()
  std::optional<int> blocks_per_sm;       ///< instead of what that GPU would hold
  TraceOptions trace;                     ///< the page of a warp's requests that --count writes; none without a name
  RankOptions ranks;                      ///< for products on several GPUs
  std::optional<double> timeout;          ///< seconds for a case of a file, or for an order to ranks
  bool force = false;                     ///< cases that would take the executor long are run
  std::optional<std::string> json;        ///< where --judge and --digest write: a path, for --judge "-" as well
  std::optional<std::string> digests;     ///< path of the file that --digest compares with
  std::optional<std::string> out;         ///< path of the results file; without one it is derived from device and time
  std::optional<std::string> new_kernel;  ///< path of a file to write, and nothing else
  ListFormat list_format = ListFormat::table;
  BenchmarkFlags google;
  std::vector<std::string> argv;  ///< as given, program name first
};

/// Of the size alone for --trace: small enough that a warp's whole loop is on the page.
constexpr std::string_view TRACED_SIZE = "256";

/// A flag of the command line: what --help says of it, where it has an effect, and what becomes of its value.
struct Flag {
  std::string name;         ///< "--kernel"
  std::string value;        ///< "KERNELS", in brackets if it may be left out; empty for a flag without a value
  std::string description;  ///< with its default in brackets
  std::vector<Mode> modes;  ///< besides `list`; in all others it is an error. Empty for all
  /// Takes the name and the value, which is empty for a flag without one; null for a mode.
  std::function<void(const std::string& flag, const std::string& text)> store;
  bool repeats = false;  ///< given again, it adds to what it said before
};

struct FlagGroup {
  std::string title;
  std::vector<Flag> flags;
};

/// All flags. Their values go to `options`, which outlive them.
std::vector<FlagGroup> all_flags(Options& options);

/// What --help says after the list of flags.
std::string more_help();

/// The flag that asks for a mode, "--count"; empty for `measure`, which needs no flag.
std::string_view flag_of(Mode mode);

/// The flag for which nothing runs without a GPU, "--energy"; empty where there is none.
std::string_view flag_that_needs_gpu(const Options& options);

/// The sizes of a mode if none are given. For --accuracy the executor gets a small one, because it takes minutes for a
/// product that a GPU computes in milliseconds.
std::string_view default_sizes(Mode mode, bool on_gpu);

/// What --version prints: "sgemm-worklog 1.0.0, commit <hash> with changes".
std::string version_line();

/// The outcome of a command line: run with `options`, or print `text` to standard output and exit with status 0.
struct ParseResult {
  Options options;
  std::optional<std::string> text;  ///< set by --help and --version
};

/// Parses the command line; `version` is what --version prints. Throws UsageError.
ParseResult parse_options(int argc, const char* const* argv, const std::string& version);

/// How the runner ends; --help says what each is for.
enum ExitStatus {
  ALL_WELL = 0,
  CASES_WRONG = 1,
  BAD_USAGE = 2,
  NOTHING_MEASURED = 3,
  FILE_REFUSED = 4,
  INTERRUPTED = 130,
};

/// The status of a run with so many cases of each outcome.
ExitStatus exit_status(const std::map<Outcome, int>& counts);

/// The status of the error that is being handled, which is printed in one piece: mpirun writes there as well.
int status_of_error();

/// The seconds that a case of at most so many products in a process of its own may be silent for, and an order to ranks
/// may take; nothing for as long as they like.
std::optional<double> seconds_per_case(const Options& options, bool on_gpu, bool several_gpus, double products);

}  // namespace sgemm
