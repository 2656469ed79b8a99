#include "report/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <ostream>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sgemm {
namespace {

constexpr std::string_view ERASE_LINE = "\r\033[K";
constexpr std::string_view GAP = "  ";
/// For the progress line where standard output is no terminal.
constexpr std::size_t UNKNOWN_WIDTH = 79;
/// Columns of this importance are never left out.
constexpr int ESSENTIAL = 100;
/// What a case of --check has instead of a time.
constexpr std::string_view CORRECT = "correct; ";
constexpr std::string_view CHECKED = "no stray access, no race";

/// A cell with a number that the file has of a record.
template <class Format>
auto number(const std::string& place, Format format) {
  return [at = Json::json_pointer(place), format](const Record&, const Json& json) -> std::string {
    return json.contains(at) ? format(json.at(at).get<double>()) : "-";
  };
}

auto as(const char* format) {
  return [format](double value) { return fmt::format(fmt::runtime(format), value); };
}

std::string error_text(double error) { return error == 0.0 ? "0" : fmt::format("{:.1e}", error); }

/// The speed of cuBLAS in turns with the kernel, GFLOP/s as the kernel's own.
std::string cublas_text(const Record& record, const Json& json) {
  if (!json.contains("cublas_samples_us")) {
    return "-";
  }
  return fmt::format("{:.1f}", flops(record.size) / (median(json.at("cublas_samples_us")) * 1e3));
}

std::string non_finite_text(const Record& /*record*/, const Json& json) {
  const Json of_case = json.value("accuracy", Json::object());
  if (const auto differ = of_case.value("non_finite_wrong", std::int64_t{0}); differ > 0) {
    return fmt::format("{} differ", differ);
  }
  return of_case.value("non_finite", std::int64_t{0}) > 0 ? "match" : "-";
}

std::string_view words(Outcome outcome) {
  return outcome == Outcome::not_supported ? "not supported" : to_string(outcome);
}

/// The temperature at the end.
std::string temperature_text(const Record& /*record*/, const Json& json) {
  static const Json::json_pointer COLUMN("/sustained/kernel/trace/samples/temperature_c");
  return json.contains(COLUMN) && json.at(COLUMN).back().is_number() ? json.at(COLUMN).back().dump() : "-";
}

/// "throttled 45 % of the time (sw_power_cap)", as far as that is known.
std::string throttled_text(const Record& record) {
  const Json& trace = record.sustained.is_null() ? record.trace : record.sustained.at("kernel").at("trace");
  if (trace.is_null()) {
    return "throttled";
  }
  std::vector<std::string> reasons;
  for (const auto& [reason, share] : trace.at("throttle_shares").items()) {
    reasons.push_back(reason);
  }
  return fmt::format("throttled {:.0f} % of the time ({})", 100.0 * trace.at("throttled_share").get<double>(),
                     fmt::join(reasons, ", "));
}

bool lacks_interval(const Json& json) { return most_coverage(json.at("samples_us").size()) < CONFIDENCE; }

std::string width_text(const Record& /*record*/, const Json& json) {
  if (!json.contains("time_us")) {
    return "-";
  }
  const auto us = [&](const char* name) { return json.at("time_us").at(name).get<double>(); };
  return lacks_interval(json) ? fmt::format("n={}", json.at("samples_us").size())
                              : fmt::format("{:.1f}", 50.0 * (us("ci_high") - us("ci_low")) / us("median"));
}

/// Microseconds in a unit that suits them: "31.20 us", "1.250 ms".
std::string time_text(double us) {
  if (us < 1e3) {
    return fmt::format("{:.2f} us", us);
  }
  return us < 1e6 ? fmt::format("{:.3f} ms", us / 1e3) : fmt::format("{:.3f} s", us / 1e6);
}

std::vector<Table::Column> columns_of_speed(const Protocol& protocol, Table::Content content) {
  return {
      {content.times ? "time" : "result", protocol.check ? CORRECT.size() + CHECKED.size() : 10, ESSENTIAL,
       [check = protocol.check](const Record& r, const Json& json) {
         return json.contains("time_us") ? time_text(json.at("time_us").at("median"))
                : check                  ? fmt::format("{}{}", r.verified ? CORRECT : "", CHECKED)
                                         : std::string(to_string(r.outcome));
       }},
      {"\u00b1%", 4, 7, width_text, Table::Needs::times},
      {"GFLOP/s", 8, ESSENTIAL, number("/gflops", as("{:.1f}")), Table::Needs::times},
      {"cuBLAS", 8, 9, cublas_text, Table::Needs::gpu},
      {"% peak", 6, 8, number("/percent_of_peak", as("{:.1f}")), Table::Needs::gpu},
      {"vs cuBLAS", 9, 9, number("/vs_cublas", as("{:.3f}")), Table::Needs::gpu},
      {"vs alone", 8, 6, number("/vs_cublas_alone", as("{:.3f}")), Table::Needs::gpu},
      {"rel err", 7, content.times ? 5 : ESSENTIAL, number("/rel_err", as("{:.1e}")), Table::Needs::verification},
      {"regs", 4, 3, number("/registers", as("{:.0f}")), Table::Needs::gpu},
      {"smem B", 6, 2, number("/smem_bytes", as("{:.0f}")), Table::Needs::gpu},
      {"spill B", 7, 1, number("/spill_bytes", as("{:.0f}")), Table::Needs::gpu},
      {"blk/SM", 6, 4, number("/blocks_per_sm", as("{:.0f}")), Table::Needs::gpu},
  };
}

std::vector<Table::Column> columns_of_energy(const std::string& turns) {
  return {
      {"MHz", 4, 9, number(turns + "/kernel/trace/mean_sm_clock_mhz", as("{:.0f}"))},
      {"W", 4, ESSENTIAL, number(turns + "/kernel/watts", as("{:.0f}"))},
      {"J", 8, ESSENTIAL, number(turns + "/kernel/joules_per_product", as("{:.3g}"))},
      {"GFLOP/J", 7, 9, number(turns + "/kernel/gflops_per_watt", as("{:.0f}"))},
      {"cuBLAS W", 8, 8, number(turns + "/cublas/watts", as("{:.0f}"))},
      {"cuBLAS J", 8, 8, number(turns + "/cublas/joules_per_product", as("{:.3g}"))},
  };
}

std::vector<Table::Column> columns_of_turns() {
  return {
      {"GFLOP/s", 8, ESSENTIAL, number("/sustained/kernel/gflops", as("{:.1f}"))},
      {"vs cuBLAS", 9, 9,
       [](const Record& r, const Json&) -> std::string {
         const auto us = [&](const char* owner) { return r.sustained.at(owner).at("launch_us").get<double>(); };
         return r.sustained.contains("cublas") ? as("{:.3f}")(us("cublas") / us("kernel")) : "-";
       }},
      {"seconds", 7, 5, number("/sustained/kernel/seconds", as("{:.1f}"))},
      {"\u00b0C", 3, 7, temperature_text},
  };
}

std::vector<Table::Column> columns_of_errors() {
  return {
      {"data", 10, ESSENTIAL,
       [](const Record& r, const Json&) { return std::string(r.data ? to_string(*r.data) : "-"); }},
      {"rel err", 7, ESSENTIAL, number("/rel_err", error_text)},
      {"vs cuBLAS", 9, 4, number("/accuracy/rel_err_vs_cublas", as("{:.3f}")), Table::Needs::gpu},
      {"worst", 7, 3, number("/accuracy/componentwise_err", error_text)},
      {"of bound", 8, 5, number("/max_bound_ratio", as("{:.3g}"))},
      {"condition", 9, 1, number("/accuracy/condition", as("{:.3g}"))},
      {"Inf/NaN", 10, 2, non_finite_text},
      {"result", 13, ESSENTIAL,
       [](const Record& r, const Json&) {
         return r.outcome != Outcome::compared ? std::string(words(r.outcome))
                : r.verified                   ? "within bound"
                                               : "not promised";
       }},
  };
}

}  // namespace

