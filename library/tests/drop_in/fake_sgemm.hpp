#pragma once

#include <sgemm/sgemm.h>

#include <cstddef>
#include <cstdint>
#include <string>

/// What the tests have instead of libsgemm: it computes on the host, and remembers its last call.
struct FakeSgemm {
  // What it answers.
  sgemm_status_t status = SGEMM_STATUS_SUCCESS;
  std::string kernel = "11_bf16x6";
  std::string reason = "predicted";
  double predicted_us = 10;
  double cublas_us = 20;
  size_t workspace_bytes = 2'500'000;
  /// Batches fail after their first product.
  bool fails_in_batches = false;
  /// Handles that there are were made before a reset of the device.
  bool was_reset = false;
  int repeatable = 0;
  /// So many of the next products find no memory, so that they call cublasSgemm.
  int products_without_memory = 0;
  void (*meanwhile)() = nullptr;  ///< what another thread does during a product

  // What it was asked.
  int handles = 0;
  int plans = 0;
  int plans_by_address = 0;
  int products_with_epilogue = 0;
  int products = 0;
  sgemm_product_t product{};
  sgemm_epilogue_t epilogue{};  ///< of the last product or plan that has one
  sgemm_stream_t stream = nullptr;
  sgemm_accuracy_t accuracy{};
  sgemm_pointer_mode_t pointer_mode{};
  int multiprocessors = 0;
  void* workspace = nullptr;
  size_t workspace_bytes_of_call = 0;
};

/// Of the loaded library. Exported under this name.
extern "C" FakeSgemm* fake_sgemm();
