#include "base/temporary_file.hpp"

#include <stdlib.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

namespace sgemm {

TemporaryFile::TemporaryFile(const std::string& name) {
  std::string folder = (std::filesystem::temp_directory_path() / "sgemm-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "can not make a folder for temporary files");
  }
  folder_ = folder;
  path_ = folder_ / name;
}

TemporaryFile::~TemporaryFile() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string TemporaryFile::content() const {
  std::ifstream file(path_, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace sgemm
