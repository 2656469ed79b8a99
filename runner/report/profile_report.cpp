#include "report/case_reports.hpp"

#include "report/console.hpp"
#include "report/numbers.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgemm {
namespace {

using Json = nlohmann::ordered_json;

/// The largest reasons to wait, but for "selected", which is none.
std::string stalls_text(const Json& stalls) {
  constexpr std::size_t SHOWN = 4;
  std::vector<std::string> parts;
  for (const auto& [reason, warps] : stalls.items()) {
    if (reason != "selected" && parts.size() < SHOWN) {
      std::string words = reason;
      std::replace(words.begin(), words.end(), '_', ' ');
      parts.push_back(fmt::format("{} {:.2f}", words, warps.get<double>()));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// A value in one of the forms that counter_rows.json names; empty where there is none.
std::string text_of(const Json& value, const std::string& form) {
  if (value.is_null()) {
    return "";
  }
  if (form == "stalls") {
    return stalls_text(value);
  }
  const double number = value.get<double>();
  if (form == "duration") {
    return time_text(number);
  }
  if (form == "percent") {
    return fmt::format("{:.1f} %", number);
  }
  if (form == "MHz") {
    return fmt::format("{:.0f} MHz", number);
  }
  if (form == "GB/s") {
    return three_digits(number) + " GB/s";
  }
  if (form == "bytes") {
    return bytes_text(number);
  }
  if (form == "count") {
    return short_number(number);
  }
  if (form == "significant") {
    return three_digits(number);
  }
  throw std::logic_error("counter_rows.json names the form " + form);
}

std::string heading_of(const Record& record) {
  const Profile& profile = *record.profile;
  std::string text = fmt::format("{} {}", record.kernel, to_string(record.size));
  if (profile.launches.size() > 1) {
    double together = 0.0;
    for (const ProfiledLaunch& launch : profile.launches) {
      together += launch.time_us().value_or(0.0);
    }
    text += fmt::format(": {} launches, {} together; the FLOP are put down to the longest, {}", profile.launches.size(),
                        time_text(together), profile.launches[profile.longest()].function);
  }
  if (record.verified) {
    text += fmt::format("; verified, relative error {:.1e}", record.rel_err.value_or(0.0));
  }
  return text;
}

}  // namespace

std::vector<std::string> profile_report(const Record& record, std::size_t width) {
  const Profile& profile = *record.profile;
  const Json launches = to_json(profile, flops(record.size)).at("launches");
  std::vector<std::vector<std::string>> rows{{"launch of"}};
  for (const ProfiledLaunch& launch : profile.launches) {
    rows.front().push_back(launch.function);
  }
  for (const auto& row : counter_rows()) {
    std::vector<std::string> cells{row.title};
    for (const Json& launch : launches) {
      cells.push_back(text_of(launch.at("derived").at(row.field), row.form));
    }
    if (std::any_of(cells.begin() + 1, cells.end(), [](const std::string& cell) { return !cell.empty(); })) {
      rows.push_back(std::move(cells));
    }
  }
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& cells : rows) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths[i] = std::max(widths[i], cells[i].size());
    }
  }
  std::vector<std::string> lines{wrap(heading_of(record), width)};
  for (const auto& cells : rows) {
    std::string line = fmt::format("  {:<{}}", cells.front(), widths.front());
    for (std::size_t i = 1; i < cells.size(); ++i) {
      line += fmt::format("  {:>{}}", cells[i], widths[i]);
    }
    lines.push_back(cut(line, width));
  }
  if (!profile.dropped_metrics.empty()) {
    lines.push_back(
        wrap(fmt::format("ncu {} does not know on this GPU: {}", profile.ncu, fmt::join(profile.dropped_metrics, ", ")),
             width));
  }
  return lines;
}

}  // namespace sgemm
