#pragma once

// Stands in for PyTorch's header, so that files compile whose host functions take tensors. It has what such functions
// ask of a tensor before they launch a kernel. A tensor is an array in rows without gaps between them, in FP32.

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace torch {

enum class Dtype { Float, Double, Half, BFloat16, Int, Long, Byte };
using ScalarType = Dtype;
constexpr Dtype kFloat32 = Dtype::Float, kFloat = Dtype::Float;
constexpr Dtype kFloat64 = Dtype::Double, kDouble = Dtype::Double;
constexpr Dtype kFloat16 = Dtype::Half, kHalf = Dtype::Half;
constexpr Dtype kBFloat16 = Dtype::BFloat16;
constexpr Dtype kInt32 = Dtype::Int, kInt = Dtype::Int;
constexpr Dtype kInt64 = Dtype::Long, kLong = Dtype::Long;
constexpr Dtype kUInt8 = Dtype::Byte;

enum class DeviceType { CPU, CUDA };
constexpr DeviceType kCPU = DeviceType::CPU;
constexpr DeviceType kCUDA = DeviceType::CUDA;

struct Device {
  DeviceType type_;
  int index_;

  Device(DeviceType type = kCUDA, int index = 0) : type_(type), index_(index) {}
  DeviceType type() const { return type_; }
  int index() const { return index_; }
  bool is_cuda() const { return type_ == kCUDA; }
};

class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(Dtype dtype) : dtype_(dtype) {}

  Dtype dtype() const { return dtype_; }
  TensorOptions dtype(Dtype dtype) const { return {dtype}; }
  Device device() const { return {}; }
  TensorOptions device(Device, int = 0) const { return *this; }
  TensorOptions requires_grad(bool) const { return *this; }

 private:
  Dtype dtype_ = kFloat32;
};

inline TensorOptions dtype(Dtype dtype) { return {dtype}; }
inline TensorOptions device(Device) { return {}; }

inline std::ostream& operator<<(std::ostream& stream, const TensorOptions& options) {
  return stream << (options.dtype() == kFloat32 ? "float" : "another type");
}

using IntArrayRef = std::vector<std::int64_t>;

template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
template <class T>
struct RestrictPtrTraits {
  using PtrType = T* __restrict__;
};

/// An array as a kernel indexes it.
template <class T, std::size_t Dims, template <class> class Traits = DefaultPtrTraits, class Index = std::int64_t>
struct PackedTensorAccessor {
  typename Traits<T>::PtrType data;
  Index sizes[Dims];

  __host__ __device__ Index size(int axis) const { return sizes[axis]; }
  __host__ __device__ decltype(auto) operator[](Index i) const {
    if constexpr (Dims == 1) {
      return (data[i]);
    } else {
      PackedTensorAccessor<T, Dims - 1, Traits, Index> row{};
      for (std::size_t axis = 1; axis < Dims; ++axis) {
        row.sizes[axis - 1] = sizes[axis];
        i *= sizes[axis];
      }
      row.data = data + i;
      return row;
    }
  }
};
template <class T, std::size_t Dims, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = PackedTensorAccessor<T, Dims, Traits, std::int32_t>;
template <class T, std::size_t Dims, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = PackedTensorAccessor<T, Dims, Traits>;

class Tensor {
 public:
  Tensor() = default;
  Tensor(void* data, IntArrayRef sizes) : data_(data), sizes_(std::move(sizes)) {}
  /// Has memory of its own, which holds nothing.
  explicit Tensor(IntArrayRef sizes) : sizes_(std::move(sizes)) {
#ifdef SIMT_CUDA_RUNTIME  // a tensor may be the host's
    const cudaError_t error = simt::allocate_for_cuda(&data_, bytes(), false);
#else
    const cudaError_t error = cudaMallocAsync(&data_, bytes(), nullptr);
#endif
    if (error != cudaSuccess) {
      throw std::runtime_error("there is no room for a tensor");
    }
    owner_.reset(data_, [](void* data) { cudaFreeAsync(data, nullptr); });
  }

  void* data_ptr() const { return data_; }
#define SGEMM_TENSOR_DATA(name)          \
  template <class Element>               \
  Element* name() const {                \
    return static_cast<Element*>(data_); \
  }
  SGEMM_TENSOR_DATA(data_ptr)
  SGEMM_TENSOR_DATA(const_data_ptr)
  SGEMM_TENSOR_DATA(mutable_data_ptr)
  SGEMM_TENSOR_DATA(data)

  template <class T, std::size_t Dims, template <class> class Traits = DefaultPtrTraits, class Index = std::int32_t>
  PackedTensorAccessor<T, Dims, Traits, Index> packed_accessor32() const {
    PackedTensorAccessor<T, Dims, Traits, Index> accessor{data_ptr<T>(), {}};
    for (std::size_t axis = 0; axis < Dims; ++axis) {
      accessor.sizes[axis] = static_cast<Index>(sizes_.at(axis));
    }
    return accessor;
  }
  template <class T, std::size_t Dims, template <class> class Traits = DefaultPtrTraits>
  auto packed_accessor64() const {
    return packed_accessor32<T, Dims, Traits, std::int64_t>();
  }

