#include "blas.hpp"
#include "board.hpp"
#include "calibration/calibration.hpp"
#include "sgemm/sgemm.h"
#include "status_error.hpp"

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <string>

namespace sgemm {
namespace {

int attribute(cudaDeviceAttr which) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, current_device_number()) == cudaSuccess ? value : 0;
}

std::string device_name() {
  cudaDeviceProp properties{};
  return cudaGetDeviceProperties(&properties, current_device_number()) == cudaSuccess ? properties.name : "";
}

Board current_board() {
  Board board;
  board.name = device_name();
  board.multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
  board.clock_mhz = attribute(cudaDevAttrClockRate) / 1e3;
  board.bytes_per_us =
      2 * (attribute(cudaDevAttrMemoryClockRate) / 1e3) * attribute(cudaDevAttrGlobalMemoryBusWidth) / 8;
  return board;
}

/// What the name of its file has of a key. A part of a GPU (MIG) has it in its name.
CalibrationKey start_of_key() {
  return {{"device", device_name()}, {"multiprocessors", std::to_string(attribute(cudaDevAttrMultiProcessorCount))}};
}

FoundCalibration calibration_of_device() { return find_calibration(calibration_path(start_of_key()), current_key); }

}  // namespace

CalibrationKey current_key() {
  std::size_t free = 0;
  std::size_t total = 0;
  cudaMemGetInfo(&free, &total);
  int driver = 0;
  cudaDriverGetVersion(&driver);
  const auto number = [](auto value) { return std::to_string(value); };
  CalibrationKey key = start_of_key();
  key.insert(key.end(), {{"clock_khz", number(attribute(cudaDevAttrClockRate))},
                         {"memory_clock_khz", number(attribute(cudaDevAttrMemoryClockRate))},
                         {"memory_bus_bits", number(attribute(cudaDevAttrGlobalMemoryBusWidth))},
                         {"memory_mib", number(total >> 20U)},
                         {"l2_bytes", number(attribute(cudaDevAttrL2CacheSize))},
                         {"driver", number(driver)},
                         {"cublas", number(Blas::version())},
                         {"libsgemm", number(SGEMM_VERSION)}});
  return key;
}

const BoardModel& board_model() {
  static std::mutex mutex;
  static auto* const models = new std::map<int, BoardModel>;  // for threads that go on until the process ends
  const std::lock_guard lock(mutex);
  const auto [model, is_new] = models->try_emplace(current_device_number());
  if (is_new) {
    FoundCalibration found = calibration_of_device();
    model->second = found.calibration ? std::move(found.calibration->board) : model_of(current_board());
  }
  return model->second;
}

std::string calibration_text() { return describe(calibration_of_device()); }

}  // namespace sgemm
