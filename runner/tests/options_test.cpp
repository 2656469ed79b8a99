#include "cli/options.hpp"

#include "cli/values.hpp"
#include "page.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgemm {
namespace {

using Arguments = std::vector<std::string>;

/// The words of a command line, which have spaces between quotes alone.
Arguments words(const std::string& line) {
  Arguments arguments;
  bool begins = true;
  bool quoted = false;
  for (const char c : line) {
    if (c == '\'') {
      quoted = !quoted;
    }
    if (c == ' ' && !quoted) {
      begins = true;
      continue;
    }
    if (begins) {
      arguments.emplace_back();
      begins = false;
    }
    if (c != '\'') {
      arguments.back() += c;
    }
  }
  return arguments;
}

ParseResult parse(const Arguments& arguments) {
  std::vector<const char*> argv{"./runner"};
  for (const std::string& argument : arguments) {
    argv.push_back(argument.c_str());
  }
  return parse_options(static_cast<int>(argv.size()), argv.data(), "sgemm-worklog 1.2.3");
}

Options options(const std::string& line) { return parse(words(line)).options; }

std::string options_error(const Arguments& arguments) {
  return usage_message([&] { parse(arguments); });
}

/// What differs from the options of an empty command line: "beta 2, data huge inf".
class Differences {
 public:
  template <class Value>
  void add(const char* name, const Value& value, const Value& usual) {
    if (value != usual) {
      text_ += fmt::format("{}{} {}", text_.empty() ? "" : ", ", name, value);
    }
  }
  template <class Value>
  void add(const char* name, const std::optional<Value>& value) {
    if (value) {
      text_ += fmt::format("{}{} {}", text_.empty() ? "" : ", ", name, *value);
    }
  }
  std::string text() const { return text_.empty() ? "nothing" : text_; }

 private:
  std::string text_;
};

std::string described(const std::optional<Grid>& grid) {
  return grid ? fmt::format("{}x{}", grid->rows, grid->columns) : "";
}

void describe_files(const UserOptions& user, Differences& found) {
  found.add("launch", user.launch.launch);
  found.add("requirement", user.launch.requirement);
  found.add("workspace", user.launch.workspace);
  found.add("include", fmt::to_string(fmt::join(user.compile.include_folders, " ")), std::string());
  found.add("nvcc", fmt::to_string(fmt::join(user.compile.nvcc_flags, " ")), std::string());
  found.add("device code", user.compile.device_code, false);
}

void describe_protocol(const Protocol& protocol, Differences& found) {
  const Protocol usual;
  found.add("mode", flag_of(protocol.mode), flag_of(usual.mode));
  found.add("alpha", protocol.alpha, usual.alpha);
  found.add("beta", protocol.beta, usual.beta);
  found.add("seed", protocol.seed, usual.seed);
  found.add("data", words(protocol.data, " "), words(usual.data, " "));
  found.add("L2", to_string(protocol.l2), to_string(usual.l2));
  found.add("time", to_string(protocol.time), to_string(usual.time));
  found.add("seconds", protocol.max_seconds, usual.max_seconds);
  found.add("energy", protocol.energy, usual.energy);
  found.add("sustain", protocol.sustain_s, usual.sustain_s);
  found.add("verify", protocol.verify, usual.verify);
  found.add("secret", protocol.secret, usual.secret);
  found.add("check", protocol.check, usual.check);
}

std::string described(const Options& given) {
  const Options usual;
  Differences found;
  describe_protocol(given.protocol, found);
  describe_files(given.user, found);
  found.add("kernels", given.kernels, usual.kernels);
  found.add("sizes", given.sizes);
  found.add("device", given.device, usual.device);
  found.add("executor", given.on_executor, usual.on_executor);
  found.add("GPU model", given.gpu_model, usual.gpu_model);
  found.add("blocks per SM", given.blocks_per_sm);
  if (const auto& [page, warp, launch] = given.trace; !page.empty()) {
    found.add("trace", fmt::format("{}:{}:{}", page, warp.block, warp.warp), std::string());
    found.add("of launch", launch);
  }
  found.add("GPUs", given.ranks.gpus);
  found.add("grid", described(given.ranks.grid), std::string());
  found.add("exchange", given.ranks.exchange ? to_string(*given.ranks.exchange) : "", std::string_view());
  found.add("timeout", given.timeout);
  found.add("force", given.force, usual.force);
  found.add("JSON", given.json);
  found.add("against", given.digests);
  found.add("out", given.out);
  found.add("new kernel", given.new_kernel);
  found.add("list", to_string(given.list_format), to_string(usual.list_format));
  found.add("filter", given.google.filter, usual.google.filter);
  found.add("list tests", given.google.list_tests, usual.google.list_tests);
  found.add("repetitions", given.google.repetitions, usual.google.repetitions);
  found.add("format", given.google.format ? to_string(*given.google.format) : "", std::string_view());
  found.add("Google's file", given.google.out, usual.google.out);
  found.add("its format", to_string(given.google.out_format), to_string(usual.google.out_format));
  return found.text();
}

TEST(Options, AreWhatTheCommandLineSaysOrItIsToldWhatIsWrong) {
  expect_answers("options.txt", [](const std::string& line) { return described(options(line)); });
  EXPECT_EQ(options_error({"a\nb"}), "unexpected argument 'a?b' (--help shows the flags)") << "in one line";
  EXPECT_EQ(options_error({""}), "unexpected argument '' (--help shows the flags)");
  EXPECT_EQ(options("--kernel '1, 2'").argv, (Arguments{"./runner", "--kernel", "1, 2"}));
}

TEST(Options, HelpNamesEveryFlagAndTheExitStatuses) {
  for (const std::string line : {"--help", "-h", "--kernel 5 --help"}) {
    const ParseResult result = parse(words(line));
    ASSERT_TRUE(result.text.has_value());
    Options any;
    Arguments named{"--help", "Usage: runner", "Examples:", "Exit status:", "cancelling ", "[256:8192; ", "\n  130 "};
    for (const FlagGroup& group : all_flags(any)) {
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

TEST(Options, MissingValues) {
  for (const std::string& flag : words("--kernel --sizes --alpha --beta --seed --data --l2 --device --out --time "
                                       "--max-seconds --gpu-model --blocks-per-sm --judge")) {
    for (const Arguments& rest : {Arguments{flag}, {flag + "="}, {flag, ""}, {flag, "--no-verify"}, {flag, "--"}}) {
      EXPECT_EQ(options_error(rest), flag + " needs a value");
    }
  }
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

}  // namespace
}  // namespace sgemm
