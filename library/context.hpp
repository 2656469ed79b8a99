#pragma once

#include "blas.hpp"
#include "choice.hpp"
#include "detour.hpp"
#include "gemm_call.hpp"
#include "gemm_epilogue.hpp"
#include "memory_pool.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

/// What a sgemm_handle_t points to: settings, the choices that were made, and the memory and the cuBLAS handle for
/// them. All functions throw StatusError or CudaError.
struct sgemm_context {
 public:
  /// On the current device.
  sgemm_context();

  /// Throws in a child that was forked since, and after a reset of the device, if it is current.
  void require_life() const;
  int device() const { return device_; }
  /// Throws unless the device is current.
  void require_device() const;

  cudaStream_t stream() const { return stream_; }
  void set_stream(cudaStream_t stream) { stream_ = stream; }
  void set_workspace(void* workspace, std::size_t bytes);
  int multiprocessors() const { return multiprocessors_; }
  void set_multiprocessors(int count);
  void trim() { pool_->trim(); }
  std::size_t memory_limit() const { return pool_->limit(); }
  void set_memory_limit(std::size_t bytes);

  sgemm_accuracy_t accuracy = SGEMM_ACCURACY_COMPONENTWISE;
  sgemm_pointer_mode_t pointer_mode = SGEMM_POINTER_MODE_HOST;
  sgemm_fallback_t fallback = SGEMM_FALLBACK_CUBLAS;
  bool repeatable;  ///< the same call has the same bits, or fails
  void set_repeatable(bool value);

  /// What gemm() would do, with an epilogue or without one (null). The reference holds until the next call.
  const sgemm::Choice& choice(const sgemm::GemmBatch& batch, const sgemm::GemmEpilogue* epilogue = nullptr);
  /// What work on a batch by cuBLAS needs besides cuBLAS's own memory: room for a copy of C where an alpha of 0 on the
  /// GPU would be multiplied.
  static std::size_t bytes_beside_cublas(const sgemm::GemmBatch& batch);
  /// Enqueues a batch, or one product with an epilogue that changes D.
  void gemm(const sgemm::GemmBatch& batch, const sgemm::GemmEpilogue* epilogue = nullptr);

 private:
  class Memory;
  /// Everything that a choice depends on, besides what clears all choices: accuracy, m, n, k, the layouts, where the
  /// scalars and the addresses are, how each operand is aligned, whether there is anything to multiply, which of them
  /// are packed, the number of products, the limit to the workspace, and the epilogue: its activation, or -1 without
  /// one, and the bytes of a pass.
  using ChoiceKey = std::tuple<sgemm_accuracy_t, std::int64_t, std::int64_t, std::int64_t, bool, bool, bool, bool, bool,
                               bool, bool, bool, bool, std::int64_t, std::size_t, int, double>;

  /// What is known of a shape: the choice, and what the operands of its last calls were like.
  struct Known {
    sgemm::Choice choice;
    std::optional<sgemm::Algorithm> without_memory;  ///< where a call has found none
    sgemm::Detour detour;
    unsigned* recomputed = nullptr;  ///< where the GPU notes its passes without tensor cores
    unsigned seen = 0;               ///< of them, by the host
    std::int64_t calls = 0;          ///< of the library since then
  };

  Known& known(const sgemm::GemmBatch& batch, const sgemm::GemmEpilogue* epilogue);
  bool takes_detour(const sgemm::GemmBatch& batch, Known& shape);
  std::size_t workspace_limit() const;
  void prepare_for_want_of_memory() const;
  sgemm::Choice choose(const sgemm::GemmBatch& batch, const sgemm::GemmEpilogue* epilogue) const;
  bool enqueue(const sgemm::GemmBatch& batch, const sgemm::GemmEpilogue* epilogue, Known& shape);
  void gemm_reproducibly(const sgemm::GemmBatch& batch, const sgemm::GemmEpilogue& epilogue,
                         const sgemm::Choice& choice);
  /// Whether cuBLAS may have a call, and has a handle.
  bool cublas_is_ready();
  void gemm_by_cublas(const sgemm::GemmBatch& batch, const sgemm::GemmEpilogue& epilogue, Known& shape);

  int forks_;  ///< that led to the process
  std::uint64_t context_;
  int device_;
  int all_multiprocessors_;
  int multiprocessors_ = 0;  ///< 0 for all
  cudaStream_t stream_ = nullptr;
  void* workspace_ = nullptr;
  std::size_t workspace_bytes_ = 0;
  sgemm::Blas blas_;
  std::optional<sgemm::MemoryPool> pool_;
  std::map<ChoiceKey, Known> choices_;
};
