#include "record/turn_json.hpp"

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

template <class Store>
void read_column(const Json& json, const char* key, Trace& trace, const Store& store) {
  if (!json.contains(key)) {
    return;
  }
  const Json& column = json.at(key);
  for (std::size_t i = 0; i < trace.points.size(); ++i) {
    if (!column.at(i).is_null()) {
      store(trace.points[i].sample, column.at(i));
    }
  }
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

Turn turn_from_json(const Json& json) {
  Turn turn;
  json.at("launches_per_batch").get_to(turn.launches_per_batch);
  json.at("batch_us").get_to(turn.batch_us);
  json.at("cut_short").get_to(turn.cut_short);
  turn.trace = trace_from_json(json.at("trace"));
  return turn;
}

Json to_json(const CoolDown& idle) {
  Json json{{"seconds", idle.seconds}};
  set_if(json, "from_c", idle.from_c);
  set_if(json, "to_c", idle.to_c);
  return json;
}

CoolDown cool_down_from_json(const Json& json) {
  CoolDown idle;
  json.at("seconds").get_to(idle.seconds);
  if (json.contains("from_c")) {
    idle.from_c = json.at("from_c").get<int>();
  }
  if (json.contains("to_c")) {
    idle.to_c = json.at("to_c").get<int>();
  }
  return idle;
}

}  // namespace

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

Trace trace_from_json(const Json& json) {
  Trace trace;
  json.at("no_energy").get_to(trace.no_energy);
  const Json& samples = json.at("samples");
  for (const Json& ms : samples.at("ms")) {
    trace.points.push_back({ms.get<double>() / 1e3, {}});
  }
  const bool instant = json.at("power_is") == "instant";
  read_column(samples, "sm_clock_mhz", trace,
              [](TelemetrySample& sample, const Json& value) { sample.sm_clock_mhz = value.get<int>(); });
  read_column(samples, "power_w", trace, [&](TelemetrySample& sample, const Json& value) {
    (instant ? sample.instant_power_w : sample.power_w) = value.get<double>();
  });
  read_column(samples, "temperature_c", trace,
              [](TelemetrySample& sample, const Json& value) { sample.temperature_c = value.get<int>(); });
  read_column(samples, "energy_j", trace,
              [](TelemetrySample& sample, const Json& value) { sample.energy_j = value.get<double>(); });
  const Json& reasons = json.at("reasons");
  for (std::size_t change = 0; change < reasons.size(); ++change) {
    const std::size_t end =
        change + 1 < reasons.size() ? reasons[change + 1].at("sample").get<std::size_t>() : trace.points.size();
    for (auto i = reasons[change].at("sample").get<std::size_t>(); i < end; ++i) {
      reasons[change].at("reasons").get_to(trace.points.at(i).sample.throttle_reasons);
    }
  }
  return trace;
}

Json to_json(const Turns& turns, double flops) {
  Json json{{"kernel", to_json(turns.kernel, flops)}};
  if (!turns.cublas.batch_us.empty()) {
    json["cublas"] = to_json(turns.cublas, flops);
  }
  return json;
}

Turns turns_from_json(const Json& json) {
  return {turn_from_json(json.at("kernel")), json.contains("cublas") ? turn_from_json(json.at("cublas")) : Turn{}};
}

Json to_json(const Sustained& sustained, double flops) {
  Json json{{"asked_s", sustained.asked_s}};
  json.update(to_json(sustained.turns, flops));
  json["cool_downs"] = {{"before_kernel", to_json(sustained.before_kernel)},
                        {"before_cublas", to_json(sustained.before_cublas)}};
  return json;
}

Sustained sustained_from_json(const Json& json) {
  const Json& idle = json.at("cool_downs");
  return {json.at("asked_s").get<double>(), turns_from_json(json), cool_down_from_json(idle.at("before_kernel")),
          cool_down_from_json(idle.at("before_cublas"))};
}

}  // namespace sgemm
