#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace simt {

/// A matrix that kernels may use: rows of `row_bytes`, `stride` bytes apart.
struct GlobalArray {
  std::string name;
  const void* begin = nullptr;
  std::size_t rows = 0;
  std::size_t row_bytes = 0;
  std::size_t stride = 0;
  bool writable = false;
  /// Blocks pass data to each other in this array, by means that are not followed. So it is not known whether a block
  /// waited for the data that another block wrote.
  bool passed_between_blocks = false;
  std::size_t unit = sizeof(float);  ///< bytes of which a thread writes all or none
  bool undefined = false;            ///< a writable one that holds nothing until a launch writes it

  /// From the first row's begin to the last one's end.
  std::size_t bytes() const { return rows == 0 ? 0 : (rows - 1) * stride + row_bytes; }
};

/// The name of all memory from cudaMalloc among arrays.
constexpr std::string_view WORKSPACE = "workspace";

/// All memory from cudaMalloc. The host does not describe it any further.
std::vector<GlobalArray> workspaces();

/// While this object lives, launches of instrumented kernels are checked. The kernels may use these arrays and
/// workspaces(), and no other global memory. Launches of other kernels are not affected. Only one such object may live
/// at a time.
class CheckedArrays {
 public:
  /// Throws std::runtime_error if the program lacks the symbols of its shared variables.
  explicit CheckedArrays(std::vector<GlobalArray> arrays);
  ~CheckedArrays();
  CheckedArrays(const CheckedArrays&) = delete;
  CheckedArrays& operator=(const CheckedArrays&) = delete;

  /// The object that lives, or null.
  static CheckedArrays* current();

  /// The last writer of a unit of an array: the number of the block, the number of the thread and the time, packed. 0
  /// stands for none.
  using Writer = std::atomic<std::uint64_t>;
  struct Entry {
    GlobalArray array;
    std::unique_ptr<Writer[]> writers;  ///< for every unit from its begin; null where it is not writable
    /// The code of that write, for messages; null for a copy's.
    std::unique_ptr<std::atomic<const void*>[]> writing_code;
    /// The same for the last write that was not atomic; null for memory that blocks pass on.
    std::unique_ptr<Writer[]> plain_writers;
    std::unique_ptr<std::atomic<const void*>[]> plain_writing_code;
    std::unique_ptr<bool[]> defined;  ///< for every unit whether it holds something; null where all do
    std::size_t bytes = 0;            ///< from the first row's begin to the last one's end
    std::size_t units() const { return (bytes + array.unit - 1) / array.unit; }
  };
  const std::vector<Entry>& entries() const { return entries_; }
  /// Whether any access was observed. Where none was, the kernels were not instrumented, or did nothing.
  bool observed_any() const { return observed_.load(std::memory_order_relaxed); }
  void observe() {
    if (!observed_any()) {
      observed_.store(true, std::memory_order_relaxed);
    }
  }
  /// The host has written there, between launches.
  void host_wrote(const void* begin, std::size_t bytes);
  /// Forgets who wrote what: a launch waits for the ones before. Takes the workspaces and the variables in device
  /// memory that there are now.
  void begin_launch();

 private:
  void add(GlobalArray array);

  std::vector<Entry> entries_;
  std::atomic<bool> observed_ = false;
  std::size_t arrays_ = 0;  ///< how many of the entries the host described
};

}  // namespace simt
