#pragma once

#include "core/block_context.hpp"
#include "core/cluster.hpp"
#include "core/copies.hpp"
#include "core/mbarriers.hpp"
#include "core/named_barriers.hpp"
#include "core/tensor_operations.hpp"
#include "core/warp_barriers.hpp"
#include "core/watcher.hpp"
#include "simt/executor.hpp"

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace simt {

/// Runs blocks one after the other on the OS thread it belongs to.
class Block {
 public:
  Block();
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// The block that runs on this OS thread, or null.
  static Block* on_this_thread() { return current_block; }

  /// Sets the launch of the blocks to come and their watcher, which may be null. Both outlive the blocks.
  void begin(const Launch& launch, Watcher* watcher);
  /// Runs a block. Throws what a thread throws, and Error if threads wait for ever. `number` counts the grid's blocks.
  /// Null: it waits for no other one.
  void run(const Index3& block, std::uint64_t number, Cluster* cluster);

  // For the thread whose turn it is:
  Scheduler& scheduler() { return context_.scheduler; }
  WarpBarriers& warp_barriers() { return warp_barriers_; }
  NamedBarriers& named_barriers() { return named_barriers_; }
  Mbarriers& mbarriers() { return mbarriers_; }
  Copies& copies() { return copies_; }
  TensorOperations& tensor_operations() { return tensor_operations_; }

  /// Whether an instrumented kernel runs at the moment, and not the executor's own code. The linker may have given both
  /// the same instrumented copy of an inline function.
  bool watched() const { return context_.watched && in_kernel_; }
  /// To be called where a kernel enters the executor's code (false) and comes back from it (true).
  void set_in_kernel(bool in_kernel) { in_kernel_ = in_kernel; }
  /// Tells that the instruction before `code` is about to access memory other than stacks. Ends the launch if the
  /// access is wrong.
  void access(const Access& access, const void* code);
  /// The current thread changes this variable atomically, and returns what `change` does; fails where it may not.
  /// Watchers see atomic operations in the order in which they take place.
  std::uint64_t change_watched(const void* address, unsigned bytes, const void* code, Site site,
                               const std::function<std::uint64_t()>& change) const;
  /// Waits for all threads; returns how many of them brought a predicate that holds.
  unsigned count_at_barrier(bool predicate, Site site);
  /// A fence of the current thread, and what it tells of and learns at an address, for watchers.
  void fence(bool of_block = false) { context_.watcher->fence(context_.current(), of_block); }
  void release(const void* at) { context_.watcher->release(context_.current(), at); }
  void acquire(const void* at) { context_.watcher->acquire(context_.current(), at); }
  /// The current thread arrives at the cluster's barrier.
  void arrive_at_cluster(Site site);
  /// Waits there for all threads of the cluster's blocks.
  void sync_cluster(Site site);
  /// Waits for all threads of a cooperative launch.
  void sync_grid(Site site);
  /// What lies at a shared address of the block of that rank in the cluster.
  std::byte* in_cluster(unsigned address, unsigned rank, Site site) const;
  /// Whether it lies in the shared memory of another block of the cluster.
  bool is_in_other_block(const void* address) const;
  /// The current thread has looked for what others write, in vain, and lets them run. Fails where it waits for ever.
  void poll(Site site);
  /// It has done something else.
  void end_polling() {
    if (polls_ != 0) {
      forget_polls();
    }
  }
  const Launch& launch() const { return *launch_; }
  /// In its cluster.
  unsigned rank() const { return rank_; }
  [[noreturn]] void fail(const std::string& what, Site site) const { context_.fail(what, site); }
  [[noreturn]] void fail(const std::string& what) const;  ///< "block ..., thread ..., `what`"
  /// The same from where nothing may be thrown: "block ..., thread ...: `what`". Never returns.
  void freeze(const std::string& what);
  /// Ends the block, of which no more is wanted; never returns. For watchers.
  void stop();

 private:
  static constinit thread_local Block* current_block;

  /// The work of each thread of a block.
  void run_thread();

  /// The instruction before `code` is about to read a word that others may change. Where it has read the same word the
  /// last time, it polls, and the other threads of the block go first.
  void poll(const void* address, const void* code);
  void forget_polls();
  /// The current thread looks once more. Whether no thread of any block can find anything else: they have looked again
  /// and again, nobody has done anything else, and all that is a thread's own came back to what it was, or never does.
  bool waits_for_ever();
  [[noreturn]] void fail_waiting(const std::string& place) const;
  bool is_argument(const void* address) const;
  void sync_blocks(const char* of, Site site);
  /// Whether this block has something at the shared address; others of its cluster have it there too.
  bool is_used_memory(unsigned address) const;

  /// What a thread was at its looks, by a digest of all that is its own.
  class Looks {
   public:
    /// Whether it has been the same at an earlier one, or is on its way from there to there.
    bool repeat(std::uint64_t digest);

   private:
    std::uint64_t mark_ = 0;  ///< of an earlier look
    unsigned since_ = 0;      ///< looks since then
    unsigned period_ = 0;     ///< after which the thread is the same again; 0 where it has not been
    unsigned next_mark_ = 1;
  };

  Watcher nobody_;
  const Launch* launch_ = nullptr;
  Cluster* cluster_ = nullptr;
  unsigned meetings_ = 0;                       ///< with the other blocks of the cluster
  std::pair<const void*, const void*> polled_;  ///< the last word that poll() was told of, and the instruction
  std::uint64_t polls_ = 0;                     ///< without anything else in between
  std::uint64_t checked_ = 0;                   ///< of them, when all blocks were asked last
  std::uint64_t again_ = 0;                     ///< the latest of them that found their thread as it had been
  std::uint64_t changes_ = 0;                   ///< of what all blocks do, when that was asked last
  std::array<std::uint64_t, 2> agreed_{};       ///< the number of changes that it last agreed on, for each Waiting
  bool is_polling_ = false;
  bool is_stuck_ = false;
  unsigned rank_ = 0;
  bool in_kernel_ = false;
  bool stopped_ = false;
  std::array<unsigned, 3> counts_{};          ///< of three calls of count_at_barrier() in turn
  std::vector<std::uint8_t> counting_calls_;  ///< of each thread, which of them is its next
  std::vector<Looks> looks_;                  ///< of each thread
  std::vector<bool> at_cluster_;              ///< which threads have arrived at the cluster's barrier and not waited
  BlockContext context_;
  WarpBarriers warp_barriers_;
  NamedBarriers named_barriers_;
  Mbarriers mbarriers_;
  Copies copies_;
  TensorOperations tensor_operations_;
};

/// Lasts while a thread of a kernel is in the executor's code. `polls`: perhaps to look again for what others write.
/// Does nothing where the host is.
class InExecutor {
 public:
  explicit InExecutor(bool polls = false) : block_(Block::on_this_thread()) {
    if (block_ != nullptr) {
      block_->set_in_kernel(false);
    }
    if (block_ != nullptr && !polls) {
      block_->end_polling();
    }
  }
  ~InExecutor() {
    if (block_ != nullptr) {
      block_->set_in_kernel(true);
    }
  }
  InExecutor(const InExecutor&) = delete;
  InExecutor& operator=(const InExecutor&) = delete;

  explicit operator bool() const { return block_ != nullptr; }
  Block* operator->() const { return block_; }

 private:
  Block* const block_;
};

}  // namespace simt
