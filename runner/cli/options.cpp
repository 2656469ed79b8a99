#include "cli/options.hpp"

#include "base/build_info.hpp"
#include "base/nearest.hpp"
#include "base/split.hpp"
#include "base/usage_error.hpp"
#include "cli/selection.hpp"
#include "judge/secret.hpp"
#include "simt/gpu_models.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <system_error>

namespace sgemm {
namespace {

/// The most blocks that an SM of any GPU holds.
constexpr int MOST_BLOCKS_PER_SM = 32;
/// Blocks of a grid that the executor can count, warps of a block, and launches of a kernel.
constexpr std::uint64_t MOST_BLOCKS = 1ULL << 32U;
constexpr unsigned MOST_WARPS = 32;
constexpr std::size_t MOST_LAUNCHES = 1U << 16U;
/// Of the size alone for --trace: small enough that a warp's whole loop is on the page.
constexpr std::string_view TRACED_SIZE = "256";
/// Most that a product is spread over.
constexpr int MOST_GPUS = 64;

/// Most seconds of a turn with --sustain: each adds a hundred samples to the results file.
constexpr double MOST_SUSTAINED_S = 3600.0;

constexpr std::string_view DESCRIPTION =
    "Measures SGEMM kernels, C = alpha * A * B + beta * C, against cuBLAS and the CPU.\n"
    "The runner prints results and writes them to a JSON file.";

constexpr std::string_view MORE_HELP = R"(
Kernels, separated by commas (--list shows them):
  5  coarse_1d  05_coarse_1d    the default variant of one chapter; 0 is cuBLAS
  1-7                           the default variants of chapters 1 to 7
  1:uncoalesced  1:*            one variant, or all variants, of chapter 1
  all  chapters  baselines      all variants of all kernels, of chapters, of other kernels
  my.cu  my.cu:sgemm            a file of your own, or one of its kernels

A file of your own is plain CUDA. A comment in it, or --launch, says how its product is launched,
unless it has a host function (M, N, K, alpha, A, B, beta, C) for that:
  launch: sgemm<<<dim3(ceil_div(N, 32), ceil_div(M, 32)), dim3(32, 32)>>>(M, N, K, A, B, C)
  requires: M % 128 == 0 && alpha == 1 && beta == 0
  workspace: 4 * M * N
Names of the problem: M N K alpha beta A B C lda ldb ldc stream workspace

Sizes, separated by commas:
  1000                          M = N = K = 1000
  256:8192                      256, 512, 1024 and so on to 8192
  256:8192:256                  from 256 to 8192 in steps of 256
  4096x128x64                   M = 4096, N = 128, K = 64
  96x512x512x64                 a batch of 96 products of 512x512x64 in one call
  4096:nt  512:2048:tt          any of these, transposed in memory: B (nt), A (tn) or both (tt)
Libraries compute the last two, and chapters say that they do not.

Operands; --accuracy takes several separated by commas, or all, which leaves out the last four:
{data}
GPUs that --count counts for:
{gpus}
Flags of Google Benchmark (--benchmark_filter=REGEX, ...) work as well.

Examples:
  runner --kernel 5 --sizes 256:8192
  runner --kernel 0-7 --sizes 4096,4097 --l2 warm --out warm.json
  runner --kernel cpu_naive,cpu_blas --sizes 64:1024 --time end-to-end
  runner --kernel 1-7 --sizes 256 --device cpu
  runner --kernel 1-7 --sizes 4096 --count --gpu-model h200
  runner --kernel 5 --count --trace accesses.html
  runner --kernel all --accuracy --data uniform,cancelling
  runner --tune --sizes 256:8192,4096x128x4096
  runner --new-kernel my.cu
  runner --judge my.cu --sizes 1024,4096 --json -
  runner --kernel my.cu --device cpu --check --sizes 100,257x130x9
  runner --kernel cublas,5,my.cu --sizes 256:4096
  runner --kernel libsgemm:* --sizes 4096,4096:nt,4096:tn,96x512x512x64:nt
  runner --kernel 5,my.cu --sizes 2048,4096 --profile
  runner --kernel 9,12 --sizes 1024:8192 --energy
  runner --kernel 9,12 --sizes 8192 --sustain 20

Exit status:
  0    a case or more was measured, sustained, executed, compared, counted or profiled; none went
       wrong
  1    a case was incorrect, implausible or failed, or with --tune a configuration
  2    the usage was wrong or the output can not be written; nothing was measured
  3    no case could be measured, sustained, executed, compared, counted or profiled; with --judge a
       file could not be judged, as without a GPU for its speed, and none was refused
  4    --judge refused a file; it ends with 0 where all were accepted
  130  the run was interrupted; the file has the results so far
)";

constexpr std::array L2_STATES{L2State::cold, L2State::warm};
constexpr std::array TIME_MODES{TimeMode::kernel, TimeMode::end_to_end};
constexpr std::array GPU_EXCHANGES{GpuExchange::peer, GpuExchange::nccl};
constexpr std::array LIST_FORMATS{ListFormat::table, ListFormat::json};
constexpr std::array MODES{Mode::measure, Mode::sustain, Mode::accuracy, Mode::count,
                           Mode::profile, Mode::tune,    Mode::judge,    Mode::list};

std::string_view to_string(ListFormat format) { return format == ListFormat::json ? "json" : "table"; }

[[noreturn]] void reject(std::string_view flag, std::string_view value, std::string_view expected) {
  throw UsageError(fmt::format("{}: '{}' is not {}", flag, value, expected));
}

template <class Number>
Number parse_number(std::string_view flag, const std::string& text, bool (*accepted)(Number),
                    std::string_view expected) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end || !accepted(number)) {
    reject(flag, text, expected);
  }
  return number;
}

