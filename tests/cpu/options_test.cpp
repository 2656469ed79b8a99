#include "cli/options.hpp"

#include "usage_message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sgemm {
namespace {

using Arguments = std::vector<std::string>;

ParseResult parse(const Arguments& arguments) {
  std::vector<const char*> argv{"./runner"};
  for (const std::string& argument : arguments) {
    argv.push_back(argument.c_str());
  }
  return parse_options(static_cast<int>(argv.size()), argv.data(), "sgemm-worklog 1.2.3");
}

Options options(const Arguments& arguments) {
  const ParseResult result = parse(arguments);
  EXPECT_FALSE(result.text.has_value());
  return result.options;
}

std::string options_error(const Arguments& arguments) {
  return usage_message([&] { parse(arguments); });
}

TEST(Options, CalibrationTakesADeviceAndAFile) {
  const Options calibrate = options({"--calibrate", "--device", "1", "--out", "mine.txt"});
  EXPECT_EQ(calibrate.protocol.mode, Mode::calibrate);
  EXPECT_EQ(calibrate.out, "mine.txt");
  EXPECT_EQ(options_error({"--calibrate", "--sizes", "64"}), "--sizes has no effect with --calibrate");
  EXPECT_EQ(options_error({"--calibrate", "--device", "cpu"}),
            "--calibrate is about times on a GPU: not with --device cpu");
  EXPECT_EQ(options_error({"--calibrate", "--count"}),
            "--count and --calibrate are two things to do: give one of them");
}

TEST(Options, Defaults) {
  const Options defaults = options({});
  EXPECT_EQ(defaults.kernels, "all");
  EXPECT_FALSE(defaults.sizes.has_value());
  EXPECT_EQ(defaults.protocol.alpha, 1.0F);
  EXPECT_EQ(defaults.protocol.beta, 0.0F);
  EXPECT_EQ(defaults.protocol.seed, 42U);
  EXPECT_EQ(defaults.protocol.data.front(), Distribution::uniform);
  EXPECT_EQ(defaults.protocol.l2, L2State::cold);
  EXPECT_EQ(defaults.protocol.time, TimeMode::kernel);
  EXPECT_EQ(defaults.device, 0);
  EXPECT_FALSE(defaults.out.has_value());
  EXPECT_EQ(defaults.protocol.max_seconds, 1.0);
  EXPECT_TRUE(defaults.protocol.verify);
  EXPECT_EQ(defaults.protocol.mode, Mode::measure);
  EXPECT_TRUE(defaults.benchmark_flags.empty());
  EXPECT_EQ(defaults.argv, Arguments{"./runner"});
}

TEST(Options, EveryFlag) {
  const Options given = options({"--kernel",      "5,6:*",
                                 "--sizes",       "256:8192",
                                 "--alpha",       "-2.5",
                                 "--beta",        "1e-3",
                                 "--seed",        "18446744073709551615",
                                 "--secret",      "0123456789abcdef0123456789abcdef",
                                 "--data",        "normal",
                                 "--l2",          "warm",
                                 "--device",      "3",
                                 "--out",         "results/a b.json",
                                 "--time",        "end-to-end",
                                 "--max-seconds", "0.25",
                                 "--no-verify"});
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

TEST(Options, ValueAfterAnEqualsSign) {
  const Options given =
      options({"--kernel=1:uncoalesced", "--alpha=-0.5", "--out=a=b.json", "--data=zeros", "--time=kernel"});
  EXPECT_EQ(given.kernels, "1:uncoalesced");
  EXPECT_EQ(given.protocol.alpha, -0.5F);
  EXPECT_EQ(given.out, "a=b.json");
  EXPECT_EQ(given.protocol.data.front(), Distribution::zeros);
  EXPECT_EQ(given.protocol.time, TimeMode::kernel);
}

TEST(Options, ExpressionsAreNotInterpreted) {
  EXPECT_EQ(options({"--kernel", "no_such_kernel"}).kernels, "no_such_kernel");
  EXPECT_EQ(options({"--sizes", "[1,2]"}).sizes, "[1,2]");
  EXPECT_EQ(options({"--sizes", "-5"}).sizes, "-5");
}

TEST(Options, List) {
  for (const Arguments& table : {Arguments{"--list"}, {"--list=table"}, {"--list", "--kernel", "5"}}) {
    EXPECT_EQ(options(table).protocol.mode, Mode::list);
    EXPECT_EQ(options(table).list_format, ListFormat::table);
  }
  for (const Arguments& json : {Arguments{"--list=json"}, {"--list", "json"}}) {
    EXPECT_EQ(options(json).protocol.mode, Mode::list);
    EXPECT_EQ(options(json).list_format, ListFormat::json);
  }
  const Options followed = options({"--list", "--kernel", "5"});
  EXPECT_EQ(followed.kernels, "5");
  EXPECT_EQ(options_error({"--list=xml"}), "--list: 'xml' is not one of table, json");
}

TEST(Options, BenchmarkFlagsAreCollected) {
  const Options given =
      options({"--benchmark_filter=.*/1024.*", "--kernel", "5", "--benchmark_repetitions=3", "--benchmark_list_tests"});
  EXPECT_EQ(given.benchmark_flags,
            (Arguments{"--benchmark_filter=.*/1024.*", "--benchmark_repetitions=3", "--benchmark_list_tests"}));
  EXPECT_EQ(given.kernels, "5");
}

TEST(Options, ArgvIsKept) {
  const Arguments arguments{"--kernel", "5", "--benchmark_repetitions=3", "--no-verify"};
  Arguments expected{"./runner"};
  expected.insert(expected.end(), arguments.begin(), arguments.end());
  EXPECT_EQ(options(arguments).argv, expected);
}

TEST(Options, HelpNamesEveryFlagAndTheExitStatuses) {
  for (const Arguments& arguments : {Arguments{"--help"}, Arguments{"-h"}, Arguments{"--kernel", "5", "--help"}}) {
    const ParseResult result = parse(arguments);
    ASSERT_TRUE(result.text.has_value());
    for (const std::string word : {"--kernel",
                                   "--sizes",
                                   "--alpha",
                                   "--beta",
                                   "--seed",
                                   "--secret HEX",
                                   "--data",
                                   "--l2",
                                   "--device",
                                   "--out",
                                   "--time",
                                   "--max-seconds",
                                   "--energy ",
                                   "--sustain S",
                                   "--no-verify",
                                   "--force",
                                   "--check",
                                   "--count",
                                   "--accuracy",
                                   "cancelling ",
                                   "--gpu-model",
                                   "--blocks-per-sm",
                                   "--list",
                                   "--launch CODE",
                                   "--requires CODE",
                                   "--workspace CODE",
                                   "--profile ",
                                   "--include FOLDERS",
                                   "--nvcc-flags FLAGS",
                                   "--timeout S",
                                   "--new-kernel FILE.cu",
                                   "--judge FILES",
                                   "--json FILE",
                                   "huge_row ",
                                   "--help",
                                   "--version",
                                   "--benchmark_",
                                   "Usage: runner",
                                   "Examples:",
                                   "Exit status:",
                                   "[uniform; with --accuracy all]",
                                   "cold, warm [cold]",
                                   "[256:8192; "}) {
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

TEST(Options, UnknownFlagNamesTheNearest) {
  EXPECT_EQ(options_error({"--kernal", "5"}), "unknown flag '--kernal'; did you mean --kernel? (--help shows all)");
  EXPECT_EQ(options_error({"--size=5"}), "unknown flag '--size'; did you mean --sizes? (--help shows all)");
  EXPECT_EQ(options_error({"--verify"}), "unknown flag '--verify'; did you mean --no-verify? (--help shows all)");
  EXPECT_EQ(options_error({"--max_seconds", "1"}),
            "unknown flag '--max_seconds'; did you mean --max-seconds? (--help shows all)");
  EXPECT_EQ(options_error({"-k5"}), "unknown flag '-k5' (--help shows all)");
  EXPECT_EQ(options_error({"--bogus"}), "unknown flag '--bogus' (--help shows all)");
}

TEST(Options, PositionalArguments) {
  const auto message = [](const std::string& argument) {
    return "unexpected argument '" + argument + "' (--help shows the flags)";
  };
  EXPECT_EQ(options_error({"5"}), "'5' needs a flag before it: --kernel 5");
  EXPECT_EQ(options_error({"--kernel", "5", "6"}), "'6' needs a flag before it: --kernel 6");
  EXPECT_EQ(options_error({"my.cu"}), "'my.cu' needs a flag before it: --kernel my.cu");
  EXPECT_EQ(options_error({"--benchmark_filter", "x"}), message("x"));
  EXPECT_EQ(options_error({""}), message(""));
  EXPECT_EQ(options_error({"-"}), message("-"));
  EXPECT_EQ(options_error({"--", "x"}), message("--"));
  EXPECT_EQ(options_error({"a\nb"}), message("a?b"));
}

TEST(Options, MissingValues) {
  for (const std::string flag : {"--kernel", "--sizes", "--alpha", "--beta", "--seed", "--data", "--l2", "--device",
                                 "--out", "--time", "--max-seconds", "--gpu-model", "--blocks-per-sm"}) {
    EXPECT_EQ(options_error({flag}), flag + " needs a value");
    EXPECT_EQ(options_error({flag + "="}), flag + " needs a value");
    EXPECT_EQ(options_error({flag, ""}), flag + " needs a value");
    EXPECT_EQ(options_error({flag, "--no-verify"}), flag + " needs a value");
    EXPECT_EQ(options_error({flag, "--"}), flag + " needs a value");
  }
}

TEST(Options, OfFiles) {
  const Options given =
      options({"--kernel", "1,my.cu", "--launch", "f<<<1, 2>>>(M, N)", "--requires=M == N", "--include", ".,..",
               "--include", "/", "--nvcc-flags", "-lineinfo -G", "--timeout", "2.5"});
  EXPECT_EQ(given.user.launch.launch, "f<<<1, 2>>>(M, N)");
  EXPECT_EQ(given.user.launch.requirement, "M == N");
  EXPECT_EQ(given.user.compile.include_folders, (std::vector<std::string>{".", "..", "/"}));
  EXPECT_EQ(given.user.compile.nvcc_flags, (std::vector<std::string>{"-lineinfo", "-G"}));
  EXPECT_EQ(given.timeout, 2.5);
  EXPECT_EQ(options({"--new-kernel", "my.cu"}).new_kernel, "my.cu");
  EXPECT_EQ(options_error({"--timeout", "0"}), "--timeout: '0' is not a finite number above 0");
  EXPECT_EQ(options({"--kernel", "many_gpus", "--timeout", "1"}).timeout, 1) << "ranks have a time limit as well";
  EXPECT_EQ(options_error({"--kernel=1-3", "--requires", "M == N"}),
            "--requires is for files, and --kernel names none");
  EXPECT_EQ(options_error({"--include", "."}), "--include is for files, and --kernel names none");
  EXPECT_EQ(options_error({"--kernel", "my.cu", "--include", ".,no/such"}),
            "--include .,no/such: there is no folder 'no/such'");
  EXPECT_EQ(options_error({"--kernel", "my.cu", "--include", ".,"}), "--include .,: there is no folder ''");
  EXPECT_EQ(options_error({"--digest", "--timeout", "1"}), "--timeout has no effect with --digest");
  EXPECT_EQ(options_error({"--digest", "--nvcc-flags", "-G"}), "--nvcc-flags has no effect with --digest");
}

TEST(Options, ANewKernelIsWrittenAndNothingElse) {
  for (const std::string flag : {"--kernel", "--sizes", "--launch", "--timeout", "--alpha"}) {
    EXPECT_EQ(options_error({"--new-kernel", "my.cu", flag, "1"}), flag + " has no effect with --new-kernel");
  }
  for (const std::string flag : {"--list", "--count", "--no-verify", "--benchmark_filter=x"}) {
    EXPECT_EQ(options_error({"--new-kernel", "my.cu", flag}), flag + " has no effect with --new-kernel");
  }
}

TEST(Options, RepeatedFlags) {
  EXPECT_EQ(options_error({"--alpha", "1", "--alpha=1"}), "--alpha is given more than once");
  EXPECT_EQ(options_error({"--kernel", "1", "--kernel", "5"}), "--kernel is given more than once");
  EXPECT_EQ(options_error({"--no-verify", "--no-verify"}), "--no-verify is given more than once");
}

TEST(Options, NoVerifyTakesNoValue) {
  EXPECT_EQ(options_error({"--no-verify=false"}), "--no-verify takes no value");
  EXPECT_EQ(options_error({"--no-verify", "false"}), "unexpected argument 'false' (--help shows the flags)");
}

TEST(Options, BadFactors) {
  for (const std::string flag : {"--alpha", "--beta"}) {
    for (const std::string value :
         {"x", "1x", "1,5", "1 ", " 1", "nan", "-nan", "inf", "-inf", "1e40", "-1e40", "+1", "0x"}) {
      EXPECT_EQ(options_error({flag, value}), flag + ": '" + value + "' is not a finite single-precision number");
    }
  }
}

TEST(Options, BadSeeds) {
  for (const std::string value : {"-1", "x", "1.5", "1e3", "18446744073709551616"}) {
    EXPECT_EQ(options_error({"--seed", value}), "--seed: '" + value + "' is not a whole number between 0 and 2^64 - 1");
  }
}

TEST(Options, BadDevices) {
  for (const std::string value : {"-1", "x", "0.5", "2147483648"}) {
    EXPECT_EQ(options_error({"--device", value}),
              "--device: '" + value + "' is not a device index, 0 or above, or cpu");
  }
}

TEST(Options, CpuIsADevice) {
  EXPECT_FALSE(options({}).on_executor);
  EXPECT_FALSE(options({"--device", "0"}).on_executor);
  EXPECT_TRUE(options({"--device", "cpu"}).on_executor);
}

TEST(Options, ChecksAreMadeOnTheCpu) {
  EXPECT_FALSE(options({"--device", "cpu"}).protocol.check);
  EXPECT_TRUE(options({"--check"}).protocol.check);
  EXPECT_TRUE(options({"--check"}).on_executor);
}

TEST(Options, CountingIsDoneOnTheCpu) {
  EXPECT_EQ(options({"--device", "cpu"}).protocol.mode, Mode::measure);
  const Options given = options({"--count"});
  EXPECT_EQ(given.protocol.mode, Mode::count);
  EXPECT_TRUE(given.on_executor);
  EXPECT_EQ(given.gpu_model, "h200");
  EXPECT_FALSE(given.blocks_per_sm.has_value());
  const Options detailed = options({"--count", "--gpu-model", "a100", "--blocks-per-sm", "3", "--device", "cpu"});
  EXPECT_EQ(detailed.gpu_model, "a100");
  EXPECT_EQ(detailed.blocks_per_sm, 3);
}

TEST(Options, BadCounting) {
  const std::string unknown = options_error({"--count", "--gpu-model", "h300"});
  EXPECT_EQ(unknown.rfind("--gpu-model: 'h300' is not one of h200, ", 0), 0U) << unknown;
  for (const std::string value : {"0", "-1", "33", "x", "1.5"}) {
    EXPECT_EQ(options_error({"--count", "--blocks-per-sm", value}),
              "--blocks-per-sm: '" + value + "' is not a whole number between 1 and 32");
  }
  EXPECT_EQ(options_error({"--gpu-model", "a100"}), "--gpu-model needs --count");
  EXPECT_EQ(options_error({"--check", "--blocks-per-sm", "2"}), "--blocks-per-sm needs --count");
  EXPECT_EQ(options_error({"--count", "--check"}), "--check has no effect with --count");
  for (const Arguments& timing : {Arguments{"--l2", "warm"}, {"--time", "kernel"}, {"--max-seconds", "2"}}) {
    EXPECT_EQ(options_error({"--count", timing[0], timing[1]}), timing[0] + " has no effect with --count");
  }
}

TEST(Options, TraceIsOfOneWarp) {
  const Options given =
      options({"--count", "--trace", "a.html", "--trace-launch", "1", "--trace-block", "7", "--trace-warp", "3"});
  ASSERT_TRUE(given.trace.has_value());
  EXPECT_EQ(given.trace->page, "a.html");
  EXPECT_EQ(given.trace->launch, 1U);
  EXPECT_EQ(given.trace->warp.block, 7U);
  EXPECT_EQ(given.trace->warp.warp, 3U);
  EXPECT_EQ(given.sizes, "256");
  EXPECT_EQ(options({"--count", "--trace", "a.html", "--sizes", "64"}).sizes, "64");
  EXPECT_FALSE(options({"--count"}).trace.has_value());
  EXPECT_EQ(options_error({"--trace", "a.html"}), "--trace needs --count");
  EXPECT_EQ(options_error({"--count", "--trace-warp", "1"}),
            "--trace-warp needs --trace, which names the page to write");
  EXPECT_EQ(options_error({"--count", "--trace", "a.html", "--trace-warp", "32"}),
            "--trace-warp: '32' is not the number of a warp, between 0 and 31");
  EXPECT_EQ(options_error({"--count", "--trace", "a.html", "--trace-block", "-1"}),
            "--trace-block: '-1' is not the number of a block, 0 or above");
  EXPECT_EQ(options_error({"--count", "--trace", "a.html", "--trace-launch", "last"}),
            "--trace-launch: 'last' is not the number of a launch, 0 or above");
  EXPECT_EQ(options_error({"--count", "--trace", "a", "--out", "a"}),
            "--trace and --out are two files, and both are a");
}

TEST(Options, AccuracyTakesSeveralKindsOfOperands) {
  const std::vector<Distribution> every(DISTRIBUTIONS.begin(), DISTRIBUTIONS.end());
  const Options all = options({"--accuracy"});
  EXPECT_EQ(all.protocol.mode, Mode::accuracy);
  EXPECT_FALSE(all.on_executor);
  EXPECT_EQ(all.protocol.data, every);
  EXPECT_EQ(options({"--accuracy", "--data", "all"}).protocol.data, every);
  const Options some = options({"--data", "huge,inf", "--sizes", "64", "--accuracy", "--device", "cpu"});
  EXPECT_EQ(some.protocol.data, (std::vector<Distribution>{Distribution::huge, Distribution::inf}));
  EXPECT_EQ(some.sizes, "64");
  EXPECT_TRUE(some.on_executor);
  EXPECT_EQ(options({"--data", "huge"}).protocol.data, std::vector<Distribution>{Distribution::huge});
  EXPECT_EQ(options({"--data", "rank_one"}).protocol.data, std::vector<Distribution>{Distribution::rank_one});
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
  const Options given = options({"--judge",       "folder,my.cu",
                                 "--json",        "-",
                                 "--sizes",       "512",
                                 "--secret",      "0123456789abcdef0123456789abcdef",
                                 "--launch",      "f(M)",
                                 "--nvcc-flags",  "-O1",
                                 "--timeout",     "9",
                                 "--max-seconds", "2",
                                 "--beta",        "2",
                                 "--device",      "cpu"});
  EXPECT_EQ(given.protocol.mode, Mode::judge);
  EXPECT_EQ(given.kernels, "folder,my.cu");
  EXPECT_EQ(given.json, "-");
  EXPECT_TRUE(given.on_executor);
  EXPECT_EQ(options({"--judge", "my.cu", "--json=v.json"}).json, "v.json");
  EXPECT_FALSE(options({"--judge", "my.cu"}).json.has_value());
  EXPECT_EQ(options_error({"--judge"}), "--judge needs a value");
  EXPECT_EQ(options_error({"--json", "-"}), "--json needs --judge");
  EXPECT_EQ(options_error({"--judge", "my.cu", "--accuracy"}),
            "--accuracy and --judge are two things to do: give one of them");
  for (const Arguments& useless : {Arguments{"--kernel", "5"},
                                   {"--data", "zeros"},
                                   {"--seed", "1"},
                                   {"--out", "a.json"},
                                   {"--no-verify"},
                                   {"--check"},
                                   {"--l2", "warm"},
                                   {"--time", "kernel"},
                                   {"--energy"},
                                   {"--force"},
                                   {"--gpus", "2"},
                                   {"--benchmark_filter=x"}}) {
    Arguments arguments{"--judge", "my.cu"};
    arguments.insert(arguments.end(), useless.begin(), useless.end());
    EXPECT_EQ(options_error(arguments), useless.front() + " has no effect with --judge");
  }
}

TEST(Options, Profile) {
  const Options given =
      options({"--profile", "--kernel", "5,my.cu", "--no-verify", "--workspace", "4 * M", "--nvcc-flags", "-G"});
  EXPECT_EQ(given.protocol.mode, Mode::profile);
  EXPECT_EQ(given.user.launch.workspace, "4 * M");
  EXPECT_FALSE(given.protocol.verify);
  EXPECT_EQ(options_error({"--profile", "--device", "cpu"}),
            "--profile is for a GPU's profiler: not with --device cpu; --count counts there");
  EXPECT_EQ(options_error({"--profile", "--count"}), "--count and --profile are two things to do: give one of them");
  EXPECT_EQ(options_error({"--profile", "--l2", "warm"}), "--l2 has no effect with --profile");
  EXPECT_EQ(options_error({"--profile", "--force"}), "--force has no effect with --profile");
  EXPECT_EQ(options_error({"--profile", "--timeout", "9"}), "--timeout has no effect with --profile");
}

TEST(Options, EnergyAndSustainedSpeed) {
  EXPECT_FALSE(options({}).protocol.energy);
  const Options energy = options({"--energy", "--l2", "warm"});
  EXPECT_TRUE(energy.protocol.energy);
  EXPECT_EQ(energy.protocol.mode, Mode::measure);
  const Options sustain = options({"--sustain", "20", "--kernel", "5,my.cu", "--timeout", "9", "--no-verify"});
  EXPECT_EQ(sustain.protocol.mode, Mode::sustain);
  EXPECT_EQ(sustain.protocol.sustain_s, 20.0);
  EXPECT_EQ(sustain.protocol.l2, L2State::warm) << "as each launch leaves it for the next";
  for (const std::string value : {"0", "-1", "x", "3601", "inf", "nan"}) {
    EXPECT_EQ(options_error({"--sustain", value}), "--sustain: '" + value + "' is not a number above 0 and up to 3600");
  }
  EXPECT_EQ(options_error({"--sustain", "5", "--energy"}), "--energy has no effect with --sustain");
  EXPECT_EQ(options_error({"--sustain", "5", "--l2", "cold"}), "--l2 has no effect with --sustain");
  EXPECT_EQ(options_error({"--sustain", "5", "--max-seconds", "1"}), "--max-seconds has no effect with --sustain");
  EXPECT_EQ(options_error({"--sustain", "5", "--count"}),
            "--sustain and --count are two things to do: give one of them");
  for (const Arguments& flag : {Arguments{"--energy"}, {"--sustain", "5"}}) {
    const auto with = [&](Arguments more) {
      more.insert(more.begin(), flag.begin(), flag.end());
      return options_error(more);
    };
    EXPECT_EQ(with({"--device", "cpu"}), flag[0] + " is about a GPU's power: not with --device cpu");
    EXPECT_EQ(with({"--beta", "1"}), flag[0] + " needs --beta 0: launch after launch, C would be multiplied by beta");
  }
  EXPECT_EQ(options_error({"--energy", "--check"}), "--energy is about a GPU's power: not with --check");
  EXPECT_EQ(options_error({"--energy", "--time", "end-to-end"}),
            "--energy needs --time kernel: it measures launches without copies");
}

TEST(Options, BadAccuracy) {
  EXPECT_EQ(options_error({"--data", "huge,inf"}), "--data: several kinds of operands need --accuracy");
  EXPECT_EQ(options_error({"--data", "all"}), "--data: several kinds of operands need --accuracy");
  EXPECT_EQ(options_error({"--accuracy", "--data", "huge,huge"}), "--data: huge is given more than once");
  EXPECT_EQ(options_error({"--accuracy", "--count"}), "--accuracy and --count are two things to do: give one of them");
  EXPECT_EQ(options_error({"--accuracy", "--no-verify"}), "--no-verify has no effect with --accuracy");
  EXPECT_EQ(options_error({"--accuracy", "--list"}), "--accuracy and --list are two things to do: give one of them");
  EXPECT_EQ(options_error({"--accuracy=yes"}), "--accuracy takes no value");
  for (const Arguments& timing : {Arguments{"--l2", "warm"}, {"--time", "kernel"}, {"--max-seconds", "2"}}) {
    EXPECT_EQ(options_error({"--accuracy", timing[0], timing[1]}), timing[0] + " has no effect with --accuracy");
  }
}

TEST(Options, FlagsWithoutAValue) {
  EXPECT_FALSE(options({}).force);
  EXPECT_TRUE(options({"--force"}).force);
  EXPECT_TRUE(options({"--force", "--accuracy"}).force);
  EXPECT_TRUE(options({"--force", "--count"}).force);
  EXPECT_EQ(options_error({"--force=no"}), "--force takes no value");
  EXPECT_EQ(options_error({"--force", "--force"}), "--force is given more than once");
}

TEST(Options, BadBudgets) {
  for (const std::string value : {"0", "-1", "x", "1s", "nan", "inf", "1e400"}) {
    EXPECT_EQ(options_error({"--max-seconds", value}), "--max-seconds: '" + value + "' is not a finite number above 0");
  }
}

TEST(Options, BadChoices) {
  EXPECT_EQ(
      options_error({"--data", "ones"}),
      "--data: 'ones' is not one of uniform, uniform01, normal, lognormal1, lognormal4, denormals, huge, integers, "
      "cancelling, inf, nan, zeros, sparse, rank_one, outliers, huge_row");
  EXPECT_EQ(options_error({"--data", "normal,"}).rfind("--data: '' is not one of uniform, ", 0), 0U);
  EXPECT_EQ(options_error({"--l2", "hot"}), "--l2: 'hot' is not one of cold, warm");
  EXPECT_EQ(options_error({"--time", "end_to_end"}), "--time: 'end_to_end' is not one of kernel, end-to-end");
  EXPECT_EQ(options_error({"--l2", "Cold"}), "--l2: 'Cold' is not one of cold, warm");
}

TEST(Options, Words) {
  EXPECT_EQ(to_string(L2State::cold), "cold");
  EXPECT_EQ(to_string(L2State::warm), "warm");
  EXPECT_EQ(to_string(TimeMode::kernel), "kernel");
  EXPECT_EQ(to_string(TimeMode::end_to_end), "end-to-end");
}

}  // namespace
}  // namespace sgemm
