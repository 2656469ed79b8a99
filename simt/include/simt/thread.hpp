#pragma once

// The executor's services for a thread of a kernel. All of this is called from within simt::run() alone.

#include "simt/executor.hpp"
#include "simt/half_floats.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>

namespace simt {

/// Where a kernel calls something, for messages: by default the place of the call.
using Site = std::source_location;

// ---- Barriers and shuffles ----

/// bar.sync: waits until `threads` threads of the block have arrived at barrier `id`, 0 to 15.
void barrier(unsigned id, unsigned threads, Site site = Site::current());
/// bar.arrive: arrives there as one of them and does not wait.
void barrier_arrive(unsigned id, unsigned threads, Site site = Site::current());
/// __syncthreads: barrier() for all threads of the block and barrier 0.
void block_barrier(Site site = Site::current());
/// __syncwarp: waits until all lanes in `mask` have arrived with this mask. Lanes that the block lacks do not count.
void warp_barrier(unsigned mask, Site site = Site::current());
/// __threadfence, and __threadfence_block `of_block`: what follows tells others of what comes before.
void fence(bool of_block = false);
/// __nanosleep: lets the other threads of the block run until each of them waits, has finished or slept as well. Fails
/// where the thread waits for ever.
void sleep(Site site = Site::current());
/// A loop looks once more for what other threads write, and lets them run. Fails where it does so for ever.
void look_again(Site site = Site::current());
/// Lasts while a loop looks for it.
class Polling {
 public:
  Polling() = default;
  Polling(const Polling&) = delete;
  Polling& operator=(const Polling&) = delete;
  ~Polling();
  void again(Site site = Site::current()) { look_again(site); }
};
/// Gives `value` to the warp, waits for the lanes in `mask` to do so too, and returns what lane `source` gave.
std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned source, Site site = Site::current());
/// Gives `value` to the warp, waits for the lanes in `mask` to do so too, and returns what each of them gave.
std::array<std::uint64_t, WARP> gather(unsigned mask, std::uint64_t value, Site site = Site::current());
/// Position of this thread in its warp.
unsigned lane();
/// __syncthreads_count: waits for all threads of the block, and returns for how many of them `predicate` holds.
unsigned block_barrier_count(bool predicate, Site site = Site::current());

// ---- Clusters ----

/// barrier.cluster, arrive and wait: for all threads of the cluster's blocks.
void cluster_barrier(Site site = Site::current());
/// The two apart. A thread that waits has arrived before.
void cluster_arrive(Site site = Site::current());
void cluster_wait(Site site = Site::current());
/// Of this block in its cluster, and how many blocks the cluster has along each axis.
unsigned cluster_rank();
Index3 cluster_extents();
/// What lies where `own` does, in the shared memory of the block of that rank in the cluster. No check watches it.
void* in_cluster(const void* own, unsigned rank, Site site = Site::current());
/// The kernel has __cluster_dims__: the launch begins again with them where it has no clusters.
void cluster_dims(unsigned x, unsigned y, unsigned z, Site site = Site::current());
/// For all threads of a cooperative launch.
void grid_barrier(Site site = Site::current());
bool is_cooperative();
/// ld.shared::cluster.v4: what lies at a shared address, aligned to 16 bytes, in the shared memory of the block of that
/// rank in the cluster. No check watches it.
std::array<float, 4> load_four_in_cluster(unsigned address, unsigned rank, Site site = Site::current());

// ---- Tensor cores ----

/// A lane's registers of A and B for mma.sync.m16n8kK, of which small K leave the last ones empty. A register holds
/// one TF32 number, two of 16 bits or four integers of 8.
struct MmaRegisters {
  std::array<std::uint32_t, 4> a{};
  std::array<std::uint32_t, 2> b{};
};

struct MmaExtents {
  unsigned m;
  unsigned n;
  unsigned k;
};