float parse_factor(std::string_view flag, const std::string& text) {
  return parse_number<float>(
      flag, text, [](float x) { return std::isfinite(x); }, "a finite single-precision number");
}

Grid parse_grid(std::string_view flag, const std::string& text) {
  constexpr std::string_view EXPECTED = "of the form 2x4, rows times columns of GPUs";
  const std::vector<std::string_view> sides = split(text, 'x');
  if (sides.size() != 2) {
    reject(flag, text, EXPECTED);
  }
  const auto side = [&](std::string_view digits) {
    return parse_number<int>(
        flag, std::string(digits), [](int x) { return x >= 1 && x <= MOST_GPUS; }, EXPECTED);
  };
  const Grid grid{side(sides[0]), side(sides[1])};
  if (grid.size() > MOST_GPUS) {
    reject(flag, text, fmt::format("a grid of {} GPUs at most", MOST_GPUS));
  }
  return grid;
}

template <class Choices>
std::string words(const Choices& choices) {
  std::vector<std::string_view> result;
  result.reserve(choices.size());
  for (const auto choice : choices) {
    result.push_back(to_string(choice));
  }
  return fmt::format("{}", fmt::join(result, ", "));
}

std::string gpu_ids() {
  std::vector<std::string_view> ids;
  ids.reserve(simt::gpu_models().size());
  for (const simt::GpuModel& gpu : simt::gpu_models()) {
    ids.push_back(gpu.id);
  }
  return fmt::format("{}", fmt::join(ids, ", "));
}

/// All that --data takes; "all" are the first.
constexpr auto KINDS = [] {
  std::array<Distribution, DISTRIBUTIONS.size() + DECOYS.size()> kinds{};
  std::copy(DECOYS.begin(), DECOYS.end(), std::copy(DISTRIBUTIONS.begin(), DISTRIBUTIONS.end(), kinds.begin()));
  return kinds;
}();

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

template <class Choice, std::size_t COUNT>
Choice parse_choice(std::string_view flag, const std::string& text, const std::array<Choice, COUNT>& choices) {
  const auto choice = std::find_if(choices.begin(), choices.end(), [&](Choice x) { return to_string(x) == text; });
  if (choice == choices.end()) {
    reject(flag, text, fmt::format("one of {}", words(choices)));
  }
  return *choice;
}

