#include "report/list.hpp"

#include "base/split.hpp"
#include "device/device.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace sgemm {
namespace {

constexpr std::size_t MIN_SUMMARY_WIDTH = 24;  // narrower columns are harder to read than lines that are too long

bool same_kernel(const Kernel& x, const Kernel& y) { return x.number == y.number && x.name == y.name; }

/// Lines of whole words. A line is longer than `width` only if one word is.
std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string_view word : split(text, ' ')) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) {
      lines.emplace_back();
    }
    lines.back() += fmt::format("{}{}", lines.back().empty() ? "" : " ", word);
  }
  return lines;
}

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

void print_table(std::ostream& out, const std::vector<Kernel>& kernels, int terminal_width) {
  std::vector<Row> table = rows(kernels);
  table.insert(table.begin(), {"No", "Kernel", "CC", "Summary"});
  std::size_t kernel_width = 0;
  for (const Row& row : table) {
    kernel_width = std::max(kernel_width, row.kernel.size());
  }
  const std::size_t indent = 2 + 2 + kernel_width + 2 + 4 + 2;
  const std::size_t total = static_cast<std::size_t>(std::max(terminal_width, 0));
  const std::size_t width =
      total == 0 ? std::string::npos : std::max(total - std::min(total, indent), MIN_SUMMARY_WIDTH);
  for (const Row& row : table) {
    std::string start = fmt::format("{:>2}  {:<{}}  {:>4}  ", row.number, row.kernel, kernel_width, row.capability);
    for (const std::string& line : wrap(row.summary, width)) {
      std::string text = start + line;
      text.erase(text.find_last_not_of(' ') + 1);
      out << text << '\n';
      start.assign(indent, ' ');
    }
  }
}

void print_json(std::ostream& out, const std::vector<Kernel>& kernels) {
  using Json = nlohmann::ordered_json;
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

void print_list(std::ostream& out, const std::vector<Kernel>& kernels, ListFormat format, int terminal_width) {
  if (format == ListFormat::table) {
    print_table(out, kernels, terminal_width);
  } else {
    print_json(out, kernels);
  }
}

}  // namespace sgemm
