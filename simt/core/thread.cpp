// The functions of thread.hpp. Each calls the part of the block that does the work.

#include "simt/thread.hpp"
#include "simt/ptx_instructions.hpp"

#include "core/atomics.hpp"
#include "core/block.hpp"
#include "core/shared_memory.hpp"
#include "core/workers.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>

namespace simt {

void barrier(unsigned id, unsigned threads, Site site) { InExecutor()->named_barriers().sync(id, threads, site); }

void barrier_arrive(unsigned id, unsigned threads, Site site) {
  InExecutor()->named_barriers().arrive(id, threads, site);
}
void block_barrier(Site site) { InExecutor()->named_barriers().sync_block(site); }
void warp_barrier(unsigned mask, Site site) { InExecutor()->warp_barriers().sync(mask, site); }
void fence(bool of_block) { InExecutor()->fence(of_block); }

void sleep(Site site) {
  const InExecutor in_executor(true);  // perhaps in a loop that polls
  in_executor->poll(site);
}

Polling::~Polling() { const InExecutor ends_polling; }

void look_again(Site site) {
  if (const InExecutor in_executor(true); in_executor) {
    in_executor->poll(site);
  }
}

std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned source, Site site) {
  return InExecutor()->warp_barriers().exchange(mask, value, source, site);
}

std::array<std::uint64_t, WARP> gather(unsigned mask, std::uint64_t value, Site site) {
  return InExecutor()->warp_barriers().gather(mask, value, site);
}

void cluster_barrier(Site site) {
  cluster_arrive(site);
  cluster_wait(site);
}

void cluster_arrive(Site site) { InExecutor()->arrive_at_cluster(site); }
void cluster_wait(Site site) { InExecutor()->sync_cluster(site); }
void grid_barrier(Site site) { InExecutor()->sync_grid(site); }
bool is_cooperative() { return InExecutor()->launch().cooperative; }
unsigned cluster_rank() { return InExecutor()->rank(); }
Index3 cluster_extents() { return InExecutor()->launch().cluster; }

void* in_cluster(const void* own, unsigned rank, Site site) {
  return InExecutor()->in_cluster(shared_address(own), rank, site);
}

void cluster_dims(unsigned x, unsigned y, unsigned z, Site site) {
  const InExecutor in_executor;
  const Launch& launch = in_executor->launch();
  const Index3& by = launch.cluster;
  if (by.x == x && by.y == y && by.z == z) {
    return;
  }
  if (by.x * by.y * by.z > 1 || launch.cooperative || x * y * z == 0 || x * y * z > Cluster::MOST_BLOCKS ||
      launch.grid.x % x != 0 || launch.grid.y % y != 0 || launch.grid.z % z != 0) {
    in_executor->fail("the kernel has clusters of " + extents_text({x, y, z}) + " blocks, which a launch of " +
                          extents_text(launch.grid) + " blocks" +
                          (launch.cooperative       ? ", a cooperative one,"
                           : by.x * by.y * by.z > 1 ? ", in other clusters,"
                                                    : "") +
                          " can not have; at most " + std::to_string(Cluster::MOST_BLOCKS) + " blocks are in one",
                      site);
  }
  throw ClustersWanted{{x, y, z}};
}

std::array<float, 4> load_four_in_cluster(unsigned address, unsigned rank, Site site) {
  constexpr unsigned BYTES = 16;
  const InExecutor in_executor;
  if (address % BYTES != 0) {
    in_executor->fail("a load of four floats from another block's shared memory is not aligned to 16 bytes", site);
  }
  std::array<float, 4> four;
  std::memcpy(four.data(), in_executor->in_cluster(address, rank, site), BYTES);
  return four;
}

unsigned block_barrier_count(bool predicate, Site site) { return InExecutor()->count_at_barrier(predicate, site); }

unsigned lane() { return Block::on_this_thread()->scheduler().current() % WARP; }

std::array<float, 4> mma(MmaFormat format, const MmaExtents& extents, const MmaRegisters& operands,
                         const std::array<float, 4>& c, Site site) {
  return InExecutor()->tensor_operations().mma(format, extents, operands, c, site);
}

std::array<std::int32_t, 4> mma(MmaFormat format, const MmaExtents& extents, const MmaRegisters& operands,
                                const std::array<std::int32_t, 4>& c, Site site) {
  return InExecutor()->tensor_operations().mma(format, extents, operands, c, site);
}

void wgmma(MmaFormat format, void* d, unsigned columns, unsigned a, unsigned b, bool accumulate, Site site) {
  InExecutor()->tensor_operations().wgmma({format, columns, a, b, accumulate}, nullptr, d, site);
}

