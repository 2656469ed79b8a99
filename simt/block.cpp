#include "block.hpp"

#include "workers.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace simt {
namespace {

constexpr unsigned ALL_LANES = 0xFFFFFFFF;
/// Arrivals and bytes that an mbarrier can count.
constexpr unsigned MOST_OF_MBARRIER = (1U << 20U) - 1;

/// What registers hold while wgmma computes them: NaN, all bits of which are set.
constexpr auto UNTOUCHED = [] {
  std::array<std::uint32_t, sizeof(WgmmaD) / sizeof(float)> bits{};
  bits.fill(~0U);
  return bits;
}();

/// Thrown through a thread's frames to end it.
struct Abandoned {};

/// Dynamic shared memory. Being thread-local like `__shared__` variables, it lies within 32 bits of them.
alignas(1024) thread_local std::byte dynamic_memory[MAX_DYNAMIC_SMEM];

/// The block that this OS thread runs.
Block& here() { return *Block::on_this_thread(); }

/// Lasts while a thread of a kernel is in the executor's code.
class InExecutor {
 public:
  InExecutor() { block_.set_in_kernel(false); }
  ~InExecutor() { block_.set_in_kernel(true); }
  InExecutor(const InExecutor&) = delete;
  InExecutor& operator=(const InExecutor&) = delete;

 private:
  Block& block_ = here();
};

/// Boost.Context asks for a way to give stacks back; they stay with the Block.
struct KeepStack {
  static boost::context::stack_context allocate() { return {}; }
  static void deallocate(boost::context::stack_context&) {}
};

std::string to_string(const Index3& index) {
  std::ostringstream text;
  text << '(' << index.x << ',' << index.y << ',' << index.z << ')';
  return text.str();
}

std::string to_string(Site site) {
  std::ostringstream text;
  text << site.file_name() << ':' << site.line() << " in " << site.function_name();
  return text.str();
}

/// Static shared memory may lie below the dynamic one: the difference is signed.
std::byte* in_shared_memory(unsigned address) { return dynamic_memory + static_cast<int>(address); }

std::string name_of_mbarrier(unsigned address) {
  std::ostringstream text;
  text << "the mbarrier at shared address 0x" << std::hex << address;
  return text.str();
}

void prepare_dynamic_memory(std::size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
  ASAN_UNPOISON_MEMORY_REGION(dynamic_memory, bytes);
  ASAN_POISON_MEMORY_REGION(dynamic_memory + bytes, sizeof dynamic_memory - bytes);
#endif
  std::memset(dynamic_memory, 0xFF, bytes);
}

}  // namespace

constinit thread_local Block* Block::current_block = nullptr;

Block::Block() : copies_(MAX_THREADS_PER_BLOCK), stacks_(MAX_THREADS_PER_BLOCK) { current_block = this; }

Block::~Block() {
  quitting_ = true;
  for (Number number = 0; number < MAIN && fibers_[number]; ++number) {
    switch_to(number);
  }
}

void Block::make_fiber(Number number) {
  const boost::context::stack_context stack = stacks_[number];
  fibers_[number] = Fiber(std::allocator_arg, boost::context::preallocated(stack.sp, stack.size, stack), KeepStack{},
                          [this](Fiber&& from) {
                            arrive(nullptr);
                            fibers_[previous_] = std::move(from);
                            live();
                            depart(MAIN);
                            return std::move(fibers_[MAIN]);
                          });
}

void Block::begin(const Launch& launch, const Watching& watching) {
  launch_ = &launch;
  watch_ = watching.what;
  if (watch_ == Watch::checks && !checker_) {
    checker_ = std::make_unique<BlockChecker>();
  }
  end();
  if (watch_ == Watch::counts) {
    counter_ = std::make_unique<BlockCounter>(*watching.context);
  } else if (watch_ == Watch::first_reads) {
    first_reads_ = std::make_unique<FirstReads>(*watching.context);
  }
  inputs_ = watching.inputs;
  threads_ = launch.block.x * launch.block.y * launch.block.z;
  positions_.clear();
  for (Index3 at; at.z < launch.block.z; ++at.z) {
    for (at.y = 0; at.y < launch.block.y; ++at.y) {
      for (at.x = 0; at.x < launch.block.x; ++at.x) {
        positions_.push_back(at);
      }
    }
  }
  for (Number number = 0; number < threads_; ++number) {
    if (!fibers_[number]) {
      make_fiber(number);
    }
  }
  blockDim = {launch.block.x, launch.block.y, launch.block.z};
  gridDim = {launch.grid.x, launch.grid.y, launch.grid.z};
}

