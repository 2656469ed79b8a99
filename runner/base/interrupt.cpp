#include "base/interrupt.hpp"

#include "base/outcome.hpp"

#include <csignal>

namespace sgemm {
namespace {

volatile std::sig_atomic_t noted = 0;

extern "C" void note_signal(int) { noted = 1; }

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  // The first signal restores the default action, so that a second one ends the process. System calls under way are
  // restarted.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);  // what is too long for the limit of a shell is an error of write(), as on a full disk
  struct sigaction before {};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) {  // nohup has it ignored
    sigaction(SIGHUP, &action, nullptr);
  }
}

bool interrupted() { return noted != 0; }

void StopToken::check() const {
  if (requested()) {
    throw CaseStopped(Outcome::skipped, "interrupted");
  }
}

}  // namespace sgemm