void wgmma(MmaFormat format, float* d, unsigned columns, const WgmmaA& a, unsigned b, bool accumulate, Site site) {
  InExecutor()->tensor_operations().wgmma({format, columns, {}, b, accumulate}, a, d, site);
}

void wgmma_fence(Site) {}
void wgmma_commit(Site) { InExecutor()->tensor_operations().wgmma_commit(); }

void wgmma_wait(unsigned pending, void* d, Site site) {
  InExecutor()->tensor_operations().wgmma_wait(pending, d, site);
}

void copy_async(unsigned destination, const void* source, unsigned bytes, Site site) {
  InExecutor()->copies().start({in_shared_memory(destination), source, bytes}, site);
}

namespace ptx {

void cp_async(unsigned destination, const void* source, unsigned bytes, unsigned source_bytes, Site site) {
  if (bytes != 4 && bytes != 8 && bytes != 16) {
    InExecutor()->fail("cp.async copies 4, 8 or 16 bytes, not " + std::to_string(bytes), site);
  }
  if (source_bytes != 0 && source_bytes != bytes) {
    throw NotSupported("the executor does not model cp.async of which a part is zeros");
  }
  copy_async(destination, source_bytes == 0 ? nullptr : source, bytes, site);
}

}  // namespace ptx

void commit_copies() { InExecutor()->copies().commit(); }
void wait_for_copies(unsigned pending) { InExecutor()->copies().wait(pending); }

void bulk_copy(unsigned destination, const void* source, unsigned bytes, unsigned mbarrier, Site site) {
  InExecutor()->copies().bulk({in_shared_memory(destination), source, bytes}, destination, mbarrier, site);
}

namespace {

/// What a kernel's access before `code` does beside the instruction.
void access_of_kernel(const void* address, unsigned bytes, bool write, const void* code) {
  Block& block = *Block::on_this_thread();
  if (block.watched() && !block.scheduler().on_stack(address)) {
    block.access({static_cast<const std::byte*>(address), bytes, write, false}, code);
  }
}

/// For a copy from or to a shared address.
TensorMap map_of(const TensorBox& box, unsigned address, const void* code, Site site) {
  access_of_kernel(box.map, sizeof(TensorMap), false, code);
  const InExecutor in_executor;
  TensorMap map;
  std::memcpy(&map, box.map, sizeof map);
  constexpr unsigned ALIGNMENT = 64;
  if (map.mark != TensorMap::MARK || reinterpret_cast<std::uintptr_t>(box.map) % ALIGNMENT != 0) {
    in_executor->fail("a tensor copy takes a tensor map of cuTensorMapEncodeTiled() that is aligned to 64 bytes", site);
  }
  if (map.dimensions != box.dimensions) {
    in_executor->fail("a tensor copy of " + std::to_string(box.dimensions) + " coordinates takes a tensor map of " +
                          std::to_string(map.dimensions) + " dimensions",
                      site);
  }
  constexpr unsigned ALIGNMENT_OF_BOX = 128;
  if (address % ALIGNMENT_OF_BOX != 0) {
    in_executor->fail("a tensor copy takes shared addresses that are multiples of 128, not " + std::to_string(address),
                      site);
  }
  constexpr int ALIGNMENT_OF_ROW = 16;  // H200: an illegal instruction elsewhere
  if (const auto first = box.at[0] * static_cast<std::int64_t>(map.strides[0]); first % ALIGNMENT_OF_ROW != 0) {
    in_executor->fail("a tensor copy begins at multiples of 16 bytes of a row, not " + std::to_string(first), site);
  }
  return map;
}

}  // namespace

void tensor_load(unsigned destination, const TensorBox& box, unsigned mbarrier, Site site) {
  const TensorMap map = map_of(box, destination, __builtin_return_address(0), site);
  InExecutor()->copies().box(map, box.at, destination, mbarrier, site);
}

void tensor_store(const TensorBox& box, unsigned source, Site site) {
  const void* const code = __builtin_return_address(0);
  const TensorMap map = map_of(box, source, code, site);
  if (std::any_of(box.at.begin(), box.at.begin() + box.dimensions,
                  [](int at) { return at < 0; })) {  // H200: an illegal instruction
    InExecutor()->fail("a tensor copy to global memory takes no coordinates below 0", site);
  }
  if (map.rounds) {
    throw NotSupported("the executor does not model stores by tensor maps of TF32");
  }
  const auto element = static_cast<unsigned>(map.strides[0]);
  for (unsigned number = 0; number < map.rows(); ++number) {
    const TensorMap::Row row = map.row(number, box.at);
    for (unsigned byte = 0; byte < row.bytes; byte += element) {
      const std::byte* const from = in_shared_memory(map.swizzled(source + row.offset + row.before + byte));
      access_of_kernel(from, element, false, code);
      access_of_kernel(row.inside + byte, element, true, code);
      std::memcpy(row.inside + byte, from, element);
    }
  }
}

