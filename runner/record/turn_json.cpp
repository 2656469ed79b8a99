#include "record/record.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

using Json = nlohmann::ordered_json;

double rounded(double value, double steps_per_unit) { return std::round(value * steps_per_unit) / steps_per_unit; }

template <class Value>
void set_if(Json& json, const char* key, const std::optional<Value>& value) {
  if (value) {
    json[key] = *value;
  }
}

/// A column of the samples, with null where a sample lacks the value; no column where all lack it.
template <class Of>
void add_column(Json& json, const char* key, const Trace& trace, const Of& of) {
  Json column = Json::array();
  bool any = false;
  for (const Trace::Point& point : trace.points) {
    const auto value = of(point.sample);
    any = any || value.has_value();
    column.push_back(value ? Json(*value) : Json(nullptr));
  }
  if (any) {
    json[key] = std::move(column);
  }
}

/// Reasons change rarely, so each change has an entry.
Json changes_of_reasons(const Trace& trace) {
  Json changes = Json::array();
  const std::vector<std::string>* latest = nullptr;
  for (std::size_t i = 0; i < trace.points.size(); ++i) {
    const std::vector<std::string>& reasons = trace.points[i].sample.throttle_reasons;
    if (latest == nullptr || *latest != reasons) {
      changes.push_back({{"sample", i}, {"reasons", reasons}});
    }
    latest = &reasons;
  }
  return changes;
}

Json to_json(const Turn& turn, double flops) {
  Json json;
  json["seconds"] = turn.seconds();
  json["launches"] = turn.launches();
  json["launch_us"] = turn.launch_us();
  json["gflops"] = flops / (turn.launch_us() * 1e3);
  const ProductEnergy energy = product_energy(turn);
  if (energy.use) {
    json["joules_per_product"] = energy.joules;
    json["gflops_per_watt"] = flops / energy.joules / 1e9;
    json["watts"] = energy.use->mean_power_w();
    json["energy"] = {{"source", energy.use->counted ? "counter" : "power"},
                      {"from_s", energy.use->from_s},
                      {"to_s", energy.use->to_s},
                      {"joules", energy.use->joules},
                      {"uncertainty", energy.use->uncertainty}};
  } else {
    json["no_energy"] = energy.reason;
  }
  json["cut_short"] = turn.cut_short;
  json["launches_per_batch"] = turn.launches_per_batch;
  json["batch_us"] = Json::array();
  for (const double us : turn.batch_us) {
    json["batch_us"].push_back(rounded(us, 1e3));
  }
  json["trace"] = to_json(turn.trace);
  return json;
}

Json to_json(const CoolDown& idle) {
  Json json{{"seconds", idle.seconds}};
  set_if(json, "from_c", idle.from_c);
  set_if(json, "to_c", idle.to_c);
  return json;
}

Json to_json(const TelemetrySample& sample) {
  Json json = Json::object();
  set_if(json, "sm_clock_mhz", sample.sm_clock_mhz);
  set_if(json, "memory_clock_mhz", sample.memory_clock_mhz);
  set_if(json, "power_w", sample.power_w);
  set_if(json, "temperature_c", sample.temperature_c);
  json["throttle_reasons"] = sample.throttle_reasons;
  return json;
}

}  // namespace

Json to_json(const TelemetrySample& start, const TelemetrySample& end) {
  return {{"start", to_json(start)}, {"end", to_json(end)}};
}

Json to_json(const Trace& trace) {
  Json json = Json::object();
  set_if(json, "mean_sm_clock_mhz", trace.mean_sm_clock_mhz());
  set_if(json, "mean_power_w", trace.mean_power_w());
  json["throttled_share"] = trace.throttled_share();
  json["throttle_shares"] = Json::object();
  for (const auto& [reason, share] : trace.throttle_shares()) {
    json["throttle_shares"][reason] = share;
  }
  json["power_is"] = trace.power_is_instant() ? "instant" : "mean of a second";
  json["no_energy"] = trace.no_energy;
  Json& samples = json["samples"] = Json::object();
  samples["ms"] = Json::array();
  for (const Trace::Point& point : trace.points) {
    samples["ms"].push_back(rounded(point.seconds * 1e3, 1e3));
  }
  add_column(samples, "sm_clock_mhz", trace, [](const TelemetrySample& sample) { return sample.sm_clock_mhz; });
  add_column(samples, "power_w", trace, power_of);
  add_column(samples, "temperature_c", trace, [](const TelemetrySample& sample) { return sample.temperature_c; });
  add_column(samples, "energy_j", trace, [](const TelemetrySample& sample) { return sample.energy_j; });
  json["reasons"] = changes_of_reasons(trace);
  return json;
}

Json to_json(const Turns& turns, double flops) {
  Json json{{"kernel", to_json(turns.kernel, flops)}};
  if (!turns.cublas.batch_us.empty()) {
    json["cublas"] = to_json(turns.cublas, flops);
  }
  return json;
}

Json to_json(const Sustained& sustained, double flops) {
  Json json{{"asked_s", sustained.asked_s}};
  json.update(to_json(sustained.turns, flops));
  json["cool_downs"] = {{"before_kernel", to_json(sustained.before_kernel)},
                        {"before_cublas", to_json(sustained.before_cublas)}};
  return json;
}

}  // namespace sgemm
