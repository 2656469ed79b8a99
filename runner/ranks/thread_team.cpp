#include "ranks/thread_team.hpp"

#include <cstddef>
#include <utility>

namespace sgemm {

RankParts host_parts() {
  return {"host copies", [](int) { return make_host_rank_device(); },
          [](int, PanelsOf panels_of_rank) { return make_host_exchange(std::move(panels_of_rank)); }};
}

ThreadTeam::ThreadTeam(int ranks, const RankParts& parts)
    : exchange_(parts.exchange_name),
      members_(static_cast<std::size_t>(ranks)),
      meeting_(ranks),
      replies_(members_.size()) {
  const auto panels_of_rank = [this](int rank) { return members_[static_cast<std::size_t>(rank)].rank->panels(); };
  for (int i = 0; i < ranks; ++i) {
    Member& member = members_[static_cast<std::size_t>(i)];
    member.device = parts.device(i);
    member.exchange = parts.exchange(i, panels_of_rank);
    member.rank = std::make_unique<Rank>(i, *member.device, *member.exchange);
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    threads_.emplace_back([this, i] { obey_orders(i); });
  }
}

ThreadTeam::~ThreadTeam() {
  const std::lock_guard lock(mutex_);
  quit_ = true;
  ordered_.notify_all();
}

std::vector<RankReply> ThreadTeam::all(const RankMessage& message) {
  std::unique_lock lock(mutex_);
  refused_ = false;
  message_ = message;
  awaited_ = members_.size();
  ++orders_;
  ordered_.notify_all();
  replied_.wait(lock, [&] { return awaited_ == 0; });
  return replies_;
}

void ThreadTeam::obey_orders(std::size_t rank) {
  Rank& self = *members_[rank].rank;
  std::unique_lock lock(mutex_);
  for (std::uint64_t obeyed = 0;; ++obeyed) {
    ordered_.wait(lock, [&] { return quit_ || orders_ > obeyed; });
    if (quit_) {
      return;
    }
    const RankMessage message = message_;
    lock.unlock();
    const RankReply reply = self.obey(message, [this](bool ready) { return all_ready(ready); });
    lock.lock();
    replies_[rank] = reply;
    if (--awaited_ == 0) {
      replied_.notify_one();
    }
  }
}

bool ThreadTeam::all_ready(bool ready) {
  if (!ready) {
    refused_ = true;
  }
  meeting_.arrive_and_wait();
  return !refused_;
}

}  // namespace sgemm
