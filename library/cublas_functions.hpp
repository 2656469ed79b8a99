#pragma once

#include <cublas_v2.h>

#include <string>

namespace sgemm {

/// The functions of cuBLAS that the library calls. They are looked up and not linked, so that one library serves the
/// cuBLAS of CUDA 12 and that of CUDA 13.
struct CublasFunctions {
  decltype(&cublasGetProperty) get_property = nullptr;
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&cublasSetSmCountTarget) set_sm_count_target = nullptr;
  decltype(&cublasSetPointerMode_v2) set_pointer_mode = nullptr;
  decltype(&cublasSgemm_v2_64) sgemm = nullptr;
  decltype(&cublasSgemmStridedBatched_64) sgemm_strided_batched = nullptr;
  decltype(&cublasSgemmBatched_64) sgemm_batched = nullptr;

  std::string path;     ///< the file that they are in
  std::string failure;  ///< why there are none; empty if there are
};

/// Those of the first of these that has them all: the file that SGEMM_CUBLAS names; else a cuBLAS that the process has
/// loaded; the one that the loader finds; that of the toolkit in CUDA_HOME, CUDA_PATH or /usr/local/cuda. The newest
/// version goes first. It is looked for once, and stays loaded.
const CublasFunctions& cublas_functions();

}  // namespace sgemm
