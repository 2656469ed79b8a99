#include "device/device.hpp"
#include "report/console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace sgemm {
namespace {

constexpr std::size_t MIN_SUMMARY_WIDTH = 24;  // narrower columns are harder to read than lines that are too long

/// An object for each kernel, which holds its variants.
Json list_of(const std::vector<Kernel>& kernels) {
  Json list = Json::array();
  for (const Kernel& kernel : kernels) {
    if (list.empty() || list.back()["id"] != kernel.numbered_name()) {
      list.push_back({{"number", kernel.number < 0 ? Json(nullptr) : Json(kernel.number)},
                      {"name", kernel.name},
                      {"id", kernel.numbered_name()},
                      {"variants", Json::array()}});
    }
    const bool on_cpu = kernel.platform == Platform::cpu;
    const int last_capability = kernel.max_compute_capability;
    list.back()["variants"].push_back(
        {{"variant", kernel.variant},
         {"id", kernel.id()},
         {"default", kernel.variant.empty()},
         {"summary", kernel.summary},
         {"source", kernel.source},
         {"platform", on_cpu ? "cpu" : "gpu"},
         {"accuracy_class", to_string(kernel.accuracy)},
         {"min_compute_capability", on_cpu ? Json(nullptr) : Json(capability_text(kernel.min_compute_capability))},
         {"max_compute_capability", last_capability == 0 ? Json(nullptr) : Json(capability_text(last_capability))}});
  }
  return list;
}

void print_table(std::ostream& out, const Json& list, std::size_t width) {
  using Row = std::array<std::string, 4>;
  std::vector<Row> rows{{"No", "Kernel", "CC", "Summary"}};
  for (const Json& kernel : list) {
    const std::string number = kernel["number"].is_null() ? "-" : kernel["number"].dump();
    if (!kernel["variants"][0]["default"]) {
      rows.push_back({number, kernel["name"], "", ""});
    }
    for (const Json& variant : kernel["variants"]) {
      const Json& capability = variant["min_compute_capability"];
      const std::string needs = capability.is_null() ? "CPU" : capability.get<std::string>();
      rows.push_back(variant["default"]
                         ? Row{number, kernel["name"], needs, variant["summary"]}
                         : Row{"", "  :" + variant["variant"].get<std::string>(), needs, variant["summary"]});
    }
  }
  const std::size_t kernel_width = std::ranges::max(rows, {}, [](const Row& row) { return row[1].size(); })[1].size();
  for (const auto& [number, kernel, capability, summary] : rows) {
    std::string text = fmt::format("{:>2}  {:<{}}  {:>4} ", number, kernel, kernel_width, capability);
    const std::size_t indent = text.size() + 1;
    text += wrap(summary, width == 0 ? 0 : std::max(width, indent + MIN_SUMMARY_WIDTH), text.size(), indent);
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << '\n';
  }
}

}  // namespace

void print_list(std::ostream& out, const std::vector<Kernel>& kernels, ListFormat format, std::size_t width) {
  const Json list = list_of(kernels);
  if (format == ListFormat::table) {
    print_table(out, list, width);
  } else {
    out << list.dump(2) << '\n';
  }
}

}  // namespace sgemm
