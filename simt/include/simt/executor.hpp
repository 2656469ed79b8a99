#pragma once

// Runs CUDA-shaped kernels on the host's processors.
//
// The threads of a block are fibers on one OS thread. They change places only where CUDA's threads wait for each other.
// Blocks are spread over as many OS threads as the machine has processors. A block starts when an OS thread is free, in
// the order of the block index. A GPU hands out blocks to its multiprocessors in the same order, for any number of
// multiprocessors. That number decides only which blocks run at the same time.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace simt {

/// Extents of a grid or a block, or a position in one.
struct Index3 {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};

/// The limits of a compute capability 9.0 device, which are those of all later ones.
constexpr unsigned MAX_THREADS_PER_BLOCK = 1024;
constexpr std::size_t MAX_DYNAMIC_SMEM = 227 * 1024;
constexpr std::size_t MAX_STATIC_SMEM = 48 * 1024;
constexpr unsigned WARP = 32;

/// For the local variables and calls of a thread. Where the executor is built with AddressSanitizer it is more.
constexpr std::size_t THREAD_STACK_BYTES = 64 * 1024;

struct Launch {
  Index3 grid;                         ///< blocks along each axis, each at least 1
  Index3 block;                        ///< threads along each axis, MAX_THREADS_PER_BLOCK at most in all
  std::size_t dynamic_smem = 0;        ///< bytes, MAX_DYNAMIC_SMEM at most
  void (*thread)(const void* kernel);  ///< what each thread does: calls `kernel` with its arguments
  const void* kernel = nullptr;
  std::size_t kernel_bytes = 0;  ///< of what `kernel` points to: threads may read it
  Index3 cluster{1, 1, 1};       ///< blocks along each axis of a cluster, 8 at most in all, into which the grid splits
  bool cooperative = false;      ///< whether all blocks run at the same time, and may wait for one another; no clusters
};

/// How many blocks, in a row, run at the same time because they may wait for one another.
unsigned together(const Launch& launch);

/// A kernel did what no kernel may, such as leaving a barrier incomplete. The message is one line that names the
/// kernel's function, block, thread and source line where they are known.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A kernel needs something of the GPU that is not modelled here.
class NotSupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The launch was abandoned because stop_when() said so.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Whether a fault at this address is that of a thread whose stack has no room left. For handlers of SIGSEGV, which
/// have to run on an alternative stack (SA_ONSTACK): the executor's OS threads have one.
bool is_stack_overflow(const void* address);

/// Runs every thread of every block and returns when all have finished. Throws what a kernel throws, for example Error.
/// Blocks that have not started by then never start. Two threads may not call this at the same time.
void run(const Launch& launch);

/// Sets a function that several threads call before each block starts. If it returns true, the launch ends with
/// Stopped.
void stop_when(bool (*stop)());

/// How many launches have begun in this process: for programs that want to know whether a function has launched any.
std::uint64_t launches();

/// How many blocks run at the same time.
unsigned workers();

}  // namespace simt
