#include "executor.hpp"

#include "block.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace simt {
namespace {

std::atomic<bool (*)()> stop{nullptr};

/// The OS threads that run blocks, for as long as the program lasts.
class Workers {
 public:
  static Workers& instance() {
    static Workers workers;
    return workers;
  }

  Workers() {
    const unsigned count = std::max(std::thread::hardware_concurrency(), 1U);
    for (unsigned i = 0; i < count; ++i) {
      threads_.emplace_back([this] { work(); });
    }
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      quitting_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  unsigned count() const { return static_cast<unsigned>(threads_.size()); }

  void run(const Launch& launch) {
    std::unique_lock lock(mutex_);
    if (CheckedArrays* const arrays = CheckedArrays::current()) {
      arrays->begin_launch();
    }
    launch_ = &launch;
    blocks_ = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
    next_block_ = 0;
    error_ = nullptr;
    busy_ = count();
    ++launches_;
    wake_.notify_all();
    done_.wait(lock, [this] { return busy_ == 0; });
    if (error_ != nullptr) {
      std::rethrow_exception(std::exchange(error_, nullptr));
    }
  }

 private:
  void work() {
    Block block;
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return quitting_ || launches_ != seen; });
      if (quitting_) {
        return;
      }
      seen = launches_;
      const Launch launch = *launch_;
      lock.unlock();
      try {
        run_blocks(block, launch);
        lock.lock();
      } catch (...) {
        next_block_ = blocks_;
        lock.lock();
        if (error_ == nullptr) {
          error_ = std::current_exception();
        }
      }
      if (--busy_ == 0) {
        done_.notify_one();
      }
    }
  }

  void run_blocks(Block& block, const Launch& launch) {
    block.begin(launch, CheckedArrays::current() != nullptr);
    for (std::uint64_t index = next_block_++; index < blocks_; index = next_block_++) {
      if (bool (*const asked)() = stop; asked != nullptr && asked()) {
        throw Stopped("interrupted");
      }
      const std::uint64_t row = index / launch.grid.x;
      block.run({static_cast<unsigned>(index % launch.grid.x), static_cast<unsigned>(row % launch.grid.y),
                 static_cast<unsigned>(row / launch.grid.y)},
                index);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  bool quitting_ = false;
  std::uint64_t launches_ = 0;
  unsigned busy_ = 0;  ///< workers that have not finished the launch
  const Launch* launch_ = nullptr;
  std::uint64_t blocks_ = 0;
  std::atomic<std::uint64_t> next_block_ = 0;
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
};

}  // namespace

void run(const Launch& launch) { Workers::instance().run(launch); }

void stop_when(bool (*stopped)()) { stop = stopped; }

unsigned workers() { return Workers::instance().count(); }

}  // namespace simt