  const IntArrayRef& sizes() const { return sizes_; }
  std::int64_t dim() const { return static_cast<std::int64_t>(sizes_.size()); }
  /// `axis` counts from the end where it is negative.
  std::int64_t size(std::int64_t axis) const { return sizes_.at(axis < 0 ? axis + dim() : axis); }
  std::int64_t stride(std::int64_t axis) const {
    const auto behind = sizes_.begin() + (axis < 0 ? axis + dim() : axis) + 1;
    return std::accumulate(behind, sizes_.end(), std::int64_t{1}, std::multiplies<>());
  }
  std::int64_t numel() const {
    return std::accumulate(sizes_.begin(), sizes_.end(), std::int64_t{1}, std::multiplies<>());
  }

  std::size_t bytes() const { return static_cast<std::size_t>(numel()) * sizeof(float); }

  Tensor& detach_() { return *this; }
  Tensor& zero_() {
    cudaMemsetAsync(data_, 0, bytes(), nullptr);
    return *this;
  }
  /// Throws where the other one has other sizes.
  Tensor& copy_(const Tensor& other) {
    if (other.sizes_ != sizes_) {
      throw std::runtime_error("a tensor of other sizes came back");
    }
    cudaMemcpyAsync(data_, other.data_, bytes(), cudaMemcpyDeviceToDevice, nullptr);
    return *this;
  }

  TensorOptions options() const { return {}; }
  Dtype dtype() const { return kFloat32; }
  Dtype scalar_type() const { return kFloat32; }
  Dtype type() const { return kFloat32; }
  Device device() const { return {}; }
  bool is_cuda() const { return true; }
  bool is_contiguous() const { return true; }
  Tensor contiguous() const { return *this; }
  std::int64_t ndimension() const { return dim(); }
  std::size_t nbytes() const { return bytes(); }
  std::int64_t element_size() const { return sizeof(float); }
  int get_device() const { return 0; }
  bool defined() const { return data_ != nullptr; }
  Tensor clone() const { return Tensor(sizes_).copy_(*this); }
  /// Throws for other types than FP32.
  Tensor to(TensorOptions options) const {
    if (options.dtype() != kFloat32) {
      throw std::runtime_error("the executor's tensors are of FP32");
    }
    return *this;
  }
  Tensor to(Device) const { return *this; }

 private:
  void* data_ = nullptr;
  std::shared_ptr<void> owner_;
  IntArrayRef sizes_;
};

inline Tensor from_blob(void* data, IntArrayRef sizes, TensorOptions = {}) { return {data, std::move(sizes)}; }

inline Tensor empty(const IntArrayRef& sizes, TensorOptions = {}) { return Tensor(sizes); }
inline Tensor zeros(const IntArrayRef& sizes, TensorOptions = {}) { return Tensor(sizes).zero_(); }
inline Tensor empty_like(const Tensor& other, TensorOptions = {}) { return Tensor(other.sizes()); }
inline Tensor zeros_like(const Tensor& other, TensorOptions = {}) { return Tensor(other.sizes()).zero_(); }

inline Device device_of(const Tensor&) { return {}; }
struct NoGradGuard {};

namespace cuda {

struct CUDAStream {
  cudaStream_t stream() const { return nullptr; }
  operator cudaStream_t() const { return nullptr; }
};
inline CUDAStream getCurrentCUDAStream(int = 0) { return {}; }
struct CUDAGuard {
  explicit CUDAGuard(Device) {}
};
using OptionalCUDAGuard = CUDAGuard;

}  // namespace cuda
template <class T, bool on_gpu>
using acc_type = T;
template <class T>
T ceil_div(T x, T y) {
  return (x + y - 1) / y;
}

}  // namespace torch

namespace at = torch;
namespace c10 = torch;

#define TORCH_CHECK(condition, ...)                            \
  do {                                                         \
    if (!(condition)) {                                        \
      throw std::runtime_error("TORCH_CHECK(" #condition ")"); \
    }                                                          \
  } while (false)
#define TORCH_CHECK_EQ(a, b, ...) TORCH_CHECK((a) == (b))
#define TORCH_CHECK_NE(a, b, ...) TORCH_CHECK((a) != (b))
#define TORCH_CHECK_LE(a, b, ...) TORCH_CHECK((a) <= (b))
#define TORCH_CHECK_LT(a, b, ...) TORCH_CHECK((a) < (b))
#define TORCH_CHECK_GE(a, b, ...) TORCH_CHECK((a) >= (b))
#define TORCH_CHECK_GT(a, b, ...) TORCH_CHECK((a) > (b))
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define AT_ASSERT(condition) TORCH_CHECK(condition)
#define AT_ASSERTM TORCH_CHECK
#define AT_CUDA_CHECK(call) TORCH_CHECK((call) == cudaSuccess)
#define C10_CUDA_CHECK AT_CUDA_CHECK
#define C10_CUDA_KERNEL_LAUNCH_CHECK() AT_CUDA_CHECK(cudaGetLastError())
#define AT_DISPATCH_FLOATING_TYPES(type, name, ...) \
  [&] {                                             \
    using scalar_t = float;                         \
    return __VA_ARGS__();                           \
  }()
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF AT_DISPATCH_FLOATING_TYPES
#define AT_DISPATCH_ALL_TYPES AT_DISPATCH_FLOATING_TYPES
#define AT_DISPATCH_FLOATING_TYPES_AND(other, ...) AT_DISPATCH_FLOATING_TYPES(__VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND2(other, one_more, ...) AT_DISPATCH_FLOATING_TYPES(__VA_ARGS__)
