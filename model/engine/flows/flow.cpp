#include "model/engine/flows/flow.hpp"

#include <algorithm>

namespace twinlink::model {

SharedLink& FlowNetwork::add_link(Rate rate) {
  return links_.emplace_back(
      SharedLink{.rate = rate.bytes_per_second(), .number = static_cast<std::uint32_t>(links_.size())});
}

SharedLink& FlowNetwork::add_open_link() {
  return links_.emplace_back(
      SharedLink{.rate = kOpenRate, .open = true, .number = static_cast<std::uint32_t>(links_.size())});
}

void FlowNetwork::change_rate(SharedLink& link, Rate rate, Seconds now) {
  link.earlier.push_back({now, link.rate});
  link.rate = std::max(rate.bytes_per_second(), kRateAtRest);
}

double FlowRoute::rate_alone() const {
  double rate = limit ? limit->bytes_per_second() : kOpenRate;
  for (const SharedLink* link : links) {
    if (link->detours.empty()) rate = std::min(rate, link->rate / link->share);
  }
  return rate;
}

bool SharedLink::is_spared() const {
  return before.most_for(*this) <= rate * kABitMore || behind.most_for(*this) <= rate * kABitMore;
}

double SharedLink::possible(Seconds from, Seconds to) const {
  double bytes = 0;
  for (const Earlier& change : earlier) {
    if (change.until <= from) continue;
    const Seconds until = std::min(change.until, to);
    bytes += change.rate * (until - from).value();
    from = until;
  }
  return bytes + rate * (to - from).value();
}

}  // namespace twinlink::model
