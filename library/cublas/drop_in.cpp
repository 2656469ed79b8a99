#include "drop_in.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <set>
#include <string_view>

#include "device.hpp"

namespace drop_in {
namespace {

// Programs with more shapes than this ask for the plan of some again.
constexpr size_t kMaxDecisions = 4096;

// Takes the library for what it plans to do with a kernel of its own.
Decision decide(const sgemm_plan_t& plan) {
  const std::string kernel = plan.kernel;
  if (kernel == "cublas" || kernel == "none") {
    return {"cublas", plan.reason, 0, {}};
  }
  return {kernel, plan.reason, plan.workspace_bytes, {plan.predicted_us, plan.cublas_us}};
}

// By the numbers of accuracies.
constexpr const char* kNames[] = {"fp32", "componentwise", "normwise", "rowwise", "reproducible"};

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int read_accuracy() {
  const std::string_view text = variable("SGEMM_ACCURACY");
  if (text.empty()) {
    return SGEMM_ACCURACY_COMPONENTWISE;
  }
  const auto* const name = std::find(std::begin(kNames), std::end(kNames), text);
  if (name != std::end(kNames)) {
    return static_cast<int>(name - std::begin(kNames));
  }
  std::fprintf(stderr,
               "libsgemm_cublas: SGEMM_ACCURACY=%s is none of fp32, componentwise, normwise, rowwise, reproducible; "
               "cuBLAS gets all calls\n",
               text.data());
  return SGEMM_DROP_IN_OFF;
}

/// Reads the environment. A wrong value is named on standard error.
Settings read_settings() {
  const std::string_view log = variable("SGEMM_LOG");
  return {read_accuracy(), std::string(log == "0" ? "" : log)};
}

}  // namespace

thread_local bool DropIn::inside_cublas_ = false;

DropIn& DropIn::instance() {
  static DropIn* const drop_in = [] {
    auto* const made = new DropIn;
    pthread_atfork(nullptr, nullptr, [] { in_forked_child_ = has_run_; });
    if (made->settings_.logs()) {
      std::atexit([] {
        if (!in_forked_child_) {  // which has no calls of its own
          instance().write_log();
        }
      });
    }
    return made;
  }();
  return *drop_in;
}

DropIn::DropIn() : settings_(read_settings()), accuracies_(settings_.accuracy) {
  note_calls(settings_.logs(), settings_.logs());
}

void DropIn::tell_of_other_bits(const std::string& function) {
  static auto* const mutex = new std::mutex;
  static auto* const told = new std::set<std::string>;
  const std::lock_guard lock(*mutex);
  if (told->insert(function).second) {
    std::fprintf(stderr, "libsgemm_cublas: %s is cuBLAS's, whose bits are its own: it is not reproducible\n",
                 function.c_str());
  }
}

void DropIn::write_log() {
  if (settings_.accuracy != SGEMM_DROP_IN_OFF) {
    log_.write(settings_.log, kNames[settings_.accuracy]);
  }
}

std::optional<cublasStatus_t> DropIn::status_of_library(const Call& call, std::string& why) noexcept {
  try {
    return try_library(call, why);
  } catch (const std::exception& error) {
    why = error.what();
    return std::nullopt;
  }
}

std::optional<cublasStatus_t> DropIn::try_library(const Call& call, std::string& why) {
  if (call.accuracy != SGEMM_ACCURACY_REPRODUCIBLE && call.pointer_mode == SGEMM_POINTER_MODE_HOST &&
      call.product.alpha != nullptr && *call.product.alpha == 0.0F) {
    why = "alpha is 0, so that there is nothing to multiply";
    return std::nullopt;
  }
  if (const std::string& error = sgemm_library().error(); !error.empty()) {
    why = error;
    return std::nullopt;
  }
  const std::optional<int> device = current_device();
  if (!device) {
    why = "there is no current device";
    return std::nullopt;
  }
  const Handles::Lease handle = handles_.lease(*device, call, why);
  if (handle == nullptr) {
    return std::nullopt;
  }
  const Decision decided = decision(*device, call, handle.get());
  why = decided.why;
  if (decided.by == "cublas") {
    return std::nullopt;
  }
  CallLog::Measured measured(log(), call, decided);
  const sgemm_status_t status = enqueue_product(call, decided.workspace_bytes, handle.get());
  if (status == SGEMM_STATUS_SUCCESS) {
    return CUBLAS_STATUS_SUCCESS;
  }
  measured.forget();
  int repeatable = 0;
  sgemm_library().get_repeatable(handle.get(), &repeatable);
  if (status == SGEMM_STATUS_EXECUTION_FAILED ||  // after some of the work was enqueued
      (status == SGEMM_STATUS_ALLOC_FAILED && repeatable != 0 && call.accuracy != SGEMM_ACCURACY_REPRODUCIBLE)) {
    return static_cast<cublasStatus_t>(status);
  }
  if (status == SGEMM_STATUS_NOT_SUPPORTED) {  // cuBLAS would have got it
    const size_t megabytes = (decided.workspace_bytes + 999'999) / 1'000'000;
    why = "no room for the " + std::to_string(megabytes) + " MB that " + decided.by +
          " works in, or operands with which it is slow";
  } else {
    why = std::string("libsgemm failed: ") + sgemm_library().status_string(status);
  }
  return std::nullopt;
}

Decision DropIn::decision(int device, const Call& call, sgemm_handle_t handle) {
  const std::pair question(device, call.question());
  const std::lock_guard lock(decisions_mutex_);
  if (const auto known = decisions_.find(question); known != decisions_.end()) {
    return known->second;
  }
  sgemm_plan_t plan{};
  const sgemm_status_t status = sgemm_library().plan(handle, &call.product, &plan);
  if (status != SGEMM_STATUS_SUCCESS) {
    return {"cublas", std::string("libsgemm has no plan: ") + sgemm_library().status_string(status), 0, {}};
  }
  if (decisions_.size() == kMaxDecisions) {
    decisions_.clear();
  }
  return decisions_[question] = decide(plan);
}

sgemm_status_t DropIn::enqueue_product(const Call& call, size_t bytes, sgemm_handle_t handle) {
  const bool aligned = reinterpret_cast<uintptr_t>(call.workspace) % SGEMM_WORKSPACE_ALIGNMENT == 0;
  if (call.workspace == nullptr || !aligned || bytes == 0 || bytes > call.workspace_bytes) {
    return sgemm_library().run(handle, &call.product);
  }
  // With exactly these bytes the library makes the choice that it planned.
  sgemm_status_t status = sgemm_library().set_workspace(handle, call.workspace, bytes);
  if (status == SGEMM_STATUS_SUCCESS) {
    status = sgemm_library().run(handle, &call.product);
    sgemm_library().set_workspace(handle, nullptr, 0);
  }
  return status;
}

}  // namespace drop_in
