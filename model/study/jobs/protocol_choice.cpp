#include "model/study/jobs/protocol_choice.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "platforms/topology/topology.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/workloads/connections.hpp"

namespace twinlink::model {
namespace {

/// Places whose pairs have every path that there is between any of `places`. Nodes repeat the graph of the topology:
/// two that have ranks on the same GPUs stand for all such, and two ranks of a GPU for all that share it.
std::vector<Place> representatives(const Topology& topology, const std::vector<Place>& places) {
  constexpr std::size_t kAlike = 2;
  using RanksByGpu = std::map<std::size_t, std::size_t>;
  struct Copy {
    RanksByGpu ranks{};  // up to kAlike of each
    std::vector<Place> places{};
  };
  std::map<int, Copy> copies;
  for (const Place& place : places) {
    Copy& copy = copies[topology.copy_of(place.node)];
    std::size_t& ranks = copy.ranks[topology.gpu_of(place)];
    if (ranks == kAlike) continue;
    ++ranks;
    copy.places.push_back(place);
  }
  std::map<RanksByGpu, std::size_t> taken;
  std::vector<Place> all;
  for (const auto& [number, copy] : copies) {
    if (++taken[copy.ranks] <= kAlike) all.insert(all.end(), copy.places.begin(), copy.places.end());
  }
  return all;
}

}  // namespace

std::vector<Path> paths_between(const Platform& platform, const std::vector<Place>& places) {
  const Topology topology(platform);
  const std::vector<Place> some = representatives(topology, places);
  std::vector<Path> paths;
  for (std::size_t a = 0; a < some.size(); ++a) {
    for (std::size_t b = a + 1; b < some.size(); ++b) paths.push_back(topology.path(some[a], some[b]));
  }
  return paths;
}

ChosenProtocols shortest_ways(const Platform& platform, const std::vector<Place>& places) {
  std::vector<Path> within = paths_between(platform, places);
  const auto others = std::ranges::partition(within, workloads::in_one_domain);
  const std::vector<Path> between(others.begin(), others.end());
  within.erase(others.begin(), others.end());
  const Protocol& first = shortest_way(within.empty() ? between : within);
  return {.within = &first,
          .between = between.empty() ? &first : &shortest_way(between),
          .domains = platform.node.domain > 1};
}

void note_choice(const ChosenProtocols& chosen) {
  std::string text(chosen.within->name());
  if (chosen.between != chosen.within)
    text += std::string(chosen.domains ? " within domains and " : " within nodes and ") +
            std::string(chosen.between->name()) + " between them";
  std::cerr << "twinlink-sim: note: " << text << ", as 'explain' chooses; -p names another protocol\n";
}

}  // namespace twinlink::model
