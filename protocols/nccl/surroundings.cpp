#include "protocols/nccl/surroundings.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace twinlink::nccl {
namespace {

/// That adds up what all ranks of a node have.
gpu::Verdict switch_of(const Agreement& all, const Options& options, const Formation& formation) {
  const gpu::Ground& ground = options.ground;
  if (!options.nvls) return {false, "nvls_enable forbids it"};
  if (!options.p2p()) return {false, "GPUs may not meet in each other's memory"};
  if (ground.per_node < 2) return {false, "a node has one rank alone"};
  if (!all.reduces) return {false, "no switch that adds up joins all GPUs of each node"};
  if (ground.nodes > 1 && formation.group() < 2) return {false, "nodes have not as many ranks each, in order"};
  return {true, "the switch adds up"};
}

/// Those that the GPUs of an island use, of the island with the fewest.
int look_at_adapters(const Rank& rank, const Formation& formation, gpu::Ground& ground) {
  int fewest = ground.per_node;
  Rate each{};
  Rate slot{};
  ground.to_adapter = Level::loc;
  for (const std::vector<std::int32_t>& island : formation.ranks()) {
    std::map<std::pair<int, int>, Level> nearest;  // by node and adapter
    for (const std::int32_t member : island) {
      const Place& place = rank.place(RankId{member});
      const DeviceFacts& facts = place.facts;
      if (facts.adapter < 0) continue;
      const auto [found, is_new] = nearest.try_emplace({place.node, facts.adapter}, facts.adapter_level);
      if (!is_new) found->second = std::min(found->second, facts.adapter_level);
      const auto narrow = [](Rate& rate, Rate other) {
        if (other != Rate{}) rate = rate == Rate{} ? other : std::min(rate, other);
      };
      narrow(each, facts.adapter_rate);
      if (facts.pcie != Rate{}) narrow(slot, gpu::slot_of(*ground.release, facts));
    }
    for (const auto& [adapter, level] : nearest) ground.to_adapter = std::max(ground.to_adapter, level);
    if (!nearest.empty()) fewest = std::min(fewest, static_cast<int>(nearest.size()));
  }
  gpu::look_between_nodes(ground, fewest, each, slot);
  return fewest;
}

/// Where the user wants switches, and nothing else.
void require_rail_trees(const Options& options) {
  const gpu::Ground& ground = options.ground;
  if (!only_by_switch(options)) return;
  const bool trees = options.fixed.algorithms.front() == gpu::Algorithm::nvls_tree;
  if (ground.reduces.open && (!trees || ground.nodes > 1)) return;
  throw UnavailableError(std::string("protocol 'nccl' cannot run here: algo is ") +
                         (!trees             ? "nvls, but a switch that adds up must join the ranks of each node, "
                                               "all of which have as many, two at least"
                          : ground.nodes > 1 ? "nvlstree, but a switch that adds up must join the ranks of each "
                                               "node, all of which have as many, two at least"
                                             : "nvlstree, but all ranks are on one node"));
}

}  // namespace

Formation look_around(const Rank& rank, const Agreement& all, Options& options) {
  Formation formation(all.island);
  gpu::Ground& ground = options.ground;
  std::vector<DeviceFacts> members;
  for (const std::int32_t member : formation.ranks().front()) members.push_back(rank.place(RankId{member}).facts);
  const gpu::Release& release = *rank.position().release;
  Found found = look_within(release, members, all.near);
  const auto [least, most] =
      std::ranges::minmax(rank.position().places, {}, [](const Place& place) { return place.facts.capability; });
  ground.release = &release;
  ground.capability = least.facts.capability;
  ground.alike = least.facts.capability == most.facts.capability;
  ground.cpu = rank.place(RankId{0}).facts.cpu;
  ground.within = found.within;
  ground.ring = found.ring;
  ground.links_of_gpu = found.links_of_gpu;
  ground.pair_links = found.pair_links;
  ground.one_order = found.one_order();
  ground.searched = gpu::doubled(release, found.channels, ground.capability);
  ground.nodes = static_cast<int>(formation.islands());
  ground.per_node = static_cast<int>(formation.members());
  ground.reduces = switch_of(all, options, formation);
  const int adapters = ground.nodes > 1 ? look_at_adapters(rank, formation, ground) : 0;
  ground.heads = look_for_heads(ground, adapters);
  require_rail_trees(options);
  formation.take(std::move(found.rings));
  settle_channels(options);
  return formation;
}

}  // namespace twinlink::nccl
