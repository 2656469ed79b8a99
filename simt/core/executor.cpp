#include "simt/executor.hpp"

#include "core/block.hpp"
#include "core/cluster.hpp"
#include "core/workers.hpp"
#include "simt/launch_observer.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace simt {
namespace {

constexpr unsigned MOST_BLOCKS = 1024;  ///< at once: each takes an OS thread, and megabytes of stacks

std::atomic<bool (*)()> stop{nullptr};
std::atomic<bool> failed = false;  ///< a block of the launch under way

std::atomic<unsigned> running = 0;  ///< blocks
std::atomic<std::uint64_t> changes_of_blocks = 0;

LaunchObserver* observer = nullptr;
std::atomic<std::uint64_t> launches_begun{0};

bool asked_to_stop() {
  bool (*const asked)() = stop;
  return asked != nullptr && asked();
}

/// Counts a block among those that run.
struct Counted {
  explicit Counted(Block& block) : block(block) { ++running, ++changes_of_blocks; }
  ~Counted() {
    block.end_polling();
    --running, ++changes_of_blocks;
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  Block& block;
};

/// The OS threads that run blocks, for as long as the program lasts. They are never joined: code of a block may call
/// exit(), on two threads at once, and a thread can not wait for itself.
class Workers {
 public:
  static Workers& instance() {
    static Workers& workers = *new Workers;
    return workers;
  }

