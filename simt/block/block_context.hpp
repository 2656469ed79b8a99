#pragma once

#include "block/scheduler.hpp"
#include "watch/watcher.hpp"

#include <functional>
#include <string>
#include <utility>

namespace simt {

/// Shared by the parts of a block: whose turn it is, who watches, and how to end it.
struct BlockContext {
  explicit BlockContext(std::function<void()> thread) : scheduler(std::move(thread)) {}

  Scheduler scheduler;
  Watcher* watcher = nullptr;  ///< never null while a block runs: one that does nothing
  bool watched = false;        ///< by another one
  Index3 block;

  ThreadNumber current() const { return scheduler.current(); }
  /// "block (1,0,0), thread (3,2,0)"
  std::string place_of(ThreadNumber thread) const;
  /// Ends the launch: "block (1,0,0), thread (3,2,0), file:line in function: `what`".
  [[noreturn]] void fail(const std::string& what, Site site) const;
  /// Fails where there is a complaint about `what`.
  void check(const char* what, const Complaint& complaint, Site site) const {
    if (complaint) {
      fail(what + *complaint, site);
    }
  }
};

}  // namespace simt
