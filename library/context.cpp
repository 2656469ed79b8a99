#include "context.hpp"

#include "predicted_time.hpp"
#include "status_error.hpp"
#include "ways.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace sgemm;

/// Below 256^3 nothing was measured, and a launch takes longer than the product.
constexpr double SMALLEST_PRODUCT = 256.0 * 256.0 * 256.0;

/// The chapters count tiles of C in an int. A C of so many elements would take terabytes.
constexpr double LARGEST_C = 0x1p40;

/// Chapter 09 starts a block with a wait for its first operands. Its prediction leaves that out, and is too short for
/// shorter sums.
constexpr std::int64_t SHORTEST_SUM_FOR_EVERY_SHAPE = 128;

/// Choices are made again when there are more of them: no program is expected to have so many shapes.
constexpr std::size_t MOST_CHOICES = 4096;

int current_device() {
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) {
    throw StatusError(SGEMM_STATUS_NOT_INITIALIZED);
  }
  return device;
}

int multiprocessors_of(int device) {
  int count = 0;
  if (cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
    throw StatusError(SGEMM_STATUS_NOT_INITIALIZED);
  }
  return count;
}

bool multiplies(const GemmProblem& p) { return p.k > 0 && (p.scalars_on_device() || p.alpha != 0.0F); }

void append(std::vector<Way>& ways, std::vector<Way> more) {
  ways.insert(ways.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

sgemm_context::sgemm_context() : device_(current_device()), all_multiprocessors_(multiprocessors_of(device_)) {}

void sgemm_context::require_device() const {
  if (current_device() != device_) {
    throw StatusError(SGEMM_STATUS_ARCH_MISMATCH);
  }
}

void sgemm_context::set_stream(cudaStream_t stream) {
  if (stream != stream_) {
    blas_.set_stream(stream, workspace_, workspace_bytes_);
    stream_ = stream;
  }
}

void sgemm_context::set_workspace(void* workspace, std::size_t bytes) {
  blas_.set_stream(stream_, workspace, bytes);
  workspace_ = workspace;
  workspace_bytes_ = bytes;
  choices_.clear();
}

void sgemm_context::set_multiprocessors(int count) {
  if (count < 0 || count > all_multiprocessors_) {
    throw StatusError(SGEMM_STATUS_INVALID_VALUE);
  }
  blas_.set_multiprocessors(count);
  multiprocessors_ = count;
  choices_.clear();
}

const Choice& sgemm_context::choice(const GemmBatch& batch) {
  const GemmProblem& p = batch.first;
  const ChoiceKey key{accuracy,      p.m,        p.n, p.k, p.a_transposed, p.b_transposed, p.scalars_on_device(),
                      multiplies(p), batch.count};
  auto found = choices_.find(key);
  if (found == choices_.end()) {
    if (choices_.size() >= MOST_CHOICES) {
      choices_.clear();
    }
    found = choices_.emplace(key, choose(batch)).first;
  }
  return found->second;
}

Choice sgemm_context::choose(const GemmBatch& batch) const {
  const GemmProblem& p = batch.first;
  const int multiprocessors = multiprocessors_ == 0 ? all_multiprocessors_ : multiprocessors_;
  const double cublas_us = cublas_microseconds({p.m, p.n, p.k, multiprocessors}, batch.count);
  const std::size_t limit = workspace_ == nullptr ? ANY_WORKSPACE : workspace_bytes_;
  std::vector<Way> ways;
  std::string without = "no kernel of the library reads this layout on this device";
  if (!multiplies(p)) {
    without = "nothing to multiply";
  } else if (std::max({p.m, p.n, p.k}) > std::numeric_limits<int>::max()) {
    without = "a dimension of 2^31 or more";
  } else if (static_cast<double>(p.m) * static_cast<double>(p.n) > LARGEST_C) {
    without = "more than 2^40 elements of C";
  } else if (products(p) < SMALLEST_PRODUCT) {
    without = "a product smaller than 256 x 256 x 256";
  } else {
    // Chapter 09 is planned for all multiprocessors.
    if (multiprocessors == all_multiprocessors_ && p.k >= SHORTEST_SUM_FOR_EVERY_SHAPE) {
      append(ways, every_shape_ways(p));
    }
    if (accuracy != SGEMM_ACCURACY_FP32) {
      append(ways, bf16x6_ways(p, multiprocessors));
    }
    if (accuracy == SGEMM_ACCURACY_NORMWISE) {
      append(ways, fp16x3_ways(p, multiprocessors));
    }
  }
  return sgemm::choose(ways, cublas_us, batch.count, limit, without);
}

void sgemm_context::gemm(const GemmBatch& batch) {
  const Choice& chosen = choice(batch);
  if (!chosen.way) {
    blas_.gemm(batch);
    return;
  }
  const Way& way = *chosen.way;
  const bool allocates = workspace_ == nullptr && way.workspace_bytes > 0;
  void* const memory = allocates ? pool_.allocate(way.workspace_bytes, stream_) : workspace_;
  if (allocates && memory == nullptr) {
    blas_.gemm(batch);
    return;
  }
  const auto free_memory = [&] {
    if (allocates) {
      pool_.free(memory, stream_);
    }
  };
  try {
    for (std::int64_t i = 0; i < batch.count; ++i) {
      way.launch(batch.problem(i), memory, stream_);
    }
  } catch (...) {
    free_memory();
    throw;
  }
  free_memory();
}
