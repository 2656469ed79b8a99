#include "check/checker.hpp"

#include "core/program.hpp"
#include "core/shared_memory.hpp"

#include <algorithm>
#include <sstream>

namespace simt {
namespace {

constexpr std::size_t WORD = 4;
constexpr unsigned MBARRIER_BYTES = 8;

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
    indices = '[' + std::to_string(index) + ']' + indices;
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

/// The position that has `number` among those of `extents`, x running fastest.
std::string position_text(std::uint64_t number, const Index3& extents) {
  const std::uint64_t row = number / extents.x;
  std::ostringstream text;
  text << '(' << number % extents.x << ',' << row % extents.y << ',' << row / extents.y << ')';
  return text.str();
}

}  // namespace

BlockChecker::BlockChecker()
    : variables_(SharedVariables::of_program()),
      shared_(Program::find().thread_local_data),
      dynamic_begin_(static_cast<std::size_t>(in_shared_memory(0) - shared_)),
      words_(variables_.bytes() / WORD),
      bytes_(zeroed_table<Word>(words_.size() * WORD)) {}

void BlockChecker::begin(const Launch& launch, std::uint64_t block) {
  dynamic_bytes_ = launch.dynamic_smem;
  grid_extents_ = launch.grid;
  block_extents_ = launch.block;
  block_ = block;
  ++generation_;
  clocks_.begin(std::size_t{launch.block.x} * launch.block.y * launch.block.z);
  std::ranges::for_each(passed_on_, &Clocks::Clock::clear);
  mbarriers_.clear();
}

Complaint BlockChecker::access(ThreadNumber thread, const Access& access, const void* code) {
  CheckedArrays::current()->observe();
  unwritten_ = false;
  if (access.aligned && reinterpret_cast<std::uintptr_t>(access.address) % access.bytes != 0) {
    return describe(access) + ", which is not aligned to them";
  }
  const auto offset = static_cast<std::size_t>(access.address - shared_);
  return offset < variables_.bytes() ? access_shared(thread, access, By::code, code)
                                     : access_global(thread, access, code);
}

// ---- Order ----

void BlockChecker::meet(const Threads& threads) {
  threads.copy_to(meeting_);
  clocks_.join(meeting_);
}

void BlockChecker::arrive_without_waiting(ThreadNumber thread, unsigned barrier, std::uint64_t /*phase*/) {
  clocks_.release(thread, passed_on_[barrier]);
}

void BlockChecker::complete(unsigned barrier, const Threads& waiting, bool /*others*/) {
  meet(waiting);
  clocks_.acquire(meeting_, passed_on_[barrier]);
  passed_on_[barrier].clear();
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
  Clocks::Clock& arrived = mbarriers_.at(address).arrived;
  copies ? clocks_.release_copies(thread, arrived) : clocks_.release(thread, arrived);
}

void BlockChecker::mbarrier_complete(unsigned address, const Threads& waiting) {
  MbarrierClocks& clocks = mbarriers_.at(address);
  clocks.ended = clocks.arrived;
  waiting.copy_to(meeting_);
  clocks_.acquire(meeting_, clocks.ended);
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
      word.written = {copies, clocks_.now(copies)};
    }
  }
  return {};
}

Complaint BlockChecker::bulk_copy(ThreadNumber thread, const Copy& copy, const Phase& phase, Site /*site*/) {
  if (Complaint wrong = access_global(thread, {static_cast<const std::byte*>(copy.source), copy.bytes, false, true})) {
    return wrong;
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

BlockChecker::Word& BlockChecker::word_at(const std::byte* address) {
  return words_[static_cast<std::size_t>(address - shared_) / WORD];
}

std::string BlockChecker::thread_text(ThreadNumber thread) const {
  return "thread " + position_text(clocks_.thread_of(thread), block_extents_);
}

std::string BlockChecker::block_text(std::uint64_t block) const {
  return "block " + position_text(block, grid_extents_);
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
      what = variable != nullptr && begin >= first ? describe(access, place_text(begin, *variable)) : describe(access);
    }
  };
  for (const PlacedVariable& placed : placed_variables()) {
    consider(placed.begin, placed.variable->bytes, std::string("shared ") + placed.variable->name, &placed);
  }
  if (dynamic_bytes_ > 0) {
    consider(in_shared_memory(0), dynamic_bytes_,
             "the " + std::to_string(dynamic_bytes_) + " bytes of dynamic shared memory", nullptr);
  }
  return what + ", outside of shared memory" + text;
}

