#include "kernel.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace sgemm {
namespace {

// Built on first use: other files' Registrations may be initialised before this file's globals.
std::vector<Kernel>& registry() {
  static std::vector<Kernel> list;
  return list;
}

// The order in which files are initialised is unspecified, so the list is kept sorted. Baselines without a number
// follow cuBLAS (0) and precede the chapters.
auto rank(const Kernel& kernel) {
  const int group = kernel.number == 0 ? 0 : kernel.number < 0 ? 1 : 2;
  return std::make_tuple(group, kernel.number, kernel.name, kernel.variant);
}

/// Whether the two are the compilations of one chapter for different targets.
bool complement(const Kernel& x, const Kernel& y) {
  return !x.prepare != !y.prepare && !x.prepare_on_executor != !y.prepare_on_executor;
}

}  // namespace

std::string Kernel::numbered_name() const {
  if (number <= 0) {
    return name;
  }
  const std::string digits = std::to_string(number);
  return std::string(digits.size() < 2 ? "0" : "") + digits + "_" + name;
}

std::string Kernel::id() const { return variant.empty() ? numbered_name() : numbered_name() + ":" + variant; }

const std::vector<Kernel>& kernels() { return registry(); }

Registration::Registration(Kernel kernel) {
  auto& list = registry();
  const auto place = std::lower_bound(list.begin(), list.end(), kernel,
                                      [](const Kernel& x, const Kernel& y) { return rank(x) < rank(y); });
  if (place != list.end() && place->id() == kernel.id()) {
    if (!complement(*place, kernel)) {
      throw std::logic_error("kernel " + kernel.id() + " is registered twice");
    }
    if (!place->prepare) {
      std::swap(*place, kernel);
    }
    place->prepare_on_executor = std::move(kernel.prepare_on_executor);
    return;
  }
  list.insert(place, std::move(kernel));
}

}  // namespace sgemm