void Block::end() {
  counter_.reset();
  first_reads_.reset();
}

void Block::run(const Index3& block, std::uint64_t number) {
  block_ = block;
  blockIdx = {block.x, block.y, block.z};
  prepare_dynamic_memory(launch_->dynamic_smem);
  if (watch_ == Watch::checks) {
    checker_->begin(*launch_, threads_, number);
  } else if (watch_ == Watch::counts) {
    counter_->begin(threads_, launch_->dynamic_smem);
  } else if (watch_ == Watch::first_reads) {
    first_reads_->begin(inputs_);
  }
  finished_ = 0;
  mbarriers_.clear();
  clear_leftovers();
  for (Number number = 0; number < threads_; ++number) {
    Thread& thread = state_[number];
    thread.started = false;
    thread.finished = false;
    thread.wait = Wait::nothing;
    thread.wgmma_groups = 0;
    append(ready_, number);
  }
  switch_to(take_ready());
  if (finished_ == threads_) {
    check_warpgroups();
    return;
  }
  if (std::exchange(stopped_, false)) {
    abandon();
    return;
  }
  const std::exception_ptr error =
      error_ != nullptr ? std::exchange(error_, nullptr) : std::make_exception_ptr(Error(describe_stuck()));
  abandon();
  std::rethrow_exception(error);
}

void Block::live() {
  while (!quitting_) {
    Thread& thread = state_[current_];
    thread.started = true;
    bool failed = false;
    try {
      in_kernel_ = true;
      launch_->thread(launch_->kernel);
    } catch (const Abandoned&) {
      failed = true;
    } catch (...) {
      error_ = std::current_exception();
      failed = true;
    }
    in_kernel_ = false;
    // Fibers change places outside of the handlers: what is being handled is a property of the OS thread.
    thread.finished = true;
    copies_[current_].clear();
    if (watch_ == Watch::counts) {
      counter_->end(current_);
    }
    finished_ += failed ? 0 : 1;
    switch_to(failed ? MAIN : take_ready());
  }
}

void Block::clear_leftovers() {
  for (Barrier& barrier : barriers_) {
    barrier.arrived = 0;
    barrier.passed_on.clear();
  }
  for (Warp& warp : warps_) {
    for (Product& product : warp.products) {
      product.lanes = 0;
    }
    warp.all_given = 0;
  }
}

void Block::check_warpgroups() const {
  constexpr unsigned WARPS = WARPGROUP / WARP;
  for (Number warp = 0; warp < (threads_ + WARP - 1) / WARP; ++warp) {
    const Number first = static_cast<Number>(warp / WARPS * WARPS);
    if (warps_[warp].all_given != warps_[first].all_given) {
      throw Error("block " + to_string(block_) + ": the warps of thread " + to_string(positions_[first * WARP]) +
                  " and of thread " + to_string(positions_[warp * WARP]) +
                  " are of one warpgroup and have not started the same products with the same tiles (wgmma)");
    }
  }
}

void Block::abandon() {
  abandoning_ = true;
  for (Number number = 0; number < threads_; ++number) {
    if (state_[number].frozen) {
      std::construct_at(&fibers_[number]);  // forgets the fiber, which a destructor would unwind
      make_fiber(number);
      copies_[number].clear();
      state_[number].frozen = false;
    } else if (state_[number].started && !state_[number].finished) {
      switch_to(number);
    }
  }
  abandoning_ = false;
  ready_ = {};
  barriers_ = {};
  warps_ = {};
}

void Block::freeze(std::exception_ptr error) {
  error_ = std::move(error);
  state_[current_].frozen = true;
  switch_to(MAIN);
}

void Block::stop_here() {
  stopped_ = true;
  freeze(nullptr);
}

void Block::access(const Access& access, const void* code) {
  const InExecutor in_executor;
  const auto* const kernel = static_cast<const std::byte*>(launch_->kernel);
  if (static_cast<std::size_t>(access.address - kernel) < launch_->kernel_bytes) {
    return;  // an argument
  }
  if (watch_ == Watch::counts) {
    counter_->access(current_, access, code);
  } else if (watch_ == Watch::first_reads) {
    if (!access.write && first_reads_->read(access.address)) {
      stop_here();
    }
  } else if (const auto wrong = checker_->access(current_, access)) {
    freeze(std::make_exception_ptr(Error(place_of(current_) + ", " + source_line(code) + ": " + *wrong)));
  }
}

