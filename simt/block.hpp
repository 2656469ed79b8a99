#pragma once

#include "async_copies.hpp"
#include "block_counter.hpp"
#include "checker.hpp"
#include "executor.hpp"
#include "program.hpp"
#include "stacks.hpp"
#include "tensor_core.hpp"
#include "thread.hpp"

#include <boost/context/fiber.hpp>

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace simt {

/// What instrumented kernels are watched for.
enum class Watch : std::uint8_t { nothing, checks, counts, first_reads };

struct Watching {
  Watch what = Watch::nothing;
  CountingContext* context = nullptr;  ///< for counts and first reads; outlives the launch
  std::uint32_t inputs = 0;            ///< a bit for each array whose first read is looked for
};

/// Runs blocks one after the other on the OS thread it belongs to. Each thread of a block has a fiber, which is kept
/// for the blocks to come.
///
/// A fiber that has to wait hands over to the next one that is ready; there is no scheduler in between. Those that are
/// ready, and those at each barrier, are linked lists through next_, in order of arrival, so that completing a barrier
/// moves all its threads at once.
class Block {
 public:
  Block();
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// The one that runs on this OS thread, or null.
  static Block* on_this_thread() { return current_block; }

  /// The launch that the blocks to come belong to; it outlives them.
  void begin(const Launch& launch, const Watching& watching);
  /// No more blocks of the launch.
  void end();
  /// Throws what a thread throws, and Error where threads are left waiting. `number` counts the grid's blocks. When
  /// first reads are looked for, the block is abandoned with the last of them.
  void run(const Index3& block, std::uint64_t number);

  // What thread.hpp declares, for the thread whose turn it is.
  void barrier(unsigned id, unsigned threads, Site site);
  void barrier_arrive(unsigned id, unsigned threads, Site site);
  void block_barrier(Site site) { barrier(0, threads_, site); }
  /// Returns whether this thread was the last to arrive.
  bool warp_barrier(unsigned mask, Site site);
  std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned source, Site site);
  void mma(const MmaOperands& operands, const float (&c)[4], float (&d)[4], Site site);
  void wgmma(HalfFormat format, WgmmaD& d, unsigned a, unsigned b, bool accumulate, Site site);
  void wgmma_commit() { ++state_[current_].wgmma_groups; }
  void wgmma_wait(unsigned pending, WgmmaD& d, Site site);
  void give_way();
  unsigned lane() const { return current_ % WARP; }
  void copy_async(const AsyncCopies::Copy& copy, Site site);
  void commit_copies() { copies_[current_].commit(); }
  void wait_for_copies(unsigned pending);
  void mbarrier_init(unsigned address, unsigned arrivals, Site site);
  void mbarrier_arrive(unsigned address, Site site);
  void mbarrier_arrive_after_copies(unsigned address, Site site);
  void mbarrier_wait(unsigned address, unsigned parity, Site site);
  void mbarrier_arrive_expecting(unsigned address, unsigned bytes, Site site);
  void bulk_copy(unsigned destination, const void* source, unsigned bytes, unsigned address, Site site);

  /// Whether the code of an instrumented kernel is what runs at the moment, and not the executor's: the linker may have
  /// given both the same instrumented copy of an inline function.
  bool watched() const { return watch_ != Watch::nothing && in_kernel_; }
  /// To be called where a kernel enters the executor's code (false) and comes back from it (true).
  void set_in_kernel(bool in_kernel) { in_kernel_ = in_kernel; }
  bool on_stack(const void* address) const { return stacks_.contain(address); }
  /// The instruction before `code` is about to access memory other than stacks. Ends the launch where that is wrong.
  void access(const Access& access, const void* code);
  BlockCounter& counter() { return *counter_; }
  const FirstReads& first_reads() const { return *first_reads_; }
  /// "block (1,0,0), thread (3,2,0) of sgemm::naive_kernel<...>, file:line: `what`".
  [[noreturn]] void fail(const std::string& what, Site site) const;

 private:
  using Fiber = boost::context::fiber;
  using Number = ThreadNumber;  ///< or MAIN
  static constexpr Number MAIN = MAX_THREADS_PER_BLOCK;
  static constexpr unsigned BARRIERS = 16;

  enum class Wait : std::uint8_t { nothing, barrier, warp_barrier, mbarrier };

  struct Thread {
    Site site;  ///< where it waits
    unsigned mask = 0;
    unsigned mbarrier = 0;           ///< its address
    std::uint32_t wgmma_groups = 0;  ///< that it has committed
    std::uint8_t barrier = 0;
    Wait wait = Wait::nothing;
    bool started = false;
    bool finished = false;
    bool frozen = false;  ///< stopped where it can not be unwound
  };

  struct List {
    Number first = 0;
    Number last = 0;
    unsigned size = 0;
  };

  struct Barrier {
    List waiting;
    unsigned expected = 0;
    unsigned arrived = 0;  ///< threads that do not wait
    Number arriver = 0;    ///< the latest of them
    std::uint64_t phase = 0;
    Clocks::Clock passed_on;  ///< in checks, by those that do not wait
    unsigned size() const { return waiting.size + arrived; }
  };

  struct Mbarrier {
    unsigned address = 0;
    unsigned expected = 0;     ///< arrivals in each phase
    unsigned pending = 0;      ///< in this one
    std::uint64_t phase = 0;   ///< that is under way
    std::int64_t missing = 0;  ///< bytes that are yet to be copied in this phase
    List waiting;              ///< for its end
    ThreadNumber copies = 0;   ///< in checks, the number in Clocks of the bulk copies that arrive there
    // In checks, what the arrivals up to this phase pass on, and up to the one before. Later phases pass on what
    // earlier ones did: their arrivals see the earlier ones'.
    Clocks::Clock arrived;
    Clocks::Clock ended;
  };

  /// What wgmma has computed and not all lanes have waited for.
  struct Product {
    unsigned lanes = 0;       ///< that have not; without any it is free for the next one
    std::uint32_t group = 0;  ///< of the last wgmma, counted from 1
    std::array<WgmmaD*, WARP> parts{};
    WgmmaRows rows;
  };

  struct WgmmaGiven {
    HalfFormat format = HalfFormat::fp16;
    unsigned a = 0;  ///< shared addresses
    unsigned b = 0;
    bool accumulate = false;
    std::uint32_t group = 0;
    bool operator==(const WgmmaGiven&) const = default;
  };

  struct Warp {
    unsigned waiting = 0;  ///< lanes at a warp_barrier
    std::array<std::uint64_t, WARP> given{};
    std::array<MmaOperands, WARP> operands{};
    std::array<WgmmaGiven, WARP> wgmma{};
    std::array<WgmmaD*, WARP> wgmma_d{};
    std::vector<Product> products;
    std::uint64_t all_given = 0;  ///< a hash: what the warps of a warpgroup have to agree in
  };

  static constinit thread_local Block* current_block;

  void make_fiber(Number number);
  /// What each fiber does until quitting_: its thread of one block after the other.
  void live();
  /// Fails where a barrier can not be called like this; kept apart, as barriers are called very often.
  [[gnu::noinline, gnu::cold]] void refuse_barrier(unsigned id, unsigned threads, Site site) const;
  /// Ends the launch from within an access, which must not happen and can not be unwound.
  void freeze(std::exception_ptr error);
  /// Ends the block, of which no more is wanted; the same way.
  void stop_here();
  /// Tells whoever watches that the threads in the list and the current one have met.
  void meet(const List& list);
  /// Sets meeting_ to the threads in the list.
  void gather(const List& list);
  void check_copy_arrives(const AsyncCopies::Copy& copy, bool at_mbarrier);
  /// All lanes of the warp have given what a product takes.
  void multiply(Warp& warp, Site site);
  /// Checks what a product reads of `rows` rows (or columns) from the shared address `operand` on.
  void check_product_reads(unsigned operand, unsigned rows, std::uint32_t group, Site site);
  Product& product_of(Warp& warp, Site site);
  /// Null where none was initialised. Initialising others moves it elsewhere.
  Mbarrier* find_mbarrier(unsigned address);
  /// The current thread is about to use it; fails where it may not.
  Mbarrier& mbarrier(unsigned address, Site site);
  void check_mbarrier(unsigned address, bool init, Site site);
  /// What the thread passes on is there already.
  void arrive_at(Mbarrier& mbarrier, Site site);
  /// To be called where an arrival or a copy may have been the last.
  void end_phase_if_complete(Mbarrier& mbarrier, Site site);
  /// Lets those go on that wait for it: meeting_, in checks.
  void complete(Barrier& barrier);
  /// Fails where not all warps of a warpgroup did the same.
  void check_warpgroups() const;
  /// Of what the block before may have begun and not ended.
  void clear_leftovers();
  void append(List& list, Number number);
  void append(List& list, List& other);
  /// The first thread that is ready, or MAIN where none is.
  Number take_ready();
  /// Hands over to it until this thread is ready again.
  void wait();
  void switch_to(Number number);
  void* depart(Number number) const;
  void arrive(void* frames);
  std::string place_of(Number number) const;
  std::string describe_stuck() const;
  /// Unwinds the threads that are under way.
  void abandon();

  const Launch* launch_ = nullptr;
  Index3 block_;
  unsigned threads_ = 0;  ///< in a block
  unsigned finished_ = 0;
  std::exception_ptr error_;
  bool abandoning_ = false;
  bool quitting_ = false;
  Number current_ = MAIN;
  Number previous_ = MAIN;  ///< the fiber that handed over to this one
  List ready_;
  std::array<Barrier, BARRIERS> barriers_;
  std::vector<Mbarrier> mbarriers_;  ///< few; of this block
  std::array<Warp, MAX_THREADS_PER_BLOCK / WARP> warps_;
  std::array<Number, MAX_THREADS_PER_BLOCK> next_;
  std::vector<Index3> positions_;  ///< of the threads in the block
  std::array<Thread, MAX_THREADS_PER_BLOCK> state_;
  std::vector<AsyncCopies> copies_;
  std::unique_ptr<BlockChecker> checker_;  ///< made for the first checked launch
  std::unique_ptr<BlockCounter> counter_;
  std::unique_ptr<FirstReads> first_reads_;
  std::uint32_t inputs_ = 0;
  Watch watch_ = Watch::nothing;
  bool in_kernel_ = false;
  bool stopped_ = false;
  std::vector<Number> meeting_;
  Stacks stacks_;
  std::array<Fiber, MAX_THREADS_PER_BLOCK + 1> fibers_;  ///< the last is the OS thread's own, MAIN
#ifdef __SANITIZE_ADDRESS__
  const void* main_stack_ = nullptr;  ///< of the OS thread: its lowest address and size
  std::size_t main_stack_size_ = 0;
#endif
};

}  // namespace simt
