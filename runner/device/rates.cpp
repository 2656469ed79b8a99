#include "device/rates.hpp"

#include "device/device.hpp"
#include "rates_json.hpp"

#include <nlohmann/json.hpp>

namespace sgemm {
namespace {

const nlohmann::json& table() {
  static const nlohmann::json all = nlohmann::json::parse(RATES_JSON);
  return all;
}

}  // namespace

std::optional<int> multiply_adds_per_cycle(int compute_capability, const std::string& kind) {
  const nlohmann::json rates = table().at("rates").value(capability_text(compute_capability), nlohmann::json::object());
  return rates.contains(kind) ? std::optional(rates.at(kind).get<int>()) : std::nullopt;
}

const std::map<std::string, int>& products_for(const std::string& precision) {
  static const auto all = [] {
    std::map<std::string, std::map<std::string, int>> result;
    for (const char* const name : {"fp32", "tf32", "file"}) {
      table().at("products").at(name).get_to(result[name]);
    }
    return result;
  }();
  return all.at(precision);
}

std::string kind_of_chapters(const std::string& accuracy_class) { return table().at("chapters").at(accuracy_class); }

double clock_tolerance() { return table().at("tolerance").get<double>(); }

}  // namespace sgemm
