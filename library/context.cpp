#include "context.hpp"

#include "algorithms.hpp"
#include "board.hpp"
#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"
#include "cuda_guard.hpp"
#include "host/launch.cuh"
#include "passes.hpp"
#include "predicted_time.hpp"
#include "status_error.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace sgemm;

/// Below 192^3 nothing was measured, and a launch takes longer than the product.
constexpr double SMALLEST_PRODUCT = 192.0 * 192.0 * 192.0;

/// Chapter 09 starts a block with a wait for its first operands. Its prediction leaves that out, and is too short for
/// shorter sums.
constexpr std::int64_t SHORTEST_SUM_FOR_EVERY_SHAPE = 128;

/// The chapters count tiles of C in an int. A C of so many elements would take terabytes.
constexpr double LARGEST_C = 0x1p40;

/// Launches of batches are planned with counts of 64 bits, some times this large. The C of more products would take
/// terabytes as well.
constexpr std::int64_t LARGEST_BATCH = std::numeric_limits<int>::max();

/// Behind the workspace of a reproducible product whose bias takes the place of a beta on the GPU.
constexpr std::size_t BETA_BYTES = sizeof(float);

/// Choices are made again when there are more of them: no program is expected to have so many shapes.
constexpr std::size_t MOST_CHOICES = 4096;

/// How many forks led from the process that called this first to this one.
int forks() {
  static std::atomic<int> count{0};
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++count; });
  static_cast<void>(registered);
  return count;
}

/// What SGEMM_REPEATABLE asks of new handles. A wrong value asks for the same bits, and is named once in a process.
bool is_repeatable_by_environment() {
  const char* const value = std::getenv("SGEMM_REPEATABLE");
  const std::string text = value == nullptr ? "" : value;
  if (!text.empty() && text != "0" && text != "1") {
    static const int told =
        std::fprintf(stderr, "libsgemm: SGEMM_REPEATABLE=%s is neither 0 nor 1; it is taken for 1\n", value);
    static_cast<void>(told);
  }
  return !text.empty() && text != "0";
}

bool multiplies(const GemmProblem& p) { return p.k > 0 && (p.scalars_on_device() || p.alpha != 0.0F); }

/// The launch of a pass over D, in microseconds.
constexpr double LAUNCH_OF_PASS = 3.0;

/// Adds the time of the pass for an epilogue that the kernel does not have. It moves bytes as fast as the splitting of
/// an operand does.
void add_epilogue(Algorithm& algorithm, const GemmProblem& p, const GemmEpilogue& epilogue) {
  const double bytes = algorithm.has_epilogues() ? 0.0 : epilogue_pass_bytes(epilogue);
  if (bytes > 0.0) {
    algorithm.cost.other += LAUNCH_OF_PASS + static_cast<double>(p.m) * static_cast<double>(p.n) * bytes /
                                                 board_model()[algorithm.cost.method].bytes;
    ++algorithm.kernels;
  }
}

