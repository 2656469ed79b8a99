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

/// Whether rows of all three matrices start on 16-byte boundaries and split into groups of four: kernels that move four
/// floats at a time compute other problems of the same size in other ways.
bool has_float4_rows(const Problem& problem);

/// The tuner's findings on one device (tuning.schema.json).
struct TuningFile {
  std::filesystem::path path;
  std::string device;  ///< name
  std::vector<TuningEntry> entries;

  /// The one for a kernel and a problem of exactly that shape, or null.
  const TuningEntry* find(std::string_view kernel, const Problem& problem) const;
};

/// Throws UsageError where the file can not be read or holds something else.
TuningFile read_tuning_file(const std::filesystem::path& path);

/// The file that a run on the device is to follow: the one that the options name, or the default one where there is
/// one. Nothing with --no-tuning. Throws UsageError as read_tuning_file(), and where it is another device's.
std::optional<TuningFile> tuning_for_run(const Options& options, const DeviceQuery& query);

/// The path of the file that tuning on the device is to write: the one that the options name, or
/// results/<slug of the device>/tuning.json below the current folder, which is made. Throws UsageError where it can not
/// be written, and where what is there is no tuning file or another device's.
std::filesystem::path tuning_file_to_write(const Options& options, std::string_view device_name);

/// Writes `entry` to the file in one step, in place of what was there for the same case; other entries stay. `context`
/// is that of a results file made now. Throws UsageError where what is there is no tuning file or another device's, and
/// std::system_error where it can not be written.
void add_to_tuning_file(const std::filesystem::path& path, const nlohmann::ordered_json& context,
                        const TuningEntry& entry);

}  // namespace sgemm
