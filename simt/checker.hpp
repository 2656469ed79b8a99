#pragma once

// Watches what threads do with memory, for kernels that were compiled with the compiler's instrumentation.
//
// The compiler's thread sanitizer puts a call before every access; the calls land in access_callbacks.cpp instead of
// its own runtime. Every access of a kernel then goes through BlockChecker::access, which is also the place for
// whatever else wants to see them all.

#include "checked_arrays.hpp"
#include "executor.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace simt {

/// Thread numbers in their block.
using ThreadNumber = std::uint16_t;

/// Which of a block's threads have waited for which others. Each counts the barriers it has passed, and knows up to
/// which count each other thread's accesses came before its own next ones.
class Clocks {
 public:
  void begin(std::size_t threads);
  /// `threads` have met at a barrier: all that each did so far comes before all that any does from now on.
  void join(std::span<const ThreadNumber> threads);
  std::uint32_t now(ThreadNumber thread) const { return own_[thread]; }
  bool comes_before(ThreadNumber earlier, std::uint32_t when, ThreadNumber thread) const {
    return earlier == thread || (*known_[thread])[earlier] >= when;
  }

 private:
  using Clock = std::vector<std::uint32_t>;

  std::vector<std::uint32_t> own_;
  std::vector<std::shared_ptr<const Clock>> known_;
};

/// What SharedVariables calls the block's dynamic shared memory.
constexpr std::string_view DYNAMIC_SHARED_MEMORY = "dynamic shared memory";

/// The thread-local variables of the program, of which `__shared__` ones are those within functions. The table has the
/// layout of every OS thread's copy.
class SharedVariables {
 public:
  struct Variable {
    std::string name;
    std::size_t offset = 0;
    std::size_t bytes = 0;
    bool shared = false;
  };

  /// Throws std::runtime_error where the program has no symbols.
  static const SharedVariables& of_program();
  std::size_t bytes() const { return words_.size() * sizeof(float); }
  const std::vector<Variable>& all() const { return variables_; }
  /// The variable that the word at `offset` belongs to, or null.
  const Variable* at(std::size_t offset) const;

 private:
  SharedVariables();

  std::vector<Variable> variables_;
  std::vector<std::uint16_t> words_;  ///< of every 4 bytes, 1 + an index in variables_, or 0
};

/// One access of a thread, about to happen.
struct Access {
  const std::byte* address = nullptr;
  unsigned bytes = 0;
  bool write = false;
  bool aligned = true;  ///< whether CUDA asks for an address that is a multiple of `bytes`
};

/// Checks the accesses of one block after the other, all on one OS thread.
class BlockChecker {
 public:
  BlockChecker();

  void begin(const Launch& launch, std::size_t threads, std::uint64_t block);
  void join(std::span<const ThreadNumber> threads) { clocks_.join(threads); }

  /// What is wrong with the access, or nothing.
  std::optional<std::string> access(ThreadNumber thread, const Access& access);
  /// An asynchronous copy starts, or has arrived; `source` is null for zeros.
  std::optional<std::string> copy_starts(ThreadNumber thread, const std::byte* to, const void* source, unsigned bytes);
  std::optional<std::string> copy_arrives(ThreadNumber thread, const std::byte* to, unsigned bytes);

 private:
  struct Use {
    ThreadNumber thread = 0;
    std::uint32_t when = 0;  ///< 0 for none
  };
  /// What is remembered of 4 bytes of shared memory.
  struct Word {
    std::uint64_t block = 0;
    Use written;
    Use first_read;  ///< since it was written
    Use last_read;
    bool copying = false;
  };

  std::optional<std::string> access_shared(ThreadNumber thread, const Access& access, bool by_copy);
  std::optional<std::string> access_global(ThreadNumber thread, const Access& access);
  std::string thread_text(ThreadNumber thread) const;  ///< "thread (3,2,0)"
  std::string block_text(std::uint64_t block) const;   ///< "block (1,0,0)"
  bool unordered(const Use& earlier, ThreadNumber thread) const {
    return earlier.when != 0 && !clocks_.comes_before(earlier.thread, earlier.when, thread);
  }

  const SharedVariables& variables_;
  const std::byte* shared_;  ///< this OS thread's thread-local variables
  std::size_t dynamic_bytes_ = 0;
  Index3 grid_extents_;
  Index3 block_extents_;
  std::uint64_t block_ = 0;       ///< of this launch
  std::uint64_t generation_ = 0;  ///< counts blocks of all launches
  Clocks clocks_;
  std::vector<Word> words_;
};

}  // namespace simt
