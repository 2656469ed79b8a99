#pragma once

#include "simt/executor.hpp"

#include <cstddef>
#include <string>

namespace simt {

/// Takes over all launches from its making to its end, as what checks and what counts does.
class LaunchObserver {
 public:
  LaunchObserver();
  virtual ~LaunchObserver();
  LaunchObserver(const LaunchObserver&) = delete;
  LaunchObserver& operator=(const LaunchObserver&) = delete;

  /// The latest one that lives, or null.
  static LaunchObserver* current();

  /// run() does nothing else. Throws what run() throws.
  virtual void launch(const Launch& launch) = 0;
  /// The host has written there, between launches.
  virtual void host_wrote(const void* /*begin*/, std::size_t /*bytes*/) {}

 private:
  LaunchObserver* const before_;
};

/// Why nothing can be observed in this program, or empty: what checks and what counts need the symbols that tell the
/// program's shared variables.
std::string why_unobserved();

}  // namespace simt
