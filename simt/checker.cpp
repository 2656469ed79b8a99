#include "checker.hpp"

#include "device_memory.hpp"
#include "program.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace simt {
namespace {

constexpr std::size_t WORD = 4;
constexpr unsigned MBARRIER_BYTES = 8;
constexpr std::string_view DYNAMIC = "simt::(anonymous namespace)::dynamic_memory";

CheckedArrays* current_arrays = nullptr;

std::string demangled(const char* name) {
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, nullptr), std::free);
  return text ? text.get() : name;
}

/// Behind the last "::" outside of brackets.
std::string last_part(const std::string& name) {
  const std::size_t at = name.rfind("::");
  return at == std::string::npos ? name : name.substr(at + 2);
}

std::string describe(const Access& access) {
  std::ostringstream text;
  text << (access.write ? "writes " : "reads ") << access.bytes << " bytes at "
       << static_cast<const void*>(access.address);
  return text.str();
}

/// The position that has `number` among those of `extents`, x running fastest.
std::string position_text(std::uint64_t number, const Index3& extents) {
  const std::uint64_t row = number / extents.x;
  std::ostringstream text;
  text << '(' << number % extents.x << ',' << row % extents.y << ',' << row / extents.y << ')';
  return text.str();
}

/// `clock` has at least as many times.
void to_later(Clocks::Clock& clock, const Clocks::Clock& other) {
  std::transform(other.begin(), other.end(), clock.begin(), clock.begin(),
                 [](std::uint32_t x, std::uint32_t y) { return std::max(x, y); });
}

}  // namespace

// ---- Clocks ----

void Clocks::begin(std::size_t threads) {
  added_ = 2 * threads + (threads + WARP - 1) / WARP;
  own_.assign(added_, 1);
  known_.assign(threads, std::make_shared<const Clock>(added_, 0));
}

ThreadNumber Clocks::add() {
  own_.push_back(1);
  std::shared_ptr<const Clock> before;
  std::shared_ptr<const Clock> after;
  for (std::shared_ptr<const Clock>& known : known_) {
    if (known != before) {
      before = known;
      const auto clock = std::make_shared<Clock>(*before);
      clock->push_back(0);
      after = clock;
    }
    known = after;
  }
  return static_cast<ThreadNumber>(own_.size() - 1);
}

void Clocks::pass_on(const Use& done, Clock& passed_on) const {
  passed_on.resize(own_.size());
  passed_on[done.thread] = std::max(passed_on[done.thread], done.when);
}

void Clocks::learn(ThreadNumber thread, const Use& done) {
  if ((*known_[thread])[done.thread] < done.when) {
    const auto clock = std::make_shared<Clock>(*known_[thread]);
    (*clock)[done.thread] = done.when;
    known_[thread] = clock;
  }
}

void Clocks::join(std::span<const ThreadNumber> threads) {
  if (threads.empty()) {
    return;
  }
  const auto joined = std::make_shared<Clock>(*known_[threads.front()]);
  const Clock* merged = known_[threads.front()].get();
  for (const ThreadNumber thread : threads) {
    if (known_[thread].get() != merged) {
      merged = known_[thread].get();
      to_later(*joined, *merged);
    }
  }
  for (const ThreadNumber thread : threads) {
    (*joined)[thread] = own_[thread]++;
  }
  for (const ThreadNumber thread : threads) {
    known_[thread] = joined;
  }
}

void Clocks::release_as(ThreadNumber number, ThreadNumber thread, Clock& passed_on) {
  passed_on.resize(own_.size());
  to_later(passed_on, *known_[thread]);
  passed_on[number] = own_[number]++;
}

void Clocks::acquire(std::span<const ThreadNumber> threads, const Clock& passed_on) {
  if (passed_on.empty()) {
    return;
  }
  std::shared_ptr<const Clock> before;
  std::shared_ptr<const Clock> after;
  for (const ThreadNumber thread : threads) {
    if (known_[thread] != before) {  // those who knew the same still do
      before = known_[thread];
      const auto clock = std::make_shared<Clock>(*before);
      to_later(*clock, passed_on);
      after = clock;
    }
    known_[thread] = after;
  }
}

