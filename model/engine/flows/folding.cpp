#include "model/engine/flows/folding.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "platforms/machine/fabric.hpp"

namespace twinlink::model {

RankId Folding::seen_by(RankId peer, RankId rank) const {
  const int peers = peer.value / nodes_.per_node;
  const int by = peers - node(peers);
  const int from = rank.value / nodes_.per_node;
  const int to = nodes_.moved(from, nodes_.move == Move::shift ? nodes_.nodes - by : by);
  return RankId{to * nodes_.per_node + rank.value % nodes_.per_node};
}

const Folding::Link& Folding::link(std::uint64_t link) const {
  const auto found = links_.find(link);
  if (found != links_.end()) return found->second;
  throw std::logic_error(fmt::format("ranks that stand for others cross a link that nobody has looked at: {}",
                                     platforms::fabric_link_name(link)));
}

}  // namespace twinlink::model
