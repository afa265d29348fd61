#include "model/engine/flows/bottleneck.hpp"

#include <algorithm>
#include <tuple>

#include "model/engine/flows/flow.hpp"

namespace twinlink::model {

std::uint32_t Bottleneck::add(const SharedLink* tightest, double most) {
  auto part = std::ranges::find_if(parts_, [&](const Part& each) { return each.tightest == tightest; });
  if (part == parts_.end()) {
    part = std::ranges::find_if(parts_, [](const Part& each) { return each.flows == 0; });
    if (part == parts_.end()) {
      if (tightest != nullptr && parts_.size() >= kMostParts) return add(nullptr, most);
      part = parts_.emplace(parts_.end());
    }
    part->tightest = tightest;
  }
  ++part->flows;
  part->most += most;
  return static_cast<std::uint32_t>(part - parts_.begin());
}

void Bottleneck::change(std::uint32_t place, double by) { parts_[place].most += by; }

void Bottleneck::remove(std::uint32_t place, double most) {
  Part& part = parts_[place];
  part.most = --part.flows == 0 ? 0 : part.most - most;
}

double Bottleneck::most_for(const SharedLink& link) const {
  double sum = 0;
  for (const Part& part : parts_) {
    if (part.flows == 0) continue;
    const SharedLink* by = part.tightest;
    const bool limits = by != nullptr && std::tie(by->rate, by->number) < std::tie(link.rate, link.number);
    sum += limits ? std::min(part.most, by->rate) : part.most;
  }
  return sum;
}

}  // namespace twinlink::model