void tensor_prefetch(const TensorBox& box, Site site) { map_of(box, 0, __builtin_return_address(0), site); }

void mbarrier_init(unsigned address, unsigned arrivals, Site site) {
  InExecutor()->mbarriers().init(address, arrivals, site);
}

void mbarrier_arrive(unsigned address, Site site) { InExecutor()->mbarriers().arrive(address, site); }

void mbarrier_arrive_after_copies(unsigned address, Site site) {
  InExecutor()->copies().arrive_at_mbarrier(address, true, site);
}

void mbarrier_announce_copies(unsigned address, Site site) {
  InExecutor()->copies().arrive_at_mbarrier(address, false, site);
}

unsigned mbarrier_parity(unsigned address, Site site) {
  return static_cast<unsigned>(InExecutor()->mbarriers().at(address, site).phase % 2);
}

void mbarrier_arrive_expecting(unsigned address, unsigned bytes, Site site) {
  InExecutor()->mbarriers().arrive_expecting(address, bytes, site);
}

void mbarrier_wait(unsigned address, unsigned parity, Site site) {
  InExecutor()->mbarriers().wait(address, parity, site);
}

void raise_flag(unsigned* flag) {
  const InExecutor in_executor;
  in_executor->fence();
  in_executor->release(flag);
  std::atomic_ref(*flag).store(1, std::memory_order_release);
}

void wait_for_flag(unsigned* flag) {
  const InExecutor in_executor;
  const std::atomic_ref raised(*flag);
  while (raised.load(std::memory_order_acquire) == 0) {
    in_executor->end_polling();  // other threads may, while this one waits for another GPU
    wait_for_other_blocks(in_executor->scheduler());
  }
  raised.store(0, std::memory_order_relaxed);
  in_executor->acquire(flag);
}

std::uint64_t atomic(AtomicOperation operation, AtomicType type, void* address, std::uint64_t operand,
                     std::uint64_t expected, Site site) {
  const InExecutor in_executor(true);
  const std::uint64_t old = in_executor->change_watched(address, size_of(type), __builtin_return_address(0), site, [&] {
    return change_atomically(operation, type, address, operand, expected);
  });
  const bool waits = operation == AtomicOperation::compare_and_swap ? old != expected
                     : operation == AtomicOperation::exchange       ? old == operand
                                                                    : operand == 0;
  if (!waits) {
    in_executor->end_polling();
  } else {  // it tries again, or looks what others have done
    in_executor->poll(site);
  }
  return old;
}

void* place_of(SharedVariable& variable, Site site) {
  const InExecutor in_executor;
  void* const place = place_variable(variable);
  if (place == nullptr) {
    in_executor->fail("static shared memory has " + std::to_string(MAX_STATIC_SMEM) + " bytes, and with " +
                          variable.name + " the block's variables take " + std::to_string(static_bytes()),
                      site);
  }
  return place;
}

bool is_shared(const void* pointer) {
  return placed_variable_at(pointer) != nullptr ||
         static_cast<std::size_t>(static_cast<const std::byte*>(pointer) - in_shared_memory(0)) < MAX_DYNAMIC_SMEM;
}

long long nanoseconds() {
  const InExecutor in_executor;  // a loop may end by the clock
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

void fail(const char* what, Site site) {
  const InExecutor in_executor;
  in_executor->fail(what, site);
}

void assertion_failed(const char* condition, const char* file, unsigned line, const char* function) {
  const InExecutor in_executor;
  const std::string what = std::string(file) + ':' + std::to_string(line) + " in " + function +
                           ": the assertion does not hold: " + condition;
  if (in_executor) {
    in_executor->fail(what);
  }
  throw Error(what);
}

void fail_about_local(const char* variable, bool before) {
  // What unwinds the thread's frames has a reason of its own, which comes first.
  if (std::uncaught_exceptions() == 0) {
    const InExecutor in_executor;
    in_executor->freeze(std::string("has written ") + (before ? "before" : "beyond the end of") +
                        " its local variable " + variable);
  }
}

void fail_about_launch_bounds(std::size_t most_threads, Site site) {
  const InExecutor in_executor;
  in_executor->fail("the block has " + std::to_string(std::size_t{blockDim.x} * blockDim.y * blockDim.z) +
                        " threads, and __launch_bounds__ of the kernel promises at most " +
                        std::to_string(most_threads),
                    site);
}

void not_supported(const char* what) {
  const InExecutor in_executor;
  throw NotSupported(std::string("the executor does not model ") + what);
}

}  // namespace simt
