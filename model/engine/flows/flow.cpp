#include "model/engine/flows/flow.hpp"

#include <algorithm>

namespace twinlink::model {

SharedLink& FlowNetwork::add_link(Rate rate) {
  return links_.emplace_back(SharedLink{.rate = rate.bytes_per_second()});
}

SharedLink& FlowNetwork::add_open_link() { return links_.emplace_back(SharedLink{.rate = kOpenRate, .open = true}); }

void FlowNetwork::change_rate(SharedLink& link, Rate rate, Seconds now) {
  link.earlier.push_back({now, link.rate});
  link.rate = std::max(rate.bytes_per_second(), kRateAtRest);
}

double FlowRoute::rate_alone() const {
  double rate = limit ? limit->bytes_per_second() : kOpenRate;
  for (const SharedLink* link : links) rate = std::min(rate, link->rate);
  return rate;
}

double SharedLink::possible(Seconds from, Seconds to) const {
  double bytes = 0;
  for (const Earlier& before : earlier) {
    if (before.until <= from) continue;
    const Seconds until = std::min(before.until, to);
    bytes += before.rate * (until - from).value();
    from = until;
  }
  return bytes + rate * (to - from).value();
}

}  // namespace twinlink::model
