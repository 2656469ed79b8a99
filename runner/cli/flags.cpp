#include "cli/options.hpp"

#include "base/usage_error.hpp"
#include "base/words.hpp"
#include "cli/values.hpp"
#include "judge/hidden.hpp"
#include "record/results_file.hpp"
#include "simt/gpu_models.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <sstream>

#include <fmt/format.h>

namespace sgemm {
namespace {

/// Most GPUs that a product is spread over.
constexpr int MOST_GPUS = 64;
/// The most blocks that an SM of any GPU holds.
constexpr int MOST_BLOCKS_PER_SM = 32;
/// Blocks of a grid that the executor can count, warps of a block, and launches of a kernel.
constexpr std::uint64_t MOST_BLOCKS = 1ULL << 32U;
constexpr unsigned MOST_WARPS = 32;
constexpr std::size_t MOST_LAUNCHES = 1U << 16U;
/// Most seconds of a turn with --sustain: each adds a hundred samples to the results file.
constexpr double MOST_SUSTAINED_S = 3600.0;

constexpr std::array L2_STATES{L2State::cold, L2State::warm};
constexpr std::array TIME_MODES{TimeMode::kernel, TimeMode::end_to_end};
constexpr std::array GPU_EXCHANGES{GpuExchange::peer, GpuExchange::nccl};
constexpr std::array BENCHMARK_FORMATS{BenchmarkFormat::console, BenchmarkFormat::json, BenchmarkFormat::csv};
constexpr std::array LIST_FORMATS{ListFormat::table, ListFormat::json};

std::string gpu_ids() {
  std::vector<std::string_view> ids;
  for (const simt::GpuModel& gpu : simt::gpu_models()) {
    ids.push_back(gpu.id);
  }
  return fmt::to_string(fmt::join(ids, ", "));
}

using Modes = std::vector<Mode>;
using Text = const std::string&;

/// Of a flag that keeps what is parsed of its text, or the text.
template <class Value, class Parse>
auto into(Value& value, Parse parse) {
  return [&value, parse](Text flag, Text text) { value = parse(flag, text); };
}

template <class Value>
auto into(Value& value) {
  return [&value](Text, Text text) { value = text; };
}

/// Of a flag without a value.
auto sets(bool& value, bool given = true) {
  return [&value, given](Text, Text) { value = given; };
}

double parse_seconds(std::string_view flag, std::string_view text) {
  return number<double>([](double x) { return std::isfinite(x) && x > 0; }, "a finite number above 0")(flag, text);
}

Grid parse_grid(std::string_view flag, std::string_view text) {
  constexpr std::string_view EXPECTED = "of the form 2x4, rows times columns of GPUs";
  const std::vector<std::string_view> sides = split(text, 'x');
  if (sides.size() != 2) {
    reject(flag, text, EXPECTED);
  }
  const auto side = [&](std::string_view digits) {
    const int found = number_in<int>(digits).value_or(0);
    if (found < 1 || found > MOST_GPUS) {
      reject(flag, text, EXPECTED);
    }
    return found;
  };
  const Grid grid{side(sides[0]), side(sides[1])};
  if (grid.size() > MOST_GPUS) {
    reject(flag, text, fmt::format("a grid of {} GPUs at most", MOST_GPUS));
  }
  return grid;
}

std::string parse_page(Text flag, Text text) {
  return text.ends_with(".html") ? text : reject(flag, text, "a name that ends in .html");
}

std::string parse_results(Text flag, Text text) {
  if (text == "-") {
    throw UsageError("--out: '-' is no file: --benchmark_format=json writes to standard output");
  }
  return text.ends_with(".json") || is_csv(text) ? text : reject(flag, text, "a name that ends in .json or .csv");
}

std::string parse_gpu(Text flag, Text text) {
  return simt::find_gpu_model(text) != nullptr ? text : reject(flag, text, fmt::format("one of {}", gpu_ids()));
}

std::string parse_secret(Text flag, Text text) {
  try {
    return Secret::parse(text).text();
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", flag, error.what()));
  }
}

// The first mode is the one that is recommended where a flag lacks its mode.
const Modes ALL;
const Modes RUN_KERNELS{Mode::measure, Mode::sustain, Mode::accuracy, Mode::count, Mode::profile};
const Modes CHOOSE_KERNELS{Mode::measure, Mode::sustain, Mode::accuracy, Mode::count, Mode::profile, Mode::digest};
const Modes RUN_FILES{Mode::measure, Mode::sustain, Mode::accuracy, Mode::count, Mode::profile, Mode::judge};
const Modes LIMIT_TIME{Mode::measure, Mode::sustain, Mode::accuracy, Mode::count, Mode::judge};
const Modes SPREAD{Mode::measure, Mode::accuracy};
const Modes COUNT{Mode::count};
const Modes MEASURED{Mode::measure};
const Modes TIMED{Mode::measure, Mode::judge};
const Modes VERIFIED{Mode::measure, Mode::sustain, Mode::count, Mode::profile};
const Modes SLOW{Mode::measure, Mode::accuracy, Mode::count, Mode::digest};
const Modes DIGEST{Mode::digest};
const Modes TOLD_IN_JSON{Mode::judge, Mode::digest};

std::vector<Flag> what_to_measure(Options& options) {
  Protocol& protocol = options.protocol;
  return {
      {"--kernel", "KERNELS", fmt::format("kernels, see below [{}]", options.kernels), CHOOSE_KERNELS,
       into(options.kernels)},
      {"--sizes", "SIZES",
       fmt::format("see below [{}; --accuracy: {}, CPU: {}; --profile: {}]", default_sizes(Mode::measure, true),
                   default_sizes(Mode::accuracy, true), default_sizes(Mode::accuracy, false),
                   default_sizes(Mode::profile, true)),
       ALL, into(options.sizes)},
      {"--alpha", "X", fmt::format("factor of A * B [{}]", protocol.alpha), ALL, into(protocol.alpha, parse_factor)},
      {"--beta", "X", fmt::format("factor of C [{}]", protocol.beta), ALL, into(protocol.beta, parse_factor)},
      {"--data", "KIND", fmt::format("operands, see below [{}; with --accuracy all]", to_string(protocol.data.front())),
       CHOOSE_KERNELS, into(protocol.data, parse_data)},
      {"--seed", "N", fmt::format("seed of the operands [{}]", protocol.seed), CHOOSE_KERNELS,
       into(protocol.seed,
            number<std::uint64_t>([](std::uint64_t) { return true; }, "a whole number between 0 and 2^64 - 1"))},
      {"--secret", "HEX", "of the operands of samples, to repeat a case [drawn for each case]", TIMED,
       into(protocol.secret, parse_secret)}};
}

std::vector<Flag> of_files(Options& options) {
  UserOptions& user = options.user;
  return {{"--launch", "CODE", "how a file's product is launched, see below [the file says so]", RUN_FILES,
           into(user.launch.launch)},
          {"--requires", "CODE", "what it can compute, as a C++ condition [all, unless the file says so]", RUN_FILES,
           into(user.launch.requirement)},
          {"--workspace", "CODE", "bytes of workspace, where the launch names it [the file says so]", RUN_FILES,
           into(user.launch.workspace)},
          {"--include", "FOLDERS", "where files that it includes are, with commas or once more [beside it]", RUN_FILES,
           [&](Text, Text text) {
             for (const std::string_view folder : split(text, ',')) {
               user.compile.include_folders.emplace_back(folder);
             }
           },
           true},
          {"--nvcc-flags", "FLAGS", "more flags for nvcc; on the CPU, g++ gets -D, -U and -include of them", RUN_FILES,
           [&](Text, Text text) {
             std::istringstream words{text};
             for (std::string word; words >> word;) {
               user.compile.nvcc_flags.push_back(word);
             }
           }},
          {"--device-code", "", "of files, run the kernels of their launch line alone, and no host code", RUN_FILES,
           sets(user.compile.device_code)},
          {"--new-kernel", "FILE.cu", "write a file with a right kernel to start from, and nothing else", ALL,
           into(options.new_kernel)},
          {"--judge", "FILES",
           fmt::format("accept or refuse files, also by hidden cases [--sizes: {}]", default_sizes(Mode::judge, true)),
           ALL, into(options.kernels)}};
}

std::vector<Flag> how_to_measure(Options& options) {
  Protocol& protocol = options.protocol;
  return {{"--device", "N",
           fmt::format("CUDA device, or cpu to execute GPU kernels there without times [{}]", options.device), ALL,
           [&](Text flag, Text text) {
             options.on_executor = text == "cpu";
             if (!options.on_executor) {
               options.device =
                   number<int>([](int x) { return x >= 0; }, text == "gpu" || text == "cuda"
                                                                 ? "a device index, as in --device 0"
                                                                 : "a device index, 0 or above, or cpu")(flag, text);
             }
           }},
          {"--l2", "STATE",
           fmt::format("state of the L2 cache before a sample: {} [{}]", words(L2_STATES), to_string(protocol.l2)),
           MEASURED, into(protocol.l2, one_of(L2_STATES))},
          {"--time", "SPAN",
           fmt::format("{}; the latter adds copies to and from the device [{}]", words(TIME_MODES),
                       to_string(protocol.time)),
           MEASURED, into(protocol.time, one_of(TIME_MODES))},
          {"--max-seconds", "S", fmt::format("seconds to sample one case for [{}]", protocol.max_seconds), TIMED,
           into(protocol.max_seconds, parse_seconds)},
          {"--sustain", "S", "run each kernel, then cuBLAS, back to back for S seconds [--sizes: 8192]", ALL,
           into(protocol.sustain_s, number<double>([](double x) { return x > 0 && x <= MOST_SUSTAINED_S; },
                                                   fmt::format("a number above 0 and up to {:g}", MOST_SUSTAINED_S)))},
          {"--timeout", "S", "seconds for a file's case, or a step of several GPUs [60 to 300]", LIMIT_TIME,
           into(options.timeout, parse_seconds)},
          {"--energy", "", "after its samples run each kernel for a second, and cuBLAS, for the energy", MEASURED,
           sets(protocol.energy)},
          {"--accuracy", "", "measure errors on all kinds of operands, and no times", ALL, {}},
          {"--digest", "", "compute products whose bits are defined, and print a hash of each", ALL, {}},
          {"--against", "FILE", "file of digests to compare with, in place of sizes and operands", DIGEST,
           into(options.digests)},
          {"--no-verify", "", "skip the verification of results; their records say so", VERIFIED,
           sets(protocol.verify, false)},
          {"--check", "", "run GPU kernels on the CPU and check every access to memory", SPREAD, sets(protocol.check)},
          {"--count", "", "run GPU kernels on the CPU and count their requests to a GPU's memories", ALL, {}},
          {"--profile", "", "launch each kernel once more between marks, for a profiler around the run", ALL, {}},
          {"--force", "", "run on the CPU even what takes long there", SLOW, sets(options.force)}};
}

std::vector<Flag> on_several_gpus(Options& options) {
  RankOptions& ranks = options.ranks;
  return {{"--gpus", "N", fmt::format("GPUs for one product [all; on the CPU {} ranks]", HOST_RANKS), SPREAD,
           into(ranks.gpus, between(1, MOST_GPUS))},
          {"--grid", "PxQ", "rows and columns in which they share C [those that receive least]", SPREAD,
           into(ranks.grid, parse_grid)},
          {"--exchange", "HOW",
           fmt::format("how GPUs exchange blocks: {} [peer; nccl between processes]", words(GPU_EXCHANGES)), SPREAD,
           into(ranks.exchange, one_of(GPU_EXCHANGES))}};
}

std::vector<Flag> what_to_count(Options& options) {
  return {{"--gpu-model", "GPU", fmt::format("GPU that --count counts for, see below [{}]", options.gpu_model), COUNT,
           into(options.gpu_model, parse_gpu)},
          {"--blocks-per-sm", "N", "blocks on an SM for --count [as many as the kernel and the GPU allow]", COUNT,
           into(options.blocks_per_sm, between(1, MOST_BLOCKS_PER_SM))},
          {"--trace", "FILE.html", fmt::format("page of a warp's accesses in a kernel [--sizes {}]", TRACED_SIZE),
           COUNT, into(options.trace.page, parse_page)},
          {"--trace-launch", "N", "launch of that warp, of a kernel that makes several [the last]", COUNT,
           into(options.trace.launch, between(std::size_t{0}, MOST_LAUNCHES - 1))},
          {"--trace-block", "N", "block of that warp, numbered with x fastest [0]", COUNT,
           into(options.trace.warp.block, between(std::uint64_t{0}, MOST_BLOCKS - 1))},
          {"--trace-warp", "N", "that warp in its block [0]", COUNT,
           into(options.trace.warp.warp, between(0U, MOST_WARPS - 1))}};
}

std::vector<Flag> output(Options& options) {
  BenchmarkFlags& google = options.google;
  return {
      {"--out", "FILE", "results file: JSON, or CSV if it ends with .csv [named by device and time]", RUN_KERNELS,
       into(options.out, parse_results)},
      {"--json", "FILE", "verdicts of --judge, - is standard output; digests", TOLD_IN_JSON, into(options.json)},
      {"--benchmark_filter", "REGEX", "cases whose names match, or with - before it the others", RUN_KERNELS,
       into(google.filter)},
      {"--benchmark_list_tests", "", "print the names of the cases, and measure nothing", RUN_KERNELS,
       sets(google.list_tests)},
      {"--benchmark_repetitions", "N", fmt::format("runs of each case [{}]", google.repetitions), RUN_KERNELS,
       into(google.repetitions, between(1, std::numeric_limits<int>::max()))},
      {"--benchmark_format", "FORMAT", fmt::format("print {} in place of the table", words(BENCHMARK_FORMATS)),
       RUN_KERNELS, into(google.format, one_of(BENCHMARK_FORMATS))},
      {"--benchmark_out", "FILE", "file of Google Benchmark, beside the results file", RUN_KERNELS, into(google.out)},
      {"--benchmark_out_format", "FORMAT",
       fmt::format("its format: {} [{}]", words(BENCHMARK_FORMATS), to_string(google.out_format)), RUN_KERNELS,
       into(google.out_format, one_of(BENCHMARK_FORMATS))},
      {"--list", "[FORMAT]", fmt::format("print the kernels and measure nothing: {} [table]", words(LIST_FORMATS)), ALL,
       into(options.list_format, one_of(LIST_FORMATS))}};
}

constexpr std::string_view MORE_HELP = R"(
Kernels, separated by commas (--list shows them):
  5  coarse_1d  05_coarse_1d    the default variant of one chapter; 0 is cuBLAS
  1-7                           the default variants of chapters 1 to 7
  1:uncoalesced  1:*            one variant, or all variants, of chapter 1
  "9:64x128"                    one configuration in place of the kernel's own choice
  all  chapters  baselines      all variants of all kernels, of chapters, of other kernels
  my.cu  my.cu:sgemm            a file of your own, or one of its kernels

A file of your own is plain CUDA. A comment in it, or --launch, says how its product is launched,
unless it has one host function that launches, with parameters whose names tell:
  launch: sgemm<<<dim3(ceil_div(N, 32), ceil_div(M, 32)), dim3(32, 32)>>>(M, N, K, A, B, C)
  requires: M % 128 == 0 && alpha == 1 && beta == 0
  workspace: 4 * M * N
Names of the problem: M N K alpha beta A B C lda ldb ldc batch stream workspace

Sizes, separated by commas:
  1000                          M = N = K = 1000
  256:8192                      256, 512, 1024 and so on to 8192
  256:8192:256                  from 256 to 8192 in steps of 256
  4096x128x64                   M = 4096, N = 128, K = 64
  96x512x512x64                 a batch of 96 products of 512x512x64 in one call
  4096:nt  512:2048:tt          any of these, transposed in memory: B (nt), A (tn) or both (tt)
Libraries and files with a launch of their own compute the last two. Chapters do not.

Operands; --accuracy takes several separated by commas, or all, which leaves out the last seven:
{data}
GPUs that --count counts for:
{gpus}
Flags that begin with --benchmark_ are those of Google Benchmark.

Examples:
  runner --kernel 5 --sizes 256:8192
  runner --kernel 0-7 --sizes 4096,4097 --l2 warm --out warm.json
  runner --kernel cpu_naive,cpu_blas --sizes 64:1024 --time end-to-end
  runner --kernel 1-7 --sizes 256 --device cpu
  runner --kernel 1-7 --sizes 4096 --count --gpu-model h200
  runner --kernel 5 --count --trace accesses.html
  runner --kernel all --accuracy --data uniform,cancelling
  runner --kernel "9,9:64x128" --sizes 700,1000
  runner --new-kernel my.cu
  runner --judge my.cu --sizes 1024,4096 --json -
  runner --kernel my.cu --device cpu --check --sizes 100,257x130x9
  runner --kernel cublas,5,my.cu --sizes 256:4096
  runner --kernel libsgemm:* --sizes 4096,4096:nt,4096:tn,96x512x512x64:nt
  runner --kernel 9,12 --sizes 1024:8192 --energy
  runner --kernel 9,12 --sizes 8192 --sustain 20

Exit status:
  0    a case or more was measured, sustained, executed, compared, counted or profiled; none went
       wrong
  1    a case was incorrect, implausible or failed
  2    the usage was wrong or the output can not be written; nothing was measured
  3    no case could be measured, sustained, executed, compared, counted or profiled; with --judge a
       file could not be judged, as without a GPU for its speed, and none was refused
  4    --judge refused a file; it ends with 0 where all were accepted
  130  the run was interrupted; the file has the results so far
)";

/// A line of the help text for each.
std::string data_lines() {
  std::string lines;
  for (const Distribution data : KINDS) {
    lines += fmt::format("  {:<30}{}\n", to_string(data), summary(data));
  }
  return lines;
}

/// A line of the help text for each.
std::string gpu_lines() {
  std::string lines;
  for (const simt::GpuModel& gpu : simt::gpu_models()) {
    lines += fmt::format("  {:<30}{}, {} SMs, {} MiB of L2\n", gpu.id, gpu.name, gpu.sms, gpu.l2_bytes >> 20U);
  }
  return lines;
}

}  // namespace

float parse_factor(std::string_view flag, std::string_view text) {
  return number<float>([](float x) { return std::isfinite(x); }, "a finite single-precision number")(flag, text);
}

std::vector<Distribution> parse_data(std::string_view flag, std::string_view text) {
  if (text == "all") {
    return {DISTRIBUTIONS.begin(), DISTRIBUTIONS.end()};
  }
  std::vector<Distribution> data;
  for (const std::string_view word : split(text, ',')) {
    const Distribution parsed = one_of(KINDS)(flag, word);
    if (std::ranges::find(data, parsed) != data.end()) {
      throw UsageError(fmt::format("{}: {} is given more than once", flag, word));
    }
    data.push_back(parsed);
  }
  return data;
}

std::vector<FlagGroup> all_flags(Options& options) {
  return {{"What to measure", what_to_measure(options)}, {"A kernel of your own", of_files(options)},
          {"How to measure", how_to_measure(options)},   {"Products on several GPUs", on_several_gpus(options)},
          {"What to count", what_to_count(options)},     {"Output", output(options)}};
}

std::string more_help() {
  return fmt::format(fmt::runtime(MORE_HELP), fmt::arg("data", data_lines()), fmt::arg("gpus", gpu_lines()));
}

}  // namespace sgemm