std::string BlockChecker::unordered_text(const Use& earlier, const void* code, bool write) const {
  if (clocks_.is_added(earlier.thread)) {
    return "a bulk copy wrote, and no wait for its mbarrier lies in between";
  }
  if (clocks_.is_of_products(earlier.thread)) {
    return "wgmma reads in warp " + std::to_string(earlier.thread - clocks_.products_of(0)) +
           ", and no wait for it lies in between";
  }
  return thread_text(earlier.thread) + (write ? " wrote" : " read") + ", and no barrier lies in between" +
         code_text(code, write);
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
    Word& word = words_[offset / WORD];
    if (word.block != generation_) {
      word = {};
      word.block = generation_;
    }
    const std::size_t end_in_word = std::min(end, (offset / WORD + 1) * WORD);
    const bool whole = end_in_word - offset == WORD;
    if (whole && !word.in_bytes) {
      if (Complaint wrong = use_word(word, thread, access, by, use, code)) {
        return wrong;
      }
      continue;
    }
    Word* const bytes = &bytes_[offset / WORD * WORD];
    if (!word.in_bytes) {
      std::fill_n(bytes, WORD, word);
      word.in_bytes = true;
    }
    for (std::size_t byte = offset; byte < end_in_word; ++byte) {
      if (Complaint wrong = use_word(bytes[byte % WORD], thread, access, by, use, code)) {
        return wrong;
      }
    }
    if (whole && access.write) {
      word = bytes[0];
    }
  }
  return std::nullopt;
}

Complaint BlockChecker::use_word(Word& word, ThreadNumber thread, const Access& access, By by, const Use& use,
                                 const void* code) {
  if (word.mbarrier && by != By::mbarrier) {
    return describe_shared(access) + ", which an mbarrier is kept in";
  }
  if (word.copying && by != By::copy) {
    return describe_shared(access) + ", to which an asynchronous copy of " + thread_text(word.written.thread) +
           " is under way: it has not been waited for";
  }
  if ((!access.write || access.atomic) && word.written.when == 0) {
    unwritten_ = true;
    word.first_read = use;
    word.first_read_by = code;
    return describe_shared(access) + ", which nobody has written";
  }
  if (unordered(word.written, thread) && !(access.atomic && word.atomically)) {
    return describe_shared(access) + ", which " + unordered_text(word.written, word.written_by, true);
  }
  // A thread that writes and then adds atomically does not order its write before what others add.
  if (access.atomic && unordered(word.written_plainly, thread)) {
    return describe_shared(access) + ", which " + unordered_text(word.written_plainly, word.written_plainly_by, true);
  }
  if (!access.write) {
    word.last_read = use;
    word.last_read_by = code;
    if (word.first_read.when == 0) {
      word.first_read = use;
      word.first_read_by = code;
    }
    return std::nullopt;
  }
  if (unordered(word.first_read, thread)) {
    const bool too_early = word.written.when == 0 && word.first_read_by != nullptr && code != nullptr;
    return describe_shared(access) + ", which " + unordered_text(word.first_read, word.first_read_by, false) +
           (too_early ? ", before it was written: a barrier is missing between " + line_text(code) + " and " +
                            line_text(word.first_read_by)
                      : "");
  }
  if (unordered(word.last_read, thread)) {
    return describe_shared(access) + ", which " + unordered_text(word.last_read, word.last_read_by, false);
  }
  word.written = use;
  word.written_by = code;
  word.atomically = access.atomic;
  if (!access.atomic) {
    word.written_plainly = use;
    word.written_plainly_by = code;
  }
  word.first_read = {};
  word.last_read = {};
  return std::nullopt;
}

