#pragma once

#include "cli/options.hpp"
#include "common/problem.hpp"
#include "device/device.hpp"
#include "problem/sizes.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// Which configuration was fastest for one kernel and problem. Times are medians, of one launch.
struct TuningEntry {
  std::string kernel;  ///< Kernel::id()
  Size size;
  bool float4_rows = false;  ///< see has_float4_rows()
  std::string configuration;
  double time_us = 0.0;
  std::string model_choice;             ///< what the kernel would have chosen
  std::optional<double> model_time_us;  ///< nothing where that could not be timed

  /// Whether both are about the same kernel and problem.
  bool same_case(const TuningEntry& other) const;
};

/// Whether rows of all three matrices start on 16-byte boundaries and split into groups of four. Kernels can move four
/// floats at a time then, and need other code for all other problems of the same size.
bool has_float4_rows(const Problem& problem);

/// The tuner's findings on one device (tuning.schema.json).
struct TuningFile {
  std::filesystem::path path;
  std::string device;  ///< name
  std::vector<TuningEntry> entries;

  /// The entry for a kernel and a problem of exactly that shape, or null.
  const TuningEntry* find(std::string_view kernel, const Problem& problem) const;
};

/// Throws UsageError where the file can not be read or holds something else.
TuningFile read_tuning_file(const std::filesystem::path& path);

/// The tuning file for a run on the device: the file that the options name, or the default file if it exists. Nothing
/// with --no-tuning. Throws UsageError as read_tuning_file() does, and for the file of another device.
std::optional<TuningFile> tuning_for_run(const Options& options, const DeviceQuery& query);

/// The path that tuning on the device writes to: the path that the options name, or results/<slug of the
/// device>/tuning.json below the current folder. Makes that folder. Throws UsageError if the file can not be written,
/// and if a file stands there that is no tuning file or belongs to another device.
std::filesystem::path tuning_file_to_write(const Options& options, std::string_view device_name);

/// Writes `entry` to the file in one step. It replaces the entry for the same case, and other entries stay. `context`
/// is that of a results file made now. Throws UsageError if the file there is no tuning file or belongs to another
/// device, and std::system_error if it can not be written.
void add_to_tuning_file(const std::filesystem::path& path, const nlohmann::ordered_json& context,
                        const TuningEntry& entry);

}  // namespace sgemm
