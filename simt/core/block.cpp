#include "core/block.hpp"

#include "core/program.hpp"
#include "core/shared_memory.hpp"
#include "core/workers.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace simt {
namespace {

/// Looks of each thread, on average: after so many its block polls.
constexpr std::uint64_t LOOKS_TO_POLL = 16;
/// And after so many that find the thread as it was, the block is stuck. What changes may be a number in memory of
/// which the executor is not told.
constexpr std::uint64_t LOOKS_IN_VAIN = 512;
/// At least so many of the block's.
constexpr std::uint64_t LEAST_LOOKS = 1U << 14U;
/// A loop that has looked so often without coming back to what it was counts its looks, and has no end.
constexpr std::uint64_t MOST_LOOKS = 1U << 20U;
/// A thread is compared with what it was at most so many looks ago.
constexpr unsigned LONGEST_PERIOD = 1U << 12U;

/// What calls have left below this frame is not the thread's own, and would lie in gaps of the next ones' frames.
[[gnu::noinline]] void clear_next_frames() {
  std::array<std::uint64_t, 128> words{};
  asm volatile("" : : "r"(words.data()) : "memory");
}

/// Of all that is a thread's own: what lies on its stack up to `top`, and the registers that outlast calls.
[[gnu::noinline, gnu::no_sanitize_address]] std::uint64_t digest_of_stack(const void* top) {
  std::jmp_buf registers{};
  setjmp(registers);  // NOLINT(cert-err52-cpp): nothing jumps back
  std::uint64_t digest = 0;
  for (const auto* at = reinterpret_cast<const std::uint64_t*>(&registers); at < top; ++at) {
    digest = (digest ^ *at) * 0x9E3779B97F4A7C15U;
    digest ^= digest >> 32U;
  }
  return digest;
}

}  // namespace

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

void Block::run(const Index3& block, std::uint64_t number, Cluster* cluster) {
  context_.block = block;
  cluster_ = cluster;
  blockIdx = {block.x, block.y, block.z};
  prepare_dynamic_memory(launch_->dynamic_smem);
  const Index3& extents = launch_->cluster;
  rank_ = static_cast<unsigned>(number % (std::uint64_t{extents.x} * extents.y * extents.z));
  if (cluster != nullptr) {
    cluster->set_memory(rank_, SharedMemory::of_this_thread());
  }
  prepare_static_memory();
  counts_ = {};
  meetings_ = 0;
  counting_calls_.assign(MAX_THREADS_PER_BLOCK, 0);
  at_cluster_.assign(MAX_THREADS_PER_BLOCK, false);
  looks_.assign(MAX_THREADS_PER_BLOCK, {});
  context_.watcher->begin(*launch_, number);
  warp_barriers_.begin();
  named_barriers_.begin();
  mbarriers_.begin();
  tensor_operations_.begin();
  Scheduler& scheduler = context_.scheduler;
  scheduler.run();
  if (cluster != nullptr) {
    cluster->end();
  }
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
  if (cluster_ == nullptr) {  // thread 0 waits for other blocks for all
    named_barriers_.end_thread();
  }
}

void Block::access(const Access& access, const void* code) {
  const InExecutor in_executor(true);
  if (is_argument(access.address) || is_in_other_block(access.address)) {
    return;
  }
  if (access.strong && !access.write) {
    poll(access.address, code);
  } else if (access.write) {
    end_polling();
  }
  if (const Complaint complaint = context_.watcher->access(context_.current(), access, code)) {
    const std::exception_ptr error = std::make_exception_ptr(
        Error(context_.place_of(context_.current()) + ", " + source_line(code) + ": " + *complaint));
    context_.watcher->knows_all() ? context_.scheduler.freeze(error) : context_.scheduler.hold(error);
  }
}

void Block::poll(const void* address, const void* code) {
  if (launch_ends()) {
    context_.scheduler.freeze(std::make_exception_ptr(Stopped("a thread polls what no other one has written")));
  }
  try {
    if (waits_for_ever()) {
      fail_waiting(source_line(code));
    }
  } catch (...) {
    context_.scheduler.freeze(std::current_exception());
  }
  if (again_ > 0 || polled_ == std::pair(address, code)) {
    context_.scheduler.give_way_quietly();
    set_in_kernel(false);
  }
  clear_next_frames();
  polled_ = {address, code};
}

void Block::poll(Site site) {
  if (waits_for_ever()) {
    fail_waiting(to_string(site));
  }
  if (launch_ends()) {
    throw Stopped("a thread polls what no other one has written");
  }
  context_.scheduler.give_way();
  clear_next_frames();
}

void Block::fail_waiting(const std::string& place) const {
  fail(place + ": waits for ever: no other thread changes what it looks at");
}

bool Block::Looks::repeat(std::uint64_t digest) {
  ++since_;
  if (digest == mark_) {
    period_ = std::exchange(since_, 0);
    next_mark_ = 1;
    return true;
  }
  if (since_ < period_) {
    return true;  // a loop that looks at several things
  }
  period_ = 0;
  if (since_ >= next_mark_) {
    mark_ = digest;
    since_ = 0;
    next_mark_ = std::min(2 * next_mark_, LONGEST_PERIOD);  // Brent's way to find a period
  }
  return false;
}

