#pragma once

// One of the ranks that compute a product together: its blocks of the operands, its part of the product, and the
// comparison of its block of C with double precision.

#include "exchange/exchanges.hpp"
#include "exchange/patience.hpp"
#include "ranks/job.hpp"
#include "ranks/rank_device.hpp"
#include "schedule/product.hpp"
#include "verify/verify.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// What ranks are made of. The functions are called once for each rank. The patience outlives what they make.
struct RankParts {
  std::string_view exchange_name;  ///< Team::exchange()
  std::function<std::unique_ptr<RankDevice>(int rank, const Patience&)> device;
  std::function<std::unique_ptr<Exchange>(int rank, const Patience&, PanelsOf panels_of_rank)> exchange;
  std::vector<std::string> gpu_addresses;  ///< Team::gpu_addresses()
};

/// Called by every rank before a run with whether it is ready; returns when all have called, with whether all are.
/// Throws WaitEnded where a rank does not call as long as its patience lasts.
using RanksReady = std::function<bool(bool ready, const Patience&)>;

class Rank {
 public:
  /// `look` is part of every look at the time while the rank waits, see Patience.
  Rank(int rank, const RankParts& parts, std::function<void()> look, PanelsOf panels_of_rank);
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  /// Does as ordered by the leader; all ranks get the same orders. Errors end up in the reply. After an error the only
  /// orders are set_up and tear_down.
  RankReply obey(const RankMessage& message, const RanksReady& ready);

  /// For exchanges that read other ranks' memory.
  const PanelMemory& panels() const { return panels_; }

 private:
  void set_up(const RankJob& job);
  void make_products();
  /// For a kernel whose bits depend on all of K at once.
  LocalProduct whole_product(const Build& build, std::size_t pieces);
  void tear_down();
  void restore(bool fresh);
  void run(RankOrder order, RankReply& reply);
  Verdict check() const;
  /// Puts the rank's own blocks in place, and NaN where pieces of others are to come.
  void fill_panels();
  std::shared_ptr<float> make_window(MatrixName which, const Window& window);
  /// Of the rank's part of the product.
  Shape block() const { return {extents_.rows, extents_.columns, job_.shape.k, job_.shape.alpha, job_.shape.beta}; }

  const int rank_;
  Patience patience_;
  const std::unique_ptr<RankDevice> device_;
  const std::unique_ptr<Exchange> exchange_;

  RankJob job_;
  Panels extents_;
  /// The rank's rows of A and columns of B, whole, and C0: made from the seed, never exchanged.
  std::shared_ptr<float> a_, b_, c0_;
  std::shared_ptr<float> panel_a_, panel_b_, c_;
  std::shared_ptr<float> whole_a_;  ///< the blocks of A side by side, for whole_product()
  PanelMemory panels_;
  Transfers transfers_;
  std::vector<LocalProduct> products_;
  std::vector<LocalProduct> alone_;
  std::unique_ptr<Reference> reference_;
};

}  // namespace sgemm
