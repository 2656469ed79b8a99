#include "board.hpp"

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>

namespace sgemm {
namespace {

double attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

Board describe(int device) {
  Board board;
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, device) == cudaSuccess) {
    board.name = properties.name;
    board.multiprocessors = properties.multiProcessorCount;
  }
  board.clock_mhz = attribute(cudaDevAttrClockRate, device) / 1e3;
  const double memory_clock_mhz = attribute(cudaDevAttrMemoryClockRate, device) / 1e3;
  board.bytes_per_us = 2 * memory_clock_mhz * attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8;
  return board;
}

}  // namespace

const BoardModel& board_model() {
  static std::mutex mutex;
  static auto* const models = new std::map<int, BoardModel>;  // for threads that go on until the process ends
  int device = -1;
  cudaGetDevice(&device);
  const std::lock_guard lock(mutex);
  const auto found = models->find(device);
  return found != models->end() ? found->second : models->emplace(device, model_of(describe(device))).first->second;
}

}  // namespace sgemm
