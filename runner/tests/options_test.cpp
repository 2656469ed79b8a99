#include "cli/options.hpp"

#include "cli/flags.hpp"
#include "usage_message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sgemm {
namespace {

using Arguments = std::vector<std::string>;

/// The words of a command line, and then arguments that may have spaces.
Arguments words(const std::string& line, const Arguments& more = {}) {
  std::istringstream stream(line);
  Arguments arguments;
  for (std::string word; stream >> word;) {
    arguments.push_back(word);
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

ParseResult parse(const Arguments& arguments) {
  std::vector<const char*> argv{"./runner"};
  for (const std::string& argument : arguments) {
    argv.push_back(argument.c_str());
  }
  return parse_options(static_cast<int>(argv.size()), argv.data(), "sgemm-worklog 1.2.3");
}

Options options(const std::string& line, const Arguments& more = {}) {
  const ParseResult result = parse(words(line, more));
  EXPECT_FALSE(result.text.has_value());
  return result.options;
}

std::string options_error(const std::string& line, const Arguments& more = {}) {
  return usage_message([&] { parse(words(line, more)); });
}

TEST(Options, Defaults) {
  const Options defaults = options("");
  EXPECT_EQ(defaults.kernels, "all");
  EXPECT_FALSE(defaults.sizes.has_value());
  EXPECT_EQ(defaults.protocol.alpha, 1.0F);
  EXPECT_EQ(defaults.protocol.beta, 0.0F);
  EXPECT_EQ(defaults.protocol.seed, 42U);
  EXPECT_EQ(defaults.protocol.data.front(), Distribution::uniform);
  EXPECT_EQ(defaults.protocol.l2, L2State::cold);
  EXPECT_EQ(defaults.protocol.time, TimeMode::kernel);
  EXPECT_EQ(defaults.device, 0);
  EXPECT_FALSE(defaults.on_executor);
  EXPECT_FALSE(defaults.out.has_value());
  EXPECT_FALSE(defaults.force);
  EXPECT_FALSE(defaults.protocol.energy);
  EXPECT_EQ(defaults.protocol.max_seconds, 1.0);
  EXPECT_TRUE(defaults.protocol.verify);
  EXPECT_EQ(defaults.protocol.mode, Mode::measure);
  EXPECT_EQ(defaults.google.repetitions, 1);
  EXPECT_EQ(defaults.argv, Arguments{"./runner"});
}

TEST(Options, EveryFlag) {
  const Options given = options(
      "--kernel 5,6:* --sizes 256:8192 --alpha -2.5 --beta 1e-3 --seed 18446744073709551615 --data normal --l2 warm "
      "--secret 0123456789abcdef0123456789abcdef --device 3 --time end-to-end --max-seconds 0.25 --no-verify --out",
      {"results/a b.json"});
  EXPECT_EQ(given.kernels, "5,6:*");
  EXPECT_EQ(given.sizes, "256:8192");
  EXPECT_EQ(given.protocol.alpha, -2.5F);
  EXPECT_EQ(given.protocol.beta, 1e-3F);
  EXPECT_EQ(given.protocol.seed, 18446744073709551615U);
  EXPECT_EQ(given.protocol.secret, "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(given.protocol.data.front(), Distribution::normal);
  EXPECT_EQ(given.protocol.l2, L2State::warm);
  EXPECT_EQ(given.device, 3);
  EXPECT_EQ(given.out, "results/a b.json");
  EXPECT_EQ(given.protocol.time, TimeMode::end_to_end);
  EXPECT_EQ(given.protocol.max_seconds, 0.25);
  EXPECT_FALSE(given.protocol.verify);
}

TEST(Options, ExpressionsAreNotInterpreted) {
  EXPECT_EQ(options("--kernel no_such_kernel").kernels, "no_such_kernel");
  EXPECT_EQ(options("--sizes [1,2]").sizes, "[1,2]");
  EXPECT_EQ(options("--sizes -5").sizes, "-5");
}

TEST(Options, List) {
  for (const auto& [line, format] : {std::pair{"--list", ListFormat::table},
                                     {"--list=table", ListFormat::table},
                                     {"--list --kernel 5", ListFormat::table},
                                     {"--list=json", ListFormat::json},
                                     {"--list json", ListFormat::json}}) {
    EXPECT_EQ(options(line).protocol.mode, Mode::list);
    EXPECT_EQ(options(line).list_format, format);
  }
  EXPECT_EQ(options("--list --kernel 5").kernels, "5");
}

TEST(Options, FlagsOfGoogleBenchmark) {
  const Options given =
      options("--benchmark_filter=.*/1024.* --kernel 5 --benchmark_repetitions=3 --benchmark_list_tests");
  EXPECT_EQ(given.google.filter, ".*/1024.*");
  EXPECT_EQ(given.google.repetitions, 3);
  EXPECT_TRUE(given.google.list_tests);
  EXPECT_EQ(options("--benchmark_filter=-cpu_blas").google.filter, "-cpu_blas");
  EXPECT_EQ(given.argv, words("./runner --benchmark_filter=.*/1024.* --kernel 5 --benchmark_repetitions=3 "
                              "--benchmark_list_tests"));
}

TEST(Options, HelpNamesEveryFlagAndTheExitStatuses) {
  for (const std::string line : {"--help", "-h", "--kernel 5 --help"}) {
    const ParseResult result = parse(words(line));
    ASSERT_TRUE(result.text.has_value());
    Options any;
    TraceOptions traced;
    Arguments named{"--help", "Usage: runner", "Examples:", "Exit status:", "cancelling ", "[256:8192; "};
    for (const FlagGroup& group : all_flags(any, traced)) {
      for (const Flag& flag : group.flags) {
        named.push_back(flag.name + " " + flag.value);
      }
    }
    for (const std::string& word : named) {
      EXPECT_NE(result.text->find(word), std::string::npos) << word;
    }
    EXPECT_EQ(result.text->back(), '\n');
  }
}

TEST(Options, HelpFitsATerminal) {
  const std::string text = parse({"--help"}).text.value();
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    EXPECT_LE(end - start, 100U) << text.substr(start, end - start);
    start = end + 1;
  }
}

TEST(Options, Version) { EXPECT_EQ(parse({"--version"}).text, "sgemm-worklog 1.2.3\n"); }

TEST(Options, PositionalArguments) {
  EXPECT_EQ(options_error("5"), "'5' needs a flag before it: --kernel 5");
  EXPECT_EQ(options_error("--kernel 5 6"), "'6' needs a flag before it: --kernel 6");
  EXPECT_EQ(options_error("my.cu"), "'my.cu' needs a flag before it: --kernel my.cu");
  for (const auto& [given, named] : {std::pair<Arguments, std::string>{{""}, ""},
                                     {{"-"}, "-"},
                                     {{"--", "x"}, "--"},
                                     {{"--no-verify", "false"}, "false"},
                                     {{"a\nb"}, "a?b"}}) {
    EXPECT_EQ(options_error("", given), "unexpected argument '" + named + "' (--help shows the flags)");
  }
}

TEST(Options, MissingValues) {
  for (const std::string& flag : words("--kernel --sizes --alpha --beta --seed --data --l2 --device --out --time "
                                       "--max-seconds --gpu-model --blocks-per-sm --judge")) {
    for (const Arguments& rest : {Arguments{flag}, {flag + "="}, {flag, ""}, {flag, "--no-verify"}, {flag, "--"}}) {
      EXPECT_EQ(options_error("", rest), flag + " needs a value");
    }
  }
}

TEST(Options, BadValues) {
  struct Case {
    std::string before;
    std::string flag;
    Arguments values;
    std::string not_this;
  };
  const Arguments no_factors{"x", "1x", "1,5", "1 ", " 1", "nan", "-nan", "inf", "-inf", "1e40", "-1e40", "+1", "0x"};
  for (const auto& [before, flag, values, not_this] : std::vector<Case>{
           {"", "--alpha", no_factors, "a finite single-precision number"},
           {"", "--beta", no_factors, "a finite single-precision number"},
           {"", "--seed", words("-1 x 1.5 1e3 18446744073709551616"), "a whole number between 0 and 2^64 - 1"},
           {"", "--device", words("-1 x 0.5 2147483648"), "a device index, 0 or above, or cpu"},
           {"", "--max-seconds", words("0 -1 x 1s nan inf 1e400"), "a finite number above 0"},
           {"", "--timeout", {"0"}, "a finite number above 0"},
           {"", "--sustain", words("0 -1 x 3601 inf nan"), "a number above 0 and up to 3600"},
           {"--count", "--blocks-per-sm", words("0 -1 33 x 1.5"), "a whole number between 1 and 32"},
           {"--count --trace a.html", "--trace-warp", {"32"}, "a whole number between 0 and 31"},
           {"--count --trace a.html", "--trace-block", {"-1"}, "the number of a block, 0 or above"},
           {"--count --trace a.html", "--trace-launch", {"last"}, "the number of a launch, 0 or above"},
           {"", "--l2", {"hot", "Cold"}, "one of cold, warm"},
           {"", "--time", {"end_to_end"}, "one of kernel, end-to-end"},
           {"",
            "--data",
            {"ones"},
            "one of uniform, uniform01, normal, lognormal1, lognormal4, denormals, huge, integers, cancelling, inf, "
            "nan, zeros, sparse, rank_one, outliers, huge_row"}}) {
    for (const std::string& value : values) {
      EXPECT_EQ(options_error(before, {flag, value}), fmt::format("{}: '{}' is not {}", flag, value, not_this));
    }
  }
  const std::string unknown = options_error("--count --gpu-model h300");
  EXPECT_EQ(unknown.rfind("--gpu-model: 'h300' is not one of h200, ", 0), 0U) << unknown;
  EXPECT_EQ(options_error("--data normal,").rfind("--data: '' is not one of uniform, ", 0), 0U);
}

/// The name of the first flag.
std::string flag_of(const std::string& line) { return line.substr(0, line.find(' ')); }

TEST(Options, WhatHasNoEffectIsRefused) {
  for (const auto& [mode, flags] : std::vector<std::pair<std::string, Arguments>>{
           {"--digest", {"--timeout 1", "--nvcc-flags -G"}},
           {"--new-kernel my.cu",
            {"--kernel 1", "--sizes 1", "--launch 1", "--timeout 1", "--alpha 1", "--list", "--count", "--no-verify",
             "--benchmark_filter x"}},
           {"--count", {"--check", "--l2 warm", "--time kernel", "--max-seconds 2"}},
           {"--accuracy", {"--no-verify", "--l2 warm", "--time kernel", "--max-seconds 2"}},
           {"--profile", {"--l2 warm", "--force", "--timeout 9"}},
           {"--sustain 5", {"--energy", "--l2 cold", "--max-seconds 1"}},
           {"--judge my.cu",
            {"--kernel 5", "--data zeros", "--seed 1", "--out a.json", "--no-verify", "--check", "--l2 warm",
             "--time kernel", "--energy", "--force", "--gpus 2", "--benchmark_filter x"}}}) {
    for (const std::string& flag : flags) {
      EXPECT_EQ(options_error(fmt::format("{} {}", mode, flag)),
                fmt::format("{} has no effect with {}", flag_of(flag), flag_of(mode)));
    }
  }
}

TEST(Options, WhatIsRefusedIsSaidInASentence) {
  const std::string all = "(--help shows all)";
  for (const auto& [line, message] : std::vector<std::pair<std::string, std::string>>{
           {"--kernal 5", "unknown flag '--kernal'; did you mean --kernel? " + all},
           {"--tune", "--tune is gone: a configuration is named with its kernel: --kernel 9:64x128"},
           {"--calibrate=x", "--calibrate is gone: python -m sgemm calibrate does the same"},
           {"--size=5", "unknown flag '--size'; did you mean --sizes? " + all},
           {"--verify", "unknown flag '--verify'; did you mean --no-verify? " + all},
           {"--max_seconds 1", "unknown flag '--max_seconds'; did you mean --max-seconds? " + all},
           {"-k5", "unknown flag '-k5' " + all},
           {"--bogus", "unknown flag '--bogus' " + all},
           {"--list=xml", "--list: 'xml' is not one of table, json"},
           {"--judge my.cu --accuracy", "--accuracy and --judge are two things to do: give one of them"},
           {"--profile --count", "--count and --profile are two things to do: give one of them"},
           {"--sustain 5 --count", "--sustain and --count are two things to do: give one of them"},
           {"--accuracy --count", "--accuracy and --count are two things to do: give one of them"},
           {"--accuracy --list", "--accuracy and --list are two things to do: give one of them"},
           {"--alpha 1 --alpha=1", "--alpha is given more than once"},
           {"--kernel 1 --kernel 5", "--kernel is given more than once"},
           {"--no-verify --no-verify", "--no-verify is given more than once"},
           {"--force --force", "--force is given more than once"},
           {"--no-verify=false", "--no-verify takes no value"},
           {"--force=no", "--force takes no value"},
           {"--accuracy=yes", "--accuracy takes no value"},
           {"--gpu-model a100", "--gpu-model needs --count"},
           {"--check --blocks-per-sm 2", "--blocks-per-sm needs --count"},
           {"--trace a.html", "--trace needs --count"},
           {"--count --trace-warp 1", "--trace-warp requires --trace"},
           {"--count --trace a.json", "--trace: 'a.json' is not a name that ends in .html"},
           {"--out my.cu", "--out: 'my.cu' is not a name that ends in .json or .csv"},
           {"--gpus 2 --grid 2x", "--grid: '2x' is not of the form 2x4, rows times columns of GPUs"},
           {"--count --out a.csv",
            "--out a.csv: CSV has no columns for what --count finds: name a file that ends in .json"},
           {"--energy --out a.CSV",
            "--out a.CSV: CSV has no columns for what --energy finds: name a file that ends in .json"},
           {"--sustain 5 --out b/a.csv",
            "--out b/a.csv: CSV has no columns for what --sustain finds: name a file that ends in .json"},
           {"--json -", "--json needs --judge"},
           {"--profile --device cpu", "--profile is for a GPU's profiler: not with --device cpu; --count counts there"},
           {"--energy --check", "--energy is about a GPU's power: not with --check"},
           {"--energy --device cpu", "--energy is about a GPU's power: not with --device cpu"},
           {"--sustain 5 --device cpu", "--sustain is about a GPU's power: not with --device cpu"},
           {"--energy --beta 1", "--energy needs --beta 0: launch after launch, C would be multiplied by beta"},
           {"--sustain 5 --beta 1", "--sustain needs --beta 0: launch after launch, C would be multiplied by beta"},
           {"--energy --time end-to-end", "--energy needs --time kernel: it measures launches without copies"},
           {"--data huge,inf", "--data: several kinds of operands need --accuracy"},
           {"--data all", "--data: several kinds of operands need --accuracy"},
           {"--accuracy --data huge,huge", "--data: huge is given more than once"},
           {"--kernel=1-3 --requires M==N", "--requires is for files, and --kernel names none"},
           {"--include .", "--include is for files, and --kernel names none"},
           {"--kernel my.cu --include .,no/such", "--include .,no/such: there is no folder 'no/such'"},
           {"--kernel my.cu --include .,", "--include .,: there is no folder ''"}}) {
    EXPECT_EQ(options_error(line), message);
  }
}

TEST(Options, OfFiles) {
  const Options given = options("--kernel 1,my.cu --include .,.. --include / --timeout 2.5",
                                {"--launch", "f<<<1, 2>>>(M, N)", "--requires=M == N", "--nvcc-flags", "-lineinfo -G"});
  EXPECT_EQ(given.user.launch.launch, "f<<<1, 2>>>(M, N)");
  EXPECT_EQ(given.user.launch.requirement, "M == N");
  EXPECT_EQ(given.user.compile.include_folders, words(". .. /"));
  EXPECT_EQ(given.user.compile.nvcc_flags, words("-lineinfo -G"));
  EXPECT_EQ(given.timeout, 2.5);
  EXPECT_EQ(options("--new-kernel my.cu").new_kernel, "my.cu");
  EXPECT_EQ(options("--kernel many_gpus --timeout 1").timeout, 1) << "ranks have a time limit as well";
}

TEST(Options, FlagsWithoutAValue) {
  for (const std::string line : {"--force", "--force --accuracy", "--force --count"}) {
    EXPECT_TRUE(options(line).force);
  }
}

TEST(Options, ChecksAreMadeOnTheCpu) {
  EXPECT_FALSE(options("--device 0").on_executor);
  EXPECT_TRUE(options("--device cpu").on_executor);
  EXPECT_FALSE(options("--device cpu").protocol.check);
  EXPECT_TRUE(options("--check").protocol.check);
  EXPECT_TRUE(options("--check").on_executor);
}

TEST(Options, CountingIsDoneOnTheCpu) {
  EXPECT_EQ(options("--device cpu").protocol.mode, Mode::measure);
  const Options given = options("--count");
  EXPECT_EQ(given.protocol.mode, Mode::count);
  EXPECT_TRUE(given.on_executor);
  EXPECT_EQ(given.gpu_model, "h200");
  EXPECT_FALSE(given.blocks_per_sm.has_value());
  const Options detailed = options("--count --gpu-model a100 --blocks-per-sm 3 --device cpu");
  EXPECT_EQ(detailed.gpu_model, "a100");
  EXPECT_EQ(detailed.blocks_per_sm, 3);
}

TEST(Options, TraceIsOfOneWarp) {
  const Options given = options("--count --trace a.html --trace-launch 1 --trace-block 7 --trace-warp 3");
  ASSERT_TRUE(given.trace.has_value());
  EXPECT_EQ(given.trace->page, "a.html");
  EXPECT_EQ(given.trace->launch, 1U);
  EXPECT_EQ(given.trace->warp.block, 7U);
  EXPECT_EQ(given.trace->warp.warp, 3U);
  EXPECT_EQ(given.sizes, "256");
  EXPECT_EQ(options("--count --trace a.html --sizes 64").sizes, "64");
  EXPECT_FALSE(options("--count").trace.has_value());
}

TEST(Options, AccuracyTakesSeveralKindsOfOperands) {
  const std::vector<Distribution> every(DISTRIBUTIONS.begin(), DISTRIBUTIONS.end());
  const Options all = options("--accuracy");
  EXPECT_EQ(all.protocol.mode, Mode::accuracy);
  EXPECT_FALSE(all.on_executor);
  EXPECT_EQ(all.protocol.data, every);
  EXPECT_EQ(options("--accuracy --data all").protocol.data, every);
  const Options some = options("--data huge,inf --sizes 64 --accuracy --device cpu");
  EXPECT_EQ(some.protocol.data, (std::vector<Distribution>{Distribution::huge, Distribution::inf}));
  EXPECT_EQ(some.sizes, "64");
  EXPECT_TRUE(some.on_executor);
  EXPECT_EQ(options("--data huge").protocol.data, std::vector<Distribution>{Distribution::huge});
  EXPECT_EQ(options("--data rank_one").protocol.data, std::vector<Distribution>{Distribution::rank_one});
}

TEST(Options, SizesDependOnTheMode) {
  for (const Mode mode : {Mode::measure, Mode::count}) {
    EXPECT_EQ(default_sizes(mode, true), "256:8192");
    EXPECT_EQ(default_sizes(mode, false), "256:8192");
  }
  EXPECT_EQ(default_sizes(Mode::profile, true), "4096");
  EXPECT_EQ(default_sizes(Mode::sustain, true), "8192");
  EXPECT_EQ(default_sizes(Mode::accuracy, true), "1024,4096");
  EXPECT_EQ(default_sizes(Mode::accuracy, false), "256");
  EXPECT_EQ(default_sizes(Mode::judge, true), "1024,2048,4096");
}

TEST(Options, Judge) {
  const Options given = options(
      "--judge folder,my.cu --json - --sizes 512 --secret 0123456789abcdef0123456789abcdef --launch f(M) "
      "--nvcc-flags -O1 --timeout 9 --max-seconds 2 --beta 2 --device cpu");
  EXPECT_EQ(given.protocol.mode, Mode::judge);
  EXPECT_EQ(given.kernels, "folder,my.cu");
  EXPECT_EQ(given.json, "-");
  EXPECT_TRUE(given.on_executor);
  EXPECT_EQ(options("--judge my.cu --json=v.json").json, "v.json");
  EXPECT_FALSE(options("--judge my.cu").json.has_value());
}

TEST(Options, Profile) {
  const Options given = options("--profile --kernel 5,my.cu --no-verify --nvcc-flags -G --workspace", {"4 * M"});
  EXPECT_EQ(given.protocol.mode, Mode::profile);
  EXPECT_EQ(given.user.launch.workspace, "4 * M");
  EXPECT_FALSE(given.protocol.verify);
}

TEST(Options, EnergyAndSustainedSpeed) {
  const Options energy = options("--energy --l2 warm");
  EXPECT_TRUE(energy.protocol.energy);
  EXPECT_EQ(energy.protocol.mode, Mode::measure);
  const Options sustain = options("--sustain 20 --kernel 5,my.cu --timeout 9 --no-verify");
  EXPECT_EQ(sustain.protocol.mode, Mode::sustain);
  EXPECT_EQ(sustain.protocol.sustain_s, 20.0);
  EXPECT_EQ(sustain.protocol.l2, L2State::warm) << "as each launch leaves it for the next";
}

}  // namespace
}  // namespace sgemm