void Block::copy_async(const AsyncCopies::Copy& copy, Site site) {
  if (reinterpret_cast<std::uintptr_t>(copy.destination) % copy.bytes != 0 ||
      reinterpret_cast<std::uintptr_t>(copy.source) % copy.bytes != 0) {
    fail("an asynchronous copy of " + std::to_string(copy.bytes) + " bytes is not aligned to them", site);
  }
  if (watch_ == Watch::checks) {
    if (const auto wrong = checker_->copy_starts(current_, copy.destination, copy.source, copy.bytes)) {
      fail("an asynchronous copy " + *wrong, site);
    }
  } else if (watch_ == Watch::counts) {
    counter_->copy(current_, copy.destination, copy.source, copy.bytes, site);
  } else if (watch_ == Watch::first_reads && copy.source != nullptr && first_reads_->read(copy.source)) {
    stop_here();
  }
  copies_[current_].start(copy);
}

void Block::wait_for_copies(unsigned pending) {
  copies_[current_].wait(pending, [this](const AsyncCopies::Copy& copy) { check_copy_arrives(copy, false); });
  if (watch_ == Watch::checks && pending == 0) {
    checker_->clocks().acquire_copies(current_);
  }
}

void Block::check_copy_arrives(const AsyncCopies::Copy& copy, bool at_mbarrier) {
  if (watch_ == Watch::checks) {
    if (const auto wrong = checker_->copy_arrives(current_, copy.destination, copy.bytes, at_mbarrier)) {
      throw Error(place_of(current_) + ": an asynchronous copy that arrives " + *wrong);
    }
  }
}

void Block::meet(const List& list) {
  if (watch_ == Watch::counts && list.size + 1 == threads_) {
    counter_->meet();
  }
  if (watch_ != Watch::checks) {
    return;
  }
  gather(list);
  meeting_.push_back(current_);
  checker_->join(meeting_);
}

void Block::gather(const List& list) {
  meeting_.clear();
  Number number = list.first;
  for (unsigned i = 0; i < list.size; ++i, number = next_[number]) {
    meeting_.push_back(number);
  }
}

void Block::append(List& list, Number number) {
  (list.size == 0 ? list.first : next_[list.last]) = number;
  list.last = number;
  ++list.size;
}

void Block::append(List& list, List& other) {
  if (other.size == 0) {
    return;
  }
  (list.size == 0 ? list.first : next_[list.last]) = other.first;
  list.last = other.last;
  list.size += other.size;
  other.size = 0;
}

Block::Number Block::take_ready() {
  if (ready_.size == 0) {
    return MAIN;
  }
  const Number number = ready_.first;
  ready_.first = next_[number];
  --ready_.size;
  return number;
}

void Block::wait() {
  switch_to(take_ready());
  if (abandoning_) {
    throw Abandoned{};
  }
}

void Block::switch_to(Number number) {
  const Number self = current_;
  if (number == self) {
    return;
  }
  previous_ = self;
  current_ = number;
  if (number != MAIN && !quitting_) {
    const Index3& position = positions_[number];
    threadIdx = {position.x, position.y, position.z};
  }
  void* const frames = depart(number);
  Fiber from = std::move(fibers_[number]).resume();
  arrive(frames);
  if (quitting_ && self == MAIN) {
    current_ = MAIN;  // the fiber is gone
    return;
  }
  fibers_[previous_] = std::move(from);
}

// AddressSanitizer wants to know of every change of stacks.

void* Block::depart([[maybe_unused]] Number number) const {
  void* frames = nullptr;
#ifdef __SANITIZE_ADDRESS__
  if (number == MAIN) {
    __sanitizer_start_switch_fiber(quitting_ ? nullptr : &frames, main_stack_, main_stack_size_);
  } else {
    const boost::context::stack_context stack = stacks_[number];
    __sanitizer_start_switch_fiber(&frames, static_cast<std::byte*>(stack.sp) - stack.size, stack.size);
  }
#endif
  return frames;
}

void Block::arrive([[maybe_unused]] void* frames) {
#ifdef __SANITIZE_ADDRESS__
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(frames, &bottom, &size);
  if (previous_ == MAIN) {
    main_stack_ = bottom;
    main_stack_size_ = size;
  }
#endif
}

