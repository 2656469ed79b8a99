#pragma once

// The exchange among processes whose ranks are on the host.

#include "exchange/patience.hpp"
#include "schedule/product.hpp"

#include <mpi.h>

#include <memory>

namespace sgemm {

/// Waits for a request as long as the patience lasts.
MPI_Status wait_for(MPI_Request& request, const Patience& patience);

/// Sends and receives in `world`, which it has for itself; a process's rank there is its rank in the grid. Waits with
/// `patience`, which outlives it. Throws std::length_error for pieces beyond what MPI counts.
std::unique_ptr<Exchange> make_mpi_exchange(MPI_Comm world, const Patience& patience);

}  // namespace sgemm
