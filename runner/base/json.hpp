#pragma once

#include <nlohmann/json.hpp>

namespace sgemm {

/// Its entries stay in the order in which they were written.
using Json = nlohmann::ordered_json;

}  // namespace sgemm
