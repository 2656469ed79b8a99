#pragma once

namespace sgemm {

/// From now on the first SIGINT, SIGTERM or SIGHUP is only noted, so that the case at hand ends in order and the
/// results file is completed; the second one ends the process as usual.
void catch_interrupts();

/// Whether a signal has been noted.
bool interrupted();

/// Asks whether work under way is to end. Code that works for long holds a token and asks between its steps.
class StopToken {
 public:
  /// Never asks to stop.
  StopToken() = default;
  /// Asks to stop once `requested` says so.
  explicit StopToken(bool (*requested)()) : requested_(requested) {}

  bool requested() const { return requested_ != nullptr && requested_(); }
  /// Throws CaseStopped (skipped, interrupted) if a stop has been requested.
  void check() const;

 private:
  bool (*requested_)() = nullptr;
};

}  // namespace sgemm
