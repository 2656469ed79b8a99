#pragma once

#include "core/scheduler.hpp"
#include "core/watcher.hpp"

#include <functional>
#include <string>
#include <utility>

namespace simt {

/// The state that the parts of a block share: whose turn it is, who watches, and how to end the block.
struct BlockContext {
  explicit BlockContext(std::function<void()> thread) : scheduler(std::move(thread)) {}

  Scheduler scheduler;
  Watcher* watcher = nullptr;  ///< never null while a block runs; a watcher that does nothing stands for none
  bool watched = false;        ///< whether another watcher stands there
  Index3 block;

  ThreadNumber current() const { return scheduler.current(); }
  /// "block (1,0,0), thread (3,2,0)"
  std::string place_of(ThreadNumber thread) const;
  /// Ends the launch: "block (1,0,0), thread (3,2,0), file:line in function: `what`".
  [[noreturn]] void fail(const std::string& what, Site site) const;
  /// Fails if there is a complaint about `what`.
  void check(const char* what, const Complaint& complaint, Site site) const {
    if (complaint) {
      fail(what + *complaint, site);
    }
  }
};

}  // namespace simt
