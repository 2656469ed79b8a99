#include "block/block.hpp"

#include "block/shared_memory.hpp"
#include "watch/program.hpp"

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
  const auto* const kernel = static_cast<const std::byte*>(launch_->kernel);
  if (static_cast<std::size_t>(access.address - kernel) < launch_->kernel_bytes) {
    return;  // an argument
  }
  if (const Complaint complaint = context_.watcher->access(context_.current(), access, code)) {
    context_.scheduler.freeze(std::make_exception_ptr(
        Error(context_.place_of(context_.current()) + ", " + source_line(code) + ": " + *complaint)));
  }
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
