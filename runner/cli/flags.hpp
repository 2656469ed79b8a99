#pragma once

#include "cli/options.hpp"

#include <functional>
#include <string>
#include <vector>

namespace sgemm {

/// A flag of the command line: what --help says of it, where it has an effect, and what becomes of its value.
struct Flag {
  std::string name;         ///< "--kernel"
  std::string value;        ///< "KERNELS", in brackets if it may be left out; empty for a flag without a value
  std::string description;  ///< with its default in brackets
  std::vector<Mode> modes;  ///< besides `list`; in all others it is an error. Empty for all
  std::function<void(const std::string& text)> store;  ///< of a flag without a value, gets none; null for a mode
  bool repeats = false;                                ///< given again, it adds to what it said before
};

struct FlagGroup {
  std::string title;
  std::vector<Flag> flags;
};

/// All flags. Their values go to `options` and, of the warp that is traced, to `traced`; both outlive them.
std::vector<FlagGroup> all_flags(Options& options, TraceOptions& traced);

/// What --help says after the list of flags.
std::string more_help();

}  // namespace sgemm
