#include "settings.hpp"

#include <sgemm/drop_in.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace drop_in {
namespace {

// By the numbers of accuracies.
constexpr const char* kNames[] = {"fp32", "componentwise", "normwise", "rowwise", "reproducible"};

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int read_accuracy() {
  const std::string_view text = variable("SGEMM_ACCURACY");
  if (text.empty()) {
    return SGEMM_ACCURACY_COMPONENTWISE;
  }
  const auto* const name = std::find(std::begin(kNames), std::end(kNames), text);
  if (name != std::end(kNames)) {
    return static_cast<int>(name - std::begin(kNames));
  }
  std::fprintf(stderr,
               "libsgemm_cublas: SGEMM_ACCURACY=%s is none of fp32, componentwise, normwise, rowwise, reproducible; "
               "cuBLAS gets all calls\n",
               text.data());
  return SGEMM_DROP_IN_OFF;
}

}  // namespace

Settings read_settings() {
  const std::string_view log = variable("SGEMM_LOG");
  return {read_accuracy(), std::string(log == "0" ? "" : log)};
}

const char* accuracy_name(int accuracy) { return kNames[accuracy]; }

}  // namespace drop_in
