#pragma once

#include "record/record.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// What a file is tried for. Each trial is a run of this program with a command line that anybody can type.
enum class Purpose {
  check,     ///< on the executor, with every access to memory checked
  operands,  ///< hidden sizes and hidden kinds of operands, compared with double precision
  decoy,     ///< timed as for the speed, with operands that only look like its own
  speed,     ///< the sizes that were asked for, and others near them, timed beside cuBLAS
  count,     ///< on the executor, what each line asks of a GPU's memories
};

std::string_view to_string(Purpose purpose);

/// The flag that chooses among the cases of a trial.
constexpr std::string_view FILTER = "--benchmark_filter=";

struct FileTrial {
  Purpose purpose = Purpose::check;
  std::vector<std::string> words;  ///< the command line, after the program's name
  double seconds = 0.0;
  std::string failure;  ///< why there are no records, in one line
  std::string details;  ///< a compiler's messages
  std::vector<Record> records;
};

/// Runs the cases of such a command line, or those up to the first that the kernel supports. Foreign code runs in the
/// processes that the cases get; nothing but records comes back from there. Cases after an interruption are skipped.
FileTrial run_trial(Purpose purpose, const std::vector<std::string>& words, bool until_supported,
                    const std::function<void(std::string_view)>& observer);

}  // namespace sgemm
