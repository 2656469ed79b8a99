// Tensor maps, as the CUDA driver's page on "Tensor Map Object Management" describes them.

#include "core/tensor_maps.hpp"

#include "simt/executor.hpp"

#include <cuda.h>

#include <cstring>
#include <string>
#include <string_view>

namespace simt {

TensorMap::Row TensorMap::row(unsigned number, const Coordinates& at) const {
  std::int64_t offset = 0;
  bool is_inside = true;
  unsigned rest = number;
  for (unsigned i = 1; i < dimensions; ++i) {
    const std::int64_t place = std::int64_t{at[i]} + rest % box[i];
    rest /= box[i];
    is_inside = is_inside && place >= 0 && place < static_cast<std::int64_t>(extents[i]);
    offset += place * static_cast<std::int64_t>(strides[i]);
  }
  const auto extent = static_cast<std::int64_t>(extents[0]);
  const auto element = static_cast<std::int64_t>(strides[0]);
  const std::int64_t first = std::clamp<std::int64_t>(at[0], 0, extent);
  const std::int64_t end = std::clamp<std::int64_t>(std::int64_t{at[0]} + box[0], 0, extent);
  if (!is_inside || first == end) {
    return {number * row_bytes(), nullptr, row_bytes(), 0};
  }
  return {number * row_bytes(), address + offset + first * element, static_cast<unsigned>((first - at[0]) * element),
          static_cast<unsigned>((end - first) * element)};
}

namespace {

/// Of an element of each CUtensorMapDataType.
constexpr std::array BYTES{1U, 2U, 4U, 4U, 8U, 8U, 2U, 4U, 8U, 2U, 4U, 4U, 4U};

bool is_multiple(std::uint64_t number) {
  constexpr std::uint64_t UNIT = 16;
  return number % UNIT == 0;
}

/// Whether the driver takes it.
bool is_valid(const TensorMap& map) {
  constexpr std::uint64_t MOST_ELEMENTS = std::uint64_t{1} << 32U;
  constexpr std::uint64_t STRIDES_END = std::uint64_t{1} << 40U;
  constexpr unsigned LARGEST_BOX = 256;
  for (unsigned i = 0; i < map.dimensions; ++i) {
    if (map.extents[i] == 0 || map.extents[i] > MOST_ELEMENTS || map.box[i] == 0 || map.box[i] > LARGEST_BOX ||
        (i > 0 && (!is_multiple(map.strides[i]) || map.strides[i] >= STRIDES_END))) {
      return false;
    }
  }
  return is_multiple(reinterpret_cast<std::uintptr_t>(map.address)) && is_multiple(map.row_bytes()) &&
         (map.swizzle_bytes == 0 || map.row_bytes() <= map.swizzle_bytes);
}

void refuse_if(bool refused, const std::string& what) {
  if (refused) {
    throw NotSupported("the executor does not model tensor maps " + what);
  }
}

}  // namespace
}  // namespace simt

CUresult cuTensorMapEncodeTiled(CUtensorMap* result, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion /*promotion*/, CUtensorMapFloatOOBfill fill) {
  using simt::TensorMap;
  constexpr unsigned MOST_STEPS = 8;
  if (result == nullptr || reinterpret_cast<std::uintptr_t>(result) % alignof(CUtensorMap) != 0 || rank == 0 ||
      rank > TensorMap::MOST_DIMENSIONS || strides == nullptr) {  // also of one dimension
    return CUDA_ERROR_INVALID_VALUE;
  }
  simt::refuse_if(type >= simt::BYTES.size(), "of packed numbers of 4 or 6 bits");
  simt::refuse_if(swizzle > CU_TENSOR_MAP_SWIZZLE_128B, "that swizzle in other pieces than 16 bytes");
  simt::refuse_if(interleave != CU_TENSOR_MAP_INTERLEAVE_NONE, "of interleaved layouts");
  simt::refuse_if(fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, "that fill with NaN");
  TensorMap map;
  map.address = static_cast<std::byte*>(address);
  map.dimensions = static_cast<std::uint16_t>(rank);
  map.swizzle_bytes = static_cast<std::uint16_t>(swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? 0 : 16U << swizzle);
  map.strides[0] = simt::BYTES[type];
  map.rounds = type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 || type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
  for (unsigned i = 0; i < rank; ++i) {
    map.extents[i] = extents[i];
    map.strides[i] = i == 0 ? map.strides[0] : strides[i - 1];
    map.box[i] = static_cast<std::uint16_t>(std::min(box[i], 0xFFFFU));
    // The step along the first dimension is ignored.
    if (i > 0 && (steps[i] == 0 || steps[i] > MOST_STEPS)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (!simt::is_valid(map)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  simt::refuse_if(std::any_of(steps + 1, steps + rank, [](unsigned step) { return step != 1; }),
                  "with element strides other than 1");
  simt::refuse_if(map.row_bytes() < map.swizzle_bytes, "whose boxes have rows shorter than their swizzle");
  static_assert(sizeof map <= sizeof *result);
  *result = {};
  std::memcpy(result, &map, sizeof map);
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* symbol, void** function, int, cuuint64_t, CUdriverProcAddressQueryResult* found) {
  const bool known = std::string_view(symbol) == "cuTensorMapEncodeTiled";
  *function = known ? reinterpret_cast<void*>(&cuTensorMapEncodeTiled) : nullptr;
  if (found != nullptr) {
    *found = known ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return known ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* found) {
  return static_cast<cudaError_t>(cuGetProcAddress(symbol, function, 0, flags, found));
}
