// What stands for cuBLAS, and for what the library asks of CUDA besides its kernels.

#include "host_blas.hpp"

#include "blas.hpp"
#include "cuda_guard.hpp"
#include "detour.hpp"
#include "memory_pool.hpp"
#include "status_error.hpp"

#include <array>
#include <cstring>
#include <memory>

namespace sgemm {

test::BlasCalls& test::blas_calls() {
  thread_local BlasCalls calls;
  return calls;
}

struct Blas::Handle {};

int Blas::version() { return 0; }
const char* Blas::path() { return test::blas_calls().missing ? "" : "the host"; }

Blas::Blas(std::uint64_t context) : context_(context) {}
Blas::~Blas() { test::capture_state().forbids(); }

bool Blas::make_ready(cudaStream_t) {
  if (handle_ == nullptr && !test::blas_calls().captured && !test::blas_calls().missing) {
    test::capture_state().forbids();
    if (test::blas_calls().no_room) {
      throw StatusError(SGEMM_STATUS_ALLOC_FAILED);
    }
    ++test::blas_calls().handles;
    handle_ = std::make_unique<Handle>();
  }
  return handle_ != nullptr;
}

void Blas::set_stream(cudaStream_t stream, void* workspace, std::size_t workspace_bytes) {
  test::blas_calls().stream = stream;
  test::blas_calls().workspace = workspace;
  test::blas_calls().workspace_bytes = workspace_bytes;
}

void Blas::set_multiprocessors(int count) { test::blas_calls().multiprocessors = count; }

void Blas::gemm(const GemmBatch& batch) {
  ++test::blas_calls().products;
  test::blas_calls().batch_count = batch.count;
  if (test::blas_calls().refuses) {
    throw StatusError(SGEMM_STATUS_NOT_SUPPORTED);
  }
  for (std::int64_t index = 0; index < batch.count; ++index) {
    const GemmProblem p = batch.problem(index);
    const float alpha = p.scalars_on_device() ? *p.alpha_at : p.alpha;
    const float beta = p.scalars_on_device() ? *p.beta_at : p.beta;
    for (std::int64_t row = 0; row < p.m; ++row) {
      for (std::int64_t col = 0; col < p.n; ++col) {
        double sum = 0.0;
        for (std::int64_t k = 0; k < p.k && (alpha != 0.0F || p.scalars_on_device()); ++k) {  // as cuBLAS does
          sum += static_cast<double>(p.a[p.a_transposed ? k * p.lda + row : row * p.lda + k]) *
                 static_cast<double>(p.b[p.b_transposed ? col * p.ldb + k : k * p.ldb + col]);
        }
        float& c = p.c[row * p.ldc + col];
        c = static_cast<float>(alpha * sum + (beta == 0.0F ? 0.0 : static_cast<double>(beta) * c));
      }
    }
  }
}

// ---- The pool of memory ----

test::PoolState& test::pool_state() {
  thread_local PoolState state;
  return state;
}

struct MemoryPool::Pool {
  std::size_t limit;
};

MemoryPool::MemoryPool(std::size_t limit, std::uint64_t) : pool_(new Pool{limit}) {}
MemoryPool::~MemoryPool() { delete pool_; }

MemoryPool::Block MemoryPool::allocate(std::size_t bytes, cudaStream_t) {
  void* memory = nullptr;
  if (test::pool_state().full || cudaMalloc(&memory, bytes) != cudaSuccess) {
    return {};
  }
  ++test::pool_state().allocations;
  ++test::pool_state().live;
  std::memset(memory, 0xFF, bytes);  // a pool's memory may hold anything
  return {memory, false};
}

void MemoryPool::free(const Block& block, cudaStream_t, bool) {
  if (block.data != nullptr) {
    --test::pool_state().live;
    cudaFree(block.data);
  }
}

void MemoryPool::free_kept() { ++test::pool_state().kept_freed; }

void MemoryPool::trim() { test::capture_state().forbids(); }

std::size_t MemoryPool::limit() const { return pool_->limit; }

// ---- Captures of other threads, and resets ----

test::CaptureState& test::capture_state() {
  thread_local CaptureState state;
  return state;
}

std::uint64_t context_id() { return test::capture_state().context; }

RelaxedCapture::RelaxedCapture() : mode_(test::capture_state().relaxed) { test::capture_state().relaxed = 1; }
RelaxedCapture::~RelaxedCapture() { test::capture_state().relaxed = mode_; }

bool test::CaptureState::forbids() {
  if (!elsewhere || relaxed != 0) {
    return false;
  }
  ++broken;
  return true;
}

unsigned* word_for_recomputed(std::uint64_t) {
  thread_local std::array<unsigned, 4096> words{};
  thread_local std::size_t used = 0;
  return &words[used++ % words.size()];
}

}  // namespace sgemm
