#pragma once

#include <filesystem>
#include <string>

namespace sgemm {

/// The name of a file for another program to write, in a folder of its own that goes when this does.
class TemporaryFile {
 public:
  /// Throws std::system_error where the folder can not be made.
  explicit TemporaryFile(const std::string& name);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// All that the file holds; empty where there is no such file.
  std::string content() const;

 private:
  std::filesystem::path folder_;
  std::filesystem::path path_;
};

}  // namespace sgemm
