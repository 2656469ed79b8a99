#include "ranks/launch.hpp"

#include "base/build_info.hpp"
#include "base/usage_error.hpp"
#include "cli/options.hpp"
#include "device/device.hpp"
#include "exchange/exchanges.hpp"
#include "exchange/mpi_exchange.hpp"
#include "ranks/rank.hpp"
#include "ranks/thread_team.hpp"
#include "simt/executor.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <iostream>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sgemm {
namespace {

using Clock = std::chrono::steady_clock;

/// Tags of messages between the leader and a rank.
enum Tag { ORDER, ANSWER };

constexpr auto POLL = std::chrono::microseconds(50);

/// A process, as all others see it.
struct Process {
  Text<200> build;
  Text<128> host;
  pid_t id;
};

enum class Command { make_rank, obey, leave };

/// From the leader to a rank.
struct Order {
  Command command = Command::leave;
  RankMessage message = {};  ///< to be obeyed
  bool on_gpu = false;       ///< where the rank is to be made
  NcclId nccl_id{};          ///< of the team that a rank on a GPU belongs to
  int status = 0;            ///< to leave with
};

/// A rank's answer to make_rank and to obey.
struct Answer : RankReply {
  Text<128> gpu{};         ///< its model, where a rank on a GPU was made
  Text<32> gpu_address{};  ///< on the PCI bus of its machine
};

static_assert(std::is_trivially_copyable_v<Process> && std::is_trivially_copyable_v<Order> &&
              std::is_trivially_copyable_v<Answer>);

std::string build_text() {
  const BuildInfo& build = build_info();
  return fmt::format("{} commit {}{}, {} build with {} kernels", build.version, build.git_commit.substr(0, 12),
                     build.git_dirty ? " with changes" : "", build.build_type, kernels().size());
}

/// The GPU of the process that is the machine's number `local_rank`. Slurm may show each process no GPU but its own.
Device gpu_of(int local_rank) {
  DeviceQuery query;
  try {
    query = query_device(local_rank);
  } catch (const UsageError&) {
    query = query_device(0);
  }
  if (!query.device) {
    throw CaseStopped(Outcome::not_supported, "has no GPU: " + query.error);
  }
  return *query.device;
}

class World {
 public:
  /// `orders` and `pieces` are for the one and for the other alone.
  World(MPI_Comm orders, MPI_Comm pieces, std::vector<Process> processes, int rank)
      : orders_(orders), pieces_(pieces), processes_(std::move(processes)), rank_(rank) {}

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(processes_.size()); }
  const Process& process(int rank) const { return processes_[static_cast<std::size_t>(rank)]; }
  bool on_machine_of(int x, int y) const { return process(x).host == process(y).host; }
  bool one_machine() const {
    return std::all_of(processes_.begin(), processes_.end(),
                       [&](const Process& x) { return x.host == process(0).host; });
  }

  /// All processes but 0: obeys until leave() on process 0, and returns the status given there.
  int follow();
  /// Process 0: lets all processes end with `status`. Where a rank takes no orders any more, this ends all processes at
  /// once, this one as well.
  void leave(int status);

  /// Does as ordered with this process's rank. One that is made waits for others as long as `look` does not throw.
  Answer obey(const Order& order, std::function<void()> look);

  MPI_Comm orders() const { return orders_; }
  /// After this only leave() is called.
  void lose() { lost_ = true; }

 private:
  Answer make_rank(const Order& order, std::function<void()> look);
  bool all_ready(bool ready, const Patience& patience);

  MPI_Comm orders_;
  MPI_Comm pieces_;
  std::vector<Process> processes_;
  int rank_;
  bool lost_ = false;

  std::unique_ptr<Rank> self_;
  int ready_ = 0;  // members, as MPI writes them even after the patience has ended
  int all_are_ready_ = 0;
};

