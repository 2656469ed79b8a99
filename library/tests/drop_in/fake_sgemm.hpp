#pragma once

#include <sgemm/sgemm.h>

#include <cstddef>

/// What a handle was told.
struct FakeSettings {
  sgemm_stream_t stream = nullptr;
  sgemm_accuracy_t accuracy{};
  sgemm_pointer_mode_t pointer_mode{};
  int multiprocessors = 0;
  int repeatable = 0;
  void* workspace = nullptr;
  size_t workspace_bytes_of_call = 0;
};

/// What the tests of the drop-in and of the Python package have instead of libsgemm: it computes on the host, and
/// remembers its last call, with the settings of its handle. fakes.py has the same fields in the same order.
struct FakeSgemm : FakeSettings {
  // What it answers.
  sgemm_status_t status = SGEMM_STATUS_SUCCESS;
  const char* kernel =
      "11_bf16x6";  ///< of plans; null: "11_bf16x6" for products of 1024 and more, unless they are FP32
  const char* reason = "predicted";  ///< null: one that depends on the kernel
  double predicted_us = 10;
  double cublas_us = 20;
  size_t workspace_bytes = 2'500'000;
  int device = 0;
  int context = 0;                    ///< the current one: handles of another, as of before a reset, are refused
  int repeatable_by_environment = 0;  ///< what a handle says that was told nothing else
  int fails_in_batches = 0;           ///< after their first product
  int products_without_memory = 0;    ///< of the next ones. They are for cuBLAS to compute.
  void (*meanwhile)() = nullptr;      ///< what another thread does during a product

  // What it was asked.
  int handles = 0;  ///< made and not destroyed
  int packed = 0;   ///< the same of packed operands
  int plans = 0;
  int plans_by_address = 0;
  int products = 0;
  int products_with_epilogue = 0;
  sgemm_product_t product{};
  sgemm_epilogue_t epilogue{};  ///< of the last product or plan that has one
};

/// Of the loaded library. Exported under this name.
extern "C" SGEMM_API FakeSgemm* fake_sgemm();
