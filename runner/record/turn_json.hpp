#pragma once

#include "device/trace.hpp"
#include "timing/turn.hpp"

#include <nlohmann/json.hpp>

namespace sgemm {

// Traces and turns in the results file (results.schema.json). What follows from samples is written beside them, and is
// computed anew when they are read back. The readers throw nlohmann::json::exception for any other JSON.

nlohmann::ordered_json to_json(const Trace& trace);
Trace trace_from_json(const nlohmann::ordered_json& json);

/// `flops` is the work of one launch.
nlohmann::ordered_json to_json(const Turns& turns, double flops);
Turns turns_from_json(const nlohmann::ordered_json& json);

nlohmann::ordered_json to_json(const Sustained& sustained, double flops);
Sustained sustained_from_json(const nlohmann::ordered_json& json);

}  // namespace sgemm
