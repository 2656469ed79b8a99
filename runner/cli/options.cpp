#include "cli/options.hpp"

#include "base/build_info.hpp"
#include "base/interrupt.hpp"
#include "base/usage_error.hpp"
#include "base/words.hpp"
#include "cli/selection.hpp"
#include "record/results_file.hpp"
#include "user/user_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <system_error>
#include <utility>

namespace sgemm {
namespace {

constexpr std::string_view DESCRIPTION =
    "Measures SGEMM kernels, C = alpha * A * B + beta * C, against cuBLAS and the CPU.\n"
    "The runner prints results and writes them to a JSON file.";

constexpr std::array<std::pair<Mode, std::string_view>, 7> FLAGS_OF_MODES{{{Mode::sustain, "--sustain"},
                                                                           {Mode::accuracy, "--accuracy"},
                                                                           {Mode::count, "--count"},
                                                                           {Mode::profile, "--profile"},
                                                                           {Mode::judge, "--judge"},
                                                                           {Mode::digest, "--digest"},
                                                                           {Mode::list, "--list"}}};

/// Tells CLI11 of a flag. A value is stored while the command line is parsed.
void declare(CLI::App& app, const Flag& flag) {
  if (flag.value.empty()) {
    app.add_flag(flag.name, flag.description);
    return;
  }
  const auto store = [&flag](const std::string& text) {
    if (text.empty() || text.starts_with("--")) {
      throw UsageError(fmt::format("{} needs a value", flag.name));
    }
    if (flag.store) {
      flag.store(flag.name, text);
    }
  };
  CLI::Option* const option =
      app.add_option_function<std::string>(flag.name, store, flag.description)
          ->option_text(flag.value)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // parse_options() rejects repeated flags
  option->trigger_on_parse(flag.repeats);
  if (flag.value.starts_with('[')) {
    option->expected(0, 1)->default_str("table");
  }
}

/// What flags without a value ask for.
void store_switches(const CLI::App& app, const std::vector<FlagGroup>& groups) {
  for (const FlagGroup& group : groups) {
    for (const Flag& flag : group.flags) {
      if (!flag.value.empty() || app.count(flag.name) == 0) {
        continue;
      }
      if (app.get_option(flag.name)->results().front() != "true") {  // which CLI11 puts where nothing was written
        throw UsageError(fmt::format("{} takes no value", flag.name));
      }
      if (flag.store) {
        flag.store(flag.name, "");
      }
    }
  }
}

/// "--flag" of "--flag=value".
std::string without_value(const std::string& argument) { return argument.substr(0, argument.find('=')); }

/// Throws UsageError for what CLI11 does not know.
void refuse_unknown(const CLI::App& app) {
  const std::vector<std::string> unknown = app.remaining();
  if (unknown.empty()) {
    return;
  }
  const std::string& argument = unknown.front();
  if (!argument.starts_with('-') || argument == "-" || argument == "--") {
    const bool kernel = names_file(argument) || argument.find_first_of("0123456789") == 0;
    throw UsageError(kernel ? fmt::format("'{0}' needs a flag before it: --kernel {0}", argument)
                            : fmt::format("unexpected argument '{}' (--help shows the flags)", argument));
  }
  const std::string name = without_value(argument);
  Candidate best{name.size() / 2, ""};  // a flag that differs in more than half of its letters is no suggestion
  for (const CLI::Option* const option : app.get_options()) {
    const std::size_t distance = word_distance(name, option->get_name());
    if (distance < best.distance) {
      best = {distance, option->get_name()};
    }
  }
  if (name == "-n" || name == "-m" || name == "-k" || name == "-s" || name == "--size" || name == "--n") {
    best.name = "--sizes";
  }
  throw UsageError(fmt::format("unknown flag '{}'{} (--help shows all)", name,
                               best.name.empty() ? "" : fmt::format("; did you mean {}?", best.name)));
}

/// The mode that the flags ask for. Two modes are an error.
Mode mode_of(const CLI::App& app) {
  Mode asked = Mode::measure;
  for (const auto& [mode, flag] : FLAGS_OF_MODES) {
    if (app.count(std::string(flag)) == 0) {
      continue;
    }
    if (asked != Mode::measure) {
      throw UsageError(fmt::format("{} and {} are two things to do: give one of them", flag_of(asked), flag));
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

void refuse_useless_flags(const CLI::App& app, const std::vector<FlagGroup>& groups, const Options& options) {
  const Mode mode = options.protocol.mode;
  if (options.new_kernel) {
    for (const CLI::Option* const option : app.get_options()) {
      if (option->count() > 0 && option->get_name() != "--new-kernel") {
        throw UsageError(fmt::format("{} has no effect with --new-kernel", option->get_name()));
      }
    }
    return;
  }
  if (mode == Mode::list) {
    return;  // --list may be added to any command line
  }
  for (const FlagGroup& group : groups) {
    for (const Flag& flag : group.flags) {
      const std::vector<Mode>& modes = flag.modes;
      if (app.count(flag.name) > 0 && !modes.empty() && std::ranges::find(modes, mode) == modes.end()) {
        std::vector<std::string_view> flags;
        std::ranges::transform(modes, std::back_inserter(flags), flag_of);
        throw UsageError(mode == Mode::measure ? fmt::format("{} needs {}", flag.name, fmt::join(flags, " or "))
                                               : fmt::format("{} has no effect with {}", flag.name, flag_of(mode)));
      }
    }
  }
  for (const char* const flag :
       {"--launch", "--requires", "--workspace", "--include", "--nvcc-flags", "--device-code"}) {
    if (mode != Mode::judge && app.count(flag) > 0 && kernel_terms(options.kernels).files.empty()) {
      throw UsageError(fmt::format("{} is for files, and --kernel names none", flag));
    }
  }
  for (const std::string& folder : options.user.compile.include_folders) {
    if (std::error_code error; !std::filesystem::is_directory(folder, error)) {
      throw UsageError(fmt::format("--include {}: there is no folder '{}'",
                                   fmt::join(options.user.compile.include_folders, ","), folder));
    }
  }
  for (const char* const flag : {"--exchange", "--device-code"}) {
    if (options.on_executor && mode != Mode::judge && app.count(flag) > 0) {
      const char* const on_cpu = options.protocol.check ? "--check" : mode == Mode::count ? "--count" : "--device cpu";
      throw UsageError(fmt::format("{} is about GPUs: not with {}", flag, on_cpu));
    }
  }
  if (mode != Mode::accuracy && mode != Mode::digest && options.protocol.data.size() > 1) {
    throw UsageError("--data: several kinds of operands need --accuracy");
  }
  if (mode == Mode::sustain || options.protocol.energy) {
    refuse_without_turns(options);
  }
  if (options.out && is_csv(*options.out) &&
      (mode == Mode::count || mode == Mode::sustain || options.protocol.energy)) {
    throw UsageError(fmt::format("--out {}: CSV has no columns for what {} finds: name a file that ends in .json",
                                 *options.out, options.protocol.energy ? "--energy" : flag_of(mode)));
  }
  if (mode == Mode::profile && options.on_executor) {
    throw UsageError("--profile is for a GPU's profiler: not with --device cpu; --count counts there");
  }
}

/// What follows from the flags together.
void settle(const CLI::App& app, Options& options) {
  Protocol& protocol = options.protocol;
  protocol.mode = mode_of(app);
  if (protocol.mode == Mode::accuracy && app.count("--data") == 0) {
    protocol.data.assign(DISTRIBUTIONS.begin(), DISTRIBUTIONS.end());
  }
  if (protocol.mode == Mode::sustain) {
    protocol.l2 = L2State::warm;  // as each launch leaves it for the next
  }
  options.on_executor = options.on_executor || protocol.check || protocol.mode == Mode::count;
  if (!options.trace.page.empty()) {
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
}

}  // namespace

std::string_view flag_of(Mode mode) {
  const auto* const found = std::ranges::find_if(FLAGS_OF_MODES, [&](const auto& each) { return each.first == mode; });
  return found == FLAGS_OF_MODES.end() ? "" : found->second;
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
    case Mode::digest:
      return "1024";
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
  options.user.launch.command = options.argv;

  CLI::App app(std::string(DESCRIPTION), "runner");
  app.allow_extras();
  app.get_formatter()->column_width(26);
  const std::vector<FlagGroup> groups = all_flags(options);
  for (const FlagGroup& group : groups) {
    app.option_defaults()->group(group.title);
    for (const Flag& flag : group.flags) {
      declare(app, flag);
    }
  }
  for (const char* const flag : {"--trace-launch", "--trace-block", "--trace-warp"}) {
    app.get_option(flag)->needs("--trace");
  }
  app.set_help_flag("-h,--help", "print this text")->group("Output");
  app.set_version_flag("--version", version, "print the version")->group("Output");

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    result.text = app.help() + more_help();
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
  store_switches(app, groups);
  settle(app, options);
  refuse_unknown(app);
  refuse_useless_flags(app, groups, options);
  return result;
}

std::optional<double> seconds_per_case(const Options& options, bool on_gpu, bool several_gpus, double products) {
  constexpr double ON_GPU = 60.0;
  constexpr double MOST_ON_EXECUTOR = 300.0;   // five times what is run without --force
  constexpr double PRODUCTS_PER_SECOND = 2e5;  // of what is checked, on a busy machine
  constexpr double ON_SEVERAL_GPUS = 300.0;    // operands of tens of gigabytes are made on the host
  if (options.timeout || (options.force && !on_gpu)) {
    return options.timeout;
  }
  const double on_executor = std::min(MOST_ON_EXECUTOR, std::ceil(ON_GPU + products / PRODUCTS_PER_SECOND));
  return !on_gpu && !several_gpus ? on_executor
         : several_gpus           ? ON_SEVERAL_GPUS
                                  : ON_GPU + 2 * options.protocol.max_seconds;
}

ExitStatus exit_status(const std::map<Outcome, int>& counts) {
  if (interrupted()) {
    return INTERRUPTED;
  }
  const auto any = [&](bool (*of)(Outcome)) {
    return std::ranges::any_of(counts, [&](const auto& each) { return of(each.first); });
  };
  return any(went_wrong) ? CASES_WRONG : any(ended_well) ? ALL_WELL : NOTHING_MEASURED;
}

int status_of_error() {
  try {
    throw;
  } catch (const UsageError& error) {
    std::cerr << fmt::format("{}runner: {}\n", error.details(), error.what());
    return BAD_USAGE;
  } catch (const std::exception& error) {
    std::cerr << fmt::format("runner: {}\n", error.what());
    return interrupted() ? INTERRUPTED : CASES_WRONG;
  }
}

}  // namespace sgemm
