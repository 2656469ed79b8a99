#pragma once

#include "simt/executor.hpp"
#include "simt/thread.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace simt {

/// Threads are numbered in their block, x running fastest.
using ThreadNumber = std::uint16_t;
using Threads = std::span<const ThreadNumber>;

/// One access of a thread, about to happen.
struct Access {
  const std::byte* address = nullptr;
  unsigned bytes = 0;
  bool write = false;
  bool aligned = true;  ///< whether CUDA asks for an address that is a multiple of `bytes`
  bool atomic = false;  ///< reads and writes, in order with all other atomic accesses
  bool strong = false;  ///< atomic or volatile: blocks may tell one another by it, in global memory
};

/// A copy to shared memory by cp.async or cp.async.bulk.
struct Copy {
  std::byte* destination;
  const void* source;  ///< null for zeros
  unsigned bytes;
  unsigned source_bytes = bytes;  ///< that are read, of a row of which a part lies outside of its tensor map's array
};

/// A phase of an mbarrier: the current one, or one that a thread waits for.
struct Phase {
  unsigned address = 0;  ///< of the mbarrier
  std::uint64_t number = 0;
};

/// The reason why a thread may not do its next step, or nothing.
using Complaint = std::optional<std::string>;

/// Follows the threads of one block after the other, all on one OS thread. The executor calls it just before each
/// event. A complaint ends the launch.
class Watcher {
 public:
  Watcher() = default;
  virtual ~Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// A block of the launch, by its number, begins.
  virtual void begin(const Launch& /*launch*/, std::uint64_t /*block*/) {}
  /// The thread has finished.
  virtual void finish(ThreadNumber) {}

  /// An access to memory other than stacks and the kernel's arguments. `code` is the address behind the instruction.
  virtual Complaint access(ThreadNumber, const Access&, const void* /*code*/) { return {}; }
  /// Whether the complaint about that access is final. If not, another thread may show what is behind it.
  virtual bool knows_all() const { return true; }

  // ---- Barriers ----

  /// The thread has reached a barrier of the block, or else a warp-level operation, and waits for others.
  virtual void arrive(ThreadNumber, bool /*of_block*/) {}
  /// Lanes of a warp have met: what they did so far comes before everything that they do from now on.
  virtual void meet(Threads) {}
  /// bar.arrive: the thread goes on. `phase` counts how often the barrier has been completed.
  virtual void arrive_without_waiting(ThreadNumber, unsigned /*barrier*/, std::uint64_t /*phase*/) {}
  /// The barrier is complete with the threads that waited there. `others` says whether some arrived without waiting.
  virtual void complete(unsigned /*barrier*/, Threads /*waiting*/, bool /*others*/) {}

  // ---- Order between blocks ----

  /// A fence of the thread. Strong writes behind it tell of what comes before it; other blocks not if it is `of_block`.
  virtual void fence(ThreadNumber, bool /*of_block*/) {}
  /// The thread tells at an address of all that it has fenced, or asks there what others have told.
  virtual void release(ThreadNumber, const void*) {}
  virtual void acquire(ThreadNumber, const void*) {}

  // ---- Mbarriers ----

  virtual Complaint mbarrier_init(ThreadNumber, unsigned /*address*/) { return {}; }
  /// Comes before each of the following events.
  virtual Complaint mbarrier_use(ThreadNumber, unsigned /*address*/) { return {}; }
  /// `copies` says whether the arrival announces the thread's copies instead of all else.
  virtual void mbarrier_arrive(ThreadNumber, unsigned /*address*/, bool /*copies*/) {}
  /// The current phase has ended. These threads waited for it.
  virtual void mbarrier_complete(unsigned /*address*/, Threads /*waiting*/) {}
  /// `ended` says whether the thread goes on at once.
  virtual void mbarrier_wait(ThreadNumber, const Phase&, bool /*ended*/) {}

  // ---- Copies to shared memory ----

  virtual Complaint copy_starts(ThreadNumber, const Copy&, Site) { return {}; }
  /// A copy's bytes are there. `at_mbarrier` says whether an arrival at an mbarrier announces them.
  virtual Complaint copy_arrives(ThreadNumber, const Copy&, bool /*at_mbarrier*/) { return {}; }
  /// The thread has waited for all its copies.
  virtual void copies_awaited(ThreadNumber) {}
  /// A bulk copy is done at once, in the current phase of its mbarrier.
  virtual Complaint bulk_copy(ThreadNumber, const Copy&, const Phase&, Site) { return {}; }

  // ---- Tensor cores ----

  /// The thread's warp computes a product of so many operations, of which it tells its share.
  virtual void tensor_product(ThreadNumber, std::uint64_t /*flops*/) {}

  // ---- wgmma ----

  /// A product of the thread's warp reads 16 bytes of shared memory from now on, in this group.
  virtual Complaint product_reads(ThreadNumber, const std::byte*, std::uint32_t /*group*/) { return {}; }
  /// The thread has waited for its groups up to this one.
  virtual void products_awaited(ThreadNumber, std::uint32_t /*group*/) {}
};

}  // namespace simt
