#include "verdict/verdict.hpp"

#include "base/outcome.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <regex>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace sgemm {
namespace {

constexpr std::size_t MOST_LINES = 3;  // of a file that counts speak of

/// The first "file:line" of a text, or nothing. A folder before the file is left out.
std::string place_in(const std::string& text) {
  static const std::regex PLACE(R"(([^\s:(]+\.cuh?):([0-9]+))");
  std::smatch found;
  return std::regex_search(text, found, PLACE)
             ? fmt::format("{}:{}", std::filesystem::path(found[1].str()).filename().string(), found[2].str())
             : "";
}

/// A finding of --check without the thread, the line and the function that it begins with.
std::string without_place(const std::string& finding) {
  static const std::regex BEGIN(R"(^block [^:]*\.cuh?:[0-9]+ in .*?\): )");
  return std::regex_replace(finding, BEGIN, "", std::regex_constants::format_first_only);
}

/// What helps against a finding of --check, by words of it.
std::string_view remedy(std::string_view finding) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> REMEDIES{{
      {"no barrier lies in between", "put a barrier between the two accesses, or give each its own place"},
      {"blocks are not ordered", "blocks run in any order: give each its own elements, or launch a second kernel"},
      {"no wait for", "wait for the copy or the product before its result is used"},
      {"nobody has written", "write an element before it is read, at the edges of a tile as well"},
      {"holds nothing before", "where beta is 0, C has nothing to be read"},
      {"outside of", "guard the access by M, N and K, which need not be multiples of a tile"},
      {"beyond the end", "guard the access by M, N and K, which need not be multiples of a tile"},
      {"which is an input", "leave A and B as they are"},
      {"not aligned", "take wider loads only where the address and the distance of rows are multiples of them"},
  }};
  for (const auto& [words, text] : REMEDIES) {
    if (finding.find(words) != std::string_view::npos) {
      return text;
    }
  }
  return "";
}

bool is_wrong(const Record& record) {
  return record.outcome == Outcome::incorrect || record.outcome == Outcome::failed;
}

/// The first finding of --check; the others say the same at other sizes.
void add_finding(FileVerdict& verdict) {
  for (const JudgedCase& item : verdict.cases) {
    const std::string_view helps = item.purpose == Purpose::check ? remedy(item.record.reason) : "";
    if (is_wrong(item.record) && !helps.empty()) {
      const std::string& reason = item.record.reason;
      verdict.advice.push_back({item.purpose, place_in(reason), fmt::format("{}; {}", without_place(reason), helps)});
      return;
    }
  }
}

/// Whether all wrong cases of an operands' trial have kinds, or sizes, that all right ones lack.
void add_what_is_special(FileVerdict& verdict) {
  std::set<Distribution> right_kinds;
  std::set<Distribution> wrong_kinds;
  std::set<Size> right_sizes;
  std::set<Size> wrong_sizes;
  for (const JudgedCase& item : verdict.cases) {
    if (item.purpose == Purpose::operands && item.record.data && !is_weak(item)) {
      const bool wrong = is_wrong(item.record);
      (wrong ? wrong_kinds : right_kinds).insert(*item.record.data);
      (wrong ? wrong_sizes : right_sizes).insert(item.record.size);
    }
  }
  const auto apart = [](const auto& x, const auto& y) {
    return !x.empty() && !y.empty() &&
           std::none_of(x.begin(), x.end(), [&](const auto& each) { return y.contains(each); });
  };
  if (apart(wrong_sizes, right_sizes)) {
    verdict.advice.push_back({Purpose::operands, "",
                              fmt::format("wrong at {} and right at {}: look at the edges, where an extent is no "
                                          "multiple of a tile, or say in a 'requires:' line what it takes",
                                          to_string(*wrong_sizes.begin()), to_string(*right_sizes.begin()))});
  } else if (apart(wrong_kinds, right_kinds)) {
    verdict.advice.push_back({Purpose::operands, "",
                              fmt::format("wrong with {} operands and right with {}: keep the range and the 24 bits of "
                                          "single precision in products and sums",
                                          to_string(*wrong_kinds.begin()), to_string(*right_kinds.begin()))});
  }
}

/// A line's requests to a memory, and what they cost beyond what they need.
struct Costly {
  std::uint64_t wasted = 0;  ///< wavefronts or sectors
  Advice advice;
};

std::optional<Costly> cost_of(const nlohmann::ordered_json& line) {
  constexpr double TOO_MUCH = 1.5;
  constexpr std::uint64_t SECTOR = 32;
  const auto number = [&](const char* name) { return line.at(name).get<std::uint64_t>(); };
  if (line.at("kind") == "flops" || number("line") == 0 || number("requests") == 0) {
    return std::nullopt;
  }
  const std::string place = fmt::format(
      "{}:{}", std::filesystem::path(line.at("file").get<std::string>()).filename().string(), number("line"));
  const std::string array = line.value("array", "");
  const auto each = [&](std::uint64_t all) {
    return static_cast<double>(all) / static_cast<double>(number("requests"));
  };
  const std::uint64_t wavefronts = number("wavefronts");
  const std::uint64_t conflicts = number("conflicts");
  if (wavefronts > 0 && each(wavefronts) > TOO_MUCH * each(wavefronts - conflicts)) {
    return Costly{
        conflicts,
        {Purpose::count, place,
         fmt::format("bank conflicts in {}: {:.1f} wavefronts a request where {:.1f} would do; lengthen the "
                     "rows of the array by a few elements, or let lanes of a warp use other banks",
                     array.empty() ? "shared memory" : array, each(wavefronts), each(wavefronts - conflicts))}};
  }
  const std::uint64_t sectors = number("sectors");
  const std::uint64_t bytes = number("bytes");
  if (sectors > 0 && each(sectors) * SECTOR > TOO_MUCH * each(bytes)) {
    return Costly{sectors - bytes / SECTOR,
                  {Purpose::count, place,
                   fmt::format("a warp's request to {} moves {:.1f} sectors of 32 bytes for {:.0f} bytes that it "
                               "uses; let neighbouring lanes take neighbouring elements",
                               array.empty() ? "global memory" : array, each(sectors), each(bytes))}};
  }
  return std::nullopt;
}

void add_costly_lines(const Record& record, FileVerdict& verdict) {
  std::vector<Costly> costly;
  for (const auto& launch : record.counts.value("launches", nlohmann::ordered_json::array({record.counts}))) {
    for (const auto& line : launch.at("lines")) {
      if (std::optional<Costly> cost = cost_of(line)) {
        costly.push_back(std::move(*cost));
      }
    }
  }
  std::stable_sort(costly.begin(), costly.end(), [](const Costly& x, const Costly& y) { return x.wasted > y.wasted; });
  for (std::size_t i = 0; i < std::min(costly.size(), MOST_LINES); ++i) {
    verdict.advice.push_back(std::move(costly[i].advice));
  }
}

}  // namespace

void add_advice(const Findings& findings, FileVerdict& verdict) {
  add_finding(verdict);
  add_what_is_special(verdict);
  for (const FileTrial& trial : findings.trials) {
    for (const Record& record : trial.records) {
      if (!record.counts.is_null()) {
        add_costly_lines(record, verdict);
      }
    }
  }
}

}  // namespace sgemm
