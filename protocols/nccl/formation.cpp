#include "protocols/nccl/formation.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace twinlink::nccl {

/// Numbers in binary: who ends in ...10..0 has below it those that end in 01..0 and 11..0 at this place, and so on down
/// to the odd ones, which are leaves; 0 is the root. The other tree has the numbers from behind, or of an odd count one
/// further on, so that its leaves are those that have others below them here.
TreeLinks binary_tree(std::int32_t node, std::int32_t count, bool other) {
  if (other) {
    const bool even = count % 2 == 0;
    const auto there = [&](std::int32_t here) { return even ? count - 1 - here : (here + count - 1) % count; };
    const auto back = [&](std::int32_t at) { return at < 0 ? -1 : even ? count - 1 - at : (at + 1) % count; };
    TreeLinks links = binary_tree(there(node), count, false);
    links.above = back(links.above);
    for (std::int32_t& below : links.below) below = back(below);
    return links;
  }
  TreeLinks links;
  std::int32_t bit = 1;
  while (bit < count && (node & bit) == 0) bit *= 2;
  std::int32_t step = bit / 2;
  if (node == 0) {
    if (count > 1) links.below[0] = step;
    return links;
  }
  links.above = (node ^ bit) | (bit * 2);
  if (links.above >= count) links.above = node ^ bit;
  if (step == 0) return links;
  links.below[0] = node - step;
  while (step > 0 && node + step >= count) step /= 2;
  if (step > 0) links.below[1] = node + step;
  return links;
}

Formation::Formation(const std::vector<std::int32_t>& island) {
  std::map<std::int32_t, std::size_t> places;
  for (std::size_t rank = 0; rank < island.size(); ++rank) {
    const auto [found, is_new] = places.try_emplace(island[rank], islands_.size());
    if (is_new) islands_.emplace_back();
    islands_[found->second].push_back(static_cast<std::int32_t>(rank));
  }
  rings_ = {in_order(members())};
}

int Formation::group() const {
  std::int32_t next = 0;
  for (const Ring& island : islands_) {
    for (const std::int32_t rank : island) {
      if (rank != next++ || island.size() != members()) return 1;
    }
  }
  return static_cast<int>(members());
}

bool Formation::is_plain() const {
  return islands_.size() == 1 && rings_.size() == 1 && rings_.front() == in_order(members());
}

/// The ring of a channel through the members of one island, as many as the first one has; else in their order.
Ring Formation::ring_of(std::int32_t channel) const {
  const Ring& base = rings_[index(channel) % rings_.size()];
  const std::size_t islands = islands_.size();
  Ring all;
  // By which rail each island is left; it is entered by that of the one before.
  const auto rail_out = [&](std::size_t island) {
    const bool odd_one = islands % 2 == 1 && island + 1 == islands;
    return index(channel) + (odd_one ? 2 : island % 2);
  };
  for (std::size_t i = 0; i < islands; ++i) {
    const Ring& members = islands_[i];
    const std::size_t count = members.size();
    const Ring own = count == base.size() ? base : in_order(count);
    if (islands == 1) {
      for (const std::int32_t member : own) all.push_back(members[index(member)]);
      break;
    }
    const auto first = static_cast<std::int32_t>(rail_out((i + islands - 1) % islands) % count);
    auto last = static_cast<std::int32_t>(rail_out(i) % count);
    if (last == first) last = static_cast<std::int32_t>((index(first) + 1) % count);
    const auto at = static_cast<std::size_t>(std::ranges::find(own, first) - own.begin());
    for (std::size_t k = 0; k < count; ++k) {
      const std::int32_t member = own[(at + k) % count];
      if (member != last || count == 1) all.push_back(members[index(member)]);
    }
    if (count > 1) all.push_back(members[index(last)]);
  }
  return all;
}

void Formation::put_into_tree(gpu::ChannelPosition& position, std::int32_t rank, std::int32_t channel) const {
  const auto mine = std::ranges::find_if(
      islands_, [&](const Ring& members) { return std::ranges::find(members, rank) != members.end(); });
  const auto own = static_cast<std::int32_t>(mine - islands_.begin());
  const std::size_t count = mine->size();
  const auto head = [&](std::int32_t island) {
    const Ring& members = islands_[index(island)];
    return members[index(channel) % members.size()];
  };
  // The chain goes as the ring does. How far behind its first one this rank is.
  const Ring& base = rings_[index(channel) % rings_.size()];
  const Ring chain = count == base.size() ? base : in_order(count);
  const auto place_of = [&](std::size_t member) {
    return static_cast<std::size_t>(std::ranges::find(chain, static_cast<std::int32_t>(member)) - chain.begin());
  };
  const std::size_t place = place_of(static_cast<std::size_t>(std::ranges::find(*mine, rank) - mine->begin()));
  const std::size_t behind = (place + count - place_of(index(channel) % count)) % count;
  const auto beside = [&](std::size_t at) { return (*mine)[index(chain[at % count])]; };
  std::size_t below = 0;
  if (behind == 0) {
    // One answer for all islands, also where they are of unequal sizes.
    const bool other = (index(channel) / members()) % 2 == 1;
    const TreeLinks links = binary_tree(own, static_cast<std::int32_t>(islands_.size()), other);
    if (links.above >= 0) position.above = head(links.above);
    for (const std::int32_t island : links.below) {
      if (island >= 0) position.below[below++] = head(island);
    }
  } else {
    position.above = beside(place + count - 1);
  }
  if (behind + 1 < count) position.below[below] = beside(place + 1);
}

void Formation::put_into_rail_tree(gpu::ChannelPosition& position, std::int32_t rank, std::int32_t channel) const {
  for (std::size_t own = 0; own < islands_.size(); ++own) {
    const auto place = std::ranges::find(islands_[own], rank) - islands_[own].begin();
    if (place == std::ssize(islands_[own])) continue;
    const TreeLinks links =
        binary_tree(static_cast<std::int32_t>(own), static_cast<std::int32_t>(islands_.size()), channel % 2 == 1);
    const auto on_rail = [&](std::int32_t island) {
      return island < 0 ? gpu::kNoLink : islands_[index(island)][static_cast<std::size_t>(place)];
    };
    position.above = on_rail(links.above);
    for (std::size_t i = 0; i < links.below.size(); ++i) position.below[i] = on_rail(links.below[i]);
  }
}

std::vector<RankId> Formation::rail_of(std::int32_t rank) const {
  std::vector<RankId> rail;
  for (const Ring& island : islands_) {
    rail.emplace_back(island[static_cast<std::size_t>(rank) % members()]);
  }
  return rail;
}

Neighbourhood Formation::of(std::int32_t rank, std::int32_t channel) const {
  Neighbourhood all;
  all.order = ring_of(channel);
  const auto ranks = all.order.size();
  const auto place = static_cast<std::size_t>(std::ranges::find(all.order, rank) - all.order.begin());
  all.position.place = static_cast<std::int32_t>(place);
  all.position.before = all.order[(place + ranks - 1) % ranks];
  all.position.behind = all.order[(place + 1) % ranks];
  put_into_tree(all.position, rank, channel);
  return all;
}

}  // namespace twinlink::nccl