std::vector<Distribution> parse_data(std::string_view flag, const std::string& text) {
  if (text == "all") {
    return {DISTRIBUTIONS.begin(), DISTRIBUTIONS.end()};
  }
  std::vector<Distribution> data;
  for (const std::string_view word : split(text, ',')) {
    const Distribution parsed = parse_choice(flag, std::string(word), KINDS);
    if (std::find(data.begin(), data.end(), parsed) != data.end()) {
      throw UsageError(fmt::format("{}: {} is given more than once", flag, word));
    }
    data.push_back(parsed);
  }
  return data;
}

/// Declares the flags that take a value; the values go to `options` and `traced` while `app` parses.
void declare_values(CLI::App& app, Options& options, TraceOptions& traced) {
  using Flag = std::string_view;
  using Text = const std::string&;
  const auto value = [&app](const std::string& flag, const std::string& value_name, const std::string& description,
                            const std::function<void(Flag, Text)>& store) {
    return app
        .add_option_function<std::string>(
            flag,
            [flag, store](Text text) {
              if (text.empty() || text.starts_with("--")) {
                throw UsageError(fmt::format("{} needs a value", flag));
              }
              store(flag, text);
            },
            description)
        ->option_text(value_name)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // parse_options() rejects repeated flags
  };

  Protocol& protocol = options.protocol;
  app.option_defaults()->group("What to measure");
  value("--kernel", "KERNELS", fmt::format("kernels, see below [{}]", options.kernels),
        [&](Flag, Text text) { options.kernels = text; });
  value("--sizes", "SIZES",
        fmt::format("see below [{}; --accuracy: {}, CPU: {}; --profile: {}]", default_sizes(Mode::measure, true),
                    default_sizes(Mode::accuracy, true), default_sizes(Mode::accuracy, false),
                    default_sizes(Mode::profile, true)),
        [&](Flag, Text text) { options.sizes = text; });
  value("--alpha", "X", fmt::format("factor of A * B [{}]", protocol.alpha),
        [&](Flag flag, Text text) { protocol.alpha = parse_factor(flag, text); });
  value("--beta", "X", fmt::format("factor of C [{}]", protocol.beta),
        [&](Flag flag, Text text) { protocol.beta = parse_factor(flag, text); });
  value("--data", "KIND",
        fmt::format("operands, see below [{}; with --accuracy all]", to_string(protocol.data.front())),
        [&](Flag flag, Text text) { protocol.data = parse_data(flag, text); });
  value("--seed", "N", fmt::format("seed of the operands [{}]", protocol.seed), [&](Flag flag, Text text) {
    protocol.seed = parse_number<std::uint64_t>(
        flag, text, [](std::uint64_t) { return true; }, "a whole number between 0 and 2^64 - 1");
  });
  value("--secret", "HEX", "of the operands of samples, to repeat a case [drawn for each case]",
        [&](Flag, Text text) { protocol.secret = Secret::parse(text).text(); });

  app.option_defaults()->group("A kernel of your own");
  value("--launch", "CODE", "how a file's product is launched, see below [the file says so]",
        [&](Flag, Text text) { options.user.launch.launch = text; });
  value("--requires", "CODE", "what it can compute, as a C++ condition [all, unless the file says so]",
        [&](Flag, Text text) { options.user.launch.requirement = text; });
  value("--workspace", "CODE", "bytes of workspace, where the launch names it [the file says so]",
        [&](Flag, Text text) { options.user.launch.workspace = text; });
  value("--include", "FOLDERS", "where files that it includes are, separated by commas [beside it]",
        [&](Flag, Text text) {
          for (const std::string_view folder : split(text, ',')) {
            options.user.compile.include_folders.emplace_back(folder);
          }
        });
  value("--nvcc-flags", "FLAGS", "more flags for nvcc; on the CPU, g++ gets -D, -U and -include of them",
        [&](Flag, Text text) {
          for (const std::string_view word : split(text, ' ')) {
            options.user.compile.nvcc_flags.emplace_back(word);
          }
        });
  value("--new-kernel", "FILE.cu", "write a file with a right kernel to start from, and nothing else",
        [&](Flag, Text text) { options.new_kernel = text; });

  value("--judge", "FILES", "try files with more than is asked for, and accept or refuse each; folders, too",
        [&](Flag, Text text) { options.kernels = text; });

  app.option_defaults()->group("How to measure");
  value("--device", "N",
        fmt::format("CUDA device, or cpu to execute GPU kernels there without times [{}]", options.device),
        [&](Flag flag, Text text) {
          options.on_executor = text == "cpu";
          if (!options.on_executor) {
            options.device = parse_number<int>(
                flag, text, [](int x) { return x >= 0; }, "a device index, 0 or above, or cpu");
          }
        });
  value("--l2", "STATE",
        fmt::format("state of the L2 cache before a sample: {} [{}]", words(L2_STATES), to_string(protocol.l2)),
        [&](Flag flag, Text text) { protocol.l2 = parse_choice(flag, text, L2_STATES); });
  value("--time", "SPAN",
        fmt::format("{}; the latter adds copies to and from the device [{}]", words(TIME_MODES),
                    to_string(protocol.time)),
        [&](Flag flag, Text text) { protocol.time = parse_choice(flag, text, TIME_MODES); });
  value("--max-seconds", "S", fmt::format("seconds to sample one case for [{}]", protocol.max_seconds),
        [&](Flag flag, Text text) {
          protocol.max_seconds = parse_number<double>(
              flag, text, [](double x) { return std::isfinite(x) && x > 0; }, "a finite number above 0");
        });

  value("--sustain", "S", "run each kernel, then cuBLAS, back to back for S seconds [--sizes: 8192]",
        [&](Flag flag, Text text) {
          protocol.sustain_s = parse_number<double>(
              flag, text, [](double x) { return x > 0 && x <= MOST_SUSTAINED_S; },
              fmt::format("a number above 0 and up to {:g}", MOST_SUSTAINED_S));
        });
  value("--timeout", "S", "seconds for a file's case, or a step of several GPUs [62 or 300]",
        [&](Flag flag, Text text) {
          options.timeout = parse_number<double>(
              flag, text, [](double x) { return std::isfinite(x) && x > 0; }, "a finite number above 0");
        });

  app.option_defaults()->group("Products on several GPUs");
  value("--gpus", "N", fmt::format("GPUs for one product [all; on the CPU {} ranks]", HOST_RANKS),
        [&](Flag flag, Text text) {
          options.ranks.gpus = parse_number<int>(
              flag, text, [](int x) { return x >= 1 && x <= MOST_GPUS; },
              fmt::format("a whole number between 1 and {}", MOST_GPUS));
        });
  value("--grid", "PxQ", "rows and columns in which they share C [those that receive least]",
        [&](Flag flag, Text text) { options.ranks.grid = parse_grid(flag, text); });
  value("--exchange", "HOW",
        fmt::format("how GPUs exchange blocks: {} [peer; nccl between processes]", words(GPU_EXCHANGES)),
        [&](Flag flag, Text text) { options.ranks.exchange = parse_choice(flag, text, GPU_EXCHANGES); });

  app.option_defaults()->group("What to count");
  value("--gpu-model", "GPU", fmt::format("GPU that --count counts for, see below [{}]", options.gpu_model),
        [&](Flag flag, Text text) {
          if (simt::find_gpu_model(text) == nullptr) {
            reject(flag, text, fmt::format("one of {}", gpu_ids()));
          }
          options.gpu_model = text;
        });
  value("--blocks-per-sm", "N", "blocks on an SM for --count [as many as the kernel and the GPU allow]",
        [&](Flag flag, Text text) {
          options.blocks_per_sm = parse_number<int>(
              flag, text, [](int x) { return x >= 1 && x <= MOST_BLOCKS_PER_SM; },
              fmt::format("a whole number between 1 and {}", MOST_BLOCKS_PER_SM));
        });

  value("--trace", "FILE.html", fmt::format("page of a warp's accesses in a kernel [--sizes {}]", TRACED_SIZE),
        [&](Flag, Text text) { options.trace.emplace().page = text; });
  value("--trace-launch", "N", "launch of that warp, of a kernel that makes several [the last]",
        [&](Flag flag, Text text) {
          traced.launch = parse_number<std::size_t>(
              flag, text, [](std::size_t x) { return x < MOST_LAUNCHES; }, "the number of a launch, 0 or above");
        });
  value("--trace-block", "N", "block of that warp, numbered with x fastest [0]", [&](Flag flag, Text text) {
    traced.warp.block = parse_number<std::uint64_t>(
        flag, text, [](std::uint64_t x) { return x < MOST_BLOCKS; }, "the number of a block, 0 or above");
  });
  value("--trace-warp", "N", "that warp in its block [0]", [&](Flag flag, Text text) {
    traced.warp.warp = parse_number<unsigned>(
        flag, text, [](unsigned x) { return x < MOST_WARPS; },
        fmt::format("the number of a warp, between 0 and {}", MOST_WARPS - 1));
  });

  app.option_defaults()->group("Output");
  value("--out", "FILE", "results file [named after the device and the time]",
        [&](Flag, Text text) { options.out = text; });
  value("--json", "FILE", "verdicts of --judge; - for standard output", [&](Flag, Text text) { options.json = text; });
  value("--tuning", "FILE", "tuning file to read; --tune writes it [results/<device>/tuning.json]",
        [&](Flag, Text text) { options.tuning_file = text; });
  value("--list", "[FORMAT]", fmt::format("print the kernels and measure nothing: {} [table]", words(LIST_FORMATS)),
        [&](Flag flag, Text text) { options.list_format = parse_choice(flag, text, LIST_FORMATS); })
      ->expected(0, 1)
      ->default_str("table");
}

