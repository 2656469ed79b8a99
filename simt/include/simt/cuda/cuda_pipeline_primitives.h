#pragma once

// Stands in for CUDA's header of the same name: cp.async as functions of a thread.

#include <simt/ptx_instructions.hpp>

#include <cuda_runtime.h>

/// The last `zeros` bytes are 0 instead of the source's: all or none.
inline void __pipeline_memcpy_async(void* shared, const void* global, std::size_t bytes, std::size_t zeros = 0,
                                    simt::Site site = simt::Site::current()) {
  simt::ptx::cp_async(simt::shared_address(shared), global, static_cast<unsigned>(bytes),
                      static_cast<unsigned>(bytes - zeros), site);
}
inline void __pipeline_commit() { simt::commit_copies(); }
inline void __pipeline_wait_prior(std::size_t pending) { simt::wait_for_copies(static_cast<unsigned>(pending)); }
