#pragma once

#include "base/kernel.hpp"
#include "base/words.hpp"
#include "cli/options.hpp"
#include "device/device.hpp"
#include "problem/case.hpp"
#include "record/protocol.hpp"
#include "record/record.hpp"
#include "record/results_file.hpp"

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// Columns of the terminal that standard output goes to: $COLUMNS, or the number that the terminal reports. 0 stands
/// for unlimited, and is the result if standard output is no terminal.
std::size_t terminal_width();

/// `text` in at most `width` columns, ending in "..." where it was cut; unchanged for width 0.
std::string cut(std::string_view text, std::size_t width);

/// The text with a question mark for each control character. What strangers' files say may hold commands to a terminal.
std::string printable(std::string_view text);

/// `text` broken between words into lines of at most `width` columns, all but the first with so many spaces before
/// them; unchanged for width 0. Where the first line has `column` columns already, the result goes behind them.
std::string wrap(std::string_view text, std::size_t width, std::size_t column = 0, std::size_t indent = 2);

/// The cells of a row and a reason behind them, on further lines where one is too short for both.
std::string with_reason(std::string_view cells, std::string_view gap, std::string_view reason, std::size_t width);

/// One line per case, and more for a reason that does not fit. There are no columns for what no case can have. If the
/// terminal is too narrow, more columns are left out. The columns of a block's resources go first.
class Table {
 public:
  /// What the cases of a plan can have.
  struct Content {
    bool times = true;
    bool gpu = true;  ///< all that only a kernel of one GPU has: a ratio to cuBLAS, registers
  };
  enum class Needs { nothing, times, gpu, verification };
  struct Column {
    std::string heading;
    std::size_t width;
    int importance;                                               ///< columns with the smallest are left out first
    std::function<std::string(const Record&, const Json&)> cell;  ///< with what the file has of it
    Needs needs = Needs::nothing;
  };
  /// `kernel_width` and `size_width` fit the longest entries to come.
  Table(const Protocol& protocol, Content content, std::size_t width, std::size_t kernel_width, std::size_t size_width);

  /// The columns' headings; empty in the modes that print paragraphs.
  std::string heading() const;
  std::string row(const Record& record) const;

 private:
  /// A line of one part of each column, right-aligned but for the kernel's name.
  std::string line(const std::function<std::string(const Column&)>& part) const;

  Mode mode_;
  std::size_t width_;
  std::vector<Column> columns_;
};

/// Prints the table to one stream and, on a terminal, a line on the current progress to another.
class Console {
 public:
  /// `progress` is null for no progress line.
  Console(std::ostream& out, std::ostream* progress, std::size_t width, Table table);

  /// Paragraphs, and the headings of the table.
  void heading(const std::vector<std::string>& lines);
  void progress(std::string_view text);
  /// A line of the table, or a paragraph with what was counted or profiled.
  void row(const Record& record);
  /// How many cases ended how, and where the results are and, with counted cases, the page of a warp's accesses.
  void summary(const std::string& results_path, const std::string& trace_page = "");

 private:
  void erase_progress();
  /// A line after the rows so far.
  void note(std::string_view text);

  std::ostream& out_;
  std::ostream* progress_;
  std::size_t width_;
  Table table_;
  Size last_size_;
  std::optional<Distribution> last_data_;
  int rows_of_group_ = 0;
  bool progress_shown_ = false;
  Pace pace_;
  std::map<Outcome, int> counts_;
  int throttled_ = 0;
  int few_samples_ = 0;
  std::vector<double> noise_;  ///< vs_cublas of cuBLAS itself
};

/// The console of a plan, on standard output and, for progress, standard error where it is a terminal. `executing`: GPU
/// kernels run on the CPU.
Console make_console(const Protocol& protocol, const std::vector<Case>& plan, bool executing);

/// The counts of a case, as paragraphs for a terminal of `width` columns (0 for unlimited).
std::vector<std::string> count_report(const Record& record, std::size_t width);

/// Paragraphs that say what the reader of a mode's table or report needs to know. `executing`: GPU kernels run on the
/// CPU; `file`: where results go.
std::vector<std::string> heading(const Options& options, const DeviceQuery& query, const GpuFacts& facts,
                                 bool executing, const std::string& file);

/// Prints what the run does otherwise than its command line lets one expect.
void print_remarks(std::ostream& out, const Options& options, bool executing, const std::string& gpu_error);

/// Three digits and a unit: "4.29 G", "524 k"; small whole numbers as they are: "4096".
std::string short_number(double value);

/// "4.40 GB".
std::string bytes_text(double bytes);

/// Prints the kernels in the order given.
///
/// ListFormat::table is for people: a line for each kernel's default variant with the kernel's number ("-" without
/// one), name and summary, then its other variants as ":variant". CC is the minimum compute capability, or "CPU".
/// Summaries are wrapped so that lines have at most `width` characters where the words allow it; 0 does not wrap.
///
/// ListFormat::json is an array with one object per kernel, which holds its variants; runner/tests/list.txt has
/// samples. "number" is null for kernels without one, "min_compute_capability" for CPU kernels and
/// "max_compute_capability" for kernels that later GPUs run as well.
void print_list(std::ostream& out, const std::vector<Kernel>& kernels, ListFormat format, std::size_t width);

}  // namespace sgemm