/// A flag without a value, and the option that it sets; none for a flag that asks for a mode.
struct Switch {
  std::string flag;
  std::string description;
  bool value;
  bool* option;
};

/// "--flag" of "--flag=value".
std::string without_value(const std::string& argument) { return argument.substr(0, argument.find('=')); }

/// The flags of Google Benchmark among the arguments that CLI11 does not know. Any other argument is an error.
std::vector<std::string> benchmark_flags(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const std::string& argument : app.remaining()) {
    if (argument.starts_with("--benchmark_")) {
      flags.push_back(argument);
    } else if (argument.starts_with('-') && argument != "-" && argument != "--") {
      const std::string name = without_value(argument);
      Candidate best{name.size() / 2, ""};  // a flag that differs in more than half of its letters is no suggestion
      for (const CLI::Option* const option : app.get_options()) {
        const std::size_t distance = word_distance(name, option->get_name());
        if (distance < best.distance) {
          best = {distance, option->get_name()};
        }
      }
      throw UsageError(fmt::format("unknown flag '{}'{} (--help shows all)", name,
                                   best.name.empty() ? "" : fmt::format("; did you mean {}?", best.name)));
    } else {
      throw UsageError(fmt::format("unexpected argument '{}' (--help shows the flags)", argument));
    }
  }
  return flags;
}

