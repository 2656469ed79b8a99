#include "count/counters.hpp"

#include "counter_rows_json.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace sgemm {
namespace {

using Json = nlohmann::ordered_json;
using Value = std::optional<double>;

constexpr double SECTOR_BYTES = 32.0;
constexpr double WARP = 32.0;

constexpr std::array STALLS{
    "barrier",         "branch_resolving",   "dispatch_stall",   "drain",        "imc_miss",     "lg_throttle",
    "long_scoreboard", "math_pipe_throttle", "membar",           "mio_throttle", "misc",         "no_instruction",
    "not_selected",    "selected",           "short_scoreboard", "sleeping",     "tex_throttle", "wait"};

std::string stall_metric(std::string_view reason) {
  return fmt::format("smsp__average_warps_issue_stalled_{}_per_issue_active.ratio", reason);
}

Value ratio(Value numerator, Value denominator) {
  return numerator && denominator && *denominator != 0.0 ? Value(*numerator / *denominator) : std::nullopt;
}

Value times(double factor, Value value) { return value ? Value(factor * *value) : std::nullopt; }

/// The sum of those that are there.
Value total(std::initializer_list<Value> values) {
  Value sum;
  for (const Value& value : values) {
    if (value) {
      sum = sum.value_or(0.0) + *value;
    }
  }
  return sum;
}

Json rounded(Value value) { return value ? Json(std::stod(fmt::format("{:.5g}", *value))) : Json(nullptr); }

/// The reasons for which warps waited, the most frequent first.
Json stalls_of(const ProfiledLaunch& launch) {
  std::vector<std::pair<std::string, double>> stalls;
  for (const char* const reason : STALLS) {
    if (const Value value = launch.value(stall_metric(reason))) {
      stalls.emplace_back(reason, *value);
    }
  }
  std::stable_sort(stalls.begin(), stalls.end(), [](const auto& x, const auto& y) { return x.second > y.second; });
  Json json = Json::object();
  for (const auto& [reason, value] : stalls) {
    json[reason] = rounded(value);
  }
  return json;
}

/// A way to access shared memory, by the metric that counts it and its word in the names of others.
struct SharedAccess {
  const char* count;
  const char* word;

  std::string wavefronts() const { return fmt::format("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum", word); }
  std::string conflicts() const {
    return fmt::format("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum", word);
  }
};
constexpr SharedAccess LOADS{"smsp__sass_inst_executed_op_shared_ld.sum", "ld"};
constexpr SharedAccess STORES{"smsp__sass_inst_executed_op_shared_st.sum", "st"};
constexpr SharedAccess COPIES{"sm__sass_inst_executed_op_ldgsts.sum", "ldgsts"};  // asynchronous, from global memory

std::vector<std::string> all_metrics() {
  std::vector<std::string> all{
      "gpu__time_duration.sum",
      "sm__cycles_elapsed.max",
      "smsp__inst_executed.sum",
      "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
      "smsp__issue_active.avg.pct_of_peak_sustained_active",
      "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",
      "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
      "sm__warps_active.avg.pct_of_peak_sustained_active",
      "dram__bytes_read.sum",
      "dram__bytes_write.sum",
      "dram__throughput.avg.pct_of_peak_sustained_elapsed",
      "l1tex__m_xbar2l1tex_read_bytes.sum",
      "lts__t_sectors.sum",
      "lts__t_sectors_srcunit_tex.sum",
      "lts__t_sectors_srcunit_ltcfabric.sum",
      "lts__t_sector_hit_rate.pct",
      "l1tex__t_sector_hit_rate.pct",
      "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
      "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
      "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
      "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
      "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
      "launch__registers_per_thread",
      "launch__waves_per_multiprocessor",
  };
  for (const SharedAccess& access : {LOADS, STORES, COPIES}) {
    all.emplace_back(access.count);
    all.push_back(access.wavefronts());
    all.push_back(access.conflicts());
  }
  for (const char* const reason : STALLS) {
    all.push_back(stall_metric(reason));
  }
  return all;
}

}  // namespace

const std::vector<std::string>& metrics() {
  static const std::vector<std::string> all = all_metrics();
  return all;
}

std::optional<double> ProfiledLaunch::value(std::string_view metric) const {
  const auto found =
      std::find_if(counters.begin(), counters.end(), [&](const Counter& counter) { return counter.metric == metric; });
  return found == counters.end() ? std::nullopt : std::optional(found->value);
}

std::optional<double> ProfiledLaunch::time_us() const {
  static const std::map<std::string, double> US{{"us", 1.0},      {"usecond", 1.0}, {"ms", 1e3},
                                                {"msecond", 1e3}, {"s", 1e6},       {"second", 1e6}};
  const auto found = std::find_if(counters.begin(), counters.end(),
                                  [](const Counter& counter) { return counter.metric == "gpu__time_duration.sum"; });
  if (found == counters.end()) {
    return std::nullopt;
  }
  const auto unit = US.find(found->unit);
  constexpr double NANOSECONDS = 1e-3;  // the base unit
  return found->value * (unit == US.end() ? NANOSECONDS : unit->second);
}

