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

std::string dram_text(const simt::L2Traffic& l2, const Counts& counts) {
  const std::uint64_t bytes = l2.dram_read_bytes + l2.dram_written_bytes;
  std::string text =
      fmt::format("{} read, {} written", bytes_text(l2.dram_read_bytes), bytes_text(l2.dram_written_bytes));
  if (counts.flops && bytes > 0) {
    text += fmt::format(", {:.1f} FLOP/B", ratio(*counts.flops, bytes));
  }
  return text + fmt::format(", {:.1f} % L2 hits", 100.0 * ratio(l2.read_hits, l2.read_sectors));
}

void add_summary(std::vector<std::string>& lines, std::size_t width, const Record& record, const Counts& counts) {
  const auto add = [&](std::string_view name, const std::string& text) { add_paragraph(lines, width, name, text); };
  std::string blocks = counts.blocks_executed == counts.blocks
                           ? fmt::format("all {} executed", counts.blocks)
                           : fmt::format("{} of {} executed, the others are copies of them moved elsewhere",
                                         counts.blocks_executed, counts.blocks);
  if (record.verified) {
    blocks += fmt::format("; verified, relative error {:.1e}", record.rel_err.value_or(0.0));
  }
  add("blocks", blocks);
  add("a block", fmt::format("{} threads, {} of shared memory", counts.threads_per_block,
                             bytes_text(std::uint64_t{counts.smem_bytes})));
  add("resident", fmt::format("{} on an SM, {} on the GPU", counts.blocks_per_sm, counts.resident_blocks()));
  add("first wave", fmt::format("{} blocks read {} different elements of A and B", counts.first_wave_blocks,
                                short_number(counts.first_wave_elements)));
  add("reads per element",
      fmt::format("A {}, B {}, C {}", short_number(counts.reads_per_element[0]),
                  short_number(counts.reads_per_element[1]), short_number(counts.reads_per_element[2])));
  const double elements = static_cast<double>(record.size.m) * static_cast<double>(record.size.n);
  add("FLOPs", counts.flops ? fmt::format("{}, {} per element of C", short_number(*counts.flops),
                                          short_number(static_cast<double>(*counts.flops) / elements))
                            : "not known: objdump (binutils) is missing");
  if (counts.tensor_flops > 0) {
    add("on tensor cores", fmt::format("{} FLOPs, {} per element of C", short_number(counts.tensor_flops),
                                       short_number(static_cast<double>(counts.tensor_flops) / elements)));
  }
  add("barriers", counts.barriers == 0 ? "none" : fmt::format("{} arrivals of warps", short_number(counts.barriers)));
  add("L2", fmt::format("{} read, {} written", bytes_text(counts.in_step.read_sectors * simt::SECTOR_BYTES),
                        bytes_text(counts.in_step.written_sectors * simt::SECTOR_BYTES)));
  if (counts.blocks_per_sm == 1) {
    add("DRAM", dram_text(counts.in_step, counts));
  } else {
    add("DRAM, in step", dram_text(counts.in_step, counts));
    add("DRAM, in turn", dram_text(counts.in_turn, counts));
  }
}

/// A table of requests by kind, with the cost of each: first of all lines together, then of each line.
class RequestTable {
 public:
  RequestTable(std::size_t width, const Counts& counts, double elements) : width_(width), elements_(elements) {
    for (const simt::LineCounts& line : counts.lines) {
      memory_width_ = std::max(memory_width_, memory(line).size());
    }
  }

  void add_to(std::vector<std::string>& lines, const Counts& counts) const {
    lines.push_back(row("line", "what", "memory", {"count", "sectors", "waves", "conflicts", "bytes/C"}));
    for (std::size_t kind = 0; kind < simt::ACCESS_KINDS; ++kind) {
      if (counts.traffic[kind].requests > 0) {
        const auto which = static_cast<AccessKind>(kind);
        lines.push_back(row("all", words(which), "", cells(which, counts.traffic[kind])));
      }
    }
    std::string_view file;
    for (const simt::LineCounts& line : counts.lines) {
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
  std::vector<std::string> lines{fmt::format("{} {}", record.kernel, to_string(record.size))};
  add_summary(lines, width, record, *record.counts);
  const double elements = static_cast<double>(record.size.m) * static_cast<double>(record.size.n);
  RequestTable(width, *record.counts, elements).add_to(lines, *record.counts);
  return lines;
}

}  // namespace sgemm
