#include "problem/case.hpp"

namespace sgemm {

std::string Case::name() const {
  std::string text = "sgemm/" + kernel->id() + "/" + to_string(size);
  if (data) {
    text.append("/").append(to_string(*data));
  }
  return text;
}

}  // namespace sgemm