std::size_t terminal_width() {
  if (const char* const columns = std::getenv("COLUMNS")) {
    if (const auto width = number_in<std::size_t>(columns).value_or(0); width > 0) {
      return width;
    }
  }
  winsize size{};
  return isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string cut(std::string_view text, std::size_t width) {
  if (width == 0 || text.size() <= width) {
    return std::string(text);
  }
  constexpr std::string_view DOTS = "...";
  std::size_t end = width > DOTS.size() ? width - DOTS.size() : 0;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  while (end > 0 && continues(text[end])) {
    --end;  // not within a UTF-8 character
  }
  return std::string(text.substr(0, end)) + std::string(DOTS.substr(0, std::min(width, DOTS.size())));
}

std::string printable(std::string_view text) {
  std::string result(text);
  std::ranges::replace_if(
      result, [](unsigned char c) { return c == 0x7F || (c < ' ' && c != '\n' && c != '\t'); }, '?');
  return result;
}

std::string wrap(std::string_view text, std::size_t width, std::size_t column, std::size_t indent) {
  std::string result;
  std::istringstream words{printable(text)};
  for (std::string word; words >> word;) {
    if (column > 0) {
      const bool full = width > 0 && column + 1 + word.size() > width;
      result += full ? "\n" + std::string(indent, ' ') : " ";
      column = full ? indent : column + 1;
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::string with_reason(std::string_view cells, std::string_view gap, std::string_view reason, std::size_t width) {
  const bool fits = width == 0 || cells.size() + gap.size() + reason.size() <= width;
  return fits ? fmt::format("{}{}{}", cells, gap, printable(reason))
              : fmt::format("{}{}", cells, wrap(reason, width, cells.size()));
}

Table::Table(const Protocol& protocol, Content content, std::size_t width, std::size_t kernel_width,
             std::size_t size_width)
    : mode_(protocol.mode),
      width_(width),
      columns_{
          {"kernel", std::max<std::size_t>(kernel_width, 6), ESSENTIAL,
           [](const Record& r, const Json&) { return r.kernel; }},
          {"size", std::max<std::size_t>(size_width, 4), ESSENTIAL,
           [](const Record& r, const Json&) { return to_string(r.size); }},
      } {
  const auto add = [this](std::vector<Column> more) {
    std::move(more.begin(), more.end(), std::back_inserter(columns_));
  };
  if (mode_ == Mode::measure) {
    add(columns_of_speed(protocol, content));
  } else if (mode_ == Mode::accuracy) {
    add(columns_of_errors());
  } else if (mode_ == Mode::sustain) {
    add(columns_of_turns());
    add(columns_of_energy("/sustained"));
  }
  if (protocol.energy) {
    add(columns_of_energy("/energy"));
  }
  std::erase_if(columns_, [&](const Column& column) {
    return (column.needs == Needs::times && !content.times) || (column.needs == Needs::gpu && !content.gpu) ||
           (column.needs == Needs::verification && !protocol.verify);
  });
  const auto total = [this] {
    std::size_t sum = GAP.size() * (columns_.size() - 1);
    for (const Column& column : columns_) {
      sum += column.width;
    }
    return sum;
  };
  while (width_ > 0 && total() > width_) {
    const auto least = std::ranges::min_element(columns_, {}, &Column::importance);
    if (least->importance == ESSENTIAL) {
      break;
    }
    columns_.erase(least);
  }
}

std::string Table::line(const std::function<std::string(const Column&)>& part) const {
  std::string text = fmt::format("{:<{}}", part(columns_.front()), columns_.front().width);
  for (auto column = columns_.begin() + 1; column != columns_.end(); ++column) {
    text += fmt::format("{}{:>{}}", GAP, part(*column), column->width);
  }
  return text;
}

std::string Table::heading() const {
  if (mode_ != Mode::measure && mode_ != Mode::accuracy && mode_ != Mode::sustain) {
    return "";
  }
  return line([](const Column& column) { return column.heading; });
}

std::string Table::row(const Record& record) const {
  const Json json = to_json(record);
  const auto cells = [&] { return line([&](const Column& column) { return column.cell(record, json); }); };
  if (json.contains("time_us") || !record.sustained.is_null()) {
    return record.throttled() ? fmt::format("{}{}{}", cells(), GAP, throttled_text(record)) : cells();
  }
  if (record.outcome == Outcome::executed) {
    return cells();
  }
  if (json.contains("accuracy")) {
    return record.reason.empty() ? cells() : with_reason(cells(), GAP, record.reason, width_);
  }
  const std::string data = record.data ? fmt::format("{}{:>10}", GAP, to_string(*record.data)) : "";
  return with_reason(fmt::format("{:<{}}{}{:>{}}{}{}{}:", record.kernel, columns_[0].width, GAP, to_string(record.size),
                                 columns_[1].width, data, GAP, words(record.outcome)),
                     " ", record.reason, width_);
}

Console::Console(std::ostream& out, std::ostream* progress, std::size_t width, Table table)
    : out_(out), progress_(progress), width_(width), table_(std::move(table)) {}

void Console::heading(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    out_ << wrap(line, width_) << '\n';
  }
  const std::string columns = table_.heading();
  out_ << '\n' << columns << (columns.empty() ? "" : "\n") << std::flush;
}

void Console::progress(std::string_view text) {
  if (progress_ == nullptr || !pace_.shows(text)) {
    return;
  }
  // The last column stays free: some terminals would begin a new line after it.
  *progress_ << ERASE_LINE << cut(text, width_ > 1 ? width_ - 1 : UNKNOWN_WIDTH) << std::flush;
  progress_shown_ = true;
}

void Console::erase_progress() {
  if (progress_shown_) {
    *progress_ << ERASE_LINE << std::flush;
    progress_shown_ = false;
  }
}

void Console::row(const Record& record) {
  erase_progress();
  ++counts_[record.outcome];
  if (!record.counts.is_null()) {
    for (const std::string& line : count_report(record, width_)) {
      out_ << line << '\n';
    }
    out_ << '\n' << std::flush;
    return;
  }
  if (record.size != last_size_ || record.data != last_data_) {
    if (rows_of_group_ > 1) {
      out_ << '\n';  // groups the kernels of a size; a kernel alone needs none between its sizes
    }
    last_size_ = record.size;
    last_data_ = record.data;
    rows_of_group_ = 0;
  }
  ++rows_of_group_;
  throttled_ += record.throttled() ? 1 : 0;
  if (const Json json = to_json(record); json.contains("samples_us")) {
    few_samples_ += lacks_interval(json) ? 1 : 0;
    if (record.kernel == "cublas" && json.contains("vs_cublas")) {
      noise_.push_back(json.at("vs_cublas"));
    }
  }
  out_ << table_.row(record) << '\n' << std::flush;
  if (!record.note.empty()) {
    note(record.note);
  }
}

void Console::note(std::string_view text) {
  erase_progress();
  out_ << wrap(text, width_) << '\n' << std::flush;
}

void Console::summary(const std::string& results_path, const std::string& trace_page) {
  erase_progress();
  std::vector<std::string> parts;
  for (const auto& [outcome, count] : counts_) {
    parts.push_back(fmt::format("{} {}", count, words(outcome)));
  }
  if (throttled_ > 0) {
    parts.push_back(fmt::format("{} throttled", throttled_));
  }
  out_ << '\n';
  if (few_samples_ > 0) {
    note(fmt::format("n=: {} of the cases {} too few samples for a {:.0f} % interval of the median", few_samples_,
                     few_samples_ == 1 ? "has" : "have", 100.0 * CONFIDENCE));
  }
  if (!noise_.empty()) {
    const auto [least, most] = std::minmax_element(noise_.begin(), noise_.end());
    note(fmt::format("Noise of this run: cuBLAS in turns with itself is at {:.3f} to {:.3f} of its own speed", *least,
                     *most));
  }
  out_ << wrap(fmt::format("{}. Results: {}", fmt::join(parts, ", "), results_path), width_) << '\n' << std::flush;
  if (!trace_page.empty() && counts_.contains(Outcome::counted)) {
    note(fmt::format("A warp's accesses, to be opened in a browser: {}", trace_page));
  }
}

Console make_console(const Protocol& protocol, const std::vector<Case>& plan, bool executing) {
  Table::Content content{false, false};
  std::size_t kernel_width = 0;
  std::size_t size_width = 0;
  for (const Case& item : plan) {
    kernel_width = std::max(kernel_width, item.kernel->id().size());
    size_width = std::max(size_width, to_string(item.size).size());
    const bool on_gpu = item.kernel->platform == Platform::gpu && !executing;
    content.times = content.times || on_gpu || item.kernel->platform == Platform::cpu;
    content.gpu = content.gpu || (on_gpu && item.kernel->local_kernel.empty());
  }
  const std::size_t width = terminal_width();
  return {std::cout, isatty(STDERR_FILENO) != 0 ? &std::cerr : nullptr, width,
          Table(protocol, content, width, kernel_width, size_width)};
}

std::string short_number(double value) {
  constexpr double SMALL = 10000.0;
  if (value == std::floor(value) && value < SMALL) {
    return fmt::format("{:.0f}", value);
  }
  constexpr std::array<std::string_view, 6> UNITS{"", " k", " M", " G", " T", " P"};
  constexpr double KILO = 1000.0;
  std::size_t unit = 0;
  for (; value >= KILO - 0.5 && unit + 1 < UNITS.size(); ++unit) {
    value /= KILO;
  }
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", value, decimals, UNITS[unit]);
}

std::string bytes_text(double bytes) {
  const std::string number = short_number(bytes);
  return number + (number.find(' ') == std::string::npos ? " B" : "B");
}

}  // namespace sgemm
