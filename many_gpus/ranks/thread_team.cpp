#include "ranks/thread_team.hpp"

#include "exchange/host_exchange.hpp"
#include "ranks/rank_device.hpp"

#include <algorithm>
#include <utility>

namespace sgemm {

RankParts host_parts() {
  return {"host copies",
          [](int, const Patience&) { return std::make_unique<HostRankDevice>(); },
          [](int, const Patience&, PanelsOf panels_of_rank) {
            return std::make_unique<HostExchange>(std::move(panels_of_rank));
          },
          {}};
}

ThreadTeam::ThreadTeam(int ranks, const RankParts& parts, StopToken stop)
    : Team(parts.exchange_name, true, parts.gpu_addresses), members_(static_cast<std::size_t>(ranks)) {
  const auto panels_of_rank = [this](int rank) { return members_[static_cast<std::size_t>(rank)].rank->panels(); };
  for (int i = 0; i < ranks; ++i) {
    members_[static_cast<std::size_t>(i)].rank = std::make_unique<Rank>(
        i, parts, [stop] { end_wait_if(stop); }, panels_of_rank);
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
  ++orders_;
  ordered_.notify_all();
  const auto replied = [this](const Member& member) { return member.obeyed == orders_; };
  const auto all_replied = [&] { return std::all_of(members_.begin(), members_.end(), replied); };
  if (message.seconds) {
    replied_.wait_for(lock, time_for_replies(*message.seconds), all_replied);
  } else {
    replied_.wait(lock, all_replied);
  }
  std::vector<RankReply> replies;
  for (const Member& member : members_) {
    replies.push_back(replied(member) ? member.reply : no_reply(*message.seconds));
  }
  lost_ = !all_replied() || any_in_transfer(replies);
  return replies;
}

void ThreadTeam::obey_orders(std::size_t rank) {
  Member& self = members_[rank];
  std::unique_lock lock(mutex_);
  while (true) {
    ordered_.wait(lock, [&] { return quit_ || orders_ > self.obeyed; });
    if (quit_) {
      return;
    }
    const RankMessage message = message_;
    lock.unlock();
    const RankReply reply =
        self.rank->obey(message, [this](bool ready, const Patience& patience) { return all_ready(ready, patience); });
    lock.lock();
    self.reply = reply;
    ++self.obeyed;
    replied_.notify_one();
  }
}

bool ThreadTeam::all_ready(bool ready, const Patience& patience) {
  if (!ready) {
    refused_ = true;
  }
  const std::uint64_t before = arrivals_.fetch_add(1);
  const std::uint64_t complete = (before / members_.size() + 1) * members_.size();
  patience.wait_until([&] { return arrivals_ >= complete; });
  return !refused_;
}

}  // namespace sgemm