std::size_t Profile::longest() const {
  const auto found =
      std::max_element(launches.begin(), launches.end(), [](const ProfiledLaunch& x, const ProfiledLaunch& y) {
        return x.time_us().value_or(0.0) < y.time_us().value_or(0.0);
      });
  return static_cast<std::size_t>(found - launches.begin());
}

Json derive(const ProfiledLaunch& launch, std::optional<double> flops) {
  const auto raw = [&](std::string_view metric) { return launch.value(metric); };
  const Value time_us = launch.time_us();
  const Value ffma = raw("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum");
  const Value dram = total({raw("dram__bytes_read.sum"), raw("dram__bytes_write.sum")});
  const Value l2_to_sm = raw("l1tex__m_xbar2l1tex_read_bytes.sum");
  const Value loads = raw("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum");
  // Without accesses of a kind there is nothing to say of them.
  const auto count = [&](const SharedAccess& access) {
    return raw(access.count).value_or(0.0) > 0.0 ? raw(access.count) : std::nullopt;
  };
  const auto wavefronts = [&](const SharedAccess& access) { return ratio(raw(access.wavefronts()), count(access)); };
  const auto conflicts = [&](const SharedAccess& access) {
    return count(access) ? raw(access.conflicts()) : std::nullopt;
  };
  const std::vector<std::pair<const char*, Value>> figures{
      {"time_us", time_us},
      {"tflops", ratio(flops, times(1e6, time_us))},
      {"sm_clock_mhz", ratio(raw("sm__cycles_elapsed.max"), time_us)},
      {"ffma", ffma},
      {"ffma_percent_of_instructions", ratio(times(100.0 / WARP, ffma), raw("smsp__inst_executed.sum"))},
      {"fma_pipe_percent", raw("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active")},
      {"tensor_pipe_percent", raw("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active")},
      {"issue_slots_busy_percent", raw("smsp__issue_active.avg.pct_of_peak_sustained_active")},
      {"achieved_occupancy_percent", raw("sm__warps_active.avg.pct_of_peak_sustained_active")},
      {"registers", raw("launch__registers_per_thread")},
      {"waves", raw("launch__waves_per_multiprocessor")},
      {"dram_bytes", dram},
      {"dram_gbytes_s", ratio(dram, times(1e3, time_us))},
      {"dram_percent_of_peak", raw("dram__throughput.avg.pct_of_peak_sustained_elapsed")},
      {"flop_per_dram_byte", ratio(flops, dram)},
      {"l2_to_sm_bytes", l2_to_sm},
      {"flop_per_l2_to_sm_byte", ratio(flops, l2_to_sm)},
      {"l2_bytes", times(SECTOR_BYTES, raw("lts__t_sectors.sum"))},
      {"l2_fabric_bytes", times(SECTOR_BYTES, raw("lts__t_sectors_srcunit_ltcfabric.sum"))},
      {"l2_hit_percent", raw("lts__t_sector_hit_rate.pct")},
      {"l1_hit_percent", raw("l1tex__t_sector_hit_rate.pct")},
      {"global_load_requests", loads},
      {"global_load_sectors_per_request", ratio(raw("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), loads)},
      {"global_store_sectors_per_request", ratio(raw("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
                                                 raw("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"))},
      {"async_copy_percent_of_loads", ratio(times(100.0, count(COPIES)), loads)},
      {"shared_load_wavefronts_per_request", wavefronts(LOADS)},
      {"shared_store_wavefronts_per_request", wavefronts(STORES)},
      {"async_copy_wavefronts_per_request", wavefronts(COPIES)},
      {"shared_load_bank_conflicts", conflicts(LOADS)},
      {"shared_store_bank_conflicts", conflicts(STORES)},
      {"async_copy_bank_conflicts", conflicts(COPIES)},
      {"shared_pipe_percent", raw("l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed")},
  };
  Json json = Json::object();
  for (const auto& [name, value] : figures) {
    json[name] = rounded(value);
  }
  json["stalls"] = stalls_of(launch);
  return json;
}

Json to_json(const Profile& profile, double flops) {
  Json launches = Json::array();
  for (std::size_t i = 0; i < profile.launches.size(); ++i) {
    const ProfiledLaunch& launch = profile.launches[i];
    Json counters = Json::object();
    for (const Counter& counter : launch.counters) {
      counters[counter.metric] = {{"value", counter.value}, {"unit", counter.unit}};
    }
    launches.push_back({{"function", launch.function},
                        {"counters", std::move(counters)},
                        {"derived", derive(launch, i == profile.longest() ? std::optional(flops) : std::nullopt)}});
  }
  return {{"ncu", profile.ncu}, {"dropped_metrics", profile.dropped_metrics}, {"launches", std::move(launches)}};
}

const std::vector<CounterRow>& counter_rows() {
  static const std::vector<CounterRow> all = [] {
    std::vector<CounterRow> rows;
    const Json table = Json::parse(COUNTER_ROWS_JSON);
    for (const Json& row : table.at("rows")) {
      rows.push_back({row.at(0), row.at(1), row.at(2)});
    }
    return rows;
  }();
  return all;
}

}  // namespace sgemm
