#include "settings.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace drop_in {
namespace {

constexpr sgemm_accuracy_t kAccuracies[] = {SGEMM_ACCURACY_FP32, SGEMM_ACCURACY_COMPONENTWISE, SGEMM_ACCURACY_NORMWISE,
                                            SGEMM_ACCURACY_ROWWISE, SGEMM_ACCURACY_REPRODUCIBLE};

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Accuracy read_accuracy() {
  const std::string_view text = variable("SGEMM_ACCURACY");
  if (text.empty()) {
    return SGEMM_ACCURACY_COMPONENTWISE;
  }
  for (const sgemm_accuracy_t accuracy : kAccuracies) {
    if (text == accuracy_name(accuracy)) {
      return accuracy;
    }
  }
  std::fprintf(stderr,
               "libsgemm_cublas: SGEMM_ACCURACY=%s is none of fp32, componentwise, normwise, rowwise, reproducible; "
               "cuBLAS gets all calls\n",
               text.data());
  return std::nullopt;
}

}  // namespace

Settings read_settings() {
  const std::string_view log = variable("SGEMM_LOG");
  return {read_accuracy(), std::string(log == "0" ? "" : log)};
}

const char* accuracy_name(sgemm_accuracy_t accuracy) {
  switch (accuracy) {
    case SGEMM_ACCURACY_FP32:
      return "fp32";
    case SGEMM_ACCURACY_COMPONENTWISE:
      return "componentwise";
    case SGEMM_ACCURACY_NORMWISE:
      return "normwise";
    case SGEMM_ACCURACY_ROWWISE:
      return "rowwise";
    case SGEMM_ACCURACY_REPRODUCIBLE:
      return "reproducible";
  }
  return "";
}

}  // namespace drop_in