/// The modes, besides `list`, in which a flag has an effect. In all other modes the flag is an error.
struct Meaning {
  const char* flag;
  std::vector<Mode> modes;
};

const std::vector<Meaning>& meanings() {
  static const std::vector<Meaning> all{
      {"--launch", {Mode::measure, Mode::sustain, Mode::accuracy, Mode::count, Mode::profile, Mode::judge}},
      {"--requires", {Mode::measure, Mode::sustain, Mode::accuracy, Mode::count, Mode::profile, Mode::judge}},
      {"--workspace", {Mode::measure, Mode::sustain, Mode::accuracy, Mode::count, Mode::profile, Mode::judge}},
      {"--include", {Mode::measure, Mode::sustain, Mode::accuracy, Mode::count, Mode::profile, Mode::judge}},
      {"--nvcc-flags", {Mode::measure, Mode::sustain, Mode::accuracy, Mode::count, Mode::profile, Mode::judge}},
      {"--timeout", {Mode::measure, Mode::sustain, Mode::accuracy, Mode::count, Mode::profile, Mode::judge}},
      {"--energy", {Mode::measure}},
      {"--l2", {Mode::measure, Mode::tune}},
      {"--secret", {Mode::measure, Mode::judge}},
      {"--time", {Mode::measure}},
      {"--max-seconds", {Mode::measure, Mode::tune, Mode::judge}},
      {"--no-verify", {Mode::measure, Mode::sustain, Mode::count, Mode::profile}},
      {"--check", {Mode::measure, Mode::accuracy}},
      {"--force", {Mode::measure, Mode::accuracy, Mode::count}},
      {"--gpus", {Mode::measure, Mode::accuracy}},
      {"--grid", {Mode::measure, Mode::accuracy}},
      {"--exchange", {Mode::measure, Mode::accuracy}},
      {"--gpu-model", {Mode::count}},
      {"--blocks-per-sm", {Mode::count}},
      {"--trace", {Mode::count}},
      {"--trace-launch", {Mode::count}},
      {"--trace-block", {Mode::count}},
      {"--trace-warp", {Mode::count}},
      {"--kernel", {Mode::measure, Mode::sustain, Mode::accuracy, Mode::count, Mode::profile, Mode::tune}},
      {"--data", {Mode::measure, Mode::sustain, Mode::accuracy, Mode::count, Mode::profile, Mode::tune}},
      {"--seed", {Mode::measure, Mode::sustain, Mode::accuracy, Mode::count, Mode::profile, Mode::tune}},
      {"--json", {Mode::judge}},
      {"--out", {Mode::measure, Mode::sustain, Mode::accuracy, Mode::count, Mode::profile}},
      {"--tuning", {Mode::measure, Mode::sustain, Mode::accuracy, Mode::profile, Mode::tune}},
      {"--no-tuning", {Mode::measure, Mode::sustain, Mode::accuracy, Mode::profile}},
  };
  return all;
}

