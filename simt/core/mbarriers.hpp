#pragma once

#include "core/block_context.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace simt {

/// An mbarrier: a barrier in shared memory on which threads wait for a phase to end. Its state is kept here, and its 8
/// bytes in shared memory are not touched.
struct Mbarrier {
  unsigned address = 0;
  unsigned expected = 0;              ///< arrivals in each phase
  unsigned pending = 0;               ///< arrivals that the current phase still needs
  std::uint64_t phase = 0;            ///< the current phase
  std::int64_t missing = 0;           ///< bytes that are yet to be copied in this phase
  std::vector<ThreadNumber> waiting;  ///< for the end of the phase
};

/// The mbarriers of a block.
class Mbarriers final : public WaitingPlace {
 public:
  explicit Mbarriers(BlockContext& context) : context_(context) {}

  void begin() { mbarriers_.clear(); }
  void init(unsigned address, unsigned arrivals, Site site);
  void arrive(unsigned address, Site site);
  void arrive_expecting(unsigned address, unsigned bytes, Site site);
  void wait(unsigned address, unsigned parity, Site site);

  // For copies that arrive at one:
  /// The mbarrier that the current thread is about to use. Fails if the thread may not use it. The reference is valid
  /// until another mbarrier is initialised.
  Mbarrier& at(unsigned address, Site site);
  /// The current thread arrives. `copies`: the arrival announces the thread's copies and nothing else.
  void arrive(Mbarrier& mbarrier, bool copies, Site site);
  void receive(Mbarrier& mbarrier, unsigned bytes, Site site);

  std::string describe(unsigned address) const override;

 private:
  /// The mbarrier at an address; null if none was initialised there.
  const Mbarrier* find(unsigned address) const;
  /// Fails if there can be no mbarrier at the address, if one is there already (`init`), or if none is there (not
  /// `init`).
  void check(unsigned address, bool init, Site site) const;
  /// Ends the phase if the last arrival or copy completed it. The caller has just counted one.
  void end_phase_if_complete(Mbarrier& mbarrier, Site site);

  BlockContext& context_;
  std::vector<Mbarrier> mbarriers_;  ///< few
};

}  // namespace simt
