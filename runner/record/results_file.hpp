#pragma once

#include "record/record.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// "NVIDIA H200" -> "nvidia-h200": lower-case letters and digits, everything else between them one hyphen.
std::string slug(std::string_view name);

/// results/<slug of the device> below the current folder.
std::filesystem::path results_folder(std::string_view device_name);

/// Makes that folder. Throws UsageError, which recommends `flag`, when it can not be made.
std::filesystem::path make_results_folder(std::string_view device_name, std::string_view flag);

/// results/<slug of the device>/<YYYYMMDD>-<HHMMSS>.json below the current folder, in local time. Makes the folder. If
/// that file exists, "-2" and so on follow the time. Throws UsageError if the folder can not be made.
std::filesystem::path default_results_path(std::string_view device_name);

/// The path that was asked for, or else the default one. Throws UsageError where no file can be written there.
std::filesystem::path results_path(const std::optional<std::string>& asked, std::string_view device_name);

/// `json` as text, with `indent` spaces for each level, or on one line for -1. Bytes that are no UTF-8, as in names
/// from the system, are replaced.
std::string dump_json(const nlohmann::ordered_json& json, int indent);

/// Makes sure that a file can be written at `path`, and leaves an existing file as it is. Throws UsageError, in one
/// line.
void require_writable(const std::filesystem::path& path);

/// Replaces the file at `path` by `content` in one step (temporary file in the same folder, fsync, rename), so that a
/// reader sees the old content or the new one. Throws std::system_error.
void write_atomically(const std::filesystem::path& path, std::string_view content);

/// The results of one run, on disk after every case.
class ResultsFile {
 public:
  /// Writes the file with no cases yet.
  ResultsFile(std::filesystem::path path, const nlohmann::ordered_json& context);

  /// Appends a case and writes the file.
  void add(const Record& record);
  /// Writes the file for the last time. Before that the file says "interrupted": true, so a killed run leaves this
  /// behind.
  void finish(bool interrupted);

  const std::filesystem::path& path() const { return path_; }

 private:
  void write() const;

  std::filesystem::path path_;
  std::string context_;
  bool interrupted_ = true;
  std::vector<Record> records_;
  std::vector<std::string> texts_;  ///< of the records, so that each is converted once
};

}  // namespace sgemm