void Block::refuse_barrier(unsigned id, unsigned threads, Site site) const {
  // __syncthreads takes blocks that are no whole warps; PTX counts those warps as whole.
  const bool of_block = id == 0 && threads == threads_;
  if (!of_block && (id >= BARRIERS || threads == 0 || threads % WARP != 0)) {
    fail("a barrier takes a number from 0 to 15 and a multiple of 32 threads, not " + std::to_string(id) + " and " +
             std::to_string(threads),
         site);
  }
  const Barrier& barrier = barriers_[id];
  if (barrier.size() > 0 && barrier.expected != threads) {
    const Number other = barrier.waiting.size > 0 ? barrier.waiting.first : barrier.arriver;
    fail("barrier " + std::to_string(id) + " is for " + std::to_string(threads) + " threads here and for " +
             std::to_string(barrier.expected) + " in thread " + to_string(positions_[other]),
         site);
  }
}

void Block::barrier(unsigned id, unsigned threads, Site site) {
  if (id >= BARRIERS || threads == 0 || threads % WARP != 0 || barriers_[id].expected != threads) {
    refuse_barrier(id, threads, site);
  }
  Barrier& barrier = barriers_[id];
  barrier.expected = threads;
  if (watch_ == Watch::counts) {
    counter_->arrive(current_, true);
  }
  if (barrier.size() + 1 == threads) {
    meet(barrier.waiting);
    complete(barrier);
    return;
  }
  append(barrier.waiting, current_);
  Thread& thread = state_[current_];
  thread.wait = Wait::barrier;
  thread.barrier = static_cast<std::uint8_t>(id);
  thread.site = site;
  wait();
  thread.wait = Wait::nothing;
}

void Block::barrier_arrive(unsigned id, unsigned threads, Site site) {
  if (id >= BARRIERS || threads == 0 || threads % WARP != 0 || barriers_[id].expected != threads) {
    refuse_barrier(id, threads, site);
  }
  Barrier& barrier = barriers_[id];
  barrier.expected = threads;
  barrier.arriver = current_;
  ++barrier.arrived;
  if (watch_ == Watch::checks) {
    checker_->clocks().release(current_, barrier.passed_on);
  }
  if (watch_ == Watch::counts) {
    // As at mbarriers, whose addresses are multiples of 8, lanes go on one by one.
    counter_->wait(current_, id * 8 + 1, barrier.phase);
  }
  if (barrier.size() == threads) {
    if (watch_ == Watch::checks) {
      gather(barrier.waiting);
      checker_->join(meeting_);
    }
    complete(barrier);
  }
}

void Block::complete(Barrier& barrier) {
  if (!barrier.passed_on.empty()) {
    checker_->clocks().acquire(meeting_, barrier.passed_on);
    barrier.passed_on.clear();
  }
  if (watch_ == Watch::counts && barrier.arrived > 0) {
    counter_->meet();
  }
  ++barrier.phase;
  barrier.arrived = 0;
  append(ready_, barrier.waiting);
}

bool Block::warp_barrier(unsigned mask, Site site) {
  const Number first = static_cast<Number>(current_ / WARP * WARP);
  const unsigned lanes = std::min(threads_ - first, WARP);
  const unsigned existing = lanes == WARP ? ALL_LANES : (1U << lanes) - 1U;
  const unsigned own = 1U << (current_ - first);
  if ((mask & own) == 0) {
    fail("the mask of a warp-level operation leaves out the lane that calls it", site);
  }
  const unsigned others = mask & existing & ~own;
  if (watch_ == Watch::counts) {
    counter_->arrive(current_, false);
  }
  Warp& warp = warps_[current_ / WARP];
  bool complete = (warp.waiting & others) == others;
  for (unsigned left = others; complete && left != 0; left &= left - 1) {
    complete = state_[first + static_cast<unsigned>(std::countr_zero(left))].mask == mask;
  }
  if (complete) {
    warp.waiting &= ~others;
    List lanes_waiting;
    for (unsigned left = others; left != 0; left &= left - 1) {
      append(lanes_waiting, static_cast<Number>(first + std::countr_zero(left)));
    }
    meet(lanes_waiting);
    append(ready_, lanes_waiting);
    return true;
  }
  Thread& thread = state_[current_];
  thread.wait = Wait::warp_barrier;
  thread.mask = mask;
  thread.site = site;
  warp.waiting |= own;
  wait();
  thread.wait = Wait::nothing;
  return false;
}

std::uint64_t Block::exchange(unsigned mask, std::uint64_t value, unsigned source, Site site) {
  Warp& warp = warps_[current_ / WARP];
  if ((mask >> source & 1U) == 0) {
    fail("a shuffle reads lane " + std::to_string(source) + ", which its mask leaves out", site);
  }
  warp.given[lane()] = value;
  warp_barrier(mask, site);
  const std::uint64_t result = warp.given[source];
  warp_barrier(mask, site);
  return result;
}

