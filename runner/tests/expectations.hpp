#pragma once

#include "base/kernel.hpp"
#include "base/outcome.hpp"
#include "base/usage_error.hpp"
#include "fixtures/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include <fmt/format.h>

namespace sgemm {

/// The message of the error that `action` throws; empty where it throws none.
template <class Error, class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

template <class Action>
std::string usage_message(const Action& action) {
  return message_of<UsageError>(action);
}

/// Expects how a case ended, and `part` in its reason.
template <class Record>
void expect_end(const Record& record, Outcome outcome, std::string_view part) {
  EXPECT_EQ(record.outcome, outcome) << record.reason;
  EXPECT_NE(record.reason.find(part), std::string::npos) << record.reason;
}

/// How the case ends that `action` stops, "skipped: interrupted"; empty where it goes on.
template <class Action>
std::string end_of(const Action& action) {
  try {
    action();
  } catch (const CaseStopped& stopped) {
    return fmt::format("{}: {}", to_string(stopped.outcome()), stopped.what());
  }
  return "";
}

/// The class that to_string() calls so.
inline std::optional<AccuracyClass> accuracy_named(std::string_view name) {
  for (auto accuracy = AccuracyClass::fp32; accuracy <= AccuracyClass::tf32;
       accuracy = static_cast<AccuracyClass>(static_cast<int>(accuracy) + 1)) {
    if (to_string(accuracy) == name) {
      return accuracy;
    }
  }
  return std::nullopt;
}

/// Expects that a page of this folder has the text. With SGEMM_WRITE_PAGE set it is written anew: the difference shows
/// what a change does.
inline void expect_page(const std::string& name, const std::string& text) {
  const std::string path = SGEMM_SOURCE_DIR "/runner/tests/" + name;
  if (std::getenv("SGEMM_WRITE_PAGE") != nullptr) {
    std::ofstream(path) << text;
  }
  EXPECT_EQ(text, read(path));
}

/// Expects of each line "INPUT => ANSWER" of a page that `answer` gives that answer, or throws a UsageError that says
/// it. Other lines are for the reader. Of answers alone, SGEMM_WRITE_PAGE writes new ones.
template <class Answer>
void expect_answers(const std::string& name, const Answer& answer) {
  constexpr std::string_view ARROW = " => ";
  std::istringstream page(read(SGEMM_SOURCE_DIR "/runner/tests/" + name));
  std::string text;
  int count = 0;
  for (std::string line; std::getline(page, line);) {
    if (const std::size_t at = line.find(ARROW); at != std::string::npos) {
      line.erase(at + ARROW.size());
      try {
        line += answer(line.substr(0, at));
      } catch (const UsageError& error) {
        line += error.what();
      }
      ++count;
    }
    text += line + '\n';
  }
  EXPECT_GT(count, 0);
  expect_page(name, text);
}

}  // namespace sgemm