[[gnu::noinline]] bool Block::waits_for_ever() {
  const std::uint64_t threads = context_.scheduler.ready() + std::uint64_t{1};
  const bool again = looks_[context_.current()].repeat(digest_of_stack(context_.scheduler.top_of_stack()));
  again_ = again ? again_ + 1 : 0;
  const bool stuck = again_ >= std::max(LOOKS_IN_VAIN * threads, LEAST_LOOKS) || polls_ >= MOST_LOOKS;
  if (stuck != std::exchange(is_stuck_, stuck)) {
    tell_of_change();  // what other blocks found before may have changed
  }
  if (++polls_ < checked_ + LOOKS_TO_POLL * threads) {
    return false;
  }
  checked_ = polls_;
  const std::uint64_t before = std::exchange(changes_, is_polling_ ? changes() : tell_of_change());
  if (!std::exchange(is_polling_, true) || before != changes_ || !all_agree(Waiting::polling, before, &agreed_[0])) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));  // a loop may have an end, and others may be slow
    return false;
  }
  return !begin_more_blocks() && is_stuck_ && all_agree(Waiting::stuck, before, &agreed_[1]);
}

void Block::forget_polls() {
  if (is_polling_) {
    tell_of_change();
  }
  polls_ = checked_ = again_ = 0;
  is_polling_ = is_stuck_ = false;
}

bool Block::is_argument(const void* address) const {
  const auto* const kernel = static_cast<const std::byte*>(launch_->kernel);
  return static_cast<std::size_t>(static_cast<const std::byte*>(address) - kernel) < launch_->kernel_bytes;
}

std::uint64_t Block::change_watched(const void* address, unsigned bytes, const void* code, Site site,
                                    const std::function<std::uint64_t()>& change) const {
  if (!context_.watched || context_.scheduler.on_stack(address) || is_in_other_block(address)) {
    return change();
  }
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const Access access{static_cast<const std::byte*>(address), bytes, true, true, true, true};
  context_.check("an atomic operation ", context_.watcher->access(context_.current(), access, code), site);
  return change();
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

void Block::arrive_at_cluster(Site site) {
  if (at_cluster_[context_.current()]) {
    fail("arrives at the cluster's barrier a second time, without a wait in between", site);
  }
  at_cluster_[context_.current()] = true;
}

void Block::sync_cluster(Site site) {
  if (!at_cluster_[context_.current()]) {
    fail("waits at the cluster's barrier, where it has not arrived", site);
  }
  at_cluster_[context_.current()] = false;
  sync_blocks(launch_->cooperative ? nullptr : "cluster", site);
}

void Block::sync_grid(Site site) {
  if (!launch_->cooperative) {
    fail("waits at a barrier of the grid, and its launch is not cooperative: cudaLaunchCooperativeKernel() is", site);
  }
  sync_blocks("grid", site);
}

/// Null: this one alone.
void Block::sync_blocks(const char* of, Site site) {
  named_barriers_.sync_block(site);
  if (of != nullptr && cluster_ != nullptr && context_.current() == 0) {
    // A block that is ahead may come to the next meeting before this one has learned of the last, but to no later one.
    const std::byte* const meeting = reinterpret_cast<const std::byte*>(cluster_) + meetings_++ % 2;
    context_.watcher->fence(0, false);
    context_.watcher->release(0, meeting);
    if (!cluster_->sync(together(*launch_), context_.scheduler)) {
      fail(std::string("waits for ever at a barrier of the ") + of + ": another block of it has ended", site);
    }
    context_.watcher->acquire(0, meeting);
  }
  named_barriers_.sync_block(site);
}

std::byte* Block::in_cluster(unsigned address, unsigned rank, Site site) const {
  const Index3& extents = launch_->cluster;
  if (rank >= extents.x * extents.y * extents.z || !is_used_memory(address)) {
    fail("there is no shared memory at shared address " + std::to_string(static_cast<int>(address)) +
             " of the cluster's block " + std::to_string(rank),
         site);
  }
  std::byte* const own = in_shared_memory(address);
  return rank == rank_ ? own : SharedMemory::of_this_thread().in(cluster_->memory(rank), own);
}

bool Block::is_used_memory(unsigned address) const {
  return address < launch_->dynamic_smem || placed_variable_at(in_shared_memory(address)) != nullptr;
}

bool Block::is_in_other_block(const void* address) const {
  if (cluster_ == nullptr || launch_->cooperative) {
    return false;
  }
  const Index3& extents = launch_->cluster;
  for (unsigned rank = 0; rank < extents.x * extents.y * extents.z; ++rank) {
    const std::byte* const own = cluster_->memory(rank).in(SharedMemory::of_this_thread(), address);
    const std::ptrdiff_t offset = own - in_shared_memory(0);
    if (rank != rank_ && offset == static_cast<int>(offset) && is_used_memory(static_cast<unsigned>(offset))) {
      return true;
    }
  }
  return false;
}

void Block::fail(const std::string& what) const { throw Error(context_.place_of(context_.current()) + ", " + what); }

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
