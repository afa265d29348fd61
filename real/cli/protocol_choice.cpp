#include "real/cli/protocol_choice.hpp"

#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "protocols/bench/measure/collectives.hpp"
#include "protocols/registry.hpp"
#include "protocols/workloads/connections.hpp"

namespace twinlink::real {
namespace {

/// The first that serves the paths of all ranks; null: none does.
const Protocol* first_for_all(MeasuredRank& rank, std::span<const Path> mine, bench::Patience patience) {
  const Protocol* first = nullptr;
  for (const Protocol* protocol : all_protocols()) {
    const bool serves = bench::least_of_all(rank, serves_all(*protocol, mine) ? 1 : 0, patience) == 1;
    if (serves && first == nullptr) first = protocol;
  }
  return first;
}

}  // namespace

std::set<RankId> all_others(const Rank& self) {
  std::set<RankId> others;
  for (int rank = 0; rank < self.ranks(); ++rank) {
    if (RankId{rank} != self.id()) others.insert(RankId{rank});
  }
  return others;
}

ChosenProtocols choose_protocols(Job& job, const std::set<RankId>& peers, Seconds timeout) {
  ChosenProtocols chosen;
  job.run([&](MeasuredRank& rank) {
    const bench::Patience patience = bench::Patience::of_turn(timeout);
    std::vector<Path> within;
    std::vector<Path> between;
    for (const RankId peer : peers) {
      const Path& path = rank.path_to(peer);
      (workloads::in_one_domain(path) ? within : between).push_back(path);
    }
    const auto any = [&](const std::vector<Path>& paths) {
      return bench::least_of_all(rank, paths.empty() ? 1 : 0, patience) == 0;
    };
    const bool near = any(within);
    const bool far = any(between);
    if (near) chosen.within = first_for_all(rank, within, patience);
    if (far) chosen.between = first_for_all(rank, between, patience);
    if (!near) chosen.within = chosen.between;
    if (!far) chosen.between = chosen.within;
  });
  job.agree([&] {
    if (chosen.within != nullptr && chosen.between != nullptr) return;
    throw UnavailableError("no protocol can move device memory between all ranks that have messages");
  });
  if (job.rank().id() == RankId{0}) {
    std::string text(chosen.within->name());
    if (chosen.between != chosen.within)
      text += fmt::format(" within nodes and {} between them", chosen.between->name());
    // In one piece, for mpirun mixes what is not.
    fmt::print(stderr, "twinlink-real: note: {}, the shortest way; -p names another protocol\n", text);
  }
  return chosen;
}

}  // namespace twinlink::real
