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

std::string error(const Arguments& arguments) {
  return usage_message([&] { parse(arguments); });
}

TEST(Options, Defaults) {
  const Options defaults = options({});
  EXPECT_EQ(defaults.kernels, "all");
  EXPECT_EQ(defaults.sizes, "256:8192");
  EXPECT_EQ(defaults.alpha, 1.0F);
  EXPECT_EQ(defaults.beta, 0.0F);
  EXPECT_EQ(defaults.seed, 42U);
  EXPECT_EQ(defaults.data, Distribution::uniform);
  EXPECT_EQ(defaults.l2, L2State::cold);
  EXPECT_EQ(defaults.time, TimeMode::kernel);
  EXPECT_EQ(defaults.device, 0);
  EXPECT_FALSE(defaults.out.has_value());
  EXPECT_EQ(defaults.max_seconds, 1.0);
  EXPECT_TRUE(defaults.verify);
  EXPECT_FALSE(defaults.tune);
  EXPECT_TRUE(defaults.use_tuning);
  EXPECT_FALSE(defaults.tuning_file.has_value());
  EXPECT_EQ(defaults.list, ListMode::none);
  EXPECT_TRUE(defaults.benchmark_flags.empty());
  EXPECT_EQ(defaults.argv, Arguments{"./runner"});
}

TEST(Options, EveryFlag) {
  const Options given = options({"--kernel",      "5,6:*",
                                 "--sizes",       "256:8192",
                                 "--alpha",       "-2.5",
                                 "--beta",        "1e-3",
                                 "--seed",        "18446744073709551615",
                                 "--data",        "normal",
                                 "--l2",          "warm",
                                 "--device",      "3",
                                 "--out",         "results/a b.json",
                                 "--time",        "end-to-end",
                                 "--max-seconds", "0.25",
                                 "--no-verify"});
  EXPECT_EQ(given.kernels, "5,6:*");
  EXPECT_EQ(given.sizes, "256:8192");
  EXPECT_EQ(given.alpha, -2.5F);
  EXPECT_EQ(given.beta, 1e-3F);
  EXPECT_EQ(given.seed, 18446744073709551615U);
  EXPECT_EQ(given.data, Distribution::normal);
  EXPECT_EQ(given.l2, L2State::warm);
  EXPECT_EQ(given.device, 3);
  EXPECT_EQ(given.out, "results/a b.json");
  EXPECT_EQ(given.time, TimeMode::end_to_end);
  EXPECT_EQ(given.max_seconds, 0.25);
  EXPECT_FALSE(given.verify);
}

TEST(Options, ValueAfterAnEqualsSign) {
  const Options given =
      options({"--kernel=1:uncoalesced", "--alpha=-0.5", "--out=a=b.json", "--data=zeros", "--time=kernel"});
  EXPECT_EQ(given.kernels, "1:uncoalesced");
  EXPECT_EQ(given.alpha, -0.5F);
  EXPECT_EQ(given.out, "a=b.json");
  EXPECT_EQ(given.data, Distribution::zeros);
  EXPECT_EQ(given.time, TimeMode::kernel);
}

TEST(Options, ExpressionsAreNotInterpreted) {
  EXPECT_EQ(options({"--kernel", "no_such_kernel"}).kernels, "no_such_kernel");
  EXPECT_EQ(options({"--sizes", "[1,2]"}).sizes, "[1,2]");
  EXPECT_EQ(options({"--sizes", "-5"}).sizes, "-5");
}

