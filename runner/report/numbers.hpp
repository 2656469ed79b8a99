#pragma once

#include <cstdint>
#include <string>

namespace sgemm {

/// Three digits and a unit: "4.29 G", "524 k"; small whole numbers as they are: "4096".
std::string short_number(double value);
std::string short_number(std::uint64_t value);

/// "4.40 GB".
std::string bytes_text(double bytes);
std::string bytes_text(std::uint64_t bytes);

}  // namespace sgemm
