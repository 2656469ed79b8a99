#pragma once

// The launches that a file or the command line describes, compiled to be watched and loaded.

#include "check/described_launch.hpp"
#include "command/command.hpp"
#include "simt/described_arrays.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace simt::command {

/// The arrays of one launch. Memory lies far from that of any other array, so that messages name the array that an
/// access has left.
class LaunchArrays : public DescribedArrays {
 public:
  void* allocate(std::size_t bytes) override;
  void add(GlobalArray array) override { arrays_.push_back(std::move(array)); }

 protected:
  const std::vector<GlobalArray>& arrays() const { return arrays_; }

 private:
  std::vector<std::vector<std::byte>> memory_;
  std::vector<GlobalArray> arrays_;
};

struct LoadedLaunch {
  std::string heading;  ///< "saxpy.cu:1: saxpy<<<8, 128>>>"
  /// Makes the arrays, calls their begin() and launches. Throws what the kernel throws, and std::runtime_error where
  /// CUDA would not take the launch.
  std::function<void(DescribedArrays&)> run;
};

struct LoadedFile {
  std::shared_ptr<const void> folder;  ///< of the shared object, in which addr2line finds the lines of messages
  std::vector<LoadedLaunch> launches;
};

/// What the words behind the name of a part ask for. Throws UsageError.
LoadedFile load_launches(Words words);

}  // namespace simt::command
