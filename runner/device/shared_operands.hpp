#pragma once

#include "common/problem.hpp"
#include "device/device_buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sgemm {

/// A, B and C of a sample's launches in one piece of device memory, which another process can open. Nothing else is in
/// it: CUDA shares memory in units of 2 MiB.
class SharedOperands {
 public:
  /// Throws CudaError where there is no room, or where this machine's processes can not share memory.
  SharedOperands(const Shape& shape, std::size_t inputs, std::size_t outputs);

  float* a(std::size_t set) { return at(set); }
  float* b(std::size_t set) { return at(inputs_ + set); }
  float* c(std::size_t set) { return at(2 * inputs_ + set); }
  std::size_t inputs() const { return inputs_; }
  std::size_t outputs() const { return places_.size() - 2 * inputs_; }

  /// Puts all matrices at other addresses of the same alignment. What they hold is undefined then.
  void move(std::uint64_t seed);
  /// From the begin of the memory, in bytes.
  std::size_t place_of(const float* matrix) const;
  /// By which the other process opens the memory.
  const std::string& handle() const { return handle_; }

 private:
  struct Place {
    std::size_t begin = 0;   ///< in elements
    std::size_t offset = 0;  ///< from there
  };

  float* at(std::size_t place) { return memory_.data() + places_[place].begin + places_[place].offset; }

  std::size_t inputs_;
  std::vector<Place> places_;
  DeviceBuffer<float> memory_;
  std::string handle_;
};

/// Addresses of a matrix are this far apart, in elements. cuBLAS is up to 3 % slower where operands do not begin at a
/// multiple of 64 KiB, as those of large allocations do.
constexpr std::size_t ADDRESS_STEP = (std::size_t{64} << 10U) / sizeof(float);
/// A matrix has so many addresses to be at.
constexpr std::size_t ADDRESSES = 32;

/// The bytes of a value as hexadecimal digits, and back. Throws std::runtime_error for anything else.
std::string hexadecimal(const void* value, std::size_t bytes);
void from_hexadecimal(const std::string& digits, void* value, std::size_t bytes);

}  // namespace sgemm
