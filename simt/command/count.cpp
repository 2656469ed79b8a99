#include "command/launches.hpp"
#include "simt/counter.hpp"
#include "simt/executor.hpp"
#include "simt/gpu_models.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <iomanip>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace simt::command {
namespace {

/// They are counted from begin() on, block by block.
class CountedLaunch final : public LaunchArrays {
 public:
  void begin() override {
    std::vector<CountedArray> counted;
    for (const GlobalArray& array : arrays()) {
      counted.push_back({array});
    }
    const auto l1_bytes = [](std::size_t smem_bytes, unsigned) {
      const std::size_t all = find_gpu_model("h200")->l1_bytes;
      return all - std::min(all, smem_bytes);
    };
    constexpr double ALWAYS = std::numeric_limits<double>::infinity();
    counting_.emplace(std::move(counted), l1_bytes, CountingLimits{ALWAYS, ALWAYS, 0});
  }
  std::vector<LaunchCounts> take() { return counting_ ? counting_->take() : std::vector<LaunchCounts>(); }

 private:
  std::optional<Counting> counting_;
};

constexpr std::array<std::string_view, ACCESS_KINDS> KINDS{"global load", "global store", "shared load", "shared store",
                                                           "async copy"};

class Table {
 public:
  Table() { print("", "", "", {"requests", "sectors", "wavefronts", "bytes"}, "FLOP"); }

  void row(const std::string& place, std::string_view kind, const std::string& array, const Traffic& traffic,
           const std::string& flops) {
    print(place, kind, array,
          {std::to_string(traffic.requests), std::to_string(traffic.sectors), std::to_string(traffic.wavefronts),
           std::to_string(traffic.bytes)},
          flops);
  }

 private:
  static void print(const std::string& place, std::string_view kind, const std::string& array,
                    const std::array<std::string, 4>& numbers, const std::string& flops) {
    std::cout << "  " << std::left << std::setw(24) << place << ' ' << std::setw(12) << kind << ' ' << std::setw(16)
              << array << std::right;
    for (const std::string& number : numbers) {
      std::cout << ' ' << std::setw(11) << number;
    }
    std::cout << ' ' << std::setw(11) << flops << '\n';
  }
};

void print(const LaunchCounts& counts) {
  std::cout << counts.function << ": " << counts.blocks << " blocks of " << counts.threads_per_block << " threads, "
            << counts.smem_bytes << " bytes of shared memory each, " << counts.barriers
            << " arrivals of warps at barriers, " << counts.tensor_flops << " FLOP of tensor cores\n";
  Table table;
  for (const LineCounts& line : counts.lines) {
    table.row(line.line == 0 ? "" : line.file + ':' + std::to_string(line.line),
              line.kind ? KINDS[static_cast<std::size_t>(*line.kind)] : "", line.array, line.traffic,
              std::to_string(line.flops));
  }
  for (std::size_t kind = 0; kind < KINDS.size(); ++kind) {
    if (counts.traffic[kind].requests > 0) {
      table.row("all", KINDS[kind], "", counts.traffic[kind], "");
    }
  }
  table.row("all", "", "", {}, counts.flops ? std::to_string(*counts.flops) : "unknown");
}

}  // namespace

int count(Words words) {
  const LoadedFile file = load_launches(std::move(words));
  for (const LoadedLaunch& launch : file.launches) {
    CountedLaunch arrays;
    try {
      launch.run(arrays);
    } catch (const Error& error) {
      std::cerr << launch.heading << ": " << error.what() << std::endl;
      return FAULTS;
    } catch (const std::exception& error) {
      throw UsageError(launch.heading + ": " + error.what());
    }
    std::cout << launch.heading << '\n';
    for (const LaunchCounts& counts : arrays.take()) {
      print(counts);
    }
  }
  return CLEAN;
}

}  // namespace simt::command
