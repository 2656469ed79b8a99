#include "device/shared_operands.hpp"

#include "base/counter_random.hpp"
#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"
#include "problem/batch.hpp"

#include <charconv>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

namespace sgemm {
namespace {

constexpr std::size_t UNIT = (std::size_t{2} << 20U) / sizeof(float);

std::size_t rounded_up(std::size_t size, std::size_t unit) { return ceil_div(size, unit) * unit; }

}  // namespace

SharedOperands::SharedOperands(const Shape& shape, std::size_t inputs, std::size_t outputs) : inputs_(inputs) {
  const auto extent = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  std::size_t end = 0;
  const auto place = [&](std::size_t size, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      places_.push_back({end, 0});
      end += rounded_up(size + ADDRESS_STEP * ADDRESSES, ADDRESS_STEP);
    }
  };
  place(extent(shape.batch) * extent(shape.m) * extent(shape.k), inputs);
  place(extent(shape.batch) * extent(shape.k) * extent(shape.n), inputs);
  place(elements_of_c(shape), outputs);
  memory_ = DeviceBuffer<float>(rounded_up(end, UNIT));
  cudaIpcMemHandle_t handle{};
  CUDA_CHECK(cudaIpcGetMemHandle(&handle, memory_.data()));
  handle_ = hexadecimal(&handle, sizeof(handle));
}

void SharedOperands::move(std::uint64_t seed) {
  const CounterRandom random(seed, RandomStream::judge);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    places_[i].offset = random(i) % ADDRESSES * ADDRESS_STEP;
  }
}

std::size_t SharedOperands::place_of(const float* matrix) const {
  return static_cast<std::size_t>(matrix - memory_.data()) * sizeof(float);
}

std::string hexadecimal(const void* value, std::size_t bytes) {
  std::string digits;
  for (std::size_t i = 0; i < bytes; ++i) {
    digits += fmt::format("{:02x}", static_cast<const unsigned char*>(value)[i]);
  }
  return digits;
}

void from_hexadecimal(const std::string& digits, void* value, std::size_t bytes) {
  bool right = digits.size() == 2 * bytes;
  for (std::size_t i = 0; right && i < bytes; ++i) {
    const char* const begin = digits.data() + 2 * i;
    const auto [end, error] = std::from_chars(begin, begin + 2, static_cast<unsigned char*>(value)[i], 16);
    right = error == std::errc() && end == begin + 2;
  }
  if (!right) {
    throw std::runtime_error(fmt::format("{} hexadecimal digits are expected", 2 * bytes));
  }
}

}  // namespace sgemm
