#pragma once

// How long a rank waits: for its device, and for what other ranks send.

#include "base/interrupt.hpp"
#include "base/outcome.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace sgemm {

/// Ends an order of a rank for a reason that does not lie with the rank itself.
class WaitEnded : public CaseStopped {
 public:
  using CaseStopped::CaseStopped;
};

/// Throws WaitEnded (skipped) once a stop is requested.
inline void end_wait_if(const StopToken& stop) {
  if (stop.requested()) {
    throw WaitEnded(Outcome::skipped, "interrupted");
  }
}

/// "within 60 s, which --timeout changes"
inline std::string limit_text(double seconds) { return fmt::format("within {:g} s, which --timeout changes", seconds); }

/// The time that a rank has for one order. Whatever waits for others calls check() again and again.
class Patience {
 public:
  /// `look` is part of every check, and throws where there is nothing left to wait for.
  explicit Patience(std::function<void()> look = nullptr) : look_(std::move(look)) {}

  /// Begins an order that may take so many seconds; nothing for as long as it likes.
  void begin(std::optional<double> seconds) {
    begin_ = Clock::now();
    seconds_ = seconds;
  }

  /// Throws WaitEnded (failed) once the time is over.
  void check() const {
    if (look_) {
      look_();
    }
    if (seconds_ && std::chrono::duration<double>(Clock::now() - begin_).count() > *seconds_) {
      throw WaitEnded(Outcome::failed,
                      "waited for its GPU or for another rank, which was not done " + limit_text(*seconds_));
    }
  }

  /// Waits until `done` says so. Polls: a thread that sleeps would go on late.
  template <class Done>
  void wait_until(const Done& done) const {
    while (!done()) {
      check();
      std::this_thread::yield();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::function<void()> look_;
  Clock::time_point begin_ = Clock::now();
  std::optional<double> seconds_;
};

}  // namespace sgemm
