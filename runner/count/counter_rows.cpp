#include "count/counter_rows.hpp"

#include "counter_rows_json.hpp"

#include <nlohmann/json.hpp>

namespace sgemm {

const std::vector<CounterRow>& counter_rows() {
  static const std::vector<CounterRow> all = [] {
    std::vector<CounterRow> rows;
    const nlohmann::json table = nlohmann::json::parse(COUNTER_ROWS_JSON);
    for (const nlohmann::json& row : table.at("rows")) {
      rows.push_back({row.at(0), row.at(1), row.at(2)});
    }
    return rows;
  }();
  return all;
}

}  // namespace sgemm
