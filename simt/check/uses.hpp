#pragma once

#include "check/clocks.hpp"
#include "core/watcher.hpp"
#include "core/zeroed_table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace simt {

constexpr std::size_t WORD = 4;

/// A use of memory by a thread of a block.
struct UseOfBlock : Use {
  std::uint32_t block = 0;
  bool strong = false;
  const void* code = nullptr;  ///< behind it; null where a copy or a product did it
};

/// The latest uses of a word of 4 bytes, or of one of its bytes.
struct Word {
  std::uint64_t of = 0;  ///< the block or the launch whose uses these are
  UseOfBlock written;
  UseOfBlock first_read;  ///< since it was written
  UseOfBlock last_read;
  UseOfBlock written_plainly;  ///< the last write that was not strong
  bool copying = false;
  bool mbarrier = false;
  bool in_bytes = false;  ///< its bytes have been accessed one by one, and each has a Word of its own
  bool defined = false;   ///< of global memory: whether it held something before
};

/// The words of memory. Only those in use take room.
class UsesOfWords {
 public:
  /// What memory holds before a use: nothing in each block anew, what launches before or the host wrote, or something.
  enum class Holds : std::uint8_t { nothing, what_was_written, something };
  UsesOfWords(std::size_t bytes, Holds holds)
      : words_(zeroed_table<Word>((bytes + WORD - 1) / WORD)),
        bytes_(zeroed_table<Word>((bytes + WORD - 1) / WORD * WORD)),
        holds_(holds) {}

  /// Calls `use` with the word of these bytes, all of them or some, or with the Word of each where they are used one by
  /// one, until it complains.
  template <class Use>
  Complaint use(std::size_t begin, std::size_t end, bool write, std::uint64_t of, const Use& use_one) {
    Word& whole_word = word(begin, of);
    const bool whole = end - begin == WORD;
    if (whole && !whole_word.in_bytes) {
      return use_one(whole_word);
    }
    Word* const bytes = bytes_of(whole_word, begin);
    for (std::size_t byte = begin; byte < end; ++byte) {
      if (Complaint wrong = use_one(bytes[byte % WORD])) {
        return wrong;
      }
    }
    if (whole && write) {
      whole_word = bytes[0];
    }
    return std::nullopt;
  }
  /// Whose uses of another block or launch are forgotten.
  Word& word(std::size_t at, std::uint64_t of) {
    Word& word = words_[at / WORD];
    if (word.of != of) {
      const bool in_bytes = word.in_bytes && holds_ == Holds::what_was_written;
      renew(word, of);
      for (std::size_t byte = 0; in_bytes && byte < WORD; ++byte) {
        renew(bytes_[at / WORD * WORD + byte], of);
      }
      word.in_bytes = in_bytes;
    }
    return word;
  }
  /// The host has written these bytes.
  void define(std::size_t begin, std::size_t end, std::uint64_t of) {
    for (std::size_t at = begin; at < end; at = (at / WORD + 1) * WORD) {
      use(at, std::min(end, (at / WORD + 1) * WORD), false, of, [](Word& word) {
        word.defined = true;
        return Complaint();
      });
    }
  }
  std::mutex& mutex_of(std::size_t at) { return mutexes_[at / WORD / 16 % mutexes_.size()]; }

 private:
  void renew(Word& word, std::uint64_t of) const {
    const bool defined =
        holds_ == Holds::something || (holds_ == Holds::what_was_written && (word.defined || word.written.when != 0));
    word = {};
    word.of = of;
    word.defined = defined;
  }
  Word* bytes_of(Word& word, std::size_t at) {
    Word* const bytes = &bytes_[at / WORD * WORD];
    if (!word.in_bytes) {
      std::fill_n(bytes, WORD, word);
      word.in_bytes = true;
    }
    return bytes;
  }

  ZeroedTable<Word> words_;
  ZeroedTable<Word> bytes_;  ///< four for each word
  Holds holds_;
  std::array<std::mutex, 64> mutexes_;
};

}  // namespace simt
