#include "exchange/exchanges.hpp"

#include "common/cuda_check.hpp"
#include "device/cuda_handles.hpp"

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

class PeerExchange final : public Exchange {
 public:
  PeerExchange(int device, std::function<int(int)> device_of, PanelsOf panels_of_rank)
      : device_(device), device_of_(std::move(device_of)), panels_of_rank_(std::move(panels_of_rank)) {
    CUDA_CHECK(cudaSetDevice(device_));
    stream_ = make_stream();
  }
  ~PeerExchange() override { cudaSetDevice(device_); }  // for the members, which go with it
  PeerExchange(const PeerExchange&) = delete;
  PeerExchange& operator=(const PeerExchange&) = delete;

  void start(const PanelMemory& panels, const Transfers& transfers) override {
    while (arrived_.size() < transfers.incoming.size()) {
      arrived_.push_back(make_event());
    }
    for (std::size_t i = 0; i < transfers.incoming.size(); ++i) {
      const Transfer& transfer = transfers.incoming[i];
      const int owner = device_of_(transfer.from);
      reach(owner);
      CUDA_CHECK(cudaMemcpyPeerAsync(panels.of(transfer.operand) + transfer.at, device_,
                                     panels_of_rank_(transfer.from).of(transfer.operand) + transfer.at, owner,
                                     static_cast<std::size_t>(transfer.floats) * sizeof(float), stream_.get()));
      CUDA_CHECK(cudaEventRecord(arrived_[i].get(), stream_.get()));
    }
  }

  void await(std::size_t count, cudaStream_t stream) override {
    if (count > 0) {
      CUDA_CHECK(cudaStreamWaitEvent(stream, arrived_.at(count - 1).get()));  // pieces arrive in order
    }
  }

  void finish() override { CUDA_CHECK(cudaStreamSynchronize(stream_.get())); }

 private:
  /// Lets the GPU read the owner's memory over their link; where it can not, CUDA copies by way of the host.
  void reach(int owner) {
    if (owner == device_ || !reached_.insert(owner).second) {
      return;
    }
    int possible = 0;
    CUDA_CHECK(cudaDeviceCanAccessPeer(&possible, device_, owner));
    if (possible != 0 && cudaDeviceEnablePeerAccess(owner, 0) == cudaErrorPeerAccessAlreadyEnabled) {
      cudaGetLastError();  // another rank on this GPU was first
    }
  }

  int device_;
  std::function<int(int)> device_of_;
  PanelsOf panels_of_rank_;
  std::set<int> reached_;
  Stream stream_;
  std::vector<Event> arrived_;
};

}  // namespace

std::unique_ptr<Exchange> make_peer_exchange(int device, std::function<int(int)> device_of, PanelsOf panels_of_rank) {
  return std::make_unique<PeerExchange>(device, std::move(device_of), std::move(panels_of_rank));
}

}  // namespace sgemm
