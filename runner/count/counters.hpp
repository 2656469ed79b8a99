#pragma once

// What a GPU's own counters say of a kernel: which are read, and the figures that follow from them.

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// All that Nsight Compute is asked for, by its names: "dram__bytes_read.sum".
const std::vector<std::string>& metrics();

struct Counter {
  std::string metric;
  double value = 0.0;
  std::string unit;  ///< as Nsight Compute writes it; often empty
};

/// One launch under the profiler.
struct ProfiledLaunch {
  std::string function;           ///< the kernel's name, without parameters
  std::vector<Counter> counters;  ///< those of metrics() that have a value, in that order

  /// The counter's value, or nothing.
  std::optional<double> value(std::string_view metric) const;
  /// Nothing where the time is not known.
  std::optional<double> time_us() const;
};

/// The launches of one product.
struct Profile {
  std::string ncu;  ///< version of Nsight Compute
  std::vector<ProfiledLaunch> launches;
  std::vector<std::string> dropped_metrics;  ///< unknown to this version, or to this GPU

  /// The index of the launch that took longest. There has to be one.
  std::size_t longest() const;
};

/// The figures of a launch that tables show, by the fields of counter_rows.json and some more. A field is null where a
/// counter is missing or says nothing about this kernel, and those with FLOP where `flops` is nothing. Values have five
/// digits, as counters are not more exact than that.
///
/// fma_pipe_percent counts integer multiply-adds as well: they take the same pipe. Global loads include asynchronous
/// copies. l2_to_sm_bytes is what the SMs read from the L2. l2_bytes is all that the L2's slices looked up: writes,
/// and a second time what one half of the L2 fetches from the other (l2_fabric_bytes), but a sector that neighbouring
/// SMs ask for together only once. The L2's hit rate is over the same look-ups. A bank conflict is a wavefront beyond
/// those that the access needs; a few come from other traffic that had the banks at that moment. shared_pipe_percent is
/// the data pipe that shared memory and the L1 cache have in common.
nlohmann::ordered_json derive(const ProfiledLaunch& launch, std::optional<double> flops);

/// A row of a table of counters. counter_rows.json has all of them, for the program and for the pages.
struct CounterRow {
  std::string title;
  std::string field;  ///< of what derive() returns
  std::string form;   ///< how the value is written
};

const std::vector<CounterRow>& counter_rows();

/// The record's "profile" in the results file. The FLOP of the product are put down to the longest launch.
nlohmann::ordered_json to_json(const Profile& profile, double flops);

}  // namespace sgemm
