#pragma once

#include "exchange/exchanges.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace sgemm {

/// Among ranks on the host: threads of one process, which read each other's memory. Copies a piece from its owner when
/// it is awaited. The owner need not take part: it leaves its own blocks alone while a product is computed.
class HostExchange : public Exchange {
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

 private:
  PanelsOf panels_of_rank_;
  PanelMemory panels_;
  std::vector<Transfer> incoming_;
  std::size_t here_ = 0;
};

}  // namespace sgemm