/// mma.sync: this lane's part of A * B + C, 16 x 8, with a k of 4 or 8 for TF32 and of 8 or 16 for FP16 and BF16. Waits
/// for all lanes of the warp to give theirs. Of a smaller m the registers of the other rows are empty.
std::array<float, 4> mma(MmaFormat format, const MmaExtents& extents, const MmaRegisters& operands,
                         const std::array<float, 4>& c, Site site = Site::current());
/// The same for s8 with a k of 16 or 32. The result is exact, and a sum beyond 32 bits wraps around.
std::array<std::int32_t, 4> mma(MmaFormat format, const MmaExtents& extents, const MmaRegisters& operands,
                                const std::array<std::int32_t, 4>& c, Site site = Site::current());

/// A thread's part of D (64 x 128) in wgmma.m64n128k16.
using WgmmaD = float[64];
/// A thread's part of A (64 x 16) where it lies in registers, two numbers of 16 bits in each.
using WgmmaA = unsigned[4];

/// wgmma.mma_async: D = A * B, or D += A * B where `accumulate` says so, by the lanes of a warp together. `a` and `b`
/// are shared addresses of tiles in K-major order with 128-byte swizzling, of which the first `columns` of B count, a
/// multiple of 8 up to 128. `d` are the thread's `columns` / 2 floats, or integers of 32 bits for s8, whose sums wrap
/// around. The product is started and not waited for: until a wait for `d` all its bits are set, which makes it NaN.
void wgmma(MmaFormat format, void* d, unsigned columns, unsigned a, unsigned b, bool accumulate,
           Site site = Site::current());
/// The same with A in registers, for FP16 and BF16: the numbers are those of the time when the product is started.
void wgmma(MmaFormat format, float* d, unsigned columns, const WgmmaA& a, unsigned b, bool accumulate,
           Site site = Site::current());
/// wgmma.fence: does nothing, because registers are handed over when a product starts.
void wgmma_fence(Site site = Site::current());
/// wgmma.commit_group: the products since the last commit are a group.
void wgmma_commit(Site site = Site::current());
/// wgmma.wait_group: waits until at most `pending` of the youngest groups are under way, and takes over `d`, the
/// registers of one result.
void wgmma_wait(unsigned pending, void* d, Site site = Site::current());

// ---- Shared memory ----

/// The static __shared__ variables that one declaration stands for.
struct SharedVariable {
  const char* name;
  std::size_t bytes;
  std::size_t alignment;
  std::span<const std::size_t> extents;  ///< of an array
  std::size_t element_bytes;
  unsigned number = 0;  ///< until place_of() gives it one
};

/// Where it lies in this block. Each is surrounded by bytes that belong to none. Ends the launch where the block's
/// variables are larger than static shared memory may be.
void* place_of(SharedVariable& variable, Site site = Site::current());

/// The block's dynamic shared memory, aligned to 1024 bytes. What earlier blocks left in it is gone: all its bits are
/// set when the block starts, which makes every float a NaN.
void* dynamic_shared_memory();
/// Addresses of shared memory as PTX has them, 32 bits wide.
unsigned shared_address(const void* pointer);
/// Whether it points into the block's dynamic shared memory or to a SharedVariable.
bool is_shared(const void* pointer);

// ---- Copies from global to shared memory ----

/// cp.async: starts a copy of `bytes` bytes, which arrives with a wait_for_copies() at the latest. Without a source it
/// writes zeros. Both ends are aligned to `bytes`.
void copy_async(unsigned destination, const void* source, unsigned bytes, Site site = Site::current());
/// cp.async.commit_group: ends this thread's group of copies.
void commit_copies();
/// cp.async.wait_group: lets the copies of all groups arrive except the `pending` youngest.
void wait_for_copies(unsigned pending);
/// cp.async.bulk: copies bytes that count for the current phase of the mbarrier. Addresses and size are multiples of
/// 16.
void bulk_copy(unsigned destination, const void* source, unsigned bytes, unsigned mbarrier,
               Site site = Site::current());

