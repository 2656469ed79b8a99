#include "record/record.hpp"

#include "record/protocol.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

namespace sgemm {

void to_json(Json& json, const Interval& interval) { json = {interval.low, interval.high}; }

namespace {

constexpr std::array<std::pair<const char*, Json Record::*>, 5> PARTS{{{"energy", &Record::energy},
                                                                       {"sustained", &Record::sustained},
                                                                       {"spread", &Record::spread},
                                                                       {"counts", &Record::counts},
                                                                       {"trace", &Record::trace}}};

std::string_view to_string(Platform platform) { return platform == Platform::gpu ? "gpu" : "cpu"; }

/// JSON has no NaN or infinity: such a value is left out.
template <class Value>
void set_if(Json& json, const char* key, const std::optional<Value>& value) {
  if (!value) {
    return;
  }
  if constexpr (std::is_floating_point_v<Value>) {
    if (!std::isfinite(*value)) {
      return;
    }
  }
  json[key] = *value;
}

double in_thousandths(double value) { return std::round(value * 1e3) / 1e3; }

/// Rounds to nanoseconds, which are finer than any clock here and keep the files small.
std::vector<double> to_nanoseconds(std::vector<double> times_us) {
  for (double& time : times_us) {
    time = in_thousandths(time);
  }
  return times_us;
}

void add_measurement(Json& json, const Measurement& measurement) {
  json["gflops"] = measurement.gflops;
  set_if(json, "percent_of_peak", measurement.percent_of_peak);
  set_if(json, "vs_cublas", measurement.vs_cublas);
  set_if(json, "vs_cublas_ci", measurement.vs_cublas_ci);
  set_if(json, "vs_cublas_alone", measurement.vs_cublas_alone);
  set_if(json, "vs_cublas_alone_ci", measurement.vs_cublas_alone_ci);
  set_if(json, "cublas_alone_us", measurement.cublas_alone_us);
}

Json to_json(const Accuracy& accuracy) {
  const Verdict& verdict = accuracy.verdict;
  Json json;
  json["promised"] = accuracy.promised;
  json["full"] = verdict.full;
  json["compared"] = verdict.compared;
  json["wrong"] = verdict.wrong;
  json["non_finite"] = verdict.non_finite;
  json["non_finite_wrong"] = verdict.non_finite_wrong;
  set_if(json, "componentwise_err", std::optional(verdict.componentwise_err));
  set_if(json, "condition", verdict.condition());
  set_if(json, "rel_err_vs_cublas", accuracy.vs_cublas);
  return json;
}

void add_samples(Json& json, const Measurement& measurement) {
  const Summary& time = measurement.time_us;
  json["time_us"] = {{"median", time.median}, {"ci_low", time.ci.low}, {"ci_high", time.ci.high}, {"min", time.min},
                     {"max", time.max},       {"mean", time.mean},     {"stddev", time.stddev}};
  json["time_us"]["ci_covers"] = std::min(CONFIDENCE, most_coverage(measurement.timings.kernel_us.size()));
  json["samples_us"] = to_nanoseconds(measurement.timings.kernel_us);
  if (!measurement.timings.rival_us.empty()) {
    json["cublas_samples_us"] = to_nanoseconds(measurement.timings.rival_us);
  }
  if (!measurement.alone.samples_us.empty()) {
    json["cublas_alone_samples_us"] = to_nanoseconds(measurement.alone.samples_us);
  }
  if (const std::optional<double> clock = measurement.alone.trace.mean_sm_clock_mhz()) {
    json["cublas_alone_clock"] = {{"mean_sm_clock_mhz", *clock},
                                  {"throttled_share", measurement.alone.trace.throttled_share()}};
  }
  json["launches_per_sample"] = measurement.timings.launches_per_sample;
}

/// What NaN where none belongs says of a C that held nothing.
std::string explanation(const Verdict& verdict, float beta) {
  const bool was_nan = std::isnan(verdict.first_wrong_value) && !std::isnan(verdict.first_wrong_expected);
  return beta == 0.0F && was_nan
             ? "; as beta is 0, C held NaN before: it has been read there, or not been written, or other memory "
               "has been read that nothing was written to"
             : "";
}

/// What was to be computed, and by what.
void add_case(Json& json, const Record& record) {
  json["kernel"] = record.kernel;
  json["number"] = record.number;
  json["variant"] = record.variant;
  if (record.file) {
    json["path"] = record.file->path;
    json["source_hash"] = record.file->hash;
    json["compile_command"] = record.file->command;
    json["launch"] = record.launch;
    json["host_code"] = record.file->host_code;
  }
  json["platform"] = to_string(record.platform);
  json["accuracy_class"] = to_string(record.accuracy);
  json["m"] = record.size.m;
  json["n"] = record.size.n;
  json["k"] = record.size.k;
  if (record.size.transposed_a || record.size.transposed_b) {
    json["ops"] = ops_of(record.size);
  }
  if (record.size.batch > 1) {
    json["batch"] = record.size.batch;
  }
  set_if(json, "data", record.data);
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
    json["energy"] = {{"from_s", energy.use->from_s},
                      {"to_s", energy.use->to_s},
                      {"joules", energy.use->joules},
                      {"uncertainty", energy.use->uncertainty}};
  } else {
    json["no_energy"] = energy.reason;
  }
  json["cut_short"] = turn.cut_short;
  json["launches_per_batch"] = turn.launches_per_batch;
  json["batch_us"] = to_nanoseconds(turn.batch_us);
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

void compare_with_alone(Measurement& measurement, Alone alone) {
  const Summary& time = measurement.time_us;
  const Summary cublas = summarize(alone.samples_us, CONFIDENCE);
  measurement.cublas_alone_us = cublas.median;
  measurement.vs_cublas_alone = cublas.median / time.median;
  measurement.vs_cublas_alone_ci = Interval{cublas.ci.low / time.ci.high, cublas.ci.high / time.ci.low};
  measurement.alone = std::move(alone);
}

Measurement measurement_of(Timings timings, const Size& size) {
  Measurement result;
  result.time_us = summarize(timings.kernel_us, CONFIDENCE);
  result.gflops = flops(size) / (result.time_us.median * 1e3);
  if (!timings.rival_us.empty()) {
    const Summary ratio = summarize(timings.ratios(), CONFIDENCE);
    result.vs_cublas = ratio.median;
    result.vs_cublas_ci = ratio.ci;
  }
  result.timings = std::move(timings);
  return result;
}

bool Record::throttled() const {
  if (const Json& of_samples = sustained.is_null() ? trace : sustained.at("kernel").at("trace");
      !of_samples.is_null()) {
    return of_samples.at("throttled_share") > 0.0;
  }
  const auto held = [](const Json& start_and_end) {
    return std::ranges::any_of(start_and_end.at("end").at("throttle_reasons"),
                               [](const Json& reason) { return throttles(std::string(reason)); });
  };
  const Json of_gpus = spread.is_null() ? Json() : spread.value("telemetry", Json());
  return (!telemetry.is_null() && held(telemetry)) || std::ranges::any_of(of_gpus, held);
}

Record::Record(const Case& item)
    : name(item.name()),
      kernel(item.kernel->id()),
      number(item.kernel->number),
      variant(item.kernel->variant),
      file(item.kernel->file),
      platform(item.kernel->platform),
      accuracy(item.kernel->accuracy),
      size(item.size),
      data(item.data) {}

void Record::describe_choice(const Kernel& chosen, const Configuration& configuration) {
  detail = configuration.name;
  if (chosen.tunable && !detail.empty()) {
    detail += ", by cost model";
  }
  workspace_bytes = configuration.workspace_bytes;
}

void Record::judge(const Verdict& verdict, std::string_view when, float beta,
                   const std::function<std::string()>& cause) {
  rel_err = verdict.rel_err();
  max_bound_ratio = verdict.max_bound_ratio;
  verified = verdict.correct();
  if (data) {
    errors = Accuracy{verdict, promises(accuracy, *data), std::nullopt};
  }
  const bool excused = errors && !errors->promised;
  if (!verdict.correct() && !excused) {
    if (verdict.non_finite_wrong > 0) {  // the finite elements alone may look right
      rel_err.reset();
      max_bound_ratio.reset();
    }
    const std::string found = cause ? cause() : "";
    throw CaseStopped(Outcome::incorrect,
                      std::string(when) + verdict.describe() + (found.empty() ? explanation(verdict, beta) : found));
  }
}

void Record::stop(Outcome how, const std::string& why) {
  outcome = how;
  reason = why;
  verified = false;
  measurement.reset();
  for (Json* const part : {&told, &trace, &energy, &sustained, &counts}) {
    *part = nullptr;
  }
}

Json to_json(const Record& record, int repetitions) {
  if (!record.told.is_null()) {
    Json json = record.told;
    json["repetitions"] = repetitions;
    json["repetition_index"] = record.repetition_index;
    return json;
  }
  Json json;
  json["name"] = record.name;
  json["run_name"] = record.name;
  // Google Benchmark's compare.py expects times in all records but those of type "aggregate", and compares records with
  // the same unit. So it passes over cases without a time.
  json["run_type"] = record.measurement ? "iteration" : "aggregate";
  json["repetitions"] = repetitions;
  json["repetition_index"] = record.repetition_index;
  json["threads"] = 1;
  if (record.measurement) {  // in Google Benchmark's form: per iteration, where each sample counts as one
    json["iterations"] = record.measurement->timings.kernel_us.size();
    json["real_time"] = record.measurement->time_us.median;
    json["cpu_time"] = record.measurement->time_us.median;
  }
  json["time_unit"] = record.measurement ? "us" : "none";
  add_case(json, record);
  json["outcome"] = to_string(record.outcome);
  json["reason"] = record.reason;
  json["verified"] = record.verified;
  json["detail"] = record.detail;
  if (!record.secret.empty()) {
    json["secret"] = record.secret;
  }
  json["workspace_bytes"] = record.workspace_bytes;
  if (record.measurement) {
    add_measurement(json, *record.measurement);
  }
  set_if(json, "rel_err", record.rel_err);
  set_if(json, "max_bound_ratio", record.max_bound_ratio);
  if (record.errors) {
    json["accuracy"] = to_json(*record.errors);
  }
  if (record.resources) {
    json["registers"] = record.resources->registers;
    json["smem_bytes"] = record.resources->smem_bytes;
    json["spill_bytes"] = record.resources->spill_bytes;
    json["blocks_per_sm"] = record.resources->blocks_per_sm;
    json["threads_per_block"] = record.resources->threads_per_block;
  }
  set_if(json, "occupancy", record.occupancy);
  if (record.measurement) {
    add_samples(json, *record.measurement);
  }
  for (const auto& [name, part] : PARTS) {
    if (!(record.*part).is_null()) {
      json[name] = record.*part;
    }
  }
  json["telemetry"] = record.telemetry;
  json["throttled"] = record.throttled();
  return json;
}

Json to_json(const Spread& spread) {
  Json json;
  json["gpus"] = spread.gpus;
  json["grid"] = std::to_string(spread.grid.rows) + "x" + std::to_string(spread.grid.columns);
  json["exchange"] = spread.exchange;
  json["received_bytes"] = spread.received_bytes;
  for (const auto& [start, end] : spread.telemetry) {
    json["telemetry"].push_back(to_json(start, end));
  }
  set_if(json, "of_ceiling", spread.of_ceiling);
  set_if(json, "of_ceiling_ci", spread.of_ceiling_ci);
  if (!spread.ceiling_us.empty()) {
    json["ceiling_samples_us"] = to_nanoseconds(spread.ceiling_us);
  }
  return json;
}

Record told_record(const Case& item, Json told) {
  Record record(item);
  const auto* const outcome = std::ranges::find(OUTCOMES, told.at("outcome").get<std::string>());
  record.outcome = outcome == OUTCOMES.end() ? Outcome::failed : static_cast<Outcome>(outcome - OUTCOMES.begin());
  told.at("reason").get_to(record.reason);
  told.at("verified").get_to(record.verified);
  record.launch = told.value("launch", "");
  if (told.contains("rel_err")) {
    record.rel_err = told.at("rel_err").get<double>();
  }
  for (const auto& [name, part] : PARTS) {
    record.*part = told.value(name, Json());
  }
  record.telemetry = told.at("telemetry");
  record.told = std::move(told);
  return record;
}

// ---- Samples, traces and turns ----

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
    samples["ms"].push_back(in_thousandths(point.seconds * 1e3));
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
