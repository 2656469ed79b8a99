#pragma once

// Ranks that are threads of this process.

#include "ranks/host_exchange.hpp"
#include "ranks/job.hpp"
#include "ranks/rank.hpp"
#include "ranks/rank_device.hpp"
#include "ranks/team.hpp"

#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace sgemm {

/// The functions are called for each rank before the threads start.
struct RankParts {
  std::string_view exchange_name;  ///< Team::exchange()
  std::function<std::unique_ptr<RankDevice>(int rank)> device;
  std::function<std::unique_ptr<Exchange>(int rank, PanelsOf panels_of_rank)> exchange;
};

/// Ranks on the executor.
RankParts host_parts();

class ThreadTeam final : public Team {
 public:
  ThreadTeam(int ranks, const RankParts& parts);
  ~ThreadTeam() override;
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const override { return static_cast<int>(members_.size()); }
  /// Between two calls no rank is at work, so what a rank wrote under one order may be read by others under the next.
  std::vector<RankReply> all(const RankMessage& message) override;
  std::string_view exchange() const override { return exchange_; }

 private:
  struct Member {
    std::unique_ptr<RankDevice> device;
    std::unique_ptr<Exchange> exchange;
    std::unique_ptr<Rank> rank;
  };

  void obey_orders(std::size_t rank);
  /// Returns when all ranks have called, with whether all are ready.
  bool all_ready(bool ready);

  std::string_view exchange_;
  std::vector<Member> members_;
  std::barrier<> meeting_;
  std::atomic<bool> refused_ = false;

  std::mutex mutex_;  // of what follows
  std::condition_variable ordered_;
  std::condition_variable replied_;
  std::uint64_t orders_ = 0;  ///< given so far
  bool quit_ = false;
  RankMessage message_;
  std::vector<RankReply> replies_;
  std::size_t awaited_ = 0;  ///< replies to come

  std::vector<std::jthread> threads_;  ///< the last member: they use the others
};

}  // namespace sgemm
