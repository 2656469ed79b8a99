#include "report/count_report.hpp"

#include "report/console.hpp"
#include "report/numbers.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

namespace sgemm {
namespace {

using simt::AccessKind;

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string_view words(AccessKind kind) {
  switch (kind) {
    case AccessKind::global_load:
      return "global load";
    case AccessKind::global_store:
      return "global store";
    case AccessKind::shared_load:
      return "shared load";
    case AccessKind::shared_store:
      return "shared store";
    case AccessKind::async_copy:
      return "async copy";
  }
  return "";
}

bool uses_global(AccessKind kind) { return kind != AccessKind::shared_load && kind != AccessKind::shared_store; }
bool uses_shared(AccessKind kind) { return kind != AccessKind::global_load && kind != AccessKind::global_store; }

/// A paragraph of the summary: what it is about, and lines of text.
void add_paragraph(std::vector<std::string>& lines, std::size_t width, std::string_view name, const std::string& text) {
  constexpr std::size_t NAME = 19;
  const std::size_t left = width > NAME + 2 ? width - NAME - 2 : width;
  std::string wrapped = wrap(text, left);
  bool first = true;
  for (std::size_t begin = 0; begin <= wrapped.size();) {
    const std::size_t end = std::min(wrapped.find('\n', begin), wrapped.size());
    lines.push_back(fmt::format("  {:<{}}{}", first ? name : "", NAME, wrapped.substr(begin, end - begin)));
    first = false;
    begin = end + 1;
  }
}

std::string dram_text(const simt::L2Traffic& l2, const Requests& requests) {
  const std::uint64_t bytes = l2.dram_read_bytes + l2.dram_written_bytes;
  std::string text =
      fmt::format("{} read, {} written", bytes_text(l2.dram_read_bytes), bytes_text(l2.dram_written_bytes));
  if (requests.flops && bytes > 0) {
    text += fmt::format(", {:.1f} FLOP/B", ratio(*requests.flops, bytes));
  }
  return text + fmt::format(", {:.1f} % L2 hits", 100.0 * ratio(l2.read_hits, l2.read_sectors));
}

/// Writes the paragraphs about a case, or about one of its launches.
class Paragraphs {
 public:
  Paragraphs(std::vector<std::string>& lines, std::size_t width, double elements)
      : lines_(lines), width_(width), elements_(elements) {}

  void add(std::string_view name, const std::string& text) const { add_paragraph(lines_, width_, name, text); }

  /// `verdict` follows the number of blocks.
  void add_blocks(const Requests& requests, const std::string& verdict) const {
    add("blocks", (requests.whole() ? fmt::format("all {} executed", requests.blocks)
                                    : fmt::format("{} of {} executed, the others are copies of them moved elsewhere",
                                                  requests.blocks_executed, requests.blocks)) +
                      verdict);
  }

  void add_shape(const Counts& counts, const CountedLaunch& launch) const {
    add("a block", fmt::format("{} threads, {} of shared memory", launch.threads_per_block,
                               bytes_text(std::uint64_t{launch.smem_bytes})));
    add("resident", fmt::format("{} on an SM, {} on the GPU", launch.blocks_per_sm, counts.resident_blocks(launch)));
    if (launch.first_wave_elements > 0) {
      add("first wave", fmt::format("{} blocks read {} different elements of A and B", launch.first_wave_blocks,
                                    short_number(launch.first_wave_elements)));
    }
  }

  /// `one_block_each`: no SM holds two blocks, so that there are no turns.
  void add_requests(const Requests& requests, bool one_block_each) const {
    add("reads per element",
        fmt::format("A {}, B {}, C {}", short_number(requests.reads_per_element[0]),
                    short_number(requests.reads_per_element[1]), short_number(requests.reads_per_element[2])));
    add_workspace(requests);
    add("FLOPs", requests.flops ? fmt::format("{}, {} per element of C", short_number(*requests.flops),
                                              short_number(static_cast<double>(*requests.flops) / elements_))
                                : "not known: objdump (binutils) is missing");
    if (requests.tensor_flops > 0) {
      add("on tensor cores", fmt::format("{} FLOPs, {} per element of C", short_number(requests.tensor_flops),
                                         short_number(static_cast<double>(requests.tensor_flops) / elements_)));
    }
    add("barriers",
        requests.barriers == 0 ? "none" : fmt::format("{} arrivals of warps", short_number(requests.barriers)));
    add("L2", fmt::format("{} read, {} written", bytes_text(requests.in_step.read_sectors * simt::SECTOR_BYTES),
                          bytes_text(requests.in_step.written_sectors * simt::SECTOR_BYTES)));
    if (one_block_each) {
      add("DRAM", dram_text(requests.in_step, requests));
    } else {
      add("DRAM, in step", dram_text(requests.in_step, requests));
      add("DRAM, in turn", dram_text(requests.in_turn, requests));
    }
  }

