#pragma once

// Ranks that are threads of this process.

#include "base/interrupt.hpp"
#include "ranks/job.hpp"
#include "ranks/rank.hpp"
#include "ranks/team.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace sgemm {

/// Ranks on the executor.
RankParts host_parts();

// Ranks on GPUs of this machine, in builds with the CUDA toolkit alone.

/// Ranks of one process. Rank r has GPU r % `gpus`: ranks may share one, which shows that they are right and not how
/// fast they are. Pieces are copied by the copy engines of the GPU that receives them. Throws CudaError.
RankParts peer_parts(int gpus);

/// Ranks of one process or of several, each on the GPU that `device_of` says; no two share one. NCCL carries the pieces
/// of the team that `id` is for, of so many ranks. Throws CudaError.
RankParts nccl_parts(const NcclId& id, int ranks, const std::function<int(int rank)>& device_of);

class ThreadTeam final : public Team {
 public:
  /// What waits for others ends once `stop` is requested.
  ThreadTeam(int ranks, const RankParts& parts, StopToken stop = {});
  /// Waits for all ranks. Where one of them is lost, this may last until the process is ended from outside.
  ~ThreadTeam() override;
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const override { return static_cast<int>(members_.size()); }
  /// Between two calls no rank is at work, so what a rank wrote under one order may be read by others under the next.
  std::vector<RankReply> all(const RankMessage& message) override;

 private:
  struct Member {
    std::unique_ptr<Rank> rank;
    RankReply reply;
    std::uint64_t obeyed = 0;  ///< orders that it has replied to
  };

  void obey_orders(std::size_t rank);
  /// Returns when all ranks have called, with whether all are ready.
  bool all_ready(bool ready, const Patience& patience);

  std::vector<Member> members_;
  std::atomic<std::uint64_t> arrivals_ = 0;  ///< at all meetings so far
  std::atomic<bool> refused_ = false;

  std::mutex mutex_;  // of what follows
  std::condition_variable ordered_;
  std::condition_variable replied_;
  std::uint64_t orders_ = 0;  ///< given so far
  bool quit_ = false;
  RankMessage message_;

  std::vector<std::jthread> threads_;  ///< the last member: they use the others
};

}  // namespace sgemm