/// The mode that the flags ask for. Two modes are an error.
Mode mode_of(const CLI::App& app) {
  Mode asked = Mode::measure;
  for (const Mode mode : MODES) {
    if (mode == Mode::measure || app.count(std::string(flag_of(mode))) == 0) {
      continue;
    }
    if (asked != Mode::measure) {
      throw UsageError(fmt::format("{} and {} are two things to do: give one of them", flag_of(asked), flag_of(mode)));
    }
    asked = mode;
  }
  return asked;
}

/// What can not be done where kernels run back to back.
void refuse_without_turns(const Options& options) {
  const Protocol& protocol = options.protocol;
  const std::string_view flag = protocol.energy ? "--energy" : flag_of(protocol.mode);
  if (options.on_executor) {
    throw UsageError(
        fmt::format("{} is about a GPU's power: not with {}", flag, protocol.check ? "--check" : "--device cpu"));
  }
  if (protocol.beta != 0.0F) {
    throw UsageError(fmt::format("{} needs --beta 0: launch after launch, C would be multiplied by beta", flag));
  }
  if (protocol.time == TimeMode::end_to_end) {
    throw UsageError(fmt::format("{} needs --time kernel: it measures launches without copies", flag));
  }
}

/// --new-kernel writes a file and runs nothing.
void refuse_beside_new_kernel(const CLI::App& app, const Options& options) {
  std::vector<std::string> others = options.benchmark_flags;
  for (const CLI::Option* const option : app.get_options()) {
    if (option->count() > 0 && option->get_name() != "--new-kernel") {
      others.push_back(option->get_name());
    }
  }
  if (!others.empty()) {
    throw UsageError(fmt::format("{} has no effect with --new-kernel", others.front()));
  }
}

