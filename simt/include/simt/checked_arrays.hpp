#pragma once

#include "simt/executor.hpp"
#include "simt/global_array.hpp"
#include "simt/launch_observer.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace simt {

class BlockOrder;
class UsesOfWords;

/// While this object lives, launches of instrumented kernels are checked. The kernels may use these arrays and
/// workspaces(), and no other global memory. Launches of other kernels are not affected. Only one such object may live
/// at a time.
class CheckedArrays final : public LaunchObserver {
 public:
  /// Throws std::runtime_error if the program lacks the symbols of its shared variables.
  explicit CheckedArrays(std::vector<GlobalArray> arrays);
  ~CheckedArrays() override;
  CheckedArrays(const CheckedArrays&) = delete;
  CheckedArrays& operator=(const CheckedArrays&) = delete;

  /// The object that lives, or null.
  static CheckedArrays* current();

  struct Entry {
    GlobalArray array;
    std::size_t bytes = 0;              ///< from the first row's begin to the last one's end
    std::unique_ptr<UsesOfWords> uses;  ///< null where it is not writable
  };
  const std::vector<Entry>& entries() const { return entries_; }
  std::uint64_t launch_number() const { return launch_; }
  BlockOrder& order() { return *order_; }
  /// Whether any access was observed. Where none was, the kernels were not instrumented, or did nothing.
  bool observed_any() const { return observed_.load(std::memory_order_relaxed); }
  void observe() {
    if (!observed_any()) {
      observed_.store(true, std::memory_order_relaxed);
    }
  }

  void launch(const Launch& launch) override;
  void host_wrote(const void* begin, std::size_t bytes) override;

 private:
  /// Forgets who wrote what: a launch waits for the ones before. Takes the workspaces and the variables in device
  /// memory that there are now.
  void begin_launch();
  void add(GlobalArray array);

  std::vector<Entry> entries_;
  std::unique_ptr<BlockOrder> order_;
  std::atomic<bool> observed_ = false;
  std::uint64_t launch_ = 0;  ///< counts them
  std::size_t arrays_ = 0;    ///< how many of the entries the host described
};

}  // namespace simt
