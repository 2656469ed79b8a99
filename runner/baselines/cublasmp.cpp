// cuBLASMp: one product on all GPUs, each of which has blocks of the operands, as in chapter 14. The ranks call it
// (ranks/cublasmp.cpp). Their ceiling is cuBLAS on each GPU, which cuBLASMp computes with.

#include "host/kernel.hpp"

namespace sgemm {
namespace {

Kernel cublasmp() {
  Kernel kernel;
  kernel.name = "cublasmp";
  kernel.summary = "cublasMpGemm in FP32 on several GPUs, which have blocks of the operands";
  kernel.source = "NVIDIA cuBLAS";
  kernel.min_compute_capability = 75;
  kernel.local_kernel = "cublas";
  kernel.by_cublasmp = true;
  kernel.unsupported = nullptr;  // asking would make the operands in one place
  return kernel;
}

const Registration registered(cublasmp());

}  // namespace
}  // namespace sgemm
