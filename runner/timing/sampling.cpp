#include "timing/sampling.hpp"

#include "base/statistics.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <string>

#include <fmt/format.h>

namespace sgemm {
namespace {

/// Tells the seconds since this call, by that clock.
auto stopwatch(const std::function<double()>& now) {
  return [&now, start = now()] { return now() - start; };
}

/// Draws the order of every other round; the one after it has the reverse. Who comes second may take longer, and where
/// chance put one contender first in nearly all rounds, that would look like its speed.
class RandomOrder {
 public:
  RandomOrder(int contenders, std::uint64_t seed) : random_(seed), order_(static_cast<std::size_t>(contenders)) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  const std::vector<int>& next() {
    if (reversed_ = !reversed_; reversed_ || random_() % 2 == 0) {
      std::ranges::reverse(order_);
    }
    return order_;
  }

 private:
  std::mt19937_64 random_;
  std::vector<int> order_;
  bool reversed_ = true;
};

bool agree(const std::vector<double>& x, const std::vector<double>& y) {
  return std::equal(x.begin(), x.end(), y.begin(),
                    [](double a, double b) { return std::abs(a - b) <= WARM_UP_AGREEMENT * std::min(a, b); });
}

/// Returns the times of the last round.
std::vector<double> warm_up(const Round& timed, RandomOrder& order, const SamplingOptions& options,
                            const Observer& observer) {
  const auto next = [&] {
    options.stop.check();
    observer("warming up");
    return timed(order.next(), 1);
  };
  const auto first_seconds = stopwatch(options.now);
  std::vector<double> previous = next();
  if (first_seconds() > WARM_UP_SECONDS) {
    return previous;
  }
  std::vector<double> latest = next();
  for (const auto seconds = stopwatch(options.now); !agree(previous, latest) && seconds() < WARM_UP_SECONDS;) {
    previous = latest;
    latest = next();
  }
  return latest;
}

/// The wider of the two intervals that decide, relative to its median.
double spread(const Timings& timings) {
  const double of_times = summarize(timings.kernel_us, CONFIDENCE).spread();
  return timings.rival_us.empty() ? of_times : std::max(of_times, summarize(timings.ratios(), CONFIDENCE).spread());
}

/// The launches of a sample where the shortest contender takes `shortest_us`.
int launches_for(double shortest_us) {
  const double launches = std::ceil(SHORTEST_SAMPLE_US / std::max(shortest_us, 1e-3));
  return static_cast<int>(std::clamp(launches, 1.0, double{MAX_LAUNCHES_PER_SAMPLE}));
}

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Hold::outlast(const std::function<bool()>& enqueue) {
  while (enqueue()) {
    if (factor_ == MOST_FACTOR) {
      ++late_rounds_;
      return;
    }
    factor_ *= 2;
  }
}

std::vector<double> Timings::ratios() const {
  std::vector<double> result(rival_us.size());
  std::transform(rival_us.begin(), rival_us.end(), kernel_us.begin(), result.begin(), std::divides<>());
  return result;
}

Timings take_samples(const Round& round, const SamplingOptions& options, const Observer& observer) {
  RandomOrder of_warm_up(options.contenders, options.seed);
  const std::vector<double> estimates = warm_up(round, of_warm_up, options, observer);
  RandomOrder order(options.contenders, options.seed);
  Timings timings;
  if (options.batch_short) {
    timings.launches_per_sample = launches_for(*std::ranges::min_element(estimates));
  }
  std::string activity = "sampling";
  const auto seconds = stopwatch(options.now);
  for (int count = 1; count <= MAX_SAMPLES; ++count) {
    options.stop.check();
    observer(activity);
    const std::vector<int>& in_turn = order.next();
    const std::vector<double> times = round(in_turn, timings.launches_per_sample);
    timings.last = in_turn.back();
    timings.kernel_us.push_back(times[0]);
    if (options.contenders == 2) {
      timings.rival_us.push_back(times[1]);
    }
    const double reached = spread(timings);
    if ((count >= MIN_SAMPLES && reached <= TARGET_CI) ||
        (count >= FEWEST_SAMPLES && seconds() >= options.max_seconds)) {
      break;
    }
    activity = fmt::format("sample {}, \u00b1{:.1f} %", count, reached * 100.0);
  }
  return timings;
}

}  // namespace sgemm