TEST(Options, List) {
  EXPECT_EQ(options({"--list"}).list, ListMode::table);
  EXPECT_EQ(options({"--list=table"}).list, ListMode::table);
  EXPECT_EQ(options({"--list=json"}).list, ListMode::json);
  EXPECT_EQ(options({"--list", "json"}).list, ListMode::json);
  const Options followed = options({"--list", "--kernel", "5"});
  EXPECT_EQ(followed.list, ListMode::table);
  EXPECT_EQ(followed.kernels, "5");
  EXPECT_EQ(error({"--list=xml"}), "--list: 'xml' is not one of table, json");
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
                                   "--data",
                                   "--l2",
                                   "--device",
                                   "--out",
                                   "--time",
                                   "--max-seconds",
                                   "--no-verify",
                                   "--force",
                                   "--check",
                                   "--count",
                                   "--accuracy",
                                   "cancelling ",
                                   "--gpu-model",
                                   "--blocks-per-sm",
                                   "--tune ",
                                   "--tuning FILE",
                                   "--no-tuning",
                                   "--list",
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
  EXPECT_EQ(error({"--kernal", "5"}), "unknown flag '--kernal'; did you mean --kernel? (--help shows all)");
  EXPECT_EQ(error({"--size=5"}), "unknown flag '--size'; did you mean --sizes? (--help shows all)");
  EXPECT_EQ(error({"--verify"}), "unknown flag '--verify'; did you mean --no-verify? (--help shows all)");
  EXPECT_EQ(error({"--max_seconds", "1"}),
            "unknown flag '--max_seconds'; did you mean --max-seconds? (--help shows all)");
  EXPECT_EQ(error({"-k5"}), "unknown flag '-k5' (--help shows all)");
  EXPECT_EQ(error({"--bogus"}), "unknown flag '--bogus' (--help shows all)");
}

TEST(Options, PositionalArguments) {
  const auto message = [](const std::string& argument) {
    return "unexpected argument '" + argument + "' (--help shows the flags)";
  };
  EXPECT_EQ(error({"5"}), message("5"));
  EXPECT_EQ(error({"--kernel", "5", "6"}), message("6"));
  EXPECT_EQ(error({"--benchmark_filter", "x"}), message("x"));
  EXPECT_EQ(error({""}), message(""));
  EXPECT_EQ(error({"-"}), message("-"));
  EXPECT_EQ(error({"--", "x"}), message("--"));
  EXPECT_EQ(error({"a\nb"}), message("a?b"));
}

TEST(Options, MissingValues) {
  for (const std::string flag : {"--kernel", "--sizes", "--alpha", "--beta", "--seed", "--data", "--l2", "--device",
                                 "--out", "--time", "--max-seconds", "--gpu-model", "--blocks-per-sm"}) {
    EXPECT_EQ(error({flag}), flag + " needs a value");
    EXPECT_EQ(error({flag + "="}), flag + " needs a value");
    EXPECT_EQ(error({flag, ""}), flag + " needs a value");
    EXPECT_EQ(error({flag, "--no-verify"}), flag + " needs a value");
    EXPECT_EQ(error({flag, "--"}), flag + " needs a value");
  }
}

TEST(Options, RepeatedFlags) {
  EXPECT_EQ(error({"--alpha", "1", "--alpha=1"}), "--alpha is given more than once");
  EXPECT_EQ(error({"--kernel", "1", "--kernel", "5"}), "--kernel is given more than once");
  EXPECT_EQ(error({"--no-verify", "--no-verify"}), "--no-verify is given more than once");
}

TEST(Options, NoVerifyTakesNoValue) {
  EXPECT_EQ(error({"--no-verify=false"}), "--no-verify takes no value");
  EXPECT_EQ(error({"--no-verify", "false"}), "unexpected argument 'false' (--help shows the flags)");
}

TEST(Options, BadFactors) {
  for (const std::string flag : {"--alpha", "--beta"}) {
    for (const std::string value :
         {"x", "1x", "1,5", "1 ", " 1", "nan", "-nan", "inf", "-inf", "1e40", "-1e40", "+1", "0x"}) {
      EXPECT_EQ(error({flag, value}), flag + ": '" + value + "' is not a finite single-precision number");
    }
  }
}

TEST(Options, BadSeeds) {
  for (const std::string value : {"-1", "x", "1.5", "1e3", "18446744073709551616"}) {
    EXPECT_EQ(error({"--seed", value}), "--seed: '" + value + "' is not a whole number between 0 and 2^64 - 1");
  }
}

TEST(Options, BadDevices) {
  for (const std::string value : {"-1", "x", "0.5", "2147483648"}) {
    EXPECT_EQ(error({"--device", value}), "--device: '" + value + "' is not a device index, 0 or above, or cpu");
  }
}

TEST(Options, CpuIsADevice) {
  EXPECT_FALSE(options({}).on_executor);
  EXPECT_FALSE(options({"--device", "0"}).on_executor);
  EXPECT_TRUE(options({"--device", "cpu"}).on_executor);
}

