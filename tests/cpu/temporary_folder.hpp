#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sgemm {

/// The whole file.
inline std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Where a file goes that a test writes for others to look at: the folder that SGEMM_SAMPLES names, or the current one.
inline std::filesystem::path sample_path(const std::string& name) {
  const char* const folder = std::getenv("SGEMM_SAMPLES");
  return folder == nullptr ? std::filesystem::path(name) : std::filesystem::path(folder) / name;
}

/// Runs each test in an empty folder of its own.
class TemporaryFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "sgemm-test-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(folder_);
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }

  std::filesystem::path folder_;

 private:
  std::filesystem::path before_;
};

}  // namespace sgemm
