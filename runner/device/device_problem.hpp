#pragma once

#include "common/problem.hpp"
#include "device/device_buffer.hpp"
#include "problem/operands.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sgemm {

/// Memory that is larger than the matrices in it.
struct Rooms {
  std::span<float> a;
  std::span<float> b;
};

/// The operands of one problem in device memory: A, B, C, and C0 where beta is not 0. The kernel and the cuBLAS call
/// that it alternates with have the same ones: where C lies changes the time of a small product by up to 2 %.
///
/// All launches of one sample find the same state. With `separate_inputs` (cold L2) each launch has its own A, B and C.
/// If beta is not 0, each has its own C, because the launch overwrites C0. Otherwise all launches share one set.
class DeviceProblem {
 public:
  /// Copies the inputs to the device. Throws CudaError.
  DeviceProblem(const Shape& shape, const HostOperands& inputs, bool separate_inputs);

  /// Puts all operands at other addresses of the same alignment, which `seed` decides. What they hold is undefined
  /// then.
  void move(std::uint64_t seed);
  /// Copies the inputs of all launches to the device again.
  void fill(const HostOperands& inputs);
  /// Makes the operands of `launches` launches; operands that exist already stay.
  void reserve(int launches);
  /// The memory of one launch's A and B, within which they move.
  Rooms rooms(int launch);
  /// The operands of one launch of a sample.
  Problem operands(int launch = 0);
  /// alpha, beta, A, B and, as C, the C0 that beta multiplies; nothing writes to it.
  Problem reference_operands();
  /// Enqueues copies of C0 into the C of the first `launches` launches, or of NaN if beta is 0. Elements that a kernel
  /// fails to write show up then.
  void restore(int launches, cudaStream_t stream);

  /// Device memory that one set of operands of this shape takes.
  static double bytes_needed(const Shape& shape);

 private:
  /// Memory for a matrix and some more, within which it moves.
  class Place {
   public:
    /// Addresses of a matrix are this far apart, in elements. cuBLAS is up to 3 % slower where operands do not begin at
    /// a multiple of 64 KiB, as those of large allocations do.
    static constexpr std::size_t STEP = (std::size_t{64} << 10U) / sizeof(float);
    /// A matrix has so many addresses to be at.
    static constexpr std::size_t STEPS = 32;

    explicit Place(std::size_t size) : buffer_(size + STEP * STEPS) {}

    float* data() { return buffer_.data() + offset_; }
    std::span<float> room() { return {buffer_.data(), buffer_.size()}; }
    std::size_t bytes() const { return (buffer_.size() - STEP * STEPS) * sizeof(float); }
    void move(std::uint64_t random) { offset_ = random % STEPS * STEP; }

   private:
    DeviceBuffer<float> buffer_;
    std::size_t offset_ = 0;  ///< in elements
  };
  struct Inputs {
    Place a;
    Place b;
  };

  std::size_t sets_of_outputs(int launches) const;

  Shape shape_;
  bool separate_inputs_;
  std::vector<Inputs> inputs_;
  std::vector<Place> outputs_;
  DeviceBuffer<float> c0_;
};

}  // namespace sgemm
