#include "ranks/cublasmp.hpp"

#include "common/ceil_div.hpp"
#include "common/cuda_check.hpp"
#include "exchange/nccl_check.hpp"

#include <cublasmp.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

namespace sgemm {
namespace {

void check(cublasMpStatus_t status, const char* what) {
  if (status != CUBLASMP_STATUS_SUCCESS) {
    throw std::runtime_error(std::string(what) + ": " + cublasMpGetStatusString(status));
  }
}

template <auto DESTROY>
struct Destroy {
  template <class T>
  void operator()(T* object) const {
    DESTROY(object);  // an error repeats an earlier one
  }
};

// Unlike ncclCommDestroy, this waits for no other rank.
using Communicator = std::unique_ptr<ncclComm, Destroy<ncclCommAbort>>;
using Handle = std::unique_ptr<cublasMpHandle, Destroy<cublasMpDestroy>>;
using ProcessGrid = std::unique_ptr<cublasMpGrid, Destroy<cublasMpGridDestroy>>;
using Matrix = std::unique_ptr<cublasMpMatrixDescriptor, Destroy<cublasMpMatrixDescriptorDestroy>>;

/// cuBLASMp is column-major, as cuBLAS is, and takes each row-major matrix for its transpose: C^T = B^T A^T. So the
/// operands change places, and the rows of the grid are the columns of cuBLASMp's, in which the order of ranks stays.
class CublasMp {
 public:
  CublasMp(const NcclId& id, const BlockCyclic& dealt, int rank, RankDevice& device)
      : dealt_(dealt), rank_(rank), device_(device) {
    std::memcpy(&id_, id.data(), sizeof id_);
    CUDA_CHECK(cudaGetDevice(&index_));
  }
  ~CublasMp() { cudaSetDevice(index_); }  // for the members, which go with it
  CublasMp(const CublasMp&) = delete;
  CublasMp& operator=(const CublasMp&) = delete;

  void gemm(const Problem& p, cudaStream_t stream) {
    if (!c_) {
      connect(p, stream);
    }
    check(cublasMpGemm(handle_.get(), CUBLAS_OP_N, CUBLAS_OP_N, p.n, p.m, p.k, &p.alpha, p.b, 1, 1, b_.get(), p.a, 1, 1,
                       a_.get(), &p.beta, p.c, 1, 1, c_.get(), CUBLAS_COMPUTE_32F, workspace_.get(), workspace_bytes_,
                       host_workspace_.data(), host_workspace_.size()),
          "cublasMpGemm");
  }

 private:
  void connect(const Problem& p, cudaStream_t stream) {
    const Grid& grid = dealt_.grid();
    ncclComm_t comm = nullptr;
    nccl_check(ncclCommInitRank(&comm, grid.size(), id_, rank_), "ncclCommInitRank");
    comm_.reset(comm);
    cublasMpHandle_t handle = nullptr;
    check(cublasMpCreate(&handle, stream), "cublasMpCreate");
    handle_.reset(handle);
    cublasMpGrid_t process_grid = nullptr;
    check(cublasMpGridCreate(grid.columns, grid.rows, CUBLASMP_GRID_LAYOUT_COL_MAJOR, comm, &process_grid),
          "cublasMpGridCreate");
    grid_.reset(process_grid);
    a_ = transposed(p.m, p.k, dealt_.rows(), dealt_.depth(), p.lda);
    b_ = transposed(p.k, p.n, dealt_.depth(), dealt_.columns(), p.ldb);
    c_ = transposed(p.m, p.n, dealt_.rows(), dealt_.columns(), p.ldc);
    std::size_t host_bytes = 0;
    check(cublasMpGemm_bufferSize(handle, CUBLAS_OP_N, CUBLAS_OP_N, p.n, p.m, p.k, &p.alpha, p.b, 1, 1, b_.get(), p.a,
                                  1, 1, a_.get(), &p.beta, p.c, 1, 1, c_.get(), CUBLAS_COMPUTE_32F, &workspace_bytes_,
                                  &host_bytes),
          "cublasMpGemm_bufferSize");
    // Blocks of other ranks come here: one that does not come should be seen.
    const auto floats = static_cast<std::int64_t>(ceil_div(workspace_bytes_, sizeof(float)));
    workspace_ = device_.allocate(floats);
    device_.fill_with_nan(workspace_.get(), floats);
    host_workspace_.resize(host_bytes);
  }

  /// The column-major transpose of a row-major matrix in blocks, of which this rank has some with `ld` numbers between
  /// rows.
  Matrix transposed(std::int64_t rows, std::int64_t columns, std::int64_t rows_of_block, std::int64_t columns_of_block,
                    std::int64_t ld) const {
    cublasMpMatrixDescriptor_t matrix = nullptr;
    check(cublasMpMatrixDescriptorCreate(columns, rows, columns_of_block, rows_of_block, 0, 0, ld, CUDA_R_32F,
                                         grid_.get(), &matrix),
          "cublasMpMatrixDescriptorCreate");
    return Matrix(matrix);
  }

  const BlockCyclic dealt_;
  const int rank_;
  RankDevice& device_;
  int index_ = 0;
  ncclUniqueId id_{};
  // Destroyed in the opposite order.
  Communicator comm_;
  Handle handle_;
  ProcessGrid grid_;
  Matrix a_, b_, c_;
  std::shared_ptr<float> workspace_;
  std::size_t workspace_bytes_ = 0;
  std::vector<std::byte> host_workspace_;
};

}  // namespace

std::string cublasmp_version() {
  int version = 0;
  check(cublasMpGetVersion(&version), "cublasMpGetVersion");
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

Prepared make_cublasmp_product(const NcclId& id, const BlockCyclic& dealt, int rank, RankDevice& device) {
  const auto library = std::make_shared<CublasMp>(id, dealt, rank, device);
  Prepared product;
  product.configuration.launch = [library](const Problem& p, void*, cudaStream_t stream) { library->gemm(p, stream); };
  return product;
}

}  // namespace sgemm