void append(std::vector<Algorithm>& algorithms, std::vector<Algorithm> more) {
  algorithms.insert(algorithms.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

sgemm_context::sgemm_context()
    : repeatable(is_repeatable_by_environment()),
      forks_(forks()),
      context_(context_id()),
      device_(current_device_number()),
      all_multiprocessors_(current_device().multiprocessors),
      blas_(context_),
      pool_(std::in_place, sgemm::memory_limit(), context_) {
  prepare_for_want_of_memory();
  const std::scoped_lock lock(allowed_smem_mutex);
  allowed_smem.clear();  // a reset of the device may have come between
}

void sgemm_context::require_life() const {
  if (forks_ != forks() || (current_device_number() == device_ && context_id() != context_)) {
    throw StatusError(SGEMM_STATUS_NOT_INITIALIZED);
  }
}

void sgemm_context::require_device() const {
  if (current_device_number() != device_) {
    throw StatusError(SGEMM_STATUS_ARCH_MISMATCH);
  }
}

void sgemm_context::set_workspace(void* workspace, std::size_t bytes) {
  workspace_ = workspace;
  workspace_bytes_ = bytes;
}

void sgemm_context::set_memory_limit(std::size_t bytes) {
  pool_.emplace(bytes, context_);
  prepare_for_want_of_memory();
}

void sgemm_context::set_repeatable(bool value) {
  repeatable = value;
  if (!value) {
    pool_->free_kept();
  }
}

/// Code that a call has to load waits for all streams, and with a limit these may wait for each other's memory.
void sgemm_context::prepare_for_want_of_memory() const {
  if (pool_->limit() != ANY_WORKSPACE) {
    load_algorithm_without_memory();
  }
}

void sgemm_context::set_multiprocessors(int count) {
  if (count < 0 || count > all_multiprocessors_) {
    throw StatusError(SGEMM_STATUS_INVALID_VALUE);
  }
  blas_.set_multiprocessors(count);
  multiprocessors_ = count;
  choices_.clear();
}

const Choice& sgemm_context::choice(const GemmBatch& batch, const GemmEpilogue* epilogue) {
  const Choice& choice = known(batch, epilogue).choice;
  if (accuracy != SGEMM_ACCURACY_REPRODUCIBLE && !choice.algorithm) {
    cublas_is_ready();  // so that the call may be captured
  }
  return choice;
}

bool sgemm_context::cublas_is_ready() { return fallback == SGEMM_FALLBACK_CUBLAS && blas_.make_ready(stream_); }

sgemm_context::Known& sgemm_context::known(const GemmBatch& batch, const GemmEpilogue* epilogue) {
  const GemmProblem& p = batch.first;
  const ChoiceKey key(accuracy, p.m, p.n, p.k, p.a_transposed, p.b_transposed, p.scalars_on_device(),
                      batch.addresses_on_device(), batch.a_splits_into_fours(), batch.b_splits_into_fours(),
                      multiplies(p), p.packed.a != nullptr, p.packed.b != nullptr, batch.count, workspace_limit(),
                      epilogue == nullptr ? -1 : static_cast<int>(epilogue->activation),
                      epilogue == nullptr ? 0.0 : epilogue_pass_bytes(*epilogue));
  auto found = choices_.find(key);
  if (found == choices_.end()) {
    if (choices_.size() >= MOST_CHOICES) {
      choices_.clear();
    }
    Known shape;
    shape.choice = choose(batch, epilogue);
    found = choices_.emplace(key, std::move(shape)).first;
  }
  return found->second;
}

std::size_t sgemm_context::workspace_limit() const { return workspace_ == nullptr ? pool_->limit() : workspace_bytes_; }

std::vector<Algorithm> sgemm::algorithms_for(const GemmBatch& batch, sgemm_accuracy_t accuracy, int multiprocessors,
                                             int all_multiprocessors, std::string& without) {
  const GemmProblem& p = batch.first;
  std::vector<Algorithm> algorithms;
  const bool reproducible = accuracy == SGEMM_ACCURACY_REPRODUCIBLE;
  if (!multiplies(p) && !reproducible) {
    without = "nothing to multiply";
  } else if (std::max({p.m, p.n, p.k}) > std::numeric_limits<int>::max()) {
    without = "a dimension of 2^31 or more";
  } else if (static_cast<double>(p.m) * static_cast<double>(p.n) > LARGEST_C) {
    without = "more than 2^40 elements of C";
  } else if (batch.count > LARGEST_BATCH) {
    without = "a batch of 2^31 products or more";
  } else if (reproducible) {
    if (multiplies(p)) {
      append(algorithms, reproducible_algorithms(batch, multiprocessors));
    }
    append(algorithms, thin_reproducible_algorithms(batch, multiprocessors));
    without = "the device has no kernel of the reproducible class";
  } else if (static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) < SMALLEST_PRODUCT) {
    without = "a product smaller than 192 x 192 x 192";
  } else {
    if (p.k < SHORTEST_SUM_FOR_EVERY_SHAPE) {
      without = "chapter 09 takes no sums of fewer than " + std::to_string(SHORTEST_SUM_FOR_EVERY_SHAPE) + " products";
    } else {
      append(algorithms, every_layout_algorithms(batch, multiprocessors));
      without = "no kernel of the library computes this on this device";
    }
    const bool in_one_launch = batch.count > 1 || batch.addresses_on_device();
    // Each accuracy takes the algorithms of all that promise more.
    const auto takes = [&](sgemm_accuracy_t one) { return accuracy >= one; };
    if (takes(SGEMM_ACCURACY_COMPONENTWISE)) {
      append(algorithms, bf16x6_algorithms(batch, multiprocessors));
      if (in_one_launch) {
        append(algorithms, stacked_bf16x6_algorithms(batch, multiprocessors));
      }
      if (accuracy == SGEMM_ACCURACY_COMPONENTWISE) {
        append(algorithms, lines_algorithms(batch, multiprocessors));
      }
      append(algorithms, tall_bf16x6_algorithms(batch, multiprocessors));
      if (multiprocessors == all_multiprocessors) {
        append(algorithms, small_bf16x6_algorithms(batch, multiprocessors));
      }
    }
    if (takes(SGEMM_ACCURACY_NORMWISE)) {
      append(algorithms, fp16x3_algorithms(batch, multiprocessors));
      if (in_one_launch) {
        append(algorithms, stacked_fp16x3_algorithms(batch, multiprocessors));
      }
    }
    if (takes(SGEMM_ACCURACY_ROWWISE) && p.k >= SHORTEST_SUM_OF_DIGITS) {
      append(algorithms, reproducible_algorithms(batch, multiprocessors));
    }
  }
  return algorithms;
}

Choice sgemm_context::choose(const GemmBatch& batch, const GemmEpilogue* epilogue) const {
  const GemmProblem& p = batch.first;
  const int multiprocessors = multiprocessors_ == 0 ? all_multiprocessors_ : multiprocessors_;
  std::string without;
  std::vector<Algorithm> algorithms = algorithms_for(batch, accuracy, multiprocessors, all_multiprocessors_, without);
  if (epilogue != nullptr) {
    for (Algorithm& algorithm : algorithms) {
      add_epilogue(algorithm, p, *epilogue);
      if (accuracy == SGEMM_ACCURACY_REPRODUCIBLE && p.scalars_on_device()) {
        algorithm.workspace_bytes = ceil_div<std::size_t>(algorithm.workspace_bytes, BETA_BYTES) * BETA_BYTES;
        algorithm.workspace_bytes += BETA_BYTES;
      }
    }
  }
  Choice choice = choose_for(batch, accuracy, std::move(algorithms), multiprocessors, workspace_limit(), without);
  const double of_pass = epilogue == nullptr ? 0.0 : epilogue_pass_bytes(*epilogue);
  if (of_pass > 0.0 && choice.algorithm && !choice.algorithm->has_epilogues()) {
    choice.reason += "; a pass for the epilogue";
  }
  return choice;
}

/// Memory for the work of one call: the caller's workspace, or from the pool until the end of the call.
class sgemm_context::Memory {
 public:
  Memory(sgemm_context& context, std::size_t bytes) : context_(context), bytes_(bytes) {
    if (context.workspace_ != nullptr) {
      data_ = bytes <= context.workspace_bytes_ ? context.workspace_ : nullptr;
    } else if (bytes > 0) {
      allocated_ = context.pool_->allocate(bytes, context.stream_);
      data_ = allocated_.data;
    }
  }
  /// The same where another algorithm may take the place of one without memory. What is free differs between calls and
  /// processes, and bits would: a repeatable handle has no other.
  Memory(sgemm_context& context, std::size_t bytes, const GemmBatch& batch, Known& shape) : Memory(context, bytes) {
    if (!missing() || context.workspace_ != nullptr) {
      return;
    }
    if (context.repeatable) {
      throw StatusError(SGEMM_STATUS_ALLOC_FAILED);
    }
    // cuBLAS would be another one, but its code may not be loaded yet, for which CUDA waits for all streams.
    if (!shape.without_memory) {
      shape.without_memory = algorithm_without_memory(batch);
    }
    instead_ = shape.without_memory ? &*shape.without_memory : nullptr;
  }
  ~Memory() { context_.pool_->free(allocated_, context_.stream_, context_.repeatable); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* data() const { return data_; }
  bool missing() const { return bytes_ > 0 && data_ == nullptr; }
  /// That other algorithm. Null: the call has the memory, or there is none.
  const Algorithm* instead() const { return instead_; }

 private:
  sgemm_context& context_;
  std::size_t bytes_;
  MemoryPool::Block allocated_;
  void* data_ = nullptr;
  const Algorithm* instead_ = nullptr;
};

/// Whether the last calls of a shape have shown that operands make the algorithm slower than cuBLAS. Nothing waits for
/// what they show.
bool sgemm_context::takes_detour(const GemmBatch& batch, Known& shape) {
  if (repeatable) {
    return false;
  }
  if (shape.recomputed == nullptr) {
    shape.recomputed = word_for_recomputed(context_);
    if (shape.recomputed == nullptr) {
      return false;
    }
    shape.seen = *shape.recomputed;
  }
  const unsigned passes = *static_cast<volatile unsigned*>(shape.recomputed) - shape.seen;
  bool slow = false;
  if (passes > 0) {
    const GemmProblem& p = batch.first;
    const double of_call = static_cast<double>(passes) / static_cast<double>(std::max<std::int64_t>(shape.calls, 1));
    slow = shape.choice.algorithm_us + recomputed_microseconds({p.m, p.n, p.k, all_multiprocessors_}, of_call) >
           shape.choice.cublas_us;
    shape.seen += passes;
    shape.calls = 0;
  }
  if (!shape.detour.next(slow)) {
    return false;
  }
  try {
    return fallback == SGEMM_FALLBACK_NONE || cublas_is_ready();
  } catch (const StatusError&) {  // there is no room for a handle of cuBLAS
    return false;
  }
}

void sgemm_context::gemm(const GemmBatch& given, const GemmEpilogue* epilogue) {
  Known& shape = known(given, epilogue);
  const GemmEpilogue with = epilogue == nullptr ? GemmEpilogue{} : *epilogue;
  if (accuracy == SGEMM_ACCURACY_REPRODUCIBLE) {
    gemm_reproducibly(given, with, shape.choice);
    return;
  }
  if (shape.choice.algorithm && !takes_detour(given, shape)) {
    GemmBatch batch = given;
    batch.first.recomputed = shape.recomputed;
    ++shape.calls;
    if (enqueue(batch, epilogue, shape)) {
      return;
    }
    if (repeatable) {  // nobody else has these bits
      throw StatusError(SGEMM_STATUS_EXECUTION_FAILED);
    }
  }
  if (!cublas_is_ready()) {
    throw StatusError(SGEMM_STATUS_NOT_SUPPORTED);
  }
  gemm_by_cublas(given, with, shape);
}

bool sgemm::enqueue(const Algorithm& algorithm, const GemmBatch& batch, const GemmEpilogue* epilogue, void* workspace,
                    cudaStream_t stream) {
  try {
    if (epilogue == nullptr) {
      algorithm.launch(batch, workspace, stream);
    } else {
      algorithm.launch_with_epilogue(batch, *epilogue, workspace, stream);
    }
    return true;
  } catch (const CudaError&) {
    // The last kernel of a launch is the one that writes C or D. Of several launches, some may have done so.
    const bool reads_c = batch.first.scalars_on_device() || batch.first.beta != 0.0F;
    if (algorithm.launches > 1 && reads_c) {
      throw StatusError(SGEMM_STATUS_EXECUTION_FAILED);
    }
    return false;
  }
}

/// By an algorithm of the library. False: nothing was written that matters.
bool sgemm_context::enqueue(const GemmBatch& batch, const GemmEpilogue* epilogue, Known& shape) {
  const Algorithm& chosen = *shape.choice.algorithm;
  const Memory memory(*this, chosen.workspace_bytes, batch, shape);
  if (memory.missing() && memory.instead() == nullptr) {
    return false;
  }
  const Algorithm& algorithm = memory.instead() == nullptr ? chosen : *memory.instead();
  const bool has_passes = epilogue != nullptr && !algorithm.has_epilogues();
  if (has_passes) {
    prepare_d(batch.first, *epilogue, stream_);
  }
  if (!sgemm::enqueue(algorithm, batch, has_passes ? nullptr : epilogue, memory.data(), stream_)) {
    return false;
  }
  if (has_passes) {
    finish_d(batch.first, *epilogue, stream_);
  }
  return true;
}

/// Nobody else has the bits of the class. A bias is rounded with the product, as a C with a beta of 1 is: programs give
/// one and the same bias in both ways.
void sgemm_context::gemm_reproducibly(const GemmBatch& given, const GemmEpilogue& epilogue, const Choice& choice) {
  if (!choice.algorithm) {
    throw StatusError(SGEMM_STATUS_NOT_SUPPORTED);
  }
  const Memory memory(*this, choice.algorithm->workspace_bytes);
  if (memory.missing()) {
    throw StatusError(SGEMM_STATUS_ALLOC_FAILED);
  }
  GemmBatch batch = given;
  GemmProblem& p = batch.first;
  GemmEpilogue rest = epilogue;
  prepare_d(p, rest, stream_);
  if (rest.bias != nullptr && p.scalars_on_device()) {
    void* const last = static_cast<char*>(memory.data()) + choice.algorithm->workspace_bytes - BETA_BYTES;
    start_from_bias(p, rest, static_cast<float*>(last), stream_);
    p.beta_at = static_cast<float*>(last);
  } else if (rest.bias != nullptr && p.beta == 0.0F) {
    start_from_bias(p, rest, nullptr, stream_);
    p.beta = 1.0F;
    rest.bias = nullptr;
  }
  choice.algorithm->launch(batch, memory.data(), stream_);
  finish_d(p, rest, stream_, given.first.beta_at);
}

std::size_t sgemm_context::bytes_beside_cublas(const GemmBatch& batch) {
  if (!batch.first.scalars_on_device() || batch.first.k == 0) {
    return 0;
  }
  return ceil_div<std::size_t>(scaled_c_bytes(batch), SGEMM_WORKSPACE_ALIGNMENT) * SGEMM_WORKSPACE_ALIGNMENT;
}

void sgemm_context::gemm_by_cublas(const GemmBatch& batch, const GemmEpilogue& epilogue, Known& shape) {
  const std::size_t bytes = bytes_beside_cublas(batch);
  const Memory memory(*this, bytes, batch, shape);
  prepare_d(batch.first, epilogue, stream_);
  if (memory.instead() != nullptr && sgemm::enqueue(*memory.instead(), batch, nullptr, nullptr, stream_)) {
    finish_d(batch.first, epilogue, stream_);
    return;
  }
  const bool saves = bytes > 0 && !memory.missing();
  if (saves) {
    save_scaled_c(batch, memory.data(), stream_);
  }
  if (workspace_ == nullptr) {
    blas_.set_stream(stream_, nullptr, 0);
  } else {  // cuBLAS has what the copy leaves over
    const std::size_t taken = saves ? bytes : 0;
    blas_.set_stream(stream_, static_cast<char*>(workspace_) + taken, workspace_bytes_ - taken);
  }
  blas_.gemm(batch);
  if (saves) {
    restore_scaled_c(batch, memory.data(), stream_);
  }
  finish_d(batch.first, epilogue, stream_);
}