Answer World::make_rank(const Order& order, std::function<void()> look) {
  Answer answer;
  self_.reset();
  try {
    RankParts parts;
    if (order.on_gpu) {
      int local_rank = 0;
      for (int other = 0; other < rank_; ++other) {
        local_rank += on_machine_of(other, rank_) ? 1 : 0;
      }
      const Device gpu = gpu_of(local_rank);
      set(answer.gpu, gpu.name);
      set(answer.gpu_address, gpu.pci_bus_id);
      parts = nccl_parts(order.nccl_id, size(), [gpu](int) { return gpu.index; });
    } else {
      parts = host_parts();
      parts.exchange = [this](int, const Patience& patience, const PanelsOf&) {
        return std::make_unique<MpiExchange>(pieces_, patience);
      };
    }
    self_ = std::make_unique<Rank>(rank_, parts, std::move(look), PanelsOf());
  } catch (const CaseStopped& stopped) {
    answer.stop(stopped.outcome(), stopped.what());
  } catch (const std::exception& error) {
    answer.stop(Outcome::failed, error.what());
  }
  return answer;
}

Answer World::obey(const Order& order, std::function<void()> look) {
  if (order.command == Command::make_rank) {
    return make_rank(order, std::move(look));
  }
  const auto ready = [this](bool is_ready, const Patience& patience) { return all_ready(is_ready, patience); };
  return {self_->obey(order.message, ready)};
}

bool World::all_ready(bool ready, const Patience& patience) {
  ready_ = ready ? 1 : 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&ready_, &all_are_ready_, 1, MPI_INT, MPI_MIN, orders_, &request);
  wait_for(request, patience);
  return all_are_ready_ != 0;  // NOLINT(clang-analyzer-optin.mpi.MPI-Checker): MPI_Test has ended the request
}

int World::follow() {
  catch_interrupts();
  simt::stop_when(interrupted);
  while (true) {
    Order order;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&order, sizeof order, MPI_BYTE, 0, ORDER, orders_, &request);
    for (int done = 0; done == 0;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done == 0) {
        std::this_thread::sleep_for(POLL);
      }
    }
    // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): MPI_Test has ended the request
    if (order.command == Command::leave) {
      leave(order.status);
      return order.status;
    }
    const Answer answer = obey(order, [] { end_wait_if(StopToken(interrupted)); });
    MPI_Send(&answer, sizeof answer, MPI_BYTE, 0, ANSWER, orders_);
  }
}

