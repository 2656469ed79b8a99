#include "check/checker.hpp"

#include "core/program.hpp"
#include "core/scheduler.hpp"
#include "core/shared_memory.hpp"
#include "core/workers.hpp"
#include "simt/device_memory.hpp"

#include <algorithm>
#include <sstream>

namespace simt {
namespace {

constexpr unsigned MBARRIER_BYTES = 8;
/// The clocks of a block have numbers of 16 bits. Whoever knows of more blocks is taken to know of all.
constexpr std::size_t MOST_KNOWN_BLOCKS = 50000;

std::string describe(const Access& access, const std::string& place) {
  return (access.write ? "writes " : "reads ") + std::to_string(access.bytes) + " bytes at " + place;
}

std::string describe(const Access& access) {
  std::ostringstream address;
  address << static_cast<const void*>(access.address);
  return describe(access, address.str());
}

/// "row 3, column 5 of A" or "element 5 of x", counted from the begin of the array, before which numbers are negative.
std::string place_text(const std::byte* address, const GlobalArray& array) {
  const auto offset = address - static_cast<const std::byte*>(array.begin);
  if (array.rows == 1) {
    const auto unit = static_cast<std::ptrdiff_t>(array.unit);
    const std::ptrdiff_t number = (offset >= 0 ? offset : offset - unit + 1) / unit;
    return (array.unit == 1 ? "byte " : "element ") + std::to_string(number) + " of " + array.name;
  }
  const auto stride = static_cast<std::ptrdiff_t>(array.stride);
  const std::ptrdiff_t row = (offset >= 0 ? offset : offset - stride + 1) / stride;
  const std::ptrdiff_t column = (offset - row * stride) / static_cast<std::ptrdiff_t>(array.unit);
  return "row " + std::to_string(row) + ", column " + std::to_string(column) + " of " + array.name;
}

/// "reads 4 bytes at row 3, column 5 of A".
std::string describe(const Access& access, const GlobalArray& array) {
  return describe(access, place_text(access.address, array));
}

/// "element [3][5] of shared As", of a variable of plain CUDA; "byte 0 of shared count" where it is no array.
std::string place_text(const std::byte* address, const PlacedVariable& placed) {
  const SharedVariable& variable = *placed.variable;
  const auto offset = static_cast<std::size_t>(address - placed.begin);
  std::size_t number = offset / variable.element_bytes;
  std::string indices;
  for (std::size_t i = variable.extents.size(); i-- > 0; number /= variable.extents[i]) {
    const std::size_t index = i == 0 ? number : number % variable.extents[i];
    indices = std::string("[").append(std::to_string(index)).append("]").append(indices);
  }
  return (indices.empty() ? "byte " + std::to_string(offset) : "element " + indices) + " of shared " + variable.name;
}

/// ", which has 100 rows of 70", ", which has 1000 elements".
std::string extents_text(const GlobalArray& array) {
  const std::string units = std::to_string(array.row_bytes / array.unit);
  return ", which has " + (array.rows == 1 ? units + (array.unit == 1 ? " bytes" : " elements")
                                           : std::to_string(array.rows) + " rows of " + units);
}

/// An access that no array holds, told by the array that it is next to.
std::string describe_outside(const Access& access, const std::vector<CheckedArrays::Entry>& entries) {
  constexpr std::ptrdiff_t NEXT_TO = 1 << 16;
  const GlobalArray* nearest = nullptr;
  std::ptrdiff_t least = NEXT_TO;
  for (const CheckedArrays::Entry& entry : entries) {
    const auto* const begin = static_cast<const std::byte*>(entry.array.begin);
    const std::ptrdiff_t distance = std::max(begin - access.address, access.address - (begin + entry.bytes));
    if (distance < least) {
      least = distance;
      nearest = &entry.array;
    }
  }
  if (nearest == nullptr) {
    return describe(access) + ", outside of all arrays";
  }
  return describe(access, *nearest) + extents_text(*nearest) + ": outside of all arrays";
}

/// "my.cu:12", of the instruction before `code`.
std::string line_text(const void* code) {
  const std::string line = source_line(code);
  return line.substr(0, line.find(" in "));
}

/// "; it wrote at file:line in function", of the instruction before `code`; empty where that is null.
std::string code_text(const void* code, bool write) {
  return code == nullptr ? "" : std::string("; it ") + (write ? "wrote" : "read") + " at " + source_line(code);
}

}  // namespace

BlockChecker::BlockChecker()
    : variables_(SharedVariables::of_program()),
      shared_(Program::find().thread_local_data),
      dynamic_begin_(static_cast<std::size_t>(in_shared_memory(0) - shared_)),
      uses_(variables_.bytes(), UsesOfWords::Holds::nothing) {}

void BlockChecker::begin(const Launch& launch, std::uint64_t block) {
  dynamic_bytes_ = launch.dynamic_smem;
  launch_ = launch;
  block_ = static_cast<std::uint32_t>(block);
  ++generation_;
  const std::size_t threads = std::size_t{launch.block.x} * launch.block.y * launch.block.z;
  clocks_.begin(threads);
  order_ = &CheckedArrays::current()->order();
  clocks_of_blocks_.clear();
  fenced_.clear();
  fenced_in_block_.clear();
  pending_.assign(threads, nullptr);
  std::ranges::for_each(passed_on_, &Clocks::Clock::clear);
  mbarriers_.clear();
}

Complaint BlockChecker::access(ThreadNumber thread, const Access& access, const void* code) {
  CheckedArrays::current()->observe();
  unwritten_ = false;
  learn_pending(thread);
  const bool shared = static_cast<std::size_t>(access.address - shared_) < variables_.bytes();
  if (access.aligned && reinterpret_cast<std::uintptr_t>(access.address) % access.bytes != 0) {
    const auto& arrays = CheckedArrays::current()->entries();
    const auto array = std::ranges::find_if(arrays, [&](const CheckedArrays::Entry& entry) {
      return static_cast<std::size_t>(access.address - static_cast<const std::byte*>(entry.array.begin)) < entry.bytes;
    });
    const std::string what = shared                  ? describe_shared(access)
                             : array != arrays.end() ? describe(access, array->array)
                                                     : describe(access);
    return what + ", which is not aligned to them";
  }
  return shared ? access_shared(thread, access, By::code, code) : access_global(thread, access, code);
}

// ---- Order ----

void BlockChecker::meet(Threads threads) {
  std::ranges::for_each(threads, [this](ThreadNumber thread) { learn_pending(thread); });
  clocks_.join(threads);
}

void BlockChecker::arrive_without_waiting(ThreadNumber thread, unsigned barrier, std::uint64_t /*phase*/) {
  learn_pending(thread);
  clocks_.release(thread, passed_on_[barrier]);
}

void BlockChecker::complete(unsigned barrier, Threads waiting, bool /*others*/) {
  meet(waiting);
  clocks_.acquire(waiting, passed_on_[barrier]);
  passed_on_[barrier].clear();
}

void BlockChecker::fence(ThreadNumber thread, bool of_block) {
  learn_pending(thread);
  clocks_.release(thread, fenced_in_block_);
  if (!of_block) {
    clocks_.release(thread, fenced_);
  }
}

void BlockChecker::release(ThreadNumber thread, const void* at) {
  learn_pending(thread);
  BlockOrder::Known of_others;
  for (const auto& [block, clock] : clocks_of_blocks_) {
    if (const std::uint32_t known = clocks_.known(thread, clock); known != 0) {
      of_others[block] = known;
    }
  }
  const Clocks::Clock& fenced = is_shared(at) ? fenced_in_block_ : fenced_;
  Clocks::Clock times(fenced.empty() ? 0 : pending_.size());
  const auto threads = static_cast<ThreadNumber>(times.size());
  for (ThreadNumber other = 0; other < threads; ++other) {
    times[other] = other == thread ? fenced[other] : std::min(fenced[other], clocks_.known(thread, other));
  }
  if (!of_others.empty() || std::ranges::any_of(times, [](std::uint32_t time) { return time != 0; })) {
    order_->release(at, block_, times, of_others);
  }
}

void BlockChecker::tell(ThreadNumber thread, const Access& access) {
  if (access.write) {
    release(thread, access.address);
  }
  if (!access.write || access.atomic) {
    pending_[thread] = access.address;
  }
}

void BlockChecker::acquire(ThreadNumber thread, const void* at) {
  Clocks::Clock told;
  for (const auto& [block, number] : order_->acquire(at)) {
    if (block == block_) {
      const Clocks::Clock times = order_->times_of(block, number);
      told.resize(std::max(told.size(), times.size()));
      std::copy(times.begin(), times.end(), told.begin());
    } else if (!is_shared(at) && clocks_of_blocks_.size() < MOST_KNOWN_BLOCKS) {
      const auto [clock, is_new] = clocks_of_blocks_.try_emplace(block);
      if (is_new) {
        clock->second = clocks_.add();
      }
      told.resize(std::max(told.size(), std::size_t{clock->second} + 1));
      told[clock->second] = number;
    }
  }
  clocks_.acquire({&thread, 1}, told);
}

Complaint BlockChecker::mbarrier_init(ThreadNumber thread, unsigned address) {
  if (Complaint wrong = use_mbarrier(thread, address, true)) {
    return wrong;
  }
  mbarriers_[address] = {clocks_.add(), {}, {}};
  return {};
}

Complaint BlockChecker::mbarrier_use(ThreadNumber thread, unsigned address) {
  return use_mbarrier(thread, address, false);
}

Complaint BlockChecker::use_mbarrier(ThreadNumber thread, unsigned address, bool init) {
  // Initialising counts as a write and every other use as a read. So a use without a barrier after the initialisation
  // is a race.
  const std::byte* const at = in_shared_memory(address);
  if (Complaint wrong = access_shared(thread, {at, MBARRIER_BYTES, init, true}, By::mbarrier)) {
    return wrong;
  }
  for (unsigned byte = 0; byte < MBARRIER_BYTES; byte += WORD) {
    word_at(at + byte).mbarrier = true;
  }
  return {};
}

void BlockChecker::mbarrier_arrive(ThreadNumber thread, unsigned address, bool copies) {
  learn_pending(thread);
  Clocks::Clock& arrived = mbarriers_.at(address).arrived;
  copies ? clocks_.release_copies(thread, arrived) : clocks_.release(thread, arrived);
}

void BlockChecker::mbarrier_complete(unsigned address, Threads waiting) {
  MbarrierClocks& clocks = mbarriers_.at(address);
  clocks.ended = clocks.arrived;
  clocks_.acquire(waiting, clocks.ended);
}

void BlockChecker::mbarrier_wait(ThreadNumber thread, const Phase& phase, bool ended) {
  if (ended) {
    clocks_.acquire({&thread, 1}, mbarriers_.at(phase.address).ended);
  }
}

// ---- Copies and products ----

Complaint BlockChecker::copy_starts(ThreadNumber thread, const Copy& copy, Site /*site*/) {
  if (copy.source != nullptr) {
    if (Complaint wrong =
            access_global(thread, {static_cast<const std::byte*>(copy.source), copy.bytes, false, true})) {
      return wrong;
    }
  }
  // The copy may write from now on.
  if (Complaint wrong = access_shared(thread, {copy.destination, copy.bytes, true, true}, By::code)) {
    return wrong;
  }
  for (unsigned byte = 0; byte < copy.bytes; byte += WORD) {
    word_at(copy.destination + byte).copying = true;
  }
  return {};
}

Complaint BlockChecker::copy_arrives(ThreadNumber thread, const Copy& copy, bool at_mbarrier) {
  if (Complaint wrong = access_shared(thread, {copy.destination, copy.bytes, true, true}, By::copy)) {
    return wrong;
  }
  for (unsigned byte = 0; byte < copy.bytes; byte += WORD) {
    Word& word = word_at(copy.destination + byte);
    word.copying = false;
    if (at_mbarrier) {
      const ThreadNumber copies = clocks_.copies_of(thread);
      static_cast<Use&>(word.written) = {copies, clocks_.now(copies)};
    }
  }
  return {};
}

Complaint BlockChecker::bulk_copy(ThreadNumber thread, const Copy& copy, const Phase& phase, Site /*site*/) {
  if (copy.source != nullptr) {
    if (Complaint wrong =
            access_global(thread, {static_cast<const std::byte*>(copy.source), copy.source_bytes, false, true})) {
      return wrong;
    }
  }
  // The copy's arrival tells other threads about the copy alone, and not about anything else that the thread did.
  MbarrierClocks& clocks = mbarriers_.at(phase.address);
  const Use use{clocks.copies, static_cast<std::uint32_t>(phase.number + 1)};
  if (Complaint wrong = access_shared(thread, {copy.destination, copy.bytes, true, true}, By::code, use)) {
    return wrong;
  }
  clocks_.pass_on(use, clocks.arrived);
  return {};
}

Complaint BlockChecker::product_reads(ThreadNumber thread, const std::byte* at, std::uint32_t group) {
  constexpr unsigned BYTES = 16;
  return access_shared(thread, {at, BYTES, false, true}, By::code, {clocks_.products_of(thread), group});
}

// ---- Accesses ----

std::string BlockChecker::thread_text(ThreadNumber thread) const {
  const Index3& by = launch_.block;
  const unsigned number = clocks_.thread_of(thread);
  return "thread " + to_string(Index3{number % by.x, number / by.x % by.y, number / by.x / by.y});
}

std::string BlockChecker::describe_shared(const Access& access) const {
  for (const PlacedVariable& placed : placed_variables()) {
    if (static_cast<std::size_t>(access.address - placed.begin) < placed.variable->bytes) {
      return describe(access, place_text(access.address, placed));
    }
  }
  const auto offset = static_cast<std::size_t>(access.address - shared_);
  const SharedVariables::Variable* const variable = variables_.at(offset);
  if (variable == nullptr) {
    return describe(access);
  }
  const bool dynamic = variable->name == DYNAMIC_SHARED_MEMORY;
  return describe(access, "byte " + std::to_string(offset - (dynamic ? dynamic_begin_ : variable->offset)) +
                              (dynamic ? " of " : " of shared ") + variable->name);
}

std::string BlockChecker::outside_text(const Access& access) const {
  const std::byte* const begin = access.address;
  const std::byte* const end = begin + access.bytes;
  std::ptrdiff_t least = PTRDIFF_MAX;
  std::string what = describe(access);
  std::string text;
  const auto consider = [&](const std::byte* first, std::size_t bytes, const std::string& name,
                            const PlacedVariable* variable) {
    const std::byte* const behind = first + bytes;
    const std::ptrdiff_t before = first - begin;
    const std::ptrdiff_t beyond = end - behind;
    if (const std::ptrdiff_t distance = std::max(before, beyond); distance > 0 && distance < least) {
      least = distance;
      text = ", " + std::to_string(distance) +
             (beyond > before ? " bytes beyond the end of " : " bytes before the begin of ") + name;
      what = begin < first ? describe(access)
             : variable != nullptr
                 ? describe(access, place_text(begin, *variable))
                 : describe(access, "byte " + std::to_string(begin - first) + " of dynamic shared memory");
    }
  };
  for (const PlacedVariable& placed : placed_variables()) {
    consider(placed.begin, placed.variable->bytes, std::string("shared ") + placed.variable->name, &placed);
  }
  consider(in_shared_memory(0), dynamic_bytes_,
           "the " + std::to_string(dynamic_bytes_) + " bytes of dynamic shared memory", nullptr);
  return what + ", outside of shared memory" + text;
}

std::string BlockChecker::unordered_text(const UseOfBlock& earlier, bool write, bool with_block) const {
  if (clocks_.is_added(earlier.thread)) {
    return "a bulk copy wrote, and no wait for its mbarrier lies in between";
  }
  if (clocks_.is_of_products(earlier.thread)) {
    return "wgmma reads in warp " + std::to_string(earlier.thread - clocks_.products_of(0)) +
           ", and no wait for it lies in between";
  }
  return (with_block ? "block " + to_string(position_of_block(earlier.block, launch_)) + ", " : "") +
         thread_text(earlier.thread) + (write ? " wrote, and " : " read, and ") +
         (earlier.block == block_ ? "no barrier lies in between" : "blocks are not ordered") +
         code_text(earlier.code, write);
}

bool BlockChecker::unordered(const UseOfBlock& earlier, ThreadNumber thread) const {
  if (earlier.when == 0) {
    return false;
  }
  if (earlier.block == block_) {
    return !clocks_.comes_before(earlier.thread, earlier.when, thread);
  }
  if (clocks_of_blocks_.size() == MOST_KNOWN_BLOCKS) {
    return false;
  }
  const auto clock = clocks_of_blocks_.find(earlier.block);
  const std::uint32_t known = clock == clocks_of_blocks_.end() ? 0 : clocks_.known(thread, clock->second);
  const std::uint32_t number = known == 0 ? 0 : order_->number_of(earlier.block, earlier);
  return number == 0 || number > known;
}

Complaint BlockChecker::access_shared(ThreadNumber thread, const Access& access, By by, const Use& use,
                                      const void* code) {
  const auto begin = static_cast<std::size_t>(access.address - shared_);
  const std::size_t end = begin + access.bytes;
  if (begin >= variables_.bytes() || end > variables_.bytes()) {
    return describe(access) + ", outside of shared memory";
  }
  for (std::size_t offset = begin; offset < end; offset = (offset / WORD + 1) * WORD) {
    const SharedVariables::Variable* const variable = variables_.at(offset);
    if (variable != nullptr && !variable->shared) {
      return std::nullopt;  // threadIdx and the like
    }
    const bool dynamic = variable != nullptr && variable->name == DYNAMIC_SHARED_MEMORY;
    const SharedVariable* const placed =
        variable != nullptr && variable->placed ? placed_variable_at(shared_ + offset) : nullptr;
    if (variable == nullptr || (dynamic && offset - dynamic_begin_ >= dynamic_bytes_) ||
        (variable->placed && placed == nullptr)) {
      return outside_text(access);
    }
    // A volatile word by itself is a flag. Threads do not tell one another of volatile arrays, as sums of a warp have.
    const bool strong = access.atomic || (access.strong && placed != nullptr && placed->bytes == access.bytes);
    const UseOfBlock of_block{use, block_, strong, code};
    Complaint wrong = uses_.use(offset, std::min(end, (offset / WORD + 1) * WORD), access.write, generation_,
                                [&](Word& word) { return use_word(word, thread, access, by, of_block, nullptr); });
    if (wrong) {
      return wrong;
    }
    if (strong) {
      tell(thread, access);
    }
  }
  return std::nullopt;
}

Complaint BlockChecker::use_word(Word& word, ThreadNumber thread, const Access& access, By by, const UseOfBlock& use,
                                 const GlobalArray* array) {
  const auto what = [&] { return array != nullptr ? describe(access, *array) : describe_shared(access); };
  const auto race = [&](const UseOfBlock& earlier, bool write) {
    return what() + ", which " + unordered_text(earlier, write, array != nullptr);
  };
  const auto races = [&](const UseOfBlock& earlier) {
    return !(use.strong && earlier.strong) && unordered(earlier, thread);
  };
  if (word.mbarrier && by != By::mbarrier) {
    return what() + ", which an mbarrier is kept in";
  }
  if (word.copying && by != By::copy) {
    return what() + ", to which an asynchronous copy of " + thread_text(word.written.thread) +
           " is under way: it has not been waited for";
  }
  if ((!access.write || access.atomic) && word.written.when == 0 && !word.defined) {
    if (array != nullptr) {
      return what() + ", which holds nothing before the kernel has written it";
    }
    unwritten_ = true;
    word.first_read = use;
    return what() + ", which nobody has written";
  }
  // Who comes after a strong read of what a strong write left comes after that write.
  const bool seen = word.written.strong && word.last_read.strong && !unordered(word.last_read, thread);
  if (!seen && races(word.written)) {
    const bool both_store = access.write && !access.atomic && !clocks_.is_added(word.written.thread);
    return race(word.written, true) + (both_store ? " (a race even if both values are equal)" : "");
  }
  // A thread that writes and then adds atomically does not order its write before what others add.
  if (use.strong && access.write && unordered(word.written_plainly, thread)) {
    return race(word.written_plainly, true);
  }
  if (!access.write) {
    word.last_read = use;
    if (word.first_read.when == 0) {
      word.first_read = use;
    }
    return std::nullopt;
  }
  if (races(word.first_read)) {
    const bool too_early =
        array == nullptr && word.written.when == 0 && word.first_read.code != nullptr && use.code != nullptr;
    return race(word.first_read, false) + (too_early
                                               ? ", before it was written: a barrier is missing between " +
                                                     line_text(use.code) + " and " + line_text(word.first_read.code)
                                               : "");
  }
  if (races(word.last_read)) {
    return race(word.last_read, false);
  }
  word.written = use;
  if (!use.strong) {
    word.written_plainly = use;
  }
  word.first_read = {};
  word.last_read = {};
  return std::nullopt;
}

Complaint BlockChecker::access_global(ThreadNumber thread, const Access& access, const void* code) {
  for (const CheckedArrays::Entry& entry : CheckedArrays::current()->entries()) {
    const GlobalArray& array = entry.array;
    const auto begin = static_cast<std::size_t>(access.address - static_cast<const std::byte*>(array.begin));
    if (begin >= entry.bytes) {
      continue;
    }
    const std::size_t end = begin + access.bytes;
    if (end > entry.bytes || begin % array.stride + access.bytes > array.row_bytes) {
      return describe(access, array) + (array.rows == 1 ? ", beyond the end of " : ", beyond the end of a row of ") +
             array.name + extents_text(array);
    }
    if (access.write && !array.writable) {
      return describe(access, array) + ", which is an input";
    }
    const UseOfBlock use{{thread, clocks_.now(thread)}, block_, access.strong, code};
    for (std::size_t offset = begin; entry.uses && offset < end; offset = (offset / WORD + 1) * WORD) {
      const std::lock_guard lock(entry.uses->mutex_of(offset));
      Complaint wrong = entry.uses->use(
          offset, std::min(end, (offset / WORD + 1) * WORD), access.write, CheckedArrays::current()->launch_number(),
          [&](Word& word) { return use_word(word, thread, access, By::code, use, &array); });
      if (wrong) {
        return wrong;
      }
    }
    if (access.strong) {
      tell(thread, access);
    }
    return std::nullopt;
  }
  return is_allocated(access.address, access.bytes) || is_data_of_program(access.address, access.write)
             ? std::nullopt
             : Complaint(describe_outside(access, CheckedArrays::current()->entries()));
}

}  // namespace simt
