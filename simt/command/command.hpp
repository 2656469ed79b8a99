#pragma once

// The command `simt`: a file each part.

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace simt::command {

/// Exit statuses.
constexpr int CLEAN = 0;
constexpr int FAULTS = 1;
constexpr int BAD_USAGE = 2;

/// What the command line, or a line in a file, should not say.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The words behind a part's name.
class Words {
 public:
  Words(int count, char** words) : words_(words, words + count) {}

  bool empty() const { return next_ == words_.size(); }
  std::string take() { return words_[next_++]; }
  /// The next one, which is the value of `option`.
  std::string value_of(const std::string& option) {
    if (empty()) {
      throw UsageError(option + " takes a value");
    }
    return take();
  }

 private:
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

constexpr std::string_view CHECK_USAGE =
    R"(usage: simt check FILE.cu [NAME=VALUE]... [--launch LINE]... [-I FOLDER]... [-D NAME[=VALUE]]...

Runs kernels of plain CUDA on the CPU and looks for accesses outside of arrays, races, reads of memory that nobody
wrote, and barriers that a thread never reaches. Lines in the file say how they are launched:

  // simt: n = 1000; saxpy<<<(n + 127) / 128, 128>>>(n, 2.0f, in x[n], inout y[n])

Before the launch stand sizes, which NAME=VALUE on the command line replaces. Among the arguments are arrays: "in" for
those that the kernel only reads, "out" for those that hold nothing before it has written them, "inout" for the others.
Their type is that of the kernel's parameter, or stands before the name: "in float x[n]". They are filled with numbers
between -1 and 1, integers with 0, or with what is behind "=", where i is an element's index: "in int index[n] = i % 7".
All else is C++. A host function that launches kernels itself is called in the same way, without <<<>>>.

--launch takes a line's text in place of the file's. Exit status: 0 where no fault was found, 1 where one was, 2 where
the command line or a line is wrong or the file does not compile.
)";

constexpr std::string_view COUNT_USAGE =
    R"(usage: simt count FILE.cu [NAME=VALUE]... [--launch LINE]... [-I FOLDER]... [-D NAME[=VALUE]]...

Runs kernels as simt check does and counts their requests to memory, by source line and array: requests of warps, the
sectors of global memory that they touch, wavefronts of shared memory, bytes of all threads, floating-point operations.
)";

constexpr std::string_view TRANSLATE_USAGE =
    R"(usage: simt translate FILE.cu FOLDER [-I FOLDER]... [-D NAME[=VALUE]]... [--depfile FILE]

Translates plain CUDA, with the files that it includes, to one C++ file for the executor, in FOLDER, and prints its
path. The depfile tells make or ninja which files were read.
)";

/// The parts. Return the exit status; throw UsageError.
int check(Words words);
int count(Words words);
int translate(Words words);

}  // namespace simt::command