void Clocks::acquire_copies(ThreadNumber thread) {
  const ThreadNumber copies = copies_of(thread);
  if ((*known_[thread])[copies] + 1 < own_[copies]) {
    const auto clock = std::make_shared<Clock>(*known_[thread]);
    (*clock)[copies] = own_[copies] - 1;
    known_[thread] = clock;
  }
}

// ---- SharedVariables ----

const SharedVariables& SharedVariables::of_program() {
  static const SharedVariables variables;
  return variables;
}

SharedVariables::SharedVariables() : words_((Program::find().thread_local_bytes + WORD - 1) / WORD) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::vector<char> image{std::istreambuf_iterator<char>(file), {}};
  const auto at = [&](std::size_t offset) { return image.data() + offset; };
  const auto& header = *reinterpret_cast<const ElfW(Ehdr)*>(image.data());
  const auto* const sections = reinterpret_cast<const ElfW(Shdr)*>(at(header.e_shoff));
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) {
      continue;
    }
    const auto* const symbols = reinterpret_cast<const ElfW(Sym)*>(at(sections[i].sh_offset));
    const char* const names = at(sections[sections[i].sh_link].sh_offset);
    for (std::size_t s = 0; s < sections[i].sh_size / sizeof(ElfW(Sym)); ++s) {
      if (ELF64_ST_TYPE(symbols[s].st_info) != STT_TLS || symbols[s].st_shndx == SHN_UNDEF) {
        continue;
      }
      const char* const name = names + symbols[s].st_name;
      const std::string text = demangled(name);
      const bool in_function = std::string_view(name).starts_with("_ZZ");
      variables_.push_back({text == DYNAMIC ? std::string(DYNAMIC_SHARED_MEMORY) : last_part(text), symbols[s].st_value,
                            symbols[s].st_size, in_function || text == DYNAMIC});
    }
  }
  if (variables_.empty()) {
    throw std::runtime_error("the program has been stripped of the symbols that tell its shared variables");
  }
  for (std::size_t index = 0; index < variables_.size(); ++index) {
    const Variable& variable = variables_[index];
    const std::size_t end = std::min((variable.offset + variable.bytes + WORD - 1) / WORD, words_.size());
    std::fill(words_.begin() + static_cast<std::ptrdiff_t>(variable.offset / WORD),
              words_.begin() + static_cast<std::ptrdiff_t>(end), static_cast<std::uint16_t>(index + 1));
  }
}

const SharedVariables::Variable* SharedVariables::at(std::size_t offset) const {
  const std::uint16_t index = words_[offset / WORD];
  return index == 0 ? nullptr : &variables_[index - 1U];
}

// ---- CheckedArrays ----

std::vector<GlobalArray> workspaces() {
  std::vector<GlobalArray> arrays;
  for (const Allocation& memory : allocations()) {
    arrays.push_back({"workspace", memory.begin, 1, memory.bytes, memory.bytes, true, true, 1});
  }
  return arrays;
}

CheckedArrays::CheckedArrays(std::vector<GlobalArray> arrays) : arrays_(arrays.size()) {
  SharedVariables::of_program();
  for (GlobalArray& array : arrays) {
    add(std::move(array));
  }
  current_arrays = this;
}

CheckedArrays::~CheckedArrays() { current_arrays = nullptr; }

CheckedArrays* CheckedArrays::current() { return current_arrays; }

void CheckedArrays::add(GlobalArray array) {
  Entry entry{std::move(array), nullptr, 0};
  if (entry.array.rows > 0) {
    entry.bytes = (entry.array.rows - 1) * entry.array.stride + entry.array.row_bytes;
  }
  if (entry.array.writable) {
    entry.writers = std::make_unique<Writer[]>(entry.units());
  }
  entries_.push_back(std::move(entry));
}

void CheckedArrays::begin_launch() {
  entries_.resize(arrays_);
  for (Entry& entry : entries_) {
    for (std::size_t unit = 0; entry.writers && unit < entry.units(); ++unit) {
      entry.writers[unit].store(0, std::memory_order_relaxed);
    }
  }
  for (GlobalArray& workspace : workspaces()) {
    add(std::move(workspace));
  }
}