void Block::mma(const MmaOperands& operands, const float (&c)[4], float (&d)[4], Site site) {
  if (current_ / WARP * WARP + WARP > threads_) {
    fail("tensor cores take whole warps of 32 threads", site);
  }
  Warp& warp = warps_[current_ / WARP];
  warp.operands[lane()] = operands;
  warp_barrier(ALL_LANES, site);
  multiply_tf32(warp.operands, lane(), c, d);
  warp_barrier(ALL_LANES, site);
}

void Block::wgmma(HalfFormat format, WgmmaD& d, unsigned a, unsigned b, bool accumulate, Site site) {
  if (current_ / WARPGROUP * WARPGROUP + WARPGROUP > threads_) {
    fail("wgmma takes whole warpgroups of 128 threads", site);
  }
  for (const unsigned operand : {a, b}) {
    const unsigned in_tile = operand % WGMMA_ALIGNMENT;
    if (in_tile >= WGMMA_ROW_BYTES || in_tile % (WGMMA_PIECES_OF_ROW * WGMMA_PIECE) != 0) {
      std::ostringstream text;
      text << "wgmma takes tiles that are aligned to eight rows of " << WGMMA_ROW_BYTES
           << " bytes, and in them a multiple of 32 bytes, not shared address 0x" << std::hex << operand;
      fail(text.str(), site);
    }
  }
  Warp& warp = warps_[current_ / WARP];
  warp.wgmma[lane()] = {format, a, b, accumulate, state_[current_].wgmma_groups + 1};
  warp.wgmma_d[lane()] = &d;
  if (warp_barrier(ALL_LANES, site)) {
    multiply(warp, site);
  }
}

void Block::multiply(Warp& warp, Site site) {
  const WgmmaGiven& given = warp.wgmma.front();
  if (std::ranges::count(warp.wgmma, given) != WARP) {
    fail("the lanes of a warp take different operands or groups for one wgmma", site);
  }
  const unsigned warp_of_group = current_ % WARPGROUP / WARP;
  const unsigned rows_of_warp = given.a + warp_of_group * WGMMA_ROWS_OF_WARP * WGMMA_ROW_BYTES;
  if (watch_ == Watch::checks) {
    check_product_reads(rows_of_warp, WGMMA_ROWS_OF_WARP, given.group, site);
    check_product_reads(given.b, WGMMA_COLUMNS, given.group, site);
  }
  for (const std::uint64_t part :
       {std::uint64_t{given.a}, std::uint64_t{given.b}, std::uint64_t{given.group}, std::uint64_t{given.accumulate}}) {
    constexpr std::uint64_t FNV = 0x100000001B3U;
    warp.all_given = (warp.all_given + part + 1) * FNV;
  }
  Product& product = product_of(warp, site);
  if (!given.accumulate) {
    product.rows = {};
  }
  product.group = given.group;
  multiply_half(given.format, rows_of_warp, given.b, dynamic_memory, product.rows);
}

void Block::check_product_reads(unsigned operand, unsigned rows, std::uint32_t group, Site site) {
  const Use read{checker_->clocks().products_of(current_), group};
  for (unsigned piece = 0; piece < rows * WGMMA_PIECES_OF_ROW; ++piece) {
    const std::byte* const at = in_shared_memory(address_of_piece(operand, piece));
    if (const auto wrong = checker_->product_reads(current_, {at, WGMMA_PIECE, false, true}, read)) {
      fail("wgmma " + *wrong, site);
    }
  }
}

Block::Product& Block::product_of(Warp& warp, Site site) {
  const auto known =
      std::ranges::find_if(warp.products, [&](const Product& p) { return p.lanes != 0 && p.parts == warp.wgmma_d; });
  if (known != warp.products.end()) {
    if (known->lanes != ALL_LANES) {
      fail("wgmma goes on with registers that only some lanes of the warp have waited for", site);
    }
    return *known;
  }
  const auto free = std::ranges::find(warp.products, 0U, &Product::lanes);
  Product& product = free != warp.products.end() ? *free : warp.products.emplace_back();
  product.lanes = ALL_LANES;
  product.parts = warp.wgmma_d;
  for (unsigned lane = 0; lane < WARP; ++lane) {
    put_part(product.rows, lane, *product.parts[lane]);
    std::memcpy(product.parts[lane], UNTOUCHED.data(), sizeof(WgmmaD));
  }
  return product;
}

