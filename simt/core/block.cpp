#include "core/block.hpp"

#include "core/program.hpp"
#include "core/shared_memory.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <exception>
#include <utility>

namespace simt {

constinit thread_local Block* Block::current_block = nullptr;

Block::Block()
    : context_([this] { run_thread(); }),
      warp_barriers_(context_),
      named_barriers_(context_),
      mbarriers_(context_),
      copies_(context_, mbarriers_),
      tensor_operations_(context_, warp_barriers_) {
  current_block = this;
}

Block::~Block() = default;

void Block::begin(const Launch& launch, Watcher* watcher) {
  launch_ = &launch;
  context_.watched = watcher != nullptr;
  context_.watcher = context_.watched ? watcher : &nobody_;
  context_.scheduler.set_extents(launch.block);
  blockDim = {launch.block.x, launch.block.y, launch.block.z};
  gridDim = {launch.grid.x, launch.grid.y, launch.grid.z};
}

void Block::run(const Index3& block, std::uint64_t number) {
  context_.block = block;
  blockIdx = {block.x, block.y, block.z};
  prepare_dynamic_memory(launch_->dynamic_smem);
  prepare_static_memory();
  counts_ = {};
  counting_calls_.assign(MAX_THREADS_PER_BLOCK, 0);
  context_.watcher->begin(*launch_, number);
  warp_barriers_.begin();
  named_barriers_.begin();
  mbarriers_.begin();
  tensor_operations_.begin();
  Scheduler& scheduler = context_.scheduler;
  scheduler.run();
  if (scheduler.all_finished()) {
    tensor_operations_.end();
    return;
  }
  std::exception_ptr error = scheduler.take_error();
  if (error == nullptr && !stopped_) {
    error =
        std::make_exception_ptr(Error(context_.place_of(scheduler.first_stuck()) + ", " + scheduler.describe_stuck()));
  }
  scheduler.abandon();
  if (!std::exchange(stopped_, false)) {
    std::rethrow_exception(error);
  }
}

void Block::run_thread() {
  struct InKernel {
    explicit InKernel(Block& block) : block(block) { block.set_in_kernel(true); }
    ~InKernel() { block.set_in_kernel(false); }
    Block& block;
  };
  copies_.begin_thread();
  {
    const InKernel in_kernel(*this);
    launch_->thread(launch_->kernel);
  }
  context_.watcher->finish(context_.current());
}

void Block::access(const Access& access, const void* code) {
  const InExecutor in_executor;
  if (is_argument(access.address)) {
    return;
  }
  if (const Complaint complaint = context_.watcher->access(context_.current(), access, code)) {
    context_.scheduler.freeze(std::make_exception_ptr(
        Error(context_.place_of(context_.current()) + ", " + source_line(code) + ": " + *complaint)));
  }
}

bool Block::is_argument(const void* address) const {
  const auto* const kernel = static_cast<const std::byte*>(launch_->kernel);
  return static_cast<std::size_t>(static_cast<const std::byte*>(address) - kernel) < launch_->kernel_bytes;
}

void Block::check_atomic(const void* address, unsigned bytes, const void* code, Site site) const {
  if (context_.watched && !context_.scheduler.on_stack(address)) {
    const Access access{static_cast<const std::byte*>(address), bytes, true, true, true};
    context_.check("an atomic operation ", context_.watcher->access(context_.current(), access, code), site);
  }
}

unsigned Block::count_at_barrier(bool predicate, Site site) {
  // A thread may reach its next call before others have read the sum of this one, but not its next but one.
  const unsigned call = counting_calls_[context_.current()];
  const unsigned next = (call + 1) % counts_.size();
  counting_calls_[context_.current()] = static_cast<std::uint8_t>(next);
  counts_[call] += predicate ? 1 : 0;
  named_barriers_.sync_block(site);
  counts_[(next + 1) % counts_.size()] = 0;
  return counts_[call];
}

void Block::freeze(const std::string& what) {
  context_.scheduler.freeze(std::make_exception_ptr(Error(context_.place_of(context_.current()) + ' ' + what)));
}

void Block::stop() {
  stopped_ = true;
  context_.scheduler.freeze(nullptr);
}

std::string BlockContext::place_of(ThreadNumber thread) const {
  return "block " + to_string(block) + ", thread " + to_string(scheduler.position(thread));
}

void BlockContext::fail(const std::string& what, Site site) const {
  throw Error(place_of(current()) + ", " + to_string(site) + ": " + what);
}

}  // namespace simt