void World::leave(int status) {
  if (lost_) {
    std::cout << std::flush;
    std::cerr << std::flush;
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  if (rank_ == 0) {
    const Order order{.status = status};
    for (int rank = 1; rank < size(); ++rank) {
      MPI_Send(&order, sizeof order, MPI_BYTE, rank, ORDER, orders_);
    }
  }
  self_.reset();
  MPI_Finalize();
}

/// Ranks in the processes of a world.
class MpiTeam final : public Team {
 public:
  MpiTeam(World& world, bool on_gpus, std::optional<double> seconds, StopToken stop)
      : Team(on_gpus ? "NCCL" : "MPI", world.one_machine()), world_(world), stop_(stop), on_gpus_(on_gpus) {
    const std::vector<Answer> answers =
        ask({Command::make_rank, {.seconds = seconds}, on_gpus, on_gpus ? make_nccl_id() : NcclId{}});
    for (int rank = 0; rank < size(); ++rank) {
      const Answer& answer = answers[static_cast<std::size_t>(rank)];
      if (answer.stopped) {
        throw CaseStopped(answer.outcome, fmt::format("rank {}: {}", rank, answer.reason.data()));
      }
      require_gpu_of_its_own(answers, rank);
      if (on_gpus && world.on_machine_of(rank, 0)) {
        gpu_addresses_.emplace_back(answer.gpu_address.data());
      }
    }
  }

  int size() const override { return world_.size(); }

  std::vector<RankReply> all(const RankMessage& message) override {
    const std::vector<Answer> answers = ask({Command::obey, message});
    std::vector<RankReply> replies(answers.begin(), answers.end());
    if (any_in_transfer(replies)) {
      lose();
    }
    return replies;
  }

 private:
  void require_gpu_of_its_own(const std::vector<Answer>& answers, int rank) const {
    const Answer& answer = answers[static_cast<std::size_t>(rank)];
    for (int other = 0; on_gpus_ && other < rank; ++other) {
      const Answer& before = answers[static_cast<std::size_t>(other)];
      if (answer.gpu != before.gpu) {
        throw CaseStopped(Outcome::not_supported,
                          fmt::format("rank {} has a {} and rank {} a {}: a product is spread over GPUs of one model",
                                      other, before.gpu.data(), rank, answer.gpu.data()));
      }
      if (world_.on_machine_of(rank, other) && answer.gpu_address == before.gpu_address) {
        throw CaseStopped(Outcome::not_supported,
                          fmt::format("ranks {} and {} have the same GPU {}: start one process for each GPU", other,
                                      rank, answer.gpu_address.data()));
      }
    }
  }

  /// Does as ordered on all ranks, this process's own one last, and waits for their answers.
  std::vector<Answer> ask(const Order& order) {
    const Clock::time_point begin = Clock::now();
    const auto count = static_cast<std::size_t>(size());
    answers_.assign(count, {});
    std::vector<MPI_Request> requests(count, MPI_REQUEST_NULL);
    for (std::size_t rank = 1; rank < count; ++rank) {
      MPI_Irecv(&answers_[rank], sizeof(Answer), MPI_BYTE, static_cast<int>(rank), ANSWER, world_.orders(),
                &requests[rank]);
      MPI_Send(&order, sizeof order, MPI_BYTE, static_cast<int>(rank), ORDER, world_.orders());
    }
    answers_[0] = world_.obey(order, [this] { look(); });
    const std::optional<double> seconds = order.message.seconds;
    std::optional<Clock::time_point> stopped;
    while (true) {
      int done = 0;
      MPI_Testall(static_cast<int>(count), requests.data(), &done, MPI_STATUSES_IGNORE);
      if (done != 0) {
        return answers_;
      }
      const Clock::time_point now = Clock::now();
      if (!stopped && stop_.requested()) {
        stopped = now;
      }
      constexpr auto GRACE = std::chrono::milliseconds(300);  // mpirun kills soon after it has asked to end
      if (find_gone() || (stopped && now - *stopped > GRACE) || (seconds && now - begin > time_for_replies(*seconds))) {
        return without_replies(requests, seconds.value_or(0.0), stopped.has_value());
      }
      std::this_thread::sleep_for(POLL);
    }
  }

  /// The answers that have come, and a reason for each that has not.
  std::vector<Answer> without_replies(const std::vector<MPI_Request>& requests, double seconds, bool stopped) {
    lose();
    std::vector<Answer> answers = answers_;
    for (std::size_t rank = 1; rank < answers.size(); ++rank) {
      if (requests[rank] == MPI_REQUEST_NULL) {
        continue;
      }
      RankReply& reply = answers[rank] = {};
      if (static_cast<int>(rank) == gone_) {
        reply.stop(Outcome::failed, "its process has ended");
      } else if (gone_ > 0 || stopped) {
        reply.stop(Outcome::skipped, "had to end");
        reply.cause_elsewhere = true;
      } else {
        reply = no_reply(seconds);
      }
    }
    return answers;
  }

  void lose() {
    lost_ = true;
    world_.lose();
  }

  /// What the rank of this process does while it waits.
  void look() {
    constexpr auto PERIOD = std::chrono::milliseconds(20);
    const Clock::time_point now = Clock::now();
    if (now - last_look_ > PERIOD || stop_.requested()) {
      last_look_ = now;
      if (find_gone()) {
        throw WaitEnded(Outcome::failed, "another rank's process has ended");
      }
    }
    end_wait_if(stop_);
  }

  /// Whether a process of this machine is gone. mpirun asks the others to end then; this tells it from an interrupt.
  bool find_gone() {
    for (int rank = 1; gone_ == 0 && rank < size(); ++rank) {
      if (world_.on_machine_of(rank, 0) && kill(world_.process(rank).id, 0) != 0) {
        gone_ = rank;
      }
    }
    return gone_ > 0;
  }

  World& world_;
  const StopToken stop_;
  const bool on_gpus_;
  int gone_ = 0;  ///< the rank whose process has ended; 0, which is this process, for none
  Clock::time_point last_look_;
  std::vector<Answer> answers_;  // a member, as late answers are still written to it
};

#ifdef OPEN_MPI
constexpr bool NEEDS_PMI_OF_SRUN = true;  // without it, MPI_Init() ends each process with advice on how to build MPI
#else
constexpr bool NEEDS_PMI_OF_SRUN = false;
#endif

/// What is wrong with processes that are to work together; empty if nothing is.
std::string misfit(const Launch& launch, const std::vector<Process>& processes) {
  if (processes.size() != static_cast<std::size_t>(launch.size)) {
    return fmt::format(
        "{} started {} processes, but they make {} of MPI: start them with the mpirun of the MPI library "
        "that this build is linked with{}",
        launch.launcher, launch.size, processes.size() == 1 ? "worlds of one process each" : "several worlds",
        launch.launcher == "srun" ? ", or with the --mpi that srun has for it (srun --mpi=list)" : "");
  }
  for (std::size_t rank = 1; rank < processes.size(); ++rank) {
    if (processes[rank].build != processes[0].build) {
      return fmt::format("rank 0 is version {}, and rank {} is version {}: start the same runner on all ranks",
                         processes[0].build.data(), rank, processes[rank].build.data());
    }
  }
  return "";
}

/// Nothing for a process but 0 where there is nothing to do but to end.
std::unique_ptr<World> join(const Launch& launch) {
  const auto refuse = [&](const std::string& reason) -> std::unique_ptr<World> {
    if (launch.rank > 0) {
      return nullptr;
    }
    throw UsageError(reason);
  };
  if (NEEDS_PMI_OF_SRUN && launch.launcher == "srun" && !launch.has_pmi) {
    return refuse(fmt::format(
        "srun started {} processes, and gave them no way to find each other: start them by srun --mpi=pmix, "
        "or by another --mpi that Slurm (srun --mpi=list) and the MPI library have in common",
        launch.size));
  }
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Process self{};
  self.id = getpid();
  set(self.build, build_text());
  gethostname(self.host.data(), self.host.size() - 1);
  std::vector<Process> processes(static_cast<std::size_t>(size));
  MPI_Allgather(&self, sizeof self, MPI_BYTE, processes.data(), sizeof self, MPI_BYTE, MPI_COMM_WORLD);
  const std::string error = misfit(launch, processes);
  if (!error.empty()) {
    catch_interrupts();  // mpirun asks rank 0 to end once another one has, and rank 0 is still to tell the reason
    MPI_Finalize();
    return refuse(error);
  }
  MPI_Comm orders = MPI_COMM_NULL;
  MPI_Comm pieces = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &orders);
  MPI_Comm_dup(MPI_COMM_WORLD, &pieces);
  return std::make_unique<World>(orders, pieces, std::move(processes), rank);
}

}  // namespace

int run_in_world(const Launch& launch, const std::function<int(const TeamMaker&)>& lead) {
  const std::unique_ptr<World> world = join(launch);
  if (!world) {
    return BAD_USAGE;
  }
  if (world->rank() > 0) {
    return world->follow();
  }
  const int status = [&] {
    try {
      return lead([&](bool on_gpus, std::optional<double> seconds, StopToken stop) {
        return std::make_unique<MpiTeam>(*world, on_gpus, seconds, stop);
      });
    } catch (...) {
      return status_of_error();
    }
  }();
  world->leave(status);
  return status;
}

}  // namespace sgemm