 private:
  void add_workspace(const Requests& requests) const {
    std::uint64_t read = 0;
    std::uint64_t written = 0;
    for (const simt::LineCounts& line : requests.lines) {
      if (line.array == simt::WORKSPACE) {
        (line.kind == AccessKind::global_store ? written : read) += line.traffic.bytes;
      }
    }
    if (read + written > 0) {
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
  RequestTable(std::size_t width, const Requests& requests, double elements) : width_(width), elements_(elements) {
    for (const simt::LineCounts& line : requests.lines) {
      memory_width_ = std::max(memory_width_, memory(line).size());
    }
  }

  void add_sums_to(std::vector<std::string>& lines, const Requests& requests) const {
    lines.push_back(row("line", "what", "memory", {"count", "sectors", "waves", "conflicts", "bytes/C"}));
    for (std::size_t kind = 0; kind < simt::ACCESS_KINDS; ++kind) {
      if (requests.traffic[kind].requests > 0) {
        const auto which = static_cast<AccessKind>(kind);
        lines.push_back(row("all", words(which), "", cells(which, requests.traffic[kind])));
      }
    }
  }

  void add_lines_to(std::vector<std::string>& lines, const Requests& requests) const {
    std::string_view file;
    for (const simt::LineCounts& line : requests.lines) {
      if (line.file != file) {
        file = line.file;
        lines.push_back("  " + line.file);
      }
      const std::string number = line.line > 0 ? std::to_string(line.line) : "?";
      lines.push_back(line.kind ? row(number, words(*line.kind), memory(line), cells(*line.kind, line.traffic))
                                : row(number, "FLOPs", "", {short_number(line.flops), "", "", "", ""}));
    }
  }

 private:
  using Cells = std::array<std::string, 5>;

  static std::string memory(const simt::LineCounts& line) {
    return line.array == simt::DYNAMIC_SHARED_MEMORY ? "dynamic" : line.array;
  }

  Cells cells(AccessKind kind, const simt::Traffic& traffic) const {
    const auto each = [&](bool applies, std::uint64_t number) {
      return applies ? fmt::format("{:.2f}", ratio(number, traffic.requests)) : "";
    };
    return {short_number(traffic.requests), each(uses_global(kind), traffic.sectors),
            each(uses_shared(kind), traffic.wavefronts),
            each(uses_shared(kind), traffic.wavefronts - traffic.ideal_wavefronts),
            short_number(static_cast<double>(traffic.bytes) / elements_)};
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
  const Counts& counts = *record.counts;
  const double elements = static_cast<double>(record.size.m) * static_cast<double>(record.size.n);
  const std::string verdict =
      record.verified ? fmt::format("; verified, relative error {:.1e}", record.rel_err.value_or(0.0)) : "";
  const auto has_one_block = [](const CountedLaunch& launch) { return launch.blocks_per_sm == 1; };
  const Requests all = counts.sum();
  std::vector<std::string> lines{fmt::format("{} {}", record.kernel, to_string(record.size))};
  const Paragraphs about(lines, width, elements);
  const RequestTable table(width, all, elements);
  const bool several = counts.launches.size() > 1;
  if (several) {
    about.add("launches", fmt::format("{}: first their sum, then each", counts.launches.size()));
  }
  about.add_blocks(all, verdict);
  if (!several) {
    about.add_shape(counts, counts.launches.front());
  }
  about.add_requests(all, std::all_of(counts.launches.begin(), counts.launches.end(), has_one_block));
  table.add_sums_to(lines, all);
  if (!several) {
    table.add_lines_to(lines, all);
    return lines;
  }
  for (std::size_t number = 0; number < counts.launches.size(); ++number) {
    const CountedLaunch& launch = counts.launches[number];
    lines.push_back(fmt::format("launch {} {}", number, launch.function));
    about.add_blocks(launch.requests, "");
    about.add_shape(counts, launch);
    about.add_requests(launch.requests, has_one_block(launch));
    table.add_sums_to(lines, launch.requests);
    table.add_lines_to(lines, launch.requests);
  }
  return lines;
}

}  // namespace sgemm
