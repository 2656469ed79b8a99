#include "count_report.hpp"

#include "console.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

namespace sgemm {
namespace {

using simt::AccessKind;

/// Three digits and a unit: "4.29 G", "524 k", "12".
std::string short_number(double value) {
  constexpr std::array<std::string_view, 6> UNITS{"", " k", " M", " G", " T", " P"};
  constexpr double KILO = 1000.0;
  std::size_t unit = 0;
  for (; value >= KILO - 0.5 && unit + 1 < UNITS.size(); ++unit) {
    value /= KILO;
  }
  const int decimals = (unit == 0 && value == std::floor(value)) || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", value, decimals, UNITS[unit]);
}

std::string short_number(std::uint64_t value) { return short_number(static_cast<double>(value)); }

/// "4.40 GB".
std::string bytes_text(double bytes) {
  const std::string number = short_number(bytes);
  return number + (number.find(' ') == std::string::npos ? " B" : "B");
}

std::string bytes_text(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

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

/// "2.50 sectors", "1.25 wavefronts, 0.25 conflicts", or both.
std::string per_request(AccessKind kind, const simt::Traffic& traffic) {
  std::string text;
  if (uses_global(kind)) {
    text = fmt::format("{:.2f} sectors", ratio(traffic.sectors, traffic.requests));
  }
  if (uses_shared(kind)) {
    text += fmt::format("{}{:.2f} wavefronts, {:.2f} conflicts", text.empty() ? "" : ", ",
                        ratio(traffic.wavefronts, traffic.requests),
                        ratio(traffic.wavefronts - traffic.ideal_wavefronts, traffic.requests));
  }
  return text;
}

/// A paragraph of the summary: what it is about, and lines of text.
void add(std::vector<std::string>& lines, std::size_t width, std::string_view name, const std::string& text) {
  constexpr std::size_t NAME = 18;
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

void add_dram(std::vector<std::string>& lines, std::size_t width, std::string_view name, const simt::L2Traffic& l2,
              const Counts& counts) {
  const std::uint64_t bytes = l2.dram_read_bytes + l2.dram_written_bytes;
  std::string text =
      fmt::format("{} read, {} written", bytes_text(l2.dram_read_bytes), bytes_text(l2.dram_written_bytes));
  if (counts.flops && bytes > 0) {
    text += fmt::format("; {:.1f} FLOP/B", ratio(*counts.flops, bytes));
  }
  text += fmt::format("; {:.1f} % of {} hit the L2", 100.0 * ratio(l2.read_hits, l2.read_sectors),
                      bytes_text(l2.read_sectors * simt::SECTOR_BYTES));
  add(lines, width, name, text);
}

std::vector<std::string> summary(const Record& record, const Counts& counts, std::size_t width) {
  std::vector<std::string> lines;
  const std::string executed =
      counts.blocks_executed == counts.blocks
          ? fmt::format("all {} executed", counts.blocks)
          : fmt::format("{} of {} executed, the others are copies", counts.blocks_executed, counts.blocks);
  const std::string result =
      record.verified ? fmt::format("; result verified, relative error {:.1e}", record.rel_err.value_or(0.0)) : "";
  add(lines, width, "blocks", executed + result);
  add(lines, width, "on an SM",
      fmt::format("{} of {} threads and {} of shared memory; {} on the GPU", counts.blocks_per_sm,
                  counts.threads_per_block, bytes_text(std::uint64_t{counts.smem_bytes}), counts.resident_blocks()));
  const double elements = static_cast<double>(record.size.m) * static_cast<double>(record.size.n);
  for (std::size_t kind = 0; kind < simt::ACCESS_KINDS; ++kind) {
    const simt::Traffic& traffic = counts.traffic[kind];
    const auto which = static_cast<AccessKind>(kind);
    if (traffic.requests > 0) {
      add(lines, width, fmt::format("{}s", words(which) == "async copy" ? "async copie" : words(which)),
          fmt::format("{} requests of {}; {} per element of C", short_number(traffic.requests),
                      per_request(which, traffic), bytes_text(static_cast<double>(traffic.bytes) / elements)));
    }
  }
  add(lines, width, "FLOPs",
      counts.flops ? fmt::format("{}; {} per element of C", short_number(*counts.flops),
                                 short_number(static_cast<double>(*counts.flops) / elements))
                   : "not known: objdump (binutils) is missing");
  add(lines, width, "barriers",
      counts.barriers == 0 ? "none" : fmt::format("{} arrivals of warps", short_number(counts.barriers)));
  add(lines, width, "reads per element",
      fmt::format("A {}, B {}, C {}", short_number(counts.reads_per_element[0]),
                  short_number(counts.reads_per_element[1]), short_number(counts.reads_per_element[2])));
  add(lines, width, "first wave",
      fmt::format("{} blocks read {} different elements of A and B", counts.first_wave_blocks,
                  short_number(counts.first_wave_elements)));
  if (counts.blocks_per_sm == 1) {
    add_dram(lines, width, "DRAM", counts.in_step, counts);
  } else {
    add_dram(lines, width, "DRAM, in step", counts.in_step, counts);
    add_dram(lines, width, "DRAM, in turn", counts.in_turn, counts);
  }
  return lines;
}

}  // namespace

std::vector<std::string> count_report(const Record& record, std::size_t width) {
  const Counts& counts = *record.counts;
  std::vector<std::string> lines{fmt::format("{} {}", record.kernel, to_string(record.size))};
  const std::vector<std::string> totals = summary(record, counts, width);
  lines.insert(lines.end(), totals.begin(), totals.end());

  std::size_t place_width = 4;
  std::size_t memory_width = 6;
  const auto place = [](const simt::LineCounts& line) {
    return line.line > 0 ? fmt::format("{}:{}", line.file, line.line) : std::string("unknown");
  };
  const auto memory = [](const simt::LineCounts& line) {
    return std::string(line.array == simt::DYNAMIC_SHARED_MEMORY ? "dynamic" : line.array);
  };
  for (const simt::LineCounts& line : counts.lines) {
    place_width = std::max(place_width, place(line).size());
    memory_width = std::max(memory_width, memory(line).size());
  }
  const auto row = [&](const std::string& where, std::string_view what, const std::string& of,
                       const std::string& number, const std::string& each) {
    std::string text =
        fmt::format("  {:<{}}  {:<12}  {:<{}}  {:>8}  {}", where, place_width, what, of, memory_width, number, each);
    text.erase(text.find_last_not_of(' ') + 1);
    return cut(text, width);
  };
  lines.push_back(row("line", "what", "memory", "requests", "per request"));
  for (const simt::LineCounts& line : counts.lines) {
    lines.push_back(line.kind ? row(place(line), words(*line.kind), memory(line), short_number(line.traffic.requests),
                                    per_request(*line.kind, line.traffic))
                              : row(place(line), "FLOPs", "", short_number(line.flops), ""));
  }
  return lines;
}

}  // namespace sgemm
