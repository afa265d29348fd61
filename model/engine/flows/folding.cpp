#include "model/engine/flows/folding.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "platforms/machine/fabric.hpp"

namespace twinlink::model {

RankId Folding::seen_by(RankId peer, RankId rank) const {
  const int node = nodes_.moved_back(rank.value / ranks_.all, peer.value / ranks_.all);
  const int on_it = ranks_.moved_back(rank.value % ranks_.all, peer.value % ranks_.all);
  return RankId{node * ranks_.all + on_it};
}

const Folding::Link& Folding::link(std::uint64_t link) const {
  const auto found = links_.find(link);
  if (found != links_.end()) return found->second;
  throw std::logic_error(
      fmt::format("ranks that stand for others cross a link that nobody has looked at: {}", fabric_link_name(link)));
}

const Folding::Link& Folding::slot(std::size_t slot) const {
  const Link& found = within_.links.at(slot);
  if (found.share > 0) return found;
  throw std::logic_error(
      fmt::format("ranks that stand for others cross slot {} of a node, at which nobody has looked", slot));
}

Location Folding::location(RankId owner, Location at) const {
  if (!is_within()) return at;
  const Seat& from = seat(standing_for(owner).value);
  const Seat& to = seat(owner.value);
  if (at == Location{Location::Kind::gpu, from.gpu}) return {at.kind, to.gpu};
  if (at == from.near) return to.near;
  if (at == from.far) return to.far;
  throw std::logic_error(fmt::format("rank {} stands for others and has memory that is not next to it", owner.value));
}

std::size_t Folding::gpu(std::size_t gpu) const {
  if (!is_within()) return gpu;
  const auto rank = std::ranges::find(within_.seats, gpu, &Seat::gpu) - within_.seats.begin();
  return seat(standing_for(RankId{static_cast<int>(rank)}).value).gpu;
}

}  // namespace twinlink::model
