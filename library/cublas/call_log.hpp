#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "call.hpp"
#include "device.hpp"

namespace drop_in {

/// Times on the GPU in microseconds, the epilogue included. 0: there is no prediction.
struct Prediction {
  double us = 0;
  double cublas_us = 0;
};

/// Who computes a product, and why, in words for the log.
struct Decision {
  std::string by;  // "cublas" or a chapter
  std::string why;
  size_t workspace_bytes = 0;  // that the chapter works in
  Prediction prediction;
};

/// Calls that the log has one line for: what they compute, who did it, and why.
struct LogLine {
  std::string function;
  std::string ops;
  int64_t m, n, k, batch_count;
  std::string by;
  std::string why;

  auto operator<=>(const LogLine&) const = default;
};

/// The table of calls that SGEMM_LOG asks for. Threads may use it at the same time.
class CallLog {
 public:
  struct Timer {
    Stopwatch stopwatch;
    /// The sample that the stopwatch takes next is of a call that is not counted.
    bool forgets_sample = false;
  };

  /// What the log knows of a line.
  struct Entry {
    uint64_t calls = 0;
    /// Samples. The first call may load code and find memory, so its time stands apart.
    uint64_t timed_calls = 0;
    double first_us = 0;
    double later_us = 0;
    Prediction prediction;  // of one call
    /// One for each device and context, because an event serves only those that it was made on.
    std::map<Place, Timer> timers;
  };

  /// Notes one call in a log, and times what is enqueued until it is destroyed. Without a log it does nothing.
  class Measured {
   public:
    Measured(CallLog* log, const Call& call, const Decision& decision);
    Measured(const Measured&) = delete;
    Measured& operator=(const Measured&) = delete;
    ~Measured();

    /// The call came to nothing: it is neither counted nor timed.
    void forget() { forgotten_ = true; }

   private:
    CallLog* log_;
    cudaStream_t stream_;
    Entry* entry_ = nullptr;
    Timer* timer_ = nullptr;
    bool timing_ = false;
    bool forgotten_ = false;
  };

  /// Whether calls are timed from now on, or only counted.
  void time_calls(bool timed) { timed_ = timed; }

  /// The table in columns between tabs: calls, timed calls, mean time, predicted time, predicted time of cuBLAS,
  /// function, ops, m, n, k, batch, by, why.
  std::string table();

  void clear();

  /// Appends the table to a file, or to standard error where `path` is "1". Writes nothing where there were no calls.
  void write(const std::string& path, const char* accuracy);

 private:
  using Line = std::pair<const LogLine, Entry>;

  /// Lines with calls. The samples that are there are taken.
  std::vector<const Line*> lines();

  std::mutex mutex_;
  std::atomic<bool> timed_ = true;
  std::map<LogLine, Entry> entries_;
};

}  // namespace drop_in
