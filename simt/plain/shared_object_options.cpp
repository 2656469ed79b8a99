#include "simt/plain_cuda.hpp"

#include <sstream>

namespace simt {

std::vector<std::string> shared_object_options(bool checked) {
  std::vector<std::string> options{
      "-std=c++20", "-shared", "-fPIC",
      // The built-in variables lie in the program's own thread-local memory.
      "-ftls-model=initial-exec",
      // Its kernels are its own, whatever else the program has loaded that is called the same.
      "-Wl,-Bsymbolic"};
#ifdef __GNUC__
  options.emplace_back("-fno-gnu-unique");
#endif
  // As cmake/simt_kernels.cmake has them.
  std::istringstream words(checked ? SIMT_OPTIONS " " SIMT_CHECKED_OPTIONS : SIMT_OPTIONS);
  for (std::string word; words >> word;) {
    options.push_back(word);
  }
  return options;
}

}  // namespace simt
