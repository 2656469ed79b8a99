#pragma once

#include "device/device.hpp"
#include "record/protocol.hpp"
#include "record/record.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// Model name of the host's processor, or "unknown".
std::string cpu_model();

/// Facts found out while the GPU was prepared, for the context. They are zeros and an empty driver if no GPU kernel is
/// to run.
struct GpuFacts {
  std::string driver;
  std::size_t flush_bytes = 0;
  double empty_kernel_us = 0.0;
  double event_resolution_us = 0.0;
};

/// The "context" of a results file (results.schema.json): the command line, host, device, libraries, build and
/// protocol.
Json describe_environment(const std::vector<std::string>& argv, const Protocol& protocol, const DeviceQuery& query,
                          const GpuFacts& facts);

/// "NVIDIA H200" -> "nvidia-h200": lower-case letters and digits, everything else between them one hyphen.
std::string slug(std::string_view name);

/// `json` as text, with `indent` spaces for each level, or on one line for -1. Bytes that are no UTF-8, as in names
/// from the system, are replaced.
std::string dump_json(const Json& json, int indent);

/// Makes sure that a file can be written at `path`, and leaves an existing file as it is. Throws UsageError, in one
/// line.
void require_writable(const std::filesystem::path& path);

/// Replaces the file at `path` by `content` in one step (temporary file in the same folder, fsync, rename), so that a
/// reader sees the old content or the new one. Throws std::system_error.
void write_atomically(const std::filesystem::path& path, std::string_view content);

/// The name of a file, held from before the work to the last writing: as long as it is held, another process is told so
/// that wants the same name. A file that was there keeps its content until the first writing.
class OutputFile {
 public:
  /// Throws UsageError where no file can be written at `path`, and where another process holds the name.
  explicit OutputFile(std::filesystem::path path);
  /// A name of its own in a folder that there is: `stem` and `extension`, or with "-2" and so on between them.
  static OutputFile unused(const std::filesystem::path& folder, const std::string& stem, const std::string& extension);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;
  /// Leaves no empty file where there was none and nothing was written.
  ~OutputFile();

  const std::filesystem::path& path() const { return path_; }
  /// As write_atomically() does it.
  void write(std::string_view content);

 private:
  OutputFile(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::filesystem::path path_;
  int descriptor_ = -1;  ///< of the file at `path_`, with a lock on it
};

/// The name that was asked for, or else results/<slug of the device>/<YYYYMMDD>-<HHMMSS>.json below the current folder,
/// in local time. Makes that folder. Throws UsageError where no file can be written there.
OutputFile results_file(const std::optional<std::string>& asked, std::string_view device_name);

/// Whether the file is to be CSV: its name ends with ".csv", in small or capital letters.
bool is_csv(const std::filesystem::path& path);

/// The results of one run, on disk after every case.
class ResultsFile {
 public:
  /// Writes the file with no cases yet: JSON, or CSV where is_csv() of its name.
  ResultsFile(OutputFile file, const Json& context);

  /// Appends a case and writes the file.
  void add(const Record& record);
  /// Writes the file for the last time. Before that the file says "interrupted": true, so a killed run leaves this
  /// behind.
  void finish(bool interrupted);

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  void write();

  OutputFile file_;
  const bool csv_;
  std::string context_;
  bool interrupted_ = true;
  std::vector<Record> records_;
  std::vector<std::string> texts_;  ///< of the records, so that each is converted once
};

}  // namespace sgemm