Complaint BlockChecker::access_global(ThreadNumber thread, const Access& access, const void* code) {
  // A word's last writer: whether by an atomic operation, the block's number, the thread's, its time.
  constexpr unsigned THREAD_BITS = 10;
  constexpr unsigned TIME_BITS = 22;
  constexpr std::uint64_t ATOMIC = std::uint64_t{1} << 63U;
  // What is wrong with this access after the one of `writer`, or nothing.
  const auto after = [&](std::uint64_t writer, const std::atomic<const void*>& code_of_writer,
                         const GlobalArray& array) -> Complaint {
    const std::uint64_t block = ((writer & ~ATOMIC) >> (THREAD_BITS + TIME_BITS)) - 1;
    if (writer == 0 || (block != block_ && array.passed_between_blocks)) {
      return std::nullopt;
    }
    const auto number = static_cast<ThreadNumber>(writer >> TIME_BITS & ((1U << THREAD_BITS) - 1));
    const Use use{number, static_cast<std::uint32_t>(writer & ((1U << TIME_BITS) - 1))};
    if (block == block_ && !unordered(use, thread)) {
      return std::nullopt;
    }
    return describe(access, array) + ", which " + block_text(block) + ", " + thread_text(number) +
           (block == block_ ? " wrote, and no barrier lies in between" : " wrote, and blocks are not ordered") +
           code_text(code_of_writer.load(std::memory_order_relaxed), true);
  };
  for (const CheckedArrays::Entry& entry : CheckedArrays::current()->entries()) {
    const GlobalArray& array = entry.array;
    const auto offset = static_cast<std::size_t>(access.address - static_cast<const std::byte*>(array.begin));
    if (offset >= entry.bytes) {
      continue;
    }
    if (offset + access.bytes > entry.bytes || offset % array.stride + access.bytes > array.row_bytes) {
      return describe(access, array) + (array.rows == 1 ? ", beyond the end of " : ", beyond the end of a row of ") +
             array.name + extents_text(array);
    }
    if (access.write && !array.writable) {
      return describe(access, array) + ", which is an input";
    }
    const std::size_t end = offset + access.bytes;
    for (std::size_t unit = offset / array.unit; entry.writers && unit * array.unit < end; ++unit) {
      const std::uint64_t self = (block_ + 1) << (THREAD_BITS + TIME_BITS) | std::uint64_t{thread} << TIME_BITS |
                                 clocks_.now(thread) % (1U << TIME_BITS) | (access.atomic ? ATOMIC : 0);
      const std::uint64_t earlier = access.write ? entry.writers[unit].exchange(self, std::memory_order_relaxed)
                                                 : entry.writers[unit].load(std::memory_order_relaxed);
      if (earlier == 0 && entry.defined && !entry.defined[unit] && (!access.write || access.atomic)) {
        return describe(access, array) + ", which holds nothing before the kernel has written it";
      }
      if (!access.atomic || (earlier & ATOMIC) == 0) {
        if (Complaint wrong = after(earlier, entry.writing_code[unit], array)) {
          return wrong;
        }
      }
      // A thread that writes and then adds atomically does not order its write before what others add.
      if (access.atomic && entry.plain_writers) {
        const std::uint64_t plain = entry.plain_writers[unit].load(std::memory_order_relaxed);
        if (Complaint wrong = after(plain, entry.plain_writing_code[unit], array)) {
          return wrong;
        }
      }
      if (access.write) {
        entry.writing_code[unit].store(code, std::memory_order_relaxed);
        if (!access.atomic && entry.plain_writers) {
          entry.plain_writers[unit].store(self, std::memory_order_relaxed);
          entry.plain_writing_code[unit].store(code, std::memory_order_relaxed);
        }
      }
    }
    return std::nullopt;
  }
  return describe_outside(access, CheckedArrays::current()->entries());
}

}  // namespace simt
