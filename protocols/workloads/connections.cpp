#include "protocols/workloads/connections.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "protocols/core/errors.hpp"

namespace twinlink::workloads {
namespace {

const Protocol& protocol_to(const Rank& rank, const Ways& ways, RankId peer) {
  return rank.path_to(peer).same_node ? *ways.within : *ways.between;
}

}  // namespace

std::set<RankId> peers_of(const Schedule& schedule) {
  std::set<RankId> peers;
  for (const Step& step : schedule.steps) {
    for (const Transfer& transfer : step.transfers) peers.insert(RankId{transfer.peer});
  }
  return peers;
}

std::string refusal(const Rank& rank, const Ways& ways, const std::set<RankId>& peers) {
  if (ways.within->message_memory() != ways.between->message_memory()) {
    return std::string(ways.within->name()) + " and " + std::string(ways.between->name()) +
           " take messages in memory of different kinds";
  }
  for (const Protocol* protocol : {ways.within, ways.between}) {
    if (protocol->wants_same_places()) {
      return std::string(protocol->name()) +
             " wants each message at the same place at both ends, which schedules do not have";
    }
  }
  for (const RankId peer : peers) {
    const Protocol& protocol = protocol_to(rank, ways, peer);
    const Support support = protocol.supports(rank.path_to(peer));
    if (support.usable()) continue;
    return std::string(protocol.name()) + " cannot run between ranks " + std::to_string(rank.id().value) + " and " +
           std::to_string(peer.value) + ": " + support.reason +
           (rank.path_to(peer).same_node ? "" : "; --between-nodes names another protocol for such pairs");
  }
  return {};
}

std::unique_ptr<Channel> open_channel(Rank& rank, const Ways& ways, RankId peer) {
  const bool within = rank.path_to(peer).same_node;
  return protocol_to(rank, ways, peer).connect(rank, peer, within ? ways.settings_within : ways.settings_between);
}

void Connections::open(const std::set<RankId>& peers) {
  std::vector<std::function<void()>> works;
  for (const RankId peer : peers) {
    const auto [place, is_new] = channels_.try_emplace(peer);
    std::unique_ptr<Channel>& channel = place->second;
    if (is_new) works.emplace_back([this, &channel, peer] { channel = open_channel(rank_, ways_, peer); });
  }
  if (!works.empty()) rank_.run(works);
}

void Connections::open(const Schedule& schedule) {
  for (const Step& step : schedule.steps) {
    open(peers_of({.steps = {step}}));
    if (step.together && !communicator_) communicator_ = ways_.within->join(rank_, ways_.settings_within);
  }
}

bool Connections::connecting() const {
  return std::ranges::any_of(channels_, [](const auto& entry) { return entry.second->connecting(); });
}

std::map<std::string, std::uint64_t> Connections::counters() const {
  std::map<std::string, std::uint64_t> all;
  for (const auto& [peer, channel] : channels_) {
    for (const Counter& counter : channel->counters()) all[counter.name] += counter.value;
  }
  return all;
}

}  // namespace twinlink::workloads
