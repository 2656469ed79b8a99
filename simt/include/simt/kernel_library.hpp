#pragma once

// Kernels in a shared library that is loaded while the program runs.

namespace simt {

/// From now on, launches come from the library that dlopen() returned `handle` for, or from the program itself where it
/// is null: checks and counts look there for shared variables, source lines and instructions. Not to be called during a
/// launch.
///
/// The library was compiled with -ftls-model=initial-exec, so that its shared variables lie at the same distance from
/// the program's in every OS thread, and the C library has to keep room for them from the start: GLIBC_TUNABLES with
/// glibc.rtld.optional_static_tls in the program's environment says how much. Throws std::runtime_error where it was
/// not.
void launch_from_library(void* handle);

}  // namespace simt
