#pragma once

#include <string>
#include <vector>

namespace sgemm {

/// A row of a table of counters. counter_rows.json has all of them, for the program and for the pages.
struct CounterRow {
  std::string title;
  std::string field;  ///< of what derive() returns
  std::string form;   ///< how the value is written
};

const std::vector<CounterRow>& counter_rows();

}  // namespace sgemm
