#include "exchange/exchanges.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

class HostExchange final : public Exchange {
 public:
  explicit HostExchange(PanelsOf panels_of_rank) : panels_of_rank_(std::move(panels_of_rank)) {}

  void start(const PanelMemory& panels, const Transfers& transfers) override {
    panels_ = panels;
    incoming_ = transfers.incoming;
    here_ = 0;
  }

  void await(std::size_t count, cudaStream_t) override {
    for (; here_ < count; ++here_) {
      const Transfer& transfer = incoming_.at(here_);
      const float* const from = panels_of_rank_(transfer.from).of(transfer.operand) + transfer.at;
      std::copy_n(from, transfer.floats, panels_.of(transfer.operand) + transfer.at);
    }
  }

  void finish() override {}

 private:
  PanelsOf panels_of_rank_;
  PanelMemory panels_;
  std::vector<Transfer> incoming_;
  std::size_t here_ = 0;
};

}  // namespace

std::unique_ptr<Exchange> make_host_exchange(PanelsOf panels_of_rank) {
  return std::make_unique<HostExchange>(std::move(panels_of_rank));
}

}  // namespace sgemm
