#include "call_log.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <locale>
#include <sstream>
#include <utility>
#include <vector>

namespace drop_in {
namespace {

// Programs with more of them have the others on one line for each that computes them.
constexpr size_t kMostLines = 4096;

char letter(sgemm_op_t op) { return op == SGEMM_OP_N ? 'N' : 'T'; }

std::string epilogue_name(const Call& call) {
  constexpr const char* kActivations[] = {"", "+relu", "+gelu", "+drelu", "+dgelu"};  // by their numbers
  const sgemm_activation_t activation = call.epilogue.activation;
  const bool adds = call.epilogue.bias != nullptr && activation <= SGEMM_ACTIVATION_GELU;  // no gradient
  return std::string(adds ? "+bias" : "") + kActivations[activation];
}

LogLine line_of(const Call& call, const std::string& by, const std::string& why) {
  const sgemm_product_t& p = call.product;
  const std::string ops{letter(p.a.op), letter(p.b.op)};
  return {call.name() + epilogue_name(call), ops, p.m, p.n, p.k, p.batch_count, by, why};
}

void take_sample(CallLog::Entry& entry, CallLog::Timer& timer) {
  if (const std::optional<double> us = timer.stopwatch.sample()) {
    if (std::exchange(timer.forgets_sample, false)) {
      return;
    }
    (entry.timed_calls == 0 ? entry.first_us : entry.later_us) += *us;
    ++entry.timed_calls;
  }
}

// Without the first call, where there are others.
double mean_us(const CallLog::Entry& entry) {
  return entry.timed_calls <= 1 ? entry.first_us : entry.later_us / static_cast<double>(entry.timed_calls - 1);
}

double total_ms(const CallLog::Entry& entry) { return mean_us(entry) * static_cast<double>(entry.calls) / 1e3; }

}  // namespace

CallLog::Measured::Measured(CallLog* log, const Call& call, const Decision& decision)
    : log_(log), stream_(call.stream) {
  if (log_ == nullptr) {
    return;
  }
  const std::lock_guard lock(log_->mutex_);
  LogLine line = line_of(call, decision.by, decision.why);
  const bool has_line = log_->entries_.size() < kMostLines || log_->entries_.contains(line);
  if (!has_line) {
    line = {"others", "", 0, 0, 0, 0, decision.by, "there are too many lines"};
  }
  entry_ = &log_->entries_[line];
  entry_->prediction = has_line ? decision.prediction : Prediction{};
  if (!log_->timed_) {
    return;
  }
  if (const Place place = current_place(); place.first >= 0) {
    timer_ = &entry_->timers[place];
    take_sample(*entry_, *timer_);
    timing_ = timer_->stopwatch.start(stream_);
  }
}

CallLog::Measured::~Measured() {
  if (log_ != nullptr) {
    const std::lock_guard lock(log_->mutex_);
    entry_->calls += forgotten_ ? 0 : 1;
    if (timing_) {
      timer_->stopwatch.stop(stream_);
      timer_->forgets_sample = forgotten_;
    }
  }
}

std::vector<const CallLog::Line*> CallLog::lines() {
  std::vector<const Line*> result;
  const Place now = entries_.empty() ? Place() : current_place();
  for (auto& line : entries_) {
    Entry& entry = line.second;
    for (auto& [place, timer] : entry.timers) {
      if (place.first != now.first || place == now) {  // not those that a reset has destroyed
        take_sample(entry, timer);
      }
    }
    if (entry.calls != 0) {
      result.push_back(&line);
    }
  }
  return result;
}

std::string CallLog::table() {
  const std::lock_guard lock(mutex_);
  std::ostringstream text;
  text.imbue(std::locale::classic());  // a program may have chosen commas
  for (const Line* const noted : lines()) {
    const auto& [line, entry] = *noted;
    text << entry.calls << '\t' << entry.timed_calls << '\t' << mean_us(entry) << '\t' << entry.prediction.us << '\t'
         << entry.prediction.cublas_us << '\t' << line.function << '\t' << line.ops << '\t' << line.m << '\t' << line.n
         << '\t' << line.k << '\t' << line.batch_count << '\t' << line.by << '\t' << line.why << '\n';
  }
  return text.str();
}

// Calls that are under way have their entries, which stay.
void CallLog::clear() {
  const std::lock_guard lock(mutex_);
  lines();
  for (auto& [line, entry] : entries_) {
    entry.calls = entry.timed_calls = 0;
    entry.first_us = entry.later_us = 0;
  }
}

void CallLog::write(const std::string& path, const char* accuracy) {
  const std::lock_guard lock(mutex_);
  std::vector<const Line*> sorted = lines();
  if (sorted.empty()) {
    return;
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Line* a, const Line* b) { return total_ms(a->second) > total_ms(b->second); });
  const auto print = [&](std::FILE* file) {
    std::fprintf(file,
                 "# libsgemm_cublas: process %d, SGEMM_ACCURACY=%s; us is the mean of the timed calls but the first\n",
                 static_cast<int>(getpid()), accuracy);
    std::fprintf(file, "%8s %6s %11s %11s  %-28s %-3s %8s %8s %8s %6s  %-24s %s\n", "calls", "timed", "us", "total_ms",
                 "function", "ops", "m", "n", "k", "batch", "by", "why");
    for (const Line* const noted : sorted) {
      const auto& [line, entry] = *noted;
      std::fprintf(file, "%8lu %6lu %11.1f %11.3f  %-28s %-3s %8ld %8ld %8ld %6ld  %-24s %s\n", entry.calls,
                   entry.timed_calls, mean_us(entry), total_ms(entry), line.function.c_str(), line.ops.c_str(), line.m,
                   line.n, line.k, line.batch_count, line.by.c_str(), line.why.c_str());
    }
    return std::ferror(file) == 0;
  };
  std::FILE* const file = path == "1" ? stderr : std::fopen(path.c_str(), "a");
  const bool printed = file != nullptr && print(file);
  if (file != stderr && (!printed || std::fclose(file) != 0)) {
    std::fprintf(stderr, "libsgemm_cublas: SGEMM_LOG=%s can not be written: %s\n", path.c_str(), std::strerror(errno));
    print(stderr);  // so that it is not lost
  }
}

}  // namespace drop_in
