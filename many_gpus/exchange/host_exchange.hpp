#pragma once

// The exchange among ranks on the host: threads of one process, which read each other's memory.

#include "schedule/exchange.hpp"

#include <functional>
#include <memory>

namespace sgemm {

/// Where a rank has its panels.
using PanelsOf = std::function<PanelMemory(int rank)>;

/// Copies a piece from its owner when it is awaited. The owner need not take part: it leaves its own blocks alone while
/// a product is computed.
std::unique_ptr<Exchange> make_host_exchange(PanelsOf panels_of_rank);

}  // namespace sgemm
