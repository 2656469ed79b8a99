#include "exchange/exchanges.hpp"

#include "common/cuda_check.hpp"
#include "device/cuda_handles.hpp"

#include <nccl.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace sgemm {
namespace {

static_assert(sizeof(ncclUniqueId) == sizeof(NcclId));

/// Throws std::runtime_error with the function called, unless it succeeded or is still at work.
void nccl_check(ncclResult_t status, const char* what) {
  if (status != ncclSuccess && status != ncclInProgress) {
    throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(status));
  }
}

/// Copies run before products that wait for a multiprocessor.
Stream make_urgent_stream() {
  int least = 0;
  int greatest = 0;
  CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t stream = nullptr;
  CUDA_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamDefault, greatest));
  return Stream(stream);
}

class NcclExchange final : public Exchange {
 public:
  NcclExchange(const NcclId& id, int ranks, int rank, int device, const Patience& patience)
      : ranks_(ranks), rank_(rank), device_(device), patience_(patience) {
    std::memcpy(&id_, id.data(), sizeof id_);
    CUDA_CHECK(cudaSetDevice(device_));
    stream_ = make_urgent_stream();
  }
  ~NcclExchange() override {
    cudaSetDevice(device_);  // for the members, which go with it
    if (comm_ != nullptr) {
      ncclCommAbort(comm_);  // which, unlike ncclCommDestroy, waits for no other rank
    }
  }
  NcclExchange(const NcclExchange&) = delete;
  NcclExchange& operator=(const NcclExchange&) = delete;

  void start(const PanelMemory& panels, const Transfers& transfers) override {
    connect();
    // All transfers of a turn are one group. Every rank goes through the turns in order, so none waits for a rank that
    // waits for it.
    const std::vector<Transfer>& incoming = transfers.incoming;
    const std::vector<Transfer>& outgoing = transfers.outgoing;
    while (arrived_.size() < incoming.size()) {
      arrived_.push_back(make_event());
    }
    std::size_t sent = 0;
    for (std::size_t turn = 0; turn < incoming.size() || sent < outgoing.size(); ++turn) {
      nccl_check(ncclGroupStart(), "ncclGroupStart");
      if (turn < incoming.size()) {
        const Transfer& transfer = incoming[turn];
        nccl_check(ncclRecv(panels.of(transfer.operand) + transfer.at, static_cast<std::size_t>(transfer.floats),
                            ncclFloat, transfer.from, comm_, stream_.get()),
                   "ncclRecv");
      }
      for (; sent < outgoing.size() && outgoing[sent].turn == turn; ++sent) {
        const Transfer& transfer = outgoing[sent];
        nccl_check(ncclSend(panels.of(transfer.operand) + transfer.at, static_cast<std::size_t>(transfer.floats),
                            ncclFloat, transfer.to, comm_, stream_.get()),
                   "ncclSend");
      }
      nccl_check(ncclGroupEnd(), "ncclGroupEnd");
      wait_for_nccl("ncclGroupEnd");
      if (turn < incoming.size()) {
        CUDA_CHECK(cudaEventRecord(arrived_[turn].get(), stream_.get()));
      }
    }
  }

  void await(std::size_t count, cudaStream_t stream) override {
    if (count > 0) {
      CUDA_CHECK(cudaStreamWaitEvent(stream, arrived_.at(count - 1).get()));  // pieces arrive in order
    }
  }

  void finish() override {
    cudaError_t status = cudaStreamQuery(stream_.get());
    while (status == cudaErrorNotReady) {
      wait_for_nccl("exchange");
      patience_.check();
      status = cudaStreamQuery(stream_.get());
    }
    CUDA_CHECK(status);
  }

 private:
  void connect() {
    if (comm_ != nullptr) {
      return;
    }
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;  // a rank that does not come must not hold up the others for ever
    nccl_check(ncclCommInitRankConfig(&comm_, ranks_, id_, rank_, &config), "ncclCommInitRankConfig");
    wait_for_nccl("ncclCommInitRankConfig");
  }

  /// Waits until NCCL has done what it was asked for.
  void wait_for_nccl(const char* what) const {
    ncclResult_t state = ncclInProgress;
    while (true) {
      nccl_check(ncclCommGetAsyncError(comm_, &state), "ncclCommGetAsyncError");
      if (state != ncclInProgress) {
        return nccl_check(state, what);
      }
      patience_.check();
    }
  }

  int ranks_;
  int rank_;
  int device_;
  const Patience& patience_;
  ncclUniqueId id_{};
  ncclComm_t comm_ = nullptr;
  Stream stream_;
  std::vector<Event> arrived_;
};

}  // namespace

NcclId make_nccl_id() {
  ncclUniqueId made{};
  nccl_check(ncclGetUniqueId(&made), "ncclGetUniqueId");
  NcclId id{};
  std::memcpy(id.data(), &made, sizeof made);
  return id;
}

std::unique_ptr<Exchange> make_nccl_exchange(const NcclId& id, int ranks, int rank, int device,
                                             const Patience& patience) {
  return std::make_unique<NcclExchange>(id, ranks, rank, device, patience);
}

}  // namespace sgemm
