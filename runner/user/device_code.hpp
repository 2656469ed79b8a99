#pragma once

#include "user/library.hpp"

#include <filesystem>
#include <memory>

namespace sgemm {

/// Loads the code for GPUs of a user's file, a cubin, for the current device. Nothing of the file's host code is in it.
///
/// The file's launch line, its requirement and the bytes of its workspace are kernels beside its own
/// (user/wrapper.hpp), which are launched once for a shape. What they compute is frozen: grids, blocks, shared memory,
/// and arguments, in which addresses of operands take the place of those that the launch line saw. So no code of the
/// file runs on the host, and none but its own launches on the GPU: that is what a judge can believe.
///
/// Throws std::runtime_error where it can not be loaded. launch() throws it, besides, where an argument depends on an
/// address in another way than by a distance.
std::unique_ptr<UserCode> load_device_code(const std::filesystem::path& cubin);

}  // namespace sgemm