void Block::wgmma_wait(unsigned pending, WgmmaD& d, Site site) {
  const std::uint32_t committed = state_[current_].wgmma_groups;
  const std::uint32_t ended = committed - std::min(pending, committed);
  for (Product& product : warps_[current_ / WARP].products) {
    if ((product.lanes >> lane() & 1U) != 0 && product.group <= ended && product.parts[lane()] == &d) {
      if (std::memcmp(d, UNTOUCHED.data(), sizeof d) != 0) {
        fail("the kernel writes to registers of a wgmma that it has not waited for", site);
      }
      take_part(product.rows, lane(), d);
      product.lanes &= ~(1U << lane());
    }
  }
  if (watch_ == Watch::checks) {
    checker_->clocks().learn(current_, {checker_->clocks().products_of(current_), ended});
  }
}

void Block::give_way() {
  append(ready_, current_);
  wait();
}

Block::Mbarrier* Block::find_mbarrier(unsigned address) {
  const auto found = std::ranges::find(mbarriers_, address, &Mbarrier::address);
  return found == mbarriers_.end() ? nullptr : &*found;
}

void Block::check_mbarrier(unsigned address, bool init, Site site) {
  constexpr unsigned ALIGNMENT = 8;
  if (address % ALIGNMENT != 0) {
    fail(name_of_mbarrier(address) + " is not aligned to " + std::to_string(ALIGNMENT) + " bytes", site);
  }
  if ((find_mbarrier(address) != nullptr) == init) {
    fail(name_of_mbarrier(address) + (init ? " is in use already" : " was never initialised"), site);
  }
  if (watch_ == Watch::checks) {
    if (const auto wrong = checker_->mbarrier(current_, in_shared_memory(address), init)) {
      fail("an operation on an mbarrier " + *wrong, site);
    }
  }
}

Block::Mbarrier& Block::mbarrier(unsigned address, Site site) {
  check_mbarrier(address, false, site);
  return *find_mbarrier(address);
}

void Block::mbarrier_init(unsigned address, unsigned arrivals, Site site) {
  if (arrivals == 0 || arrivals > MOST_OF_MBARRIER) {
    fail("an mbarrier takes 1 to " + std::to_string(MOST_OF_MBARRIER) + " arrivals, not " + std::to_string(arrivals),
         site);
  }
  check_mbarrier(address, true, site);
  if (watch_ == Watch::counts) {
    counter_->use_mbarrier(in_shared_memory(address));
  }
  const ThreadNumber copies = watch_ == Watch::checks ? checker_->clocks().add() : ThreadNumber{0};
  mbarriers_.push_back({address, arrivals, arrivals, 0, 0, {}, copies, {}, {}});
}

void Block::mbarrier_arrive(unsigned address, Site site) {
  Mbarrier& at = mbarrier(address, site);
  if (watch_ == Watch::checks) {
    checker_->clocks().release(current_, at.arrived);
  }
  arrive_at(at, site);
}

void Block::mbarrier_arrive_after_copies(unsigned address, Site site) {
  Mbarrier& at = mbarrier(address, site);
  copies_[current_].arrive_all([this](const AsyncCopies::Copy& copy) { check_copy_arrives(copy, true); });
  if (watch_ == Watch::checks) {
    checker_->clocks().release_copies(current_, at.arrived);
  }
  arrive_at(at, site);
}

void Block::mbarrier_arrive_expecting(unsigned address, unsigned bytes, Site site) {
  if (bytes > MOST_OF_MBARRIER) {
    fail("an mbarrier expects at most " + std::to_string(MOST_OF_MBARRIER) + " bytes, not " + std::to_string(bytes),
         site);
  }
  mbarrier(address, site).missing += bytes;
  mbarrier_arrive(address, site);
}

void Block::bulk_copy(unsigned destination, const void* source, unsigned bytes, unsigned address, Site site) {
  constexpr unsigned UNIT = 16;
  if ((destination | reinterpret_cast<std::uintptr_t>(source) | bytes) % UNIT != 0) {
    std::ostringstream text;
    text << "a bulk copy takes addresses and a size that are multiples of " << UNIT << ", not " << bytes
         << " bytes from " << source << " to shared address 0x" << std::hex << destination;
    fail(text.str(), site);
  }
  Mbarrier& at = mbarrier(address, site);
  std::byte* const to = in_shared_memory(destination);
  if (watch_ == Watch::checks) {
    // Arriving there is all that it does for others: nobody learns of what else the thread did.
    const Use copy{at.copies, static_cast<std::uint32_t>(at.phase + 1)};
    if (const auto wrong = checker_->bulk_copy(current_, to, source, bytes, copy)) {
      fail("a bulk copy " + *wrong, site);
    }
    checker_->clocks().pass_on(copy, at.arrived);
  } else if (watch_ == Watch::counts) {
    counter_->bulk_copy(current_, to, source, bytes, site);
  } else if (watch_ == Watch::first_reads && first_reads_->read(source)) {
    stop_here();
  }
  std::memcpy(to, source, bytes);
  at.missing -= bytes;
  end_phase_if_complete(at, site);
}