TEST(Options, ChecksAreMadeOnTheCpu) {
  EXPECT_FALSE(options({"--device", "cpu"}).check);
  EXPECT_TRUE(options({"--check"}).check);
  EXPECT_TRUE(options({"--check"}).on_executor);
}

TEST(Options, CountingIsDoneOnTheCpu) {
  EXPECT_FALSE(options({"--device", "cpu"}).count);
  const Options given = options({"--count"});
  EXPECT_TRUE(given.count);
  EXPECT_TRUE(given.on_executor);
  EXPECT_EQ(given.gpu_model, "h200");
  EXPECT_FALSE(given.blocks_per_sm.has_value());
  const Options detailed = options({"--count", "--gpu-model", "a100", "--blocks-per-sm", "3", "--device", "cpu"});
  EXPECT_EQ(detailed.gpu_model, "a100");
  EXPECT_EQ(detailed.blocks_per_sm, 3);
}

TEST(Options, BadCounting) {
  const std::string unknown = error({"--count", "--gpu-model", "h300"});
  EXPECT_EQ(unknown.rfind("--gpu-model: 'h300' is not one of h200, ", 0), 0U) << unknown;
  for (const std::string value : {"0", "-1", "33", "x", "1.5"}) {
    EXPECT_EQ(error({"--count", "--blocks-per-sm", value}),
              "--blocks-per-sm: '" + value + "' is not a whole number between 1 and 32");
  }
  EXPECT_EQ(error({"--gpu-model", "a100"}), "--gpu-model needs --count");
  EXPECT_EQ(error({"--check", "--blocks-per-sm", "2"}), "--blocks-per-sm needs --count");
  EXPECT_EQ(error({"--count", "--check"}), "--count and --check are two ways to watch memory: give one of them");
  for (const Arguments& timing : {Arguments{"--l2", "warm"}, {"--time", "kernel"}, {"--max-seconds", "2"}}) {
    EXPECT_EQ(error({"--count", timing[0], timing[1]}), timing[0] + " is about times, which --count does not take");
  }
}

TEST(Options, AccuracyTakesSeveralKindsOfOperands) {
  const Options plain = options({});
  EXPECT_FALSE(plain.accuracy);
  EXPECT_FALSE(plain.sizes_given);
  EXPECT_TRUE(plain.accuracy_data.empty());
  const Options all = options({"--accuracy"});
  EXPECT_TRUE(all.accuracy);
  EXPECT_FALSE(all.on_executor);
  EXPECT_EQ(all.accuracy_data, std::vector<Distribution>(DISTRIBUTIONS.begin(), DISTRIBUTIONS.end()));
  EXPECT_EQ(options({"--accuracy", "--data", "all"}).accuracy_data, all.accuracy_data);
  const Options some = options({"--data", "huge,inf", "--sizes", "64", "--accuracy", "--device", "cpu"});
  EXPECT_EQ(some.accuracy_data, (std::vector<Distribution>{Distribution::huge, Distribution::inf}));
  EXPECT_TRUE(some.sizes_given);
  EXPECT_TRUE(some.on_executor);
  const Options timed = options({"--data", "huge"});
  EXPECT_EQ(timed.data, Distribution::huge);
  EXPECT_TRUE(timed.accuracy_data.empty());
}

TEST(Options, BadAccuracy) {
  EXPECT_EQ(error({"--data", "huge,inf"}), "--data: several kinds of operands need --accuracy");
  EXPECT_EQ(error({"--data", "all"}), "--data: several kinds of operands need --accuracy");
  EXPECT_EQ(error({"--accuracy", "--data", "huge,huge"}), "--data: huge is given more than once");
  EXPECT_EQ(error({"--accuracy", "--count"}), "--accuracy and --count are two things to do: give one of them");
  EXPECT_EQ(error({"--accuracy", "--tune"}), "--accuracy and --tune are two things to do: give one of them");
  EXPECT_EQ(error({"--tune", "--l2", "warm", "--data", "huge", "--accuracy"}),
            "--accuracy and --tune are two things to do: give one of them");
  EXPECT_EQ(error({"--tune", "--data", "huge,inf"}), "--data: several kinds of operands need --accuracy");
  EXPECT_EQ(error({"--accuracy", "--no-verify"}), "--no-verify leaves out what --accuracy is for");
  EXPECT_EQ(error({"--accuracy", "--list"}), "--list measures nothing: leave out --accuracy");
  EXPECT_EQ(error({"--accuracy=yes"}), "--accuracy takes no value");
  for (const Arguments& timing : {Arguments{"--l2", "warm"}, {"--time", "kernel"}, {"--max-seconds", "2"}}) {
    EXPECT_EQ(error({"--accuracy", timing[0], timing[1]}),
              timing[0] + " is about times, which --accuracy does not take");
  }
}