/// Where a box lies in the array of a tensor map (CUtensorMap): its first element, the fastest coordinate first.
struct TensorBox {
  const void* map;
  std::array<std::int32_t, 5> at;
  unsigned dimensions;
};
/// cp.async.bulk.tensor to shared memory, at a multiple of 128, from a multiple of 16 bytes of a row on. All bytes of
/// the box count for the mbarrier's phase; those outside of the array are zeros.
void tensor_load(unsigned destination, const TensorBox& box, unsigned mbarrier, Site site = Site::current());
/// The same from shared memory, complete at once, at coordinates from 0 on. Elements outside of the array are left out.
void tensor_store(const TensorBox& box, unsigned source, Site site = Site::current());
/// Fails where there is no such box.
void tensor_prefetch(const TensorBox& box, Site site = Site::current());

// ---- Mbarriers, at shared addresses that are multiples of 8 ----

/// mbarrier.init: makes an mbarrier. A phase ends when `arrivals` arrivals and all expected bytes have come. The next
/// begins at once.
void mbarrier_init(unsigned address, unsigned arrivals, Site site = Site::current());
/// mbarrier.arrive: orders what this thread did so far before everything behind a wait for this phase.
void mbarrier_arrive(unsigned address, Site site = Site::current());
/// cp.async.mbarrier.arrive.noinc: arrives when all of this thread's copies have arrived. It announces these copies and
/// nothing else.
void mbarrier_arrive_after_copies(unsigned address, Site site = Site::current());
/// cp.async.mbarrier.arrive: the phase under way announces this thread's copies so far, without an arrival of its own.
void mbarrier_announce_copies(unsigned address, Site site = Site::current());
/// Of the number of the phase under way.
unsigned mbarrier_parity(unsigned address, Site site = Site::current());
/// mbarrier.arrive.expect_tx: arrives, and makes the phase wait for that many bytes of bulk copies.
void mbarrier_arrive_expecting(unsigned address, unsigned bytes, Site site = Site::current());
/// mbarrier.try_wait.parity, again and again: waits until the latest phase of that parity has ended. The phase before
/// phase 0 counts as ended.
void mbarrier_wait(unsigned address, unsigned parity, Site site = Site::current());

// ---- Flags in global memory that blocks have for each other ----

/// st.release of 1.
void raise_flag(unsigned* flag);
/// Repeats ld.acquire until the flag is raised, and lowers it. Throws Stopped if the launch ends before.
void wait_for_flag(unsigned* flag);

// ---- Atomic operations on global and shared memory ----

enum class AtomicOperation : std::uint8_t { add, min, max, exchange, compare_and_swap, and_, or_, xor_, inc, dec };
enum class AtomicType : std::uint8_t { i32, u32, i64, u64, f32, f64 };

/// What the variable held before. `operand` and the result are the bits of a value of the type; compare_and_swap stores
/// `operand` where it finds `expected`.
std::uint64_t atomic(AtomicOperation operation, AtomicType type, void* address, std::uint64_t operand,
                     std::uint64_t expected, Site site);

/// Of a clock that goes on while other threads run.
long long nanoseconds();

// Texts are no std::string: that one's functions would be compiled as parts of a kernel.

/// Ends the launch with Error: "block ..., thread ..., file:line in function: `what`".
[[noreturn]] void fail(const char* what, Site site = Site::current());
/// What assert() of plain CUDA calls where its condition does not hold, in host code as well.
[[noreturn]] void assertion_failed(const char* condition, const char* file, unsigned line, const char* function);
/// The same, from where nothing may be thrown: the thread has written before or behind its local variable.
void fail_about_local(const char* variable, bool before);
/// Ends the launch with Error: the block has more threads than __launch_bounds__ of its kernel.
[[noreturn]] void fail_about_launch_bounds(std::size_t most_threads, Site site = Site::current());
/// Ends the launch with NotSupported.
[[noreturn]] void not_supported(const char* what);

}  // namespace simt
