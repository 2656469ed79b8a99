#pragma once

// Stands in for PyTorch's header, so that files compile whose host functions take tensors. It has what such functions
// ask of a tensor before they launch a kernel. A tensor is a matrix in rows without gaps between them, in FP32. It
// belongs to the caller: what would make a new one throws.

#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace torch {

enum class Dtype { kFloat32, kFloat64, kFloat16, kBFloat16, kInt32, kInt64, kUInt8 };
using ScalarType = Dtype;
constexpr Dtype kFloat32 = Dtype::kFloat32;
constexpr Dtype kFloat = Dtype::kFloat32;
constexpr Dtype kFloat64 = Dtype::kFloat64;
constexpr Dtype kDouble = Dtype::kFloat64;
constexpr Dtype kFloat16 = Dtype::kFloat16;
constexpr Dtype kHalf = Dtype::kFloat16;
constexpr Dtype kBFloat16 = Dtype::kBFloat16;
constexpr Dtype kInt32 = Dtype::kInt32;
constexpr Dtype kInt = Dtype::kInt32;
constexpr Dtype kInt64 = Dtype::kInt64;
constexpr Dtype kLong = Dtype::kInt64;
constexpr Dtype kUInt8 = Dtype::kUInt8;

enum DeviceType { kCPU, kCUDA };

struct Device {
  DeviceType type_ = kCUDA;

  DeviceType type() const { return type_; }
  bool is_cuda() const { return type_ == kCUDA; }
};

class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(Dtype dtype) : dtype_(dtype) {}

  Dtype dtype() const { return dtype_; }
  TensorOptions dtype(Dtype dtype) const { return {dtype}; }
  Device device() const { return {}; }
  TensorOptions device(DeviceType) const { return *this; }
  TensorOptions device(Device) const { return *this; }

 private:
  Dtype dtype_ = kFloat32;
};

inline std::ostream& operator<<(std::ostream& stream, const TensorOptions& options) {
  return stream << (options.dtype() == kFloat32 ? "float" : "another type");
}

using IntArrayRef = std::vector<std::int64_t>;

class Tensor {
 public:
  Tensor() = default;
  Tensor(void* data, IntArrayRef sizes) : data_(data), sizes_(std::move(sizes)) {}

  void* data_ptr() const { return data_; }
  template <class Element>
  Element* data_ptr() const {
    return static_cast<Element*>(data_);
  }
  template <class Element>
  Element* data() const {
    return data_ptr<Element>();
  }

  const IntArrayRef& sizes() const { return sizes_; }
  std::int64_t dim() const { return static_cast<std::int64_t>(sizes_.size()); }
  /// `axis` counts from the end where it is negative.
  std::int64_t size(std::int64_t axis) const { return sizes_.at(axis < 0 ? axis + dim() : axis); }
  std::int64_t stride(std::int64_t axis) const { return axis == dim() - 1 || axis == -1 ? 1 : sizes_.back(); }
  std::int64_t numel() const {
    std::int64_t product = 1;
    for (const std::int64_t size : sizes_) {
      product *= size;
    }
    return product;
  }

  TensorOptions options() const { return {}; }
  Dtype dtype() const { return kFloat32; }
  Dtype scalar_type() const { return kFloat32; }
  Device device() const { return {}; }
  bool is_cuda() const { return true; }
  bool is_contiguous() const { return true; }
  Tensor contiguous() const { return *this; }

 private:
  void* data_ = nullptr;
  IntArrayRef sizes_;
};

inline Tensor from_blob(void* data, IntArrayRef sizes, TensorOptions = {}) { return {data, std::move(sizes)}; }

[[noreturn]] inline Tensor no_new_tensor(const char* function) {
  throw std::runtime_error(std::string("torch::") + function +
                           " makes a tensor, and there is no PyTorch here: give a --launch that calls the kernel");
}
inline Tensor empty(const IntArrayRef&, TensorOptions = {}) { return no_new_tensor("empty"); }
inline Tensor zeros(const IntArrayRef&, TensorOptions = {}) { return no_new_tensor("zeros"); }
inline Tensor empty_like(const Tensor&, TensorOptions = {}) { return no_new_tensor("empty_like"); }
inline Tensor zeros_like(const Tensor&, TensorOptions = {}) { return no_new_tensor("zeros_like"); }

}  // namespace torch

namespace at = torch;
namespace c10 = torch;

#define TORCH_CHECK(condition, ...)                            \
  do {                                                         \
    if (!(condition)) {                                        \
      throw std::runtime_error("TORCH_CHECK(" #condition ")"); \
    }                                                          \
  } while (false)
