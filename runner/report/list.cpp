#include "device/device.hpp"
#include "report/console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

namespace sgemm {
namespace {

constexpr std::size_t MIN_SUMMARY_WIDTH = 24;  // narrower columns are harder to read than lines that are too long

bool same_kernel(const Kernel& x, const Kernel& y) { return x.number == y.number && x.name == y.name; }

struct Row {
  std::string number;
  std::string kernel;
  std::string capability;
  std::string_view summary;
};

std::vector<Row> rows(const std::vector<Kernel>& kernels) {
  std::vector<Row> result;
  const Kernel* previous = nullptr;
  for (const Kernel& kernel : kernels) {
    const std::string capability =
        kernel.platform == Platform::cpu ? "CPU" : capability_text(kernel.min_compute_capability);
    const std::string number = kernel.number < 0 ? "-" : std::to_string(kernel.number);
    const bool first = previous == nullptr || !same_kernel(*previous, kernel);
    if (kernel.variant.empty()) {
      result.push_back({number, kernel.name, capability, kernel.summary});
    } else {
      if (first) {
        result.push_back({number, kernel.name, "", ""});
      }
      result.push_back({"", "  :" + kernel.variant, capability, kernel.summary});
    }
    previous = &kernel;
  }
  return result;
}

void print_table(std::ostream& out, const std::vector<Kernel>& kernels, std::size_t width) {
  std::vector<Row> table = rows(kernels);
  table.insert(table.begin(), {"No", "Kernel", "CC", "Summary"});
  std::size_t kernel_width = 0;
  for (const Row& row : table) {
    kernel_width = std::max(kernel_width, row.kernel.size());
  }
  for (const Row& row : table) {
    std::string text = fmt::format("{:>2}  {:<{}}  {:>4} ", row.number, row.kernel, kernel_width, row.capability);
    const std::size_t indent = text.size() + 1;
    text += wrap(row.summary, width == 0 ? 0 : std::max(width, indent + MIN_SUMMARY_WIDTH), text.size(), indent);
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << '\n';
  }
}

void print_json(std::ostream& out, const std::vector<Kernel>& kernels) {
  Json list = Json::array();
  const Kernel* previous = nullptr;
  for (const Kernel& kernel : kernels) {
    if (previous == nullptr || !same_kernel(*previous, kernel)) {
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
    previous = &kernel;
  }
  out << list.dump(2) << '\n';
}

}  // namespace

void print_list(std::ostream& out, const std::vector<Kernel>& kernels, ListFormat format, std::size_t width) {
  if (format == ListFormat::table) {
    print_table(out, kernels, width);
  } else {
    print_json(out, kernels);
  }
}

}  // namespace sgemm