void refuse_useless_flags(const CLI::App& app, const Options& options) {
  const Mode mode = options.protocol.mode;
  if (options.new_kernel) {
    refuse_beside_new_kernel(app, options);
    return;
  }
  if (mode == Mode::list) {
    return;  // --list may be added to any command line
  }
  for (const Meaning& meaning : meanings()) {
    const auto& modes = meaning.modes;
    if (app.count(meaning.flag) == 0 || std::find(modes.begin(), modes.end(), mode) != modes.end()) {
      continue;
    }
    throw UsageError(mode == Mode::measure ? fmt::format("{} needs {}", meaning.flag, flag_of(modes.front()))
                                           : fmt::format("{} has no effect with {}", meaning.flag, flag_of(mode)));
  }
  for (const char* const flag : {"--launch", "--requires", "--workspace", "--include", "--nvcc-flags"}) {
    if (mode != Mode::judge && app.count(flag) > 0 && kernel_terms(options.kernels).files.empty()) {
      throw UsageError(fmt::format("{} is for files, and --kernel names none", flag));
    }
  }
  for (const std::string& folder : options.user.compile.include_folders) {
    if (std::error_code error; !std::filesystem::is_directory(folder, error)) {
      throw UsageError(fmt::format("--include: there is no folder '{}'", folder));
    }
  }
  for (const char* const flag : {"--trace-launch", "--trace-block", "--trace-warp"}) {
    if (app.count(flag) > 0 && !options.trace) {
      throw UsageError(fmt::format("{} needs --trace, which names the page to write", flag));
    }
  }
  if (options.trace && options.trace->page == options.out) {
    throw UsageError(fmt::format("--trace and --out are two files, and both are {}", *options.out));
  }
  if (!options.use_tuning && options.tuning_file) {
    throw UsageError("--tuning and --no-tuning contradict each other: give one of them");
  }
  if (options.on_executor && options.ranks.exchange) {
    throw UsageError(
        fmt::format("--exchange is about GPUs: not with {}", options.protocol.check ? "--check" : "--device cpu"));
  }
  if (options.on_executor && (mode == Mode::tune || options.tuning_file)) {
    throw UsageError(fmt::format("{} is about times on a GPU: not with {}", mode == Mode::tune ? "--tune" : "--tuning",
                                 options.protocol.check ? "--check" : "--device cpu"));
  }
  if (mode != Mode::accuracy && options.protocol.data.size() > 1) {
    throw UsageError("--data: several kinds of operands need --accuracy");
  }
  if (mode == Mode::sustain || options.protocol.energy) {
    refuse_without_turns(options);
  }
  if (mode == Mode::profile && options.on_executor) {
    throw UsageError("--profile reads a GPU's counters, and --device cpu has none; --count counts there");
  }
  if ((mode == Mode::tune || mode == Mode::judge) && !options.benchmark_flags.empty()) {
    throw UsageError(fmt::format("{} has no effect with {}", options.benchmark_flags.front(), flag_of(mode)));
  }
}

}  // namespace

std::string_view flag_of(Mode mode) {
  switch (mode) {
    case Mode::measure:
      return "";
    case Mode::sustain:
      return "--sustain";
    case Mode::accuracy:
      return "--accuracy";
    case Mode::count:
      return "--count";
    case Mode::profile:
      return "--profile";
    case Mode::tune:
      return "--tune";
    case Mode::judge:
      return "--judge";
    case Mode::list:
      return "--list";
  }
  return "";
}

std::string_view flag_that_needs_gpu(const Options& options) {
  const Mode mode = options.protocol.mode;
  if (options.protocol.energy) {
    return "--energy";
  }
  return mode == Mode::profile || mode == Mode::sustain ? flag_of(mode) : "";
}

std::string_view default_sizes(Mode mode, bool on_gpu) {
  switch (mode) {
    case Mode::accuracy:
      return on_gpu ? "1024,4096" : "256";
    case Mode::profile:
      return "4096";
    case Mode::sustain:
      return "8192";
    case Mode::judge:
      return "1024,2048,4096";
    default:
      return "256:8192";
  }
}