TEST(Options, Tuning) {
  const Options tune = options({"--tune", "--tuning", "mine.json", "--l2", "warm", "--max-seconds", "2"});
  EXPECT_TRUE(tune.tune);
  EXPECT_EQ(tune.tuning_file, "mine.json");
  EXPECT_EQ(options({"--tuning=mine.json"}).tuning_file, "mine.json");
  EXPECT_FALSE(options({"--no-tuning"}).use_tuning);
  EXPECT_FALSE(options({"--no-tuning", "--device", "cpu"}).use_tuning);
}

TEST(Options, BadTuning) {
  EXPECT_EQ(error({"--tuning", "a", "--no-tuning"}),
            "--tuning and --no-tuning contradict each other: give one of them");
  EXPECT_EQ(error({"--tune", "--check"}), "--tune is about times on a GPU: not with --check");
  EXPECT_EQ(error({"--count", "--tune"}), "--tune is about times on a GPU: not with --count");
  EXPECT_EQ(error({"--tune", "--device", "cpu"}), "--tune is about times on a GPU: not with --device cpu");
  EXPECT_EQ(error({"--tuning", "a", "--count"}), "--tuning is about times on a GPU: not with --count");
  for (const Arguments& useless : {Arguments{"--time", "kernel"},
                                   {"--no-verify"},
                                   {"--no-tuning"},
                                   {"--out", "a.json"},
                                   {"--list"},
                                   {"--force"},
                                   {"--benchmark_filter=x"}}) {
    Arguments arguments{"--tune"};
    arguments.insert(arguments.end(), useless.begin(), useless.end());
    EXPECT_EQ(error(arguments), useless.front() + " has no effect with --tune");
  }
}

TEST(Options, FlagsWithoutAValue) {
  EXPECT_FALSE(options({}).force);
  EXPECT_TRUE(options({"--force"}).force);
  EXPECT_EQ(error({"--force=no"}), "--force takes no value");
  EXPECT_EQ(error({"--force", "--force"}), "--force is given more than once");
}

TEST(Options, BadBudgets) {
  for (const std::string value : {"0", "-1", "x", "1s", "nan", "inf", "1e400"}) {
    EXPECT_EQ(error({"--max-seconds", value}), "--max-seconds: '" + value + "' is not a finite number above 0");
  }
}

TEST(Options, BadChoices) {
  EXPECT_EQ(
      error({"--data", "ones"}),
      "--data: 'ones' is not one of uniform, uniform01, normal, lognormal1, lognormal4, denormals, huge, integers, "
      "cancelling, inf, nan, zeros");
  EXPECT_EQ(error({"--data", "normal,"}).rfind("--data: '' is not one of uniform, ", 0), 0U);
  EXPECT_EQ(error({"--l2", "hot"}), "--l2: 'hot' is not one of cold, warm");
  EXPECT_EQ(error({"--time", "end_to_end"}), "--time: 'end_to_end' is not one of kernel, end-to-end");
  EXPECT_EQ(error({"--l2", "Cold"}), "--l2: 'Cold' is not one of cold, warm");
}

TEST(Options, Words) {
  EXPECT_EQ(to_string(L2State::cold), "cold");
  EXPECT_EQ(to_string(L2State::warm), "warm");
  EXPECT_EQ(to_string(TimeMode::kernel), "kernel");
  EXPECT_EQ(to_string(TimeMode::end_to_end), "end-to-end");
}

}  // namespace
}  // namespace sgemm
