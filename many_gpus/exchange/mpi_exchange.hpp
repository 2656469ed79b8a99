#pragma once

#include "exchange/patience.hpp"
#include "schedule/product.hpp"

#include <mpi.h>

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

namespace sgemm {

/// Waits for a request as long as the patience lasts.
inline MPI_Status wait_for(MPI_Request& request, const Patience& patience) {
  MPI_Status status{};
  patience.wait_until([&] {
    int done = 0;
    MPI_Test(&request, &done, &status);
    return done != 0;
  });
  return status;
}

/// Among processes whose ranks are on the host. Sends and receives in `world`, which it has for itself; a process's
/// rank there is its rank in the grid. Waits with `patience`, which outlives it. Throws std::length_error for pieces
/// beyond what MPI counts.
class MpiExchange : public Exchange {
 public:
  MpiExchange(MPI_Comm world, const Patience& patience) : world_(world), patience_(patience) {}

  void start(const PanelMemory& panels, const Transfers& transfers) override {
    incoming_ = transfers.incoming;
    receives_.assign(incoming_.size(), MPI_REQUEST_NULL);
    sends_.assign(transfers.outgoing.size(), MPI_REQUEST_NULL);
    here_ = 0;
    // A receiver's turns are numbers of their own, so that a turn and its sender tell pieces apart.
    for (std::size_t i = 0; i < incoming_.size(); ++i) {
      const Transfer& transfer = incoming_[i];
      MPI_Irecv(panels.of(transfer.operand) + transfer.at, count_of(transfer), MPI_FLOAT, transfer.from,
                static_cast<int>(transfer.turn), world_, &receives_[i]);
    }
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      const Transfer& transfer = transfers.outgoing[i];
      MPI_Isend(panels.of(transfer.operand) + transfer.at, count_of(transfer), MPI_FLOAT, transfer.to,
                static_cast<int>(transfer.turn), world_, &sends_[i]);
    }
  }

  void await(std::size_t count, cudaStream_t) override {
    for (; here_ < count; ++here_) {
      int floats = 0;
      const MPI_Status status = wait_for(receives_.at(here_), patience_);
      MPI_Get_count(&status, MPI_FLOAT, &floats);
      if (floats != incoming_[here_].floats) {
        throw std::runtime_error(fmt::format("piece {} of rank {} has {} floats instead of {}", here_,
                                             incoming_[here_].from, floats, incoming_[here_].floats));
      }
    }
  }

  void finish() override {
    await(receives_.size(), nullptr);
    for (MPI_Request& send : sends_) {
      wait_for(send, patience_);
    }
  }

 private:
  static int count_of(const Transfer& transfer) {
    if (transfer.floats > std::numeric_limits<int>::max()) {
      throw std::length_error(fmt::format("a piece of {} floats is more than MPI counts", transfer.floats));
    }
    return static_cast<int>(transfer.floats);
  }

  MPI_Comm world_;
  const Patience& patience_;
  std::vector<Transfer> incoming_;
  std::vector<MPI_Request> receives_;
  std::vector<MPI_Request> sends_;
  std::size_t here_ = 0;
};

}  // namespace sgemm
