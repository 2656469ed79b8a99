#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
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
  /// Blocks pass data on to each other in it, by means that are not followed: whether a block waited for what another
  /// one wrote is not known.
  bool passed_between_blocks = false;
  std::size_t unit = sizeof(float);  ///< bytes of which a thread writes all or none
  bool undefined = false;            ///< a writable one that holds nothing until a launch writes it

  /// From the first row's begin to the last one's end.
  std::size_t bytes() const { return rows == 0 ? 0 : (rows - 1) * stride + row_bytes; }
};

/// All memory from cudaMalloc, which the host does not describe any further.
std::vector<GlobalArray> workspaces();

/// While it lives, launches of instrumented kernels are checked, and these arrays and workspaces() are all the global
/// memory they may use. Launches of others are not affected. One at a time.
class CheckedArrays {
 public:
  /// Throws std::runtime_error where the program lacks the symbols that tell its shared variables.
  explicit CheckedArrays(std::vector<GlobalArray> arrays);
  ~CheckedArrays();
  CheckedArrays(const CheckedArrays&) = delete;
  CheckedArrays& operator=(const CheckedArrays&) = delete;

  /// The one that lives, or null.
  static CheckedArrays* current();

  /// Who wrote a unit of an array last: the block's number, thread's and time, packed; 0 for nobody.
  using Writer = std::atomic<std::uint64_t>;
  struct Entry {
    GlobalArray array;
    std::unique_ptr<Writer[]> writers;  ///< for every unit from its begin; null where it is not writable
    /// The code of that write, for messages; null for a copy's.
    std::unique_ptr<std::atomic<const void*>[]> writing_code;
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
