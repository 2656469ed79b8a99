// The functions of thread.hpp. Each calls the part of the block that does the work.

#include "simt/thread.hpp"

#include "block/block.hpp"
#include "block/global_flags.hpp"
#include "block/shared_memory.hpp"

namespace simt {

void barrier(unsigned id, unsigned threads, Site site) { InExecutor()->named_barriers().sync(id, threads, site); }

void barrier_arrive(unsigned id, unsigned threads, Site site) {
  InExecutor()->named_barriers().arrive(id, threads, site);
}

void block_barrier(Site site) { InExecutor()->named_barriers().sync_block(site); }

void warp_barrier(unsigned mask, Site site) { InExecutor()->warp_barriers().sync(mask, site); }

void give_way() { InExecutor()->scheduler().give_way(); }

std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned source, Site site) {
  return InExecutor()->warp_barriers().exchange(mask, value, source, site);
}

unsigned lane() { return Block::on_this_thread()->scheduler().current() % WARP; }

void mma(const MmaOperands& operands, const float (&c)[4], float (&d)[4], Site site) {
  InExecutor()->tensor_operations().mma(operands, c, d, site);
}

void wgmma(HalfFormat format, WgmmaD& d, unsigned a, unsigned b, bool accumulate, Site site) {
  InExecutor()->tensor_operations().wgmma(format, d, a, b, accumulate, site);
}

void wgmma_fence(Site) {}

void wgmma_commit(Site) { InExecutor()->tensor_operations().wgmma_commit(); }

void wgmma_wait(unsigned pending, WgmmaD& d, Site site) {
  InExecutor()->tensor_operations().wgmma_wait(pending, d, site);
}

void copy_async(unsigned destination, const void* source, unsigned bytes, Site site) {
  InExecutor()->copies().start({in_shared_memory(destination), source, bytes}, site);
}

void commit_copies() { InExecutor()->copies().commit(); }

void wait_for_copies(unsigned pending) { InExecutor()->copies().wait(pending); }

void bulk_copy(unsigned destination, const void* source, unsigned bytes, unsigned mbarrier, Site site) {
  InExecutor()->copies().bulk({in_shared_memory(destination), source, bytes}, destination, mbarrier, site);
}

void mbarrier_init(unsigned address, unsigned arrivals, Site site) {
  InExecutor()->mbarriers().init(address, arrivals, site);
}

void mbarrier_arrive(unsigned address, Site site) { InExecutor()->mbarriers().arrive(address, site); }

void mbarrier_arrive_after_copies(unsigned address, Site site) {
  InExecutor()->copies().arrive_at_mbarrier(address, site);
}

void mbarrier_arrive_expecting(unsigned address, unsigned bytes, Site site) {
  InExecutor()->mbarriers().arrive_expecting(address, bytes, site);
}

void mbarrier_wait(unsigned address, unsigned parity, Site site) {
  InExecutor()->mbarriers().wait(address, parity, site);
}

void raise_flag(unsigned* flag) {
  const InExecutor in_executor;
  raise_global_flag(flag);
}

void wait_for_flag(unsigned* flag) {
  const InExecutor in_executor;
  wait_for_global_flag(flag, in_executor->scheduler());
}

void not_supported(const std::string& what) { throw NotSupported("the executor does not model " + what); }

}  // namespace simt
