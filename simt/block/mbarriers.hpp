#pragma once

#include "block/block_context.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace simt {

/// A barrier in shared memory, of which threads wait for a phase to end. It is kept here: its 8 bytes are not touched.
struct Mbarrier {
  unsigned address = 0;
  unsigned expected = 0;     ///< arrivals in each phase
  unsigned pending = 0;      ///< in this one
  std::uint64_t phase = 0;   ///< that is under way
  std::int64_t missing = 0;  ///< bytes that are yet to be copied in this phase
  ThreadList waiting;        ///< for its end
};

/// Those of a block.
class Mbarriers final : public WaitingPlace {
 public:
  explicit Mbarriers(BlockContext& context) : context_(context) {}

  void begin() { mbarriers_.clear(); }
  void init(unsigned address, unsigned arrivals, Site site);
  void arrive(unsigned address, Site site);
  void arrive_expecting(unsigned address, unsigned bytes, Site site);
  void wait(unsigned address, unsigned parity, Site site);

  // For copies that arrive at one:
  /// The current thread is about to use it; fails where it may not. Initialising others moves it elsewhere.
  Mbarrier& at(unsigned address, Site site);
  /// `copies` says whether the arrival announces the thread's copies instead of all else.
  void arrive(Mbarrier& mbarrier, bool copies, Site site);
  void receive(Mbarrier& mbarrier, unsigned bytes, Site site);

  std::string describe(unsigned address) const override;

 private:
  /// Null where none was initialised.
  const Mbarrier* find(unsigned address) const;
  /// Fails where none can be, or is, or is not.
  void check(unsigned address, bool init, Site site) const;
  /// To be called where an arrival or a copy may have been the last.
  void end_phase_if_complete(Mbarrier& mbarrier, Site site);

  BlockContext& context_;
  std::vector<Mbarrier> mbarriers_;  ///< few
};

}  // namespace simt
