#pragma once

#include "device/trace.hpp"
#include "timing/turn.hpp"

#include <nlohmann/json.hpp>

namespace sgemm {

// Samples, traces and turns in the results file (results.schema.json). What follows from samples is written beside
// them.

nlohmann::ordered_json to_json(const TelemetrySample& start, const TelemetrySample& end);
nlohmann::ordered_json to_json(const Trace& trace);

/// `flops` is the work of one launch.
nlohmann::ordered_json to_json(const Turns& turns, double flops);
nlohmann::ordered_json to_json(const Sustained& sustained, double flops);

}  // namespace sgemm
