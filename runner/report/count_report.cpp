#include "report/console.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace sgemm {
namespace {

/// Kinds of requests in the order of the table: the name of their sum in the record, and that of each line.
constexpr std::array<std::pair<const char*, std::string_view>, simt::ACCESS_KINDS> KINDS{
    {{"global_loads", "global_load"},
     {"global_stores", "global_store"},
     {"shared_loads", "shared_load"},
     {"shared_stores", "shared_store"},
     {"async_copies", "async_copy"}}};

std::uint64_t whole_number(const Json& json, const char* name) { return json.at(name).get<std::uint64_t>(); }
double number(const Json& json, const char* name) { return json.at(name).get<double>(); }

std::string words(std::string_view kind) {
  std::string text(kind);
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string dram_text(const Json& l2, const Json& requests) {
  const double read = number(l2, "dram_read_bytes");
  const double written = number(l2, "dram_written_bytes");
  std::string text = fmt::format("{} read, {} written", bytes_text(read), bytes_text(written));
  if (requests.contains("flops") && read + written > 0.0) {
    text += fmt::format(", {:.1f} FLOP/B", number(requests, "flops") / (read + written));
  }
  return text + fmt::format(", {:.1f} % L2 hits", 100.0 * number(l2, "hit_rate"));
}

/// Writes the paragraphs about a case, or about one of its launches.
class Paragraphs {
 public:
  Paragraphs(std::vector<std::string>& lines, std::size_t width, double elements)
      : lines_(lines), width_(width), elements_(elements) {}

  /// What it is about, and lines of text.
  void add(std::string_view name, const std::string& text) const {
    std::string line = fmt::format("  {:<18}", name);
    line += wrap(text, width_, line.size(), line.size() + 3);
    lines_.push_back(std::move(line));
  }

  /// `verdict` follows the number of blocks.
  void add_blocks(const Json& requests, const std::string& verdict) const {
    const std::uint64_t blocks = whole_number(requests, "blocks");
    const std::uint64_t executed = whole_number(requests, "blocks_executed");
    add("blocks", (executed == blocks ? fmt::format("all {} executed", blocks)
                                      : fmt::format("{} of {} executed, the others are copies of them moved elsewhere",
                                                    executed, blocks)) +
                      verdict);
  }

  void add_shape(const Json& launch) const {
    add("a block", fmt::format("{} threads, {} of shared memory", whole_number(launch, "threads_per_block"),
                               bytes_text(number(launch, "smem_bytes"))));
    add("resident", fmt::format("{} on an SM, {} on the GPU", whole_number(launch, "blocks_per_sm"),
                                whole_number(launch, "resident_blocks")));
    const Json& wave = launch.at("first_wave");
    if (const double elements = number(wave, "elements"); elements > 0.0) {
      add("first wave", fmt::format("{} blocks read {} different elements of A and B", whole_number(wave, "blocks"),
                                    short_number(elements)));
    }
  }

  /// `lines` are those of `requests`. `one_block_each`: no SM holds two blocks, so that there are no turns.
  void add_requests(const Json& requests, const Json& lines, bool one_block_each) const {
    const Json& reads = requests.at("reads_per_element");
    add("reads per element", fmt::format("A {}, B {}, C {}", short_number(number(reads, "a")),
                                         short_number(number(reads, "b")), short_number(number(reads, "c"))));
    add_workspace(lines);
    add("FLOPs",
        requests.contains("flops") ? flops_text(requests, "flops", "") : "not known: objdump (binutils) is missing");
    if (requests.contains("tensor_flops")) {
      add("on tensor cores", flops_text(requests, "tensor_flops", " FLOPs"));
    }
    const double barriers = number(requests, "barriers");
    add("barriers", barriers == 0.0 ? "none" : fmt::format("{} arrivals of warps", short_number(barriers)));
    const Json& in_step = requests.at("l2").at("in_step");
    add("L2", fmt::format("{} read, {} written", bytes_text(number(in_step, "read_bytes")),
                          bytes_text(number(in_step, "written_bytes"))));
    if (one_block_each) {
      add("DRAM", dram_text(in_step, requests));
    } else {
      add("DRAM, in step", dram_text(in_step, requests));
      add("DRAM, in turn", dram_text(requests.at("l2").at("in_turn"), requests));
    }
  }

 private:
  std::string flops_text(const Json& requests, const char* name, std::string_view unit) const {
    const double flops = number(requests, name);
    return fmt::format("{}{}, {} per element of C", short_number(flops), unit, short_number(flops / elements_));
  }

  void add_workspace(const Json& lines) const {
    double read = 0.0;
    double written = 0.0;
    for (const Json& line : lines) {
      if (line.value("array", "") == simt::WORKSPACE) {
        (line.at("kind") == "global_store" ? written : read) += number(line, "bytes");
      }
    }
    if (read + written > 0.0) {
      add("workspace", fmt::format("{} asked to read, {} to write", bytes_text(read), bytes_text(written)));
    }
  }

  std::vector<std::string>& lines_;
  std::size_t width_;
  double elements_;
};

/// A table of requests by kind, with the cost of each: first of all lines together, then of each line.
class RequestTable {
 public:
  RequestTable(std::size_t width, const Json& lines, double elements) : width_(width), elements_(elements) {
    for (const Json& line : lines) {
      memory_width_ = std::max(memory_width_, memory(line).size());
    }
  }

  void add_sums_to(std::vector<std::string>& lines, const Json& requests) const {
    lines.push_back(row("line", "what", "memory", {"count", "sectors", "waves", "conflicts", "bytes/C"}));
    for (const auto& [name, kind] : KINDS) {
      if (const Json& sum = requests.at(name); whole_number(sum, "requests") > 0) {
        lines.push_back(row("all", words(kind), "", cells(kind, sum)));
      }
    }
  }

  void add_lines_to(std::vector<std::string>& lines, const Json& requests) const {
    std::string file;
    for (const Json& line : requests.at("lines")) {
      if (line.at("file") != file) {
        file = line.at("file").get<std::string>();
        lines.push_back("  " + file);
      }
      const std::uint64_t at = whole_number(line, "line");
      const std::string place = at > 0 ? std::to_string(at) : "?";
      const auto kind = line.at("kind").get<std::string>();
      lines.push_back(kind == "flops" ? row(place, "FLOPs", "", {short_number(number(line, "flops")), "", "", "", ""})
                                      : row(place, words(kind), memory(line), cells(kind, line)));
    }
  }

 private:
  using Cells = std::array<std::string, 5>;

  static std::string memory(const Json& line) {
    const std::string array = line.value("array", "");
    return array == simt::DYNAMIC_SHARED_MEMORY ? "dynamic" : array;
  }

  Cells cells(std::string_view kind, const Json& traffic) const {
    const double requests = number(traffic, "requests");
    const auto each = [&](std::string_view other_memory, const char* name) {
      return kind.starts_with(other_memory) ? "" : fmt::format("{:.2f}", number(traffic, name) / requests);
    };
    return {short_number(requests), each("shared", "sectors"), each("global", "wavefronts"),
            each("global", "conflicts"), short_number(number(traffic, "bytes") / elements_)};
  }

  std::string row(std::string_view line, std::string_view what, std::string_view memory, const Cells& cells) const {
    std::string text = fmt::format("  {:>4}  {:<12}  {:<{}}  {:>7}  {:>7}  {:>6}  {:>9}  {:>7}", line, what, memory,
                                   memory_width_, cells[0], cells[1], cells[2], cells[3], cells[4]);
    text.erase(text.find_last_not_of(' ') + 1);
    return cut(text, width_);
  }

  std::size_t width_;
  double elements_;
  std::size_t memory_width_ = 6;
};

}  // namespace

std::vector<std::string> count_report(const Record& record, std::size_t width) {
  const Json& all = record.counts;
  const Json launches = all.value("launches", Json::array({all}));
  const double elements = static_cast<double>(record.size.m) * static_cast<double>(record.size.n);
  const std::string verdict =
      record.verified ? fmt::format("; verified, relative error {:.1e}", record.rel_err.value_or(0.0)) : "";
  const auto has_one_block = [](const Json& launch) { return launch.at("blocks_per_sm") == 1; };
  Json all_lines = Json::array();
  for (const Json& launch : launches) {
    all_lines.insert(all_lines.end(), launch.at("lines").begin(), launch.at("lines").end());
  }
  std::vector<std::string> lines{fmt::format("{} {}", record.kernel, to_string(record.size))};
  const Paragraphs about(lines, width, elements);
  const RequestTable table(width, all_lines, elements);
  const bool several = launches.size() > 1;
  if (several) {
    about.add("launches", fmt::format("{}: first their sum, then each", launches.size()));
  }
  about.add_blocks(all, verdict);
  if (!several) {
    about.add_shape(all);
  }
  about.add_requests(all, all_lines, std::ranges::all_of(launches, has_one_block));
  table.add_sums_to(lines, all);
  if (!several) {
    table.add_lines_to(lines, all);
    return lines;
  }
  for (std::size_t number = 0; number < launches.size(); ++number) {
    const Json& launch = launches[number];
    lines.push_back(fmt::format("launch {} {}", number, launch.at("function").get<std::string>()));
    about.add_blocks(launch, "");
    about.add_shape(launch);
    about.add_requests(launch, launch.at("lines"), has_one_block(launch));
    table.add_sums_to(lines, launch);
    table.add_lines_to(lines, launch);
  }
  return lines;
}

}  // namespace sgemm
