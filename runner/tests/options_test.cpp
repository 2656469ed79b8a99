#include "cli/options.hpp"

#include "cli/values.hpp"
#include "expectations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgemm {
namespace {

using Arguments = std::vector<std::string>;

/// The words of a command line, some of them in quotes.
Arguments words(const std::string& line) {
  Arguments arguments;
  std::istringstream in(line);
  for (std::string word; in >> std::quoted(word, '\'');) {
    arguments.push_back(word);
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

/// Empty for an option that was not given.
template <class Value>
std::string text(const std::optional<Value>& value) {
  return value ? fmt::to_string(*value) : "";
}
template <class Value>
std::string word(const std::optional<Value>& value) {
  return value ? std::string(to_string(*value)) : "";
}

/// The name and the value of each option.
std::vector<std::pair<std::string, std::string>> facts_of(const Options& given) {
  const Protocol& protocol = given.protocol;
  const UserOptions& user = given.user;
  const auto& [page, warp, launch] = given.trace;
  const std::optional<Grid>& grid = given.ranks.grid;
  return {
      {"mode", std::string(flag_of(protocol.mode))},
      {"alpha", fmt::to_string(protocol.alpha)},
      {"beta", fmt::to_string(protocol.beta)},
      {"seed", fmt::to_string(protocol.seed)},
      {"data", words(protocol.data, " ")},
      {"L2", std::string(to_string(protocol.l2))},
      {"time", std::string(to_string(protocol.time))},
      {"seconds", fmt::to_string(protocol.max_seconds)},
      {"energy", fmt::to_string(protocol.energy)},
      {"sustain", fmt::to_string(protocol.sustain_s)},
      {"verify", fmt::to_string(protocol.verify)},
      {"secret", protocol.secret},
      {"check", fmt::to_string(protocol.check)},
      {"launch", text(user.launch.launch)},
      {"requirement", text(user.launch.requirement)},
      {"workspace", text(user.launch.workspace)},
      {"include", fmt::to_string(fmt::join(user.compile.include_folders, " "))},
      {"nvcc", fmt::to_string(fmt::join(user.compile.nvcc_flags, " "))},
      {"device code", fmt::to_string(user.compile.device_code)},
      {"kernels", given.kernels},
      {"sizes", text(given.sizes)},
      {"usual sizes", std::string(default_sizes(protocol.mode, !given.on_executor))},
      {"device", fmt::to_string(given.device)},
      {"executor", fmt::to_string(given.on_executor)},
      {"GPU model", given.gpu_model},
      {"blocks per SM", text(given.blocks_per_sm)},
      {"trace", page.empty() ? "" : fmt::format("{}:{}:{}", page, warp.block, warp.warp)},
      {"of launch", text(launch)},
      {"GPUs", text(given.ranks.gpus)},
      {"grid", grid ? fmt::format("{}x{}", grid->rows, grid->columns) : ""},
      {"exchange", word(given.ranks.exchange)},
      {"timeout", text(given.timeout)},
      {"force", fmt::to_string(given.force)},
      {"JSON", text(given.json)},
      {"against", text(given.digests)},
      {"out", text(given.out)},
      {"new kernel", text(given.new_kernel)},
      {"list", std::string(to_string(given.list_format))},
      {"filter", given.google.filter},
      {"list tests", fmt::to_string(given.google.list_tests)},
      {"repetitions", fmt::to_string(given.google.repetitions)},
      {"format", word(given.google.format)},
      {"Google's file", given.google.out},
      {"its format", std::string(to_string(given.google.out_format))},
  };
}

/// What differs from the options of an empty command line: "beta 2, data huge inf".
std::string described(const Options& given) {
  const auto usual = facts_of({});
  Arguments differences;
  for (const auto& [name, value] : facts_of(given)) {
    if (std::ranges::find(usual, std::pair(name, value)) == usual.end()) {
      differences.push_back(fmt::format("{} {}", name, value));
    }
  }
  return differences.empty() ? "nothing" : fmt::to_string(fmt::join(differences, ", "));
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

}  // namespace
}  // namespace sgemm
