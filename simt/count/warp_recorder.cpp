#include "count/warp_recorder.hpp"

#include "count/site_names.hpp"

#include <utility>

namespace simt {

void WarpRecorder::begin() { *this = WarpRecorder(warp_); }

void WarpRecorder::add(AccessSites::Number site, AccessKind kind, Memory memory, Memory destination,
                       const WarpAccess& access, const Traffic& traffic) {
  const Place place{site, kind, memory, destination};
  const auto [known, is_new] = known_.try_emplace(place, static_cast<std::uint32_t>(places_.size()));
  if (is_new) {
    places_.push_back(place);
  }
  const TracedRequest request{known->second, barriers_, access, {}, traffic};
  if (first_.size() < most_first()) {
    first_.push_back(request);
    return;
  }
  last_.push_back(request);
  if (first_.size() + last_.size() > warp_.most) {
    last_.pop_front();
    ++left_out_;
  }
}

void WarpRecorder::add_destination(const WarpAccess& access, const Wavefronts& wavefronts) {
  TracedRequest& request = last_.empty() ? first_.back() : last_.back();
  request.copied_to = access;
  request.traffic.wavefronts = wavefronts.taken;
  request.traffic.ideal_wavefronts = wavefronts.ideal;
}

WarpTrace WarpRecorder::take(const AccessSites& sites, const std::vector<CountedArray>& arrays) {
  WarpTrace trace;
  trace.of = warp_;
  std::vector<AccessSites::Site> used;
  for (const Place& place : places_) {
    used.push_back(sites[place.site]);
  }
  const std::vector<SourcePlace> sources = places_in_kernel(used);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    trace.places.push_back({sources[i].file, sources[i].line, place.kind, name_of(place.memory, arrays),
                            name_of(place.destination, arrays)});
  }
  trace.requests = std::move(first_);
  trace.left_out_at = trace.requests.size();
  trace.left_out = left_out_;
  trace.requests.insert(trace.requests.end(), last_.begin(), last_.end());
  begin();
  return trace;
}

}  // namespace simt