  Workers() { start(count_); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() = delete;

  unsigned count() const { return count_; }

  /// Runs a launch. An empty `make` stands for no watcher, and an empty `done` for no call after a block.
  void run(const Launch& launch, const std::vector<std::uint64_t>* numbers, const MakeWatcher& make,
           const std::function<void(Watcher&, std::uint64_t)>& done) {
    const unsigned group = together(launch);
    if (group > 1 && numbers != nullptr && !are_whole_groups(*numbers, group)) {
      throw NotSupported("the executor can not run some blocks of a cluster alone");
    }
    start(group);
    std::unique_lock lock(mutex_);
    launch_ = launch;
    numbers_ = numbers;
    make_watcher_ = &make;
    block_done_ = &done;
    blocks_ = numbers != nullptr ? numbers->size() : std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
    next_block_ = 0;
    clusters_ = std::vector<Cluster>(group > 1 ? blocks_ / group : 0);
    error_ = nullptr;
    failed = false;
    taking_part_ = busy_ = std::max(count_, group);
    ++launches_;
    wake_.notify_all();
    done_.wait(lock, [this] { return busy_ == 0; });
    if (error_ != nullptr) {
      std::rethrow_exception(std::exchange(error_, nullptr));
    }
  }

  /// Has more blocks run at once, as those that run wait for what others write. Returns whether any were left.
  bool begin_more() {
    const std::lock_guard lock(mutex_);
    const std::uint64_t begun = next_block_;
    const auto more = static_cast<unsigned>(std::min<std::uint64_t>(busy_, blocks_ - std::min(begun, blocks_)));
    if (busy_ + more > MOST_BLOCKS) {
      throw NotSupported("the executor runs at most " + std::to_string(MOST_BLOCKS) +
                         " blocks that wait for one another");
    }
    start(taking_part_ + more);
    taking_part_ += more;
    busy_ += more;
    wake_.notify_all();
    changes_of_blocks += more > 0 ? 1 : 0;
    return more > 0;
  }

 private:
  /// Whether the blocks are those of one cluster after the other.
  static bool are_whole_groups(const std::vector<std::uint64_t>& numbers, unsigned cluster) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] % cluster != i % cluster || numbers[i] / cluster != numbers[i - i % cluster] / cluster) {
        return false;
      }
    }
    return numbers.size() % cluster == 0;
  }

  /// Sees to it that there are so many OS threads. Blocks that wait for one another take one each, and all of them wait
  /// in vain for one that does not run.
  void start(unsigned count) {
    while (threads_.size() < count) {
      try {
        threads_.emplace_back([this, number = static_cast<unsigned>(threads_.size())] { work(number); });
      } catch (const std::system_error&) {
        throw NotSupported("the executor runs blocks that wait for one another on a thread each, and of " +
                           std::to_string(count) + " threads the system gives " + std::to_string(threads_.size()));
      }
    }
  }

  void work(unsigned thread) {
    Block block;
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return launches_ != seen && thread < taking_part_; });
      seen = launches_;
      const Launch launch = launch_;
      lock.unlock();
      try {
        run_blocks(block, launch);
        lock.lock();
      } catch (...) {
        next_block_ = blocks_;
        lock.lock();
        if (error_ == nullptr) {
          error_ = std::current_exception();
          failed = true;  // errors of blocks that wait for this one are not the reason
        }
      }
      if (--busy_ == 0) {
        done_.notify_one();
      }
    }
  }

  void run_blocks(Block& block, const Launch& launch) {
    const std::shared_ptr<Watcher> watcher = *make_watcher_ ? (*make_watcher_)(block) : nullptr;
    block.begin(launch, watcher.get());
    for (std::uint64_t position = next_block_++; position < blocks_; position = next_block_++) {
      if (asked_to_stop()) {
        throw Stopped("interrupted");
      }
      const std::uint64_t number = numbers_ != nullptr ? (*numbers_)[position] : position;
      const Counted counted(block);
      block.run(position_of_block(number, launch), number,
                clusters_.empty() ? nullptr : &clusters_[position / together(launch)]);
      if (*block_done_) {
        (*block_done_)(*watcher, position);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::uint64_t launches_ = 0;
  unsigned taking_part_ = 0;  ///< workers that run blocks of the launch
  unsigned busy_ = 0;         ///< of them, that have not finished it
  Launch launch_{};
  const std::vector<std::uint64_t>* numbers_ = nullptr;  ///< of the blocks, null for all
  const MakeWatcher* make_watcher_ = nullptr;
  const std::function<void(Watcher&, std::uint64_t)>* block_done_ = nullptr;
  std::uint64_t blocks_ = 0;
  std::atomic<std::uint64_t> next_block_ = 0;
  std::vector<Cluster> clusters_;  ///< of the launch; none where each block is one
  std::exception_ptr error_;
  const unsigned count_ = std::max(std::thread::hardware_concurrency(), 1U);
  std::vector<std::thread> threads_;  ///< count_ or more
};

}  // namespace

Index3 position_of_block(std::uint64_t number, const Launch& launch) {
  const auto split = [](std::uint64_t index, const Index3& extents) {
    const std::uint64_t row = index / extents.x;
    return Index3{static_cast<unsigned>(index % extents.x), static_cast<unsigned>(row % extents.y),
                  static_cast<unsigned>(row / extents.y)};
  };
  const Index3& by = launch.cluster;
  const unsigned size = by.x * by.y * by.z;
  const Index3 first = split(number / size, {launch.grid.x / by.x, launch.grid.y / by.y, launch.grid.z / by.z});
  const Index3 rank = split(number % size, by);
  return {first.x * by.x + rank.x, first.y * by.y + rank.y, first.z * by.z + rank.z};
}

bool launch_ends() { return failed || asked_to_stop(); }

std::uint64_t changes() { return changes_of_blocks; }

std::uint64_t tell_of_change() { return ++changes_of_blocks; }

bool all_agree(Waiting how, std::uint64_t changes, std::uint64_t* agreed) {
  struct Census {
    std::uint64_t changes = 0;
    unsigned blocks = 0;
  };
  static std::mutex mutex;
  static std::array<Census, 2> counted;
  const std::lock_guard lock(mutex);
  Census& census = counted.at(static_cast<std::size_t>(how));
  if (changes < census.changes) {  // of a slow block: counting anew would lose those that have agreed since
    return false;
  }
  if (changes > census.changes) {
    census = {changes, 0};
  }
  census.blocks += std::exchange(*agreed, changes) != changes ? 1 : 0;
  return census.blocks == running && changes == changes_of_blocks;
}

bool begin_more_blocks() { return Workers::instance().begin_more(); }

void wait_for_other_blocks(Scheduler& scheduler) {
  if (launch_ends()) {
    throw Stopped("a block waits for another one, which has not finished");
  }
  scheduler.give_way();
  std::this_thread::yield();
}

bool Cluster::sync(unsigned blocks, Scheduler& scheduler) {
  const unsigned meeting = arrived_.fetch_add(1) / blocks;
  while (true) {
    const bool ended = ended_;  // a block that has come to this meeting ends after it
    if (arrived_ / blocks != meeting) {
      return true;
    }
    if (ended) {
      return false;
    }
    wait_for_other_blocks(scheduler);
  }
}

void run_watched_blocks(const Launch& launch, const std::vector<std::uint64_t>* numbers, const MakeWatcher& make,
                        const std::function<void(Watcher&, std::uint64_t)>& done) {
  Workers::instance().run(launch, numbers, make, done);
}

std::uint64_t launches() { return launches_begun; }

unsigned together(const Launch& launch) {
  const Index3& blocks = launch.cooperative ? launch.grid : launch.cluster;
  return blocks.x * blocks.y * blocks.z;
}

void run(const Launch& launch) {
  static std::mutex turn;  // of the host's threads
  const std::lock_guard lock(turn);
  ++launches_begun;
  const auto run_once = [](const Launch& once) {
    if (observer != nullptr) {
      observer->launch(once);
    } else {
      run_watched_blocks(once, nullptr, {}, {});
    }
  };
  try {
    run_once(launch);
  } catch (const ClustersWanted& wanted) {
    Launch in_clusters = launch;
    in_clusters.cluster = wanted.extents;
    run_once(in_clusters);
  }
}

LaunchObserver::LaunchObserver() : before_(std::exchange(observer, this)) {}

LaunchObserver::~LaunchObserver() { observer = before_; }

LaunchObserver* LaunchObserver::current() { return observer; }

void stop_when(bool (*stopped)()) { stop = stopped; }

unsigned workers() { return Workers::instance().count(); }

}  // namespace simt