// ---- BlockChecker ----

BlockChecker::BlockChecker()
    : variables_(SharedVariables::of_program()),
      shared_(Program::find().thread_local_data),
      words_(variables_.bytes() / WORD) {}

void BlockChecker::begin(const Launch& launch, std::size_t threads, std::uint64_t block) {
  dynamic_bytes_ = launch.dynamic_smem;
  grid_extents_ = launch.grid;
  block_extents_ = launch.block;
  block_ = block;
  ++generation_;
  clocks_.begin(threads);
}

std::optional<std::string> BlockChecker::access(ThreadNumber thread, const Access& access) {
  if (access.aligned && reinterpret_cast<std::uintptr_t>(access.address) % access.bytes != 0) {
    return describe(access) + ", which is not aligned to them";
  }
  const auto offset = static_cast<std::size_t>(access.address - shared_);
  return offset < variables_.bytes() ? access_shared(thread, access, By::code) : access_global(thread, access);
}

std::string BlockChecker::thread_text(ThreadNumber thread) const {
  return "thread " + position_text(clocks_.thread_of(thread), block_extents_);
}

std::string BlockChecker::block_text(std::uint64_t block) const {
  return "block " + position_text(block, grid_extents_);
}

std::string BlockChecker::unordered_text(const Use& earlier, bool write) const {
  if (clocks_.is_added(earlier.thread)) {
    return "a bulk copy wrote, and no wait for its mbarrier lies in between";
  }
  if (clocks_.is_of_products(earlier.thread)) {
    return "wgmma reads in warp " + std::to_string(earlier.thread - clocks_.products_of(0)) +
           ", and no wait for it lies in between";
  }
  return thread_text(earlier.thread) + (write ? " wrote" : " read") + ", and no barrier lies in between";
}