std::string version_line() {
  const BuildInfo& build = build_info();
  return fmt::format("sgemm-worklog {}, commit {}{}", build.version, build.git_commit,
                     build.git_dirty ? " with changes" : "");
}

ParseResult parse_options(int argc, const char* const* argv, const std::string& version) {
  ParseResult result;
  Options& options = result.options;
  options.argv.assign(argv, argv + argc);

  CLI::App app(std::string(DESCRIPTION), "runner");
  app.allow_extras();
  TraceOptions traced;
  declare_values(app, options, traced);
  app.get_formatter()->column_width(26);
  const std::array<Switch, 9> switches{{
      {"--energy", "after its samples run each kernel for a second, and cuBLAS, for the energy", true,
       &options.protocol.energy},
      {"--accuracy", "measure errors on all kinds of operands, and no times", true, nullptr},
      {"--no-verify", "skip the verification of results; their records say so", false, &options.protocol.verify},
      {"--check", "run GPU kernels on the CPU and check every access to memory", true, &options.protocol.check},
      {"--count", "run GPU kernels on the CPU and count their requests to a GPU's memories", true, nullptr},
      {"--profile", "read a GPU's counters of each kernel with Nsight Compute (ncu)", true, nullptr},
      {"--force", "run GPU kernels on the CPU even if it takes long", true, &options.force},
      {"--tune", "find each kernel's fastest configuration and store it in the tuning file", true, nullptr},
      {"--no-tuning", "ignore tuning files and let kernels choose their configurations", false, &options.use_tuning},
  }};
  std::array<std::string, switches.size()> given;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    app.add_flag(switches[i].flag, given[i], switches[i].description)->group("How to measure");
  }
  app.set_help_flag("-h,--help", "print this text")->group("Output");
  app.set_version_flag("--version", version, "print the version")->group("Output");

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    result.text = app.help() +
                  fmt::format(fmt::runtime(MORE_HELP), fmt::arg("data", data_lines()), fmt::arg("gpus", gpu_lines()));
    return result;
  } catch (const CLI::CallForVersion&) {
    result.text = version + "\n";
    return result;
  } catch (const CLI::ArgumentMismatch&) {
    // A flag takes whatever argument follows it, so the one without a value is the last.
    throw UsageError(fmt::format("{} needs a value", without_value(options.argv.back())));
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  for (const CLI::Option* const option : app.get_options()) {
    if (option->count() > 1) {
      throw UsageError(fmt::format("{} is given more than once", option->get_name()));
    }
  }
  for (std::size_t i = 0; i < switches.size(); ++i) {
    if (given[i].empty()) {
      continue;
    }
    if (given[i] != "true") {
      throw UsageError(fmt::format("{} takes no value", switches[i].flag));
    }
    if (switches[i].option != nullptr) {
      *switches[i].option = switches[i].value;
    }
  }
  Protocol& protocol = options.protocol;
  protocol.mode = mode_of(app);
  if (protocol.mode == Mode::accuracy && app.count("--data") == 0) {
    protocol.data.assign(DISTRIBUTIONS.begin(), DISTRIBUTIONS.end());
  }
  if (protocol.mode == Mode::sustain) {
    protocol.l2 = L2State::warm;  // as each launch leaves it for the next
  }
  options.on_executor = options.on_executor || protocol.check || protocol.mode == Mode::count;
  if (options.trace) {
    traced.page = options.trace->page;
    options.trace = traced;
    options.sizes = options.sizes.value_or(std::string(TRACED_SIZE));
  }
  RankOptions& ranks = options.ranks;
  if (ranks.grid && ranks.gpus.value_or(ranks.grid->size()) != ranks.grid->size()) {
    throw UsageError(fmt::format("--grid {}x{} takes {} GPUs, --gpus says {}", ranks.grid->rows, ranks.grid->columns,
                                 ranks.grid->size(), *ranks.gpus));
  }
  if (ranks.grid) {
    ranks.gpus = ranks.grid->size();
  }
  options.benchmark_flags = benchmark_flags(app);
  refuse_useless_flags(app, options);
  return result;
}

}  // namespace sgemm