void Block::arrive_at(Mbarrier& mbarrier, Site site) {
  if (mbarrier.pending == 0) {
    fail(name_of_mbarrier(mbarrier.address) + " gets one arrival more than a phase takes: bytes are missing yet", site);
  }
  --mbarrier.pending;
  end_phase_if_complete(mbarrier, site);
}

void Block::end_phase_if_complete(Mbarrier& mbarrier, Site site) {
  if (mbarrier.pending > 0 || mbarrier.missing > 0) {
    return;
  }
  if (mbarrier.missing < 0) {
    fail(name_of_mbarrier(mbarrier.address) + " gets " + std::to_string(-mbarrier.missing) +
             " bytes more than its phase " + std::to_string(mbarrier.phase) + " expects",
         site);
  }
  mbarrier.pending = mbarrier.expected;
  ++mbarrier.phase;
  if (watch_ == Watch::counts) {
    counter_->meet();
  } else if (watch_ == Watch::checks) {
    mbarrier.ended = mbarrier.arrived;
    gather(mbarrier.waiting);
    checker_->clocks().acquire(meeting_, mbarrier.ended);
  }
  append(ready_, mbarrier.waiting);
}

void Block::mbarrier_wait(unsigned address, unsigned parity, Site site) {
  if (parity > 1) {
    fail("the parity of a phase is 0 or 1, not " + std::to_string(parity), site);
  }
  Mbarrier& at = mbarrier(address, site);
  const bool ended = at.phase % 2 != parity;
  if (watch_ == Watch::counts) {
    counter_->wait(current_, address, ended ? at.phase - 1 : at.phase);
  }
  if (ended) {
    if (watch_ == Watch::checks) {
      checker_->clocks().acquire({&current_, 1}, at.ended);
    }
    return;
  }
  append(at.waiting, current_);
  Thread& thread = state_[current_];
  thread.wait = Wait::mbarrier;
  thread.mbarrier = address;
  thread.site = site;
  wait();
  thread.wait = Wait::nothing;
}

std::string Block::place_of(Number number) const {
  return "block " + to_string(block_) + ", thread " + to_string(positions_[number]);
}

void Block::fail(const std::string& what, Site site) const {
  throw Error(place_of(current_) + ", " + to_string(site) + ": " + what);
}

std::string Block::describe_stuck() const {
  const auto numbers = [this](auto which) {
    std::vector<Number> found;
    for (Number number = 0; number < threads_; ++number) {
      if (which(number)) {
        found.push_back(number);
      }
    }
    return found;
  };
  const Number stuck = numbers([&](Number number) { return !state_[number].finished; }).front();
  const Thread& waiting = state_[stuck];
  std::ostringstream text;
  text << place_of(stuck) << ", " << to_string(waiting.site) << ": waits for ever at ";
  std::vector<Number> missing;
  if (waiting.wait == Wait::barrier) {
    const Barrier& barrier = barriers_[waiting.barrier];
    text << "barrier " << unsigned{waiting.barrier} << ", which " << barrier.size() << " of " << barrier.expected
         << " threads reach";
    missing = numbers([&](Number number) {
      const Thread& other = state_[number];
      return other.finished || other.wait != Wait::barrier || other.barrier != waiting.barrier;
    });
  } else if (waiting.wait == Wait::mbarrier) {
    const Mbarrier& mbarrier = *std::ranges::find(mbarriers_, waiting.mbarrier, &Mbarrier::address);
    text << name_of_mbarrier(waiting.mbarrier) << ", to whose phase " << mbarrier.phase << " only "
         << mbarrier.expected - mbarrier.pending << " of " << mbarrier.expected << " arrivals have come";
    if (mbarrier.missing > 0) {
      text << " and " << mbarrier.missing << " bytes are missing that it expects";
    } else if (mbarrier.missing < 0) {
      text << " and " << -mbarrier.missing << " bytes more than it expects so far";
    }
    missing = numbers([&](Number number) {
      const Thread& other = state_[number];
      return other.finished || other.wait != Wait::mbarrier || other.mbarrier != waiting.mbarrier;
    });
  } else {
    text << "a warp-level operation that not all lanes of its mask reach";
    missing = numbers([&](Number number) {
      const Thread& other = state_[number];
      const bool needed = number / WARP == stuck / WARP && (waiting.mask >> number % WARP & 1U) != 0;
      return needed && (other.finished || other.wait != Wait::warp_barrier || other.mask != waiting.mask);
    });
  }
  if (!missing.empty()) {
    const Thread& other = state_[missing.front()];
    text << "; thread " << to_string(positions_[missing.front()])
         << (other.finished ? " has finished" : " waits at " + to_string(other.site));
  }
  return text.str();
}