std::optional<std::string> BlockChecker::access_shared(ThreadNumber thread, const Access& access, By by,
                                                       const Use& use) {
  const auto begin = static_cast<std::size_t>(access.address - shared_);
  if (begin >= variables_.bytes() || begin + access.bytes > variables_.bytes()) {
    return describe(access) + ", outside of shared memory";
  }
  for (std::size_t offset = begin; offset < begin + access.bytes; offset += WORD) {
    const SharedVariables::Variable* const variable = variables_.at(offset);
    if (variable != nullptr && !variable->shared) {
      return std::nullopt;  // threadIdx and the like
    }
    const bool dynamic = variable != nullptr && variable->name == DYNAMIC_SHARED_MEMORY;
    if (variable == nullptr || (dynamic && offset - variable->offset >= dynamic_bytes_)) {
      return describe(access) + ", outside of shared memory";
    }
    Word& word = words_[offset / WORD];
    if (word.block != generation_) {
      word = {};
      word.block = generation_;
    }
    const std::string of = " of " + std::string(dynamic ? "" : "shared ") + variable->name;
    if (word.mbarrier && by != By::mbarrier) {
      return describe(access) + of + ", which an mbarrier is kept in";
    }
    if (word.copying && by != By::copy) {
      return describe(access) + of + ", to which an asynchronous copy of " + thread_text(word.written.thread) +
             " is under way: it has not been waited for";
    }
    if (!access.write && word.written.when == 0) {
      return describe(access) + of + ", which nobody has written";
    }
    if (unordered(word.written, thread)) {
      return describe(access) + of + ", which " + unordered_text(word.written, true);
    }
    if (access.write) {
      for (const Use& read : {word.first_read, word.last_read}) {
        if (unordered(read, thread)) {
          return describe(access) + of + ", which " + unordered_text(read, false);
        }
      }
      word.written = use;
      word.first_read = {};
      word.last_read = {};
    } else {
      word.last_read = use;
      if (word.first_read.when == 0) {
        word.first_read = word.last_read;
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> BlockChecker::access_global(ThreadNumber thread, const Access& access) {
  constexpr unsigned THREAD_BITS = 10;
  constexpr unsigned TIME_BITS = 22;
  for (const CheckedArrays::Entry& entry : CheckedArrays::current()->entries()) {
    const GlobalArray& array = entry.array;
    const auto offset = static_cast<std::size_t>(access.address - static_cast<const std::byte*>(array.begin));
    if (offset >= entry.bytes) {
      continue;
    }
    if (offset + access.bytes > entry.bytes || offset % array.stride + access.bytes > array.row_bytes) {
      return describe(access) + ", beyond the end of a row of " + array.name;
    }
    if (access.write && !array.writable) {
      return describe(access) + ", in " + array.name + ", which is an input";
    }
    const std::size_t end = offset + access.bytes;
    for (std::size_t unit = offset / array.unit; entry.writers && unit * array.unit < end; ++unit) {
      const std::uint64_t self = (block_ + 1) << (THREAD_BITS + TIME_BITS) | std::uint64_t{thread} << TIME_BITS |
                                 clocks_.now(thread) % (1U << TIME_BITS);
      const std::uint64_t earlier = access.write ? entry.writers[unit].exchange(self, std::memory_order_relaxed)
                                                 : entry.writers[unit].load(std::memory_order_relaxed);
      if (earlier == 0) {
        continue;
      }
      const std::uint64_t block = (earlier >> (THREAD_BITS + TIME_BITS)) - 1;
      if (block != block_ && array.passed_between_blocks) {
        continue;
      }
      const auto writer = static_cast<ThreadNumber>(earlier >> TIME_BITS & ((1U << THREAD_BITS) - 1));
      const Use use{writer, static_cast<std::uint32_t>(earlier & ((1U << TIME_BITS) - 1))};
      if (block != block_ || unordered(use, thread)) {
        return describe(access) + " of " + array.name + ", which " + block_text(block) + ", " + thread_text(writer) +
               " wrote, and no barrier lies in between";
      }
    }
    return std::nullopt;
  }
  return describe(access) + ", outside of all arrays";
}

std::optional<std::string> BlockChecker::copy_starts(ThreadNumber thread, const std::byte* to, const void* source,
                                                     unsigned bytes) {
  if (source != nullptr) {
    if (auto wrong = access_global(thread, {static_cast<const std::byte*>(source), bytes, false, true})) {
      return wrong;
    }
  }
  // It may write from now on.
  if (auto wrong = access_shared(thread, {to, bytes, true, true}, By::code)) {
    return wrong;
  }
  for (unsigned byte = 0; byte < bytes; byte += WORD) {
    words_[static_cast<std::size_t>(to + byte - shared_) / WORD].copying = true;
  }
  return std::nullopt;
}

std::optional<std::string> BlockChecker::copy_arrives(ThreadNumber thread, const std::byte* to, unsigned bytes,
                                                      bool at_mbarrier) {
  if (auto wrong = access_shared(thread, {to, bytes, true, true}, By::copy)) {
    return wrong;
  }
  for (unsigned byte = 0; byte < bytes; byte += WORD) {
    Word& word = words_[static_cast<std::size_t>(to + byte - shared_) / WORD];
    word.copying = false;
    if (at_mbarrier) {
      const ThreadNumber copies = clocks_.copies_of(thread);
      word.written = {copies, clocks_.now(copies)};
    }
  }
  return std::nullopt;
}

std::optional<std::string> BlockChecker::bulk_copy(ThreadNumber thread, const std::byte* to, const void* source,
                                                   unsigned bytes, const Use& copy) {
  if (auto wrong = access_global(thread, {static_cast<const std::byte*>(source), bytes, false, true})) {
    return wrong;
  }
  return access_shared(thread, {to, bytes, true, true}, By::code, copy);
}

std::optional<std::string> BlockChecker::mbarrier(ThreadNumber thread, const std::byte* at, bool init) {
  // Initialising counts as a write and all else as a read: what comes without a barrier after the former is a race.
  if (auto wrong = access_shared(thread, {at, MBARRIER_BYTES, init, true}, By::mbarrier)) {
    return wrong;
  }
  for (unsigned byte = 0; byte < MBARRIER_BYTES; byte += WORD) {
    words_[static_cast<std::size_t>(at + byte - shared_) / WORD].mbarrier = true;
  }
  return std::nullopt;
}

}  // namespace simt