// ---- thread.hpp ----

void barrier(unsigned id, unsigned threads, Site site) {
  const InExecutor in_executor;
  here().barrier(id, threads, site);
}

void block_barrier(Site site) {
  const InExecutor in_executor;
  here().block_barrier(site);
}

void barrier_arrive(unsigned id, unsigned threads, Site site) {
  const InExecutor in_executor;
  here().barrier_arrive(id, threads, site);
}

void warp_barrier(unsigned mask, Site site) {
  const InExecutor in_executor;
  here().warp_barrier(mask, site);
}

void give_way() {
  const InExecutor in_executor;
  here().give_way();
}

std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned source, Site site) {
  const InExecutor in_executor;
  return here().exchange(mask, value, source, site);
}

void mma(const MmaOperands& operands, const float (&c)[4], float (&d)[4], Site site) {
  const InExecutor in_executor;
  here().mma(operands, c, d, site);
}

void wgmma(HalfFormat format, WgmmaD& d, unsigned a, unsigned b, bool accumulate, Site site) {
  const InExecutor in_executor;
  here().wgmma(format, d, a, b, accumulate, site);
}

/// Registers are given to a product when it starts: there is nothing to order.
void wgmma_fence(Site) {}

void wgmma_commit(Site) {
  const InExecutor in_executor;
  here().wgmma_commit();
}

void wgmma_wait(unsigned pending, WgmmaD& d, Site site) {
  const InExecutor in_executor;
  here().wgmma_wait(pending, d, site);
}

unsigned lane() { return here().lane(); }

void* dynamic_shared_memory() { return dynamic_memory; }

unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(static_cast<const std::byte*>(pointer) - dynamic_memory);
}

void copy_async(unsigned destination, const void* source, unsigned bytes, Site site) {
  const InExecutor in_executor;
  here().copy_async({in_shared_memory(destination), source, bytes}, site);
}

void commit_copies() {
  const InExecutor in_executor;
  here().commit_copies();
}

void wait_for_copies(unsigned pending) {
  const InExecutor in_executor;
  here().wait_for_copies(pending);
}

void mbarrier_init(unsigned address, unsigned arrivals, Site site) {
  const InExecutor in_executor;
  here().mbarrier_init(address, arrivals, site);
}

void mbarrier_arrive(unsigned address, Site site) {
  const InExecutor in_executor;
  here().mbarrier_arrive(address, site);
}

void mbarrier_arrive_after_copies(unsigned address, Site site) {
  const InExecutor in_executor;
  here().mbarrier_arrive_after_copies(address, site);
}

void mbarrier_wait(unsigned address, unsigned parity, Site site) {
  const InExecutor in_executor;
  here().mbarrier_wait(address, parity, site);
}

void mbarrier_arrive_expecting(unsigned address, unsigned bytes, Site site) {
  const InExecutor in_executor;
  here().mbarrier_arrive_expecting(address, bytes, site);
}

void bulk_copy(unsigned destination, const void* source, unsigned bytes, unsigned mbarrier, Site site) {
  const InExecutor in_executor;
  here().bulk_copy(destination, source, bytes, mbarrier, site);
}

void raise_flag(unsigned* flag) {
  const InExecutor in_executor;
  std::atomic_ref(*flag).store(1, std::memory_order_release);
}

void wait_for_flag(unsigned* flag) {
  const InExecutor in_executor;
  const std::atomic_ref raised(*flag);
  while (raised.load(std::memory_order_acquire) == 0) {
    if (launch_ends()) {
      throw Stopped("a block waits for another one, which has not finished");
    }
    here().give_way();
    std::this_thread::yield();
  }
  raised.store(0, std::memory_order_relaxed);
}

void not_supported(const std::string& what) { throw NotSupported("the executor does not model " + what); }

}  // namespace simt
