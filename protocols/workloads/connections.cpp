#include "protocols/workloads/connections.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "protocols/core/errors.hpp"
#include "protocols/puts/expert_puts.hpp"

namespace twinlink::workloads {
namespace {

struct Way {
  const Protocol& protocol;
  const Settings& settings;
};

Way way_to(const Rank& rank, const Ways& ways, RankId peer) {
  const Path& path = rank.path_to(peer);
  if (path.same_node) return {*ways.within, ways.settings_within};
  if (ways.between_domains != nullptr && !in_one_domain(path)) {
    return {*ways.between_domains, ways.settings_between_domains};
  }
  return {*ways.between, ways.settings_between};
}

/// Which option names another protocol for such pairs: that of nodes, or where a domain joins this rank's to others
/// that of domains.
std::string advice_for(const Rank& rank, const Ways& ways, const Path& path) {
  if (path.same_node) return "";
  bool domains = ways.between_domains != nullptr;
  for (int other = 0; other < rank.ranks() && !domains; ++other) {
    if (RankId{other} == rank.id()) continue;
    const Path& beside = rank.path_to(RankId{other});
    domains = !beside.same_node && in_one_domain(beside);
  }
  const bool across = domains && !in_one_domain(path);
  return std::string("; --between-") + (across ? "domains" : "nodes") + " names another protocol for such pairs";
}

}  // namespace

bool in_one_domain(const Path& path) { return path.same_node || static_cast<bool>(path.device_mapping); }

std::set<RankId> peers_of(const Schedule& schedule) {
  std::set<RankId> peers;
  schedule.for_each_step([&](const Step& step) {
    for (const Transfer& transfer : step.transfers) peers.insert(RankId{transfer.peer});
  });
  return peers;
}

std::string refusal(const Rank& rank, const Ways& ways, const std::set<RankId>& peers) {
  for (const Protocol* protocol : {ways.within, ways.between, ways.between_domains}) {
    if (protocol == nullptr) continue;
    if (protocol->message_memory() != ways.within->message_memory()) {
      return std::string(ways.within->name()) + " and " + std::string(protocol->name()) +
             " take messages in memory of different kinds";
    }
  }
  for (const RankId peer : peers) {
    const Protocol& protocol = way_to(rank, ways, peer).protocol;
    const Support support = protocol.supports(rank.path_to(peer));
    if (support.usable()) continue;
    return std::string(protocol.name()) + " cannot run between ranks " + std::to_string(rank.id().value) + " and " +
           std::to_string(peer.value) + ": " + support.reason + advice_for(rank, ways, rank.path_to(peer));
  }
  return {};
}

bool wants_heap(const Ways& ways) {
  const auto wants = [](const Protocol* protocol) { return protocol != nullptr && protocol->wants_same_places(); };
  return wants(ways.within) || wants(ways.between) || wants(ways.between_domains);
}

bool go_by_numbers(const Ways& ways) {
  const auto goes = [](const Protocol* protocol, const Settings& settings) {
    return protocol != nullptr && protocol->goes_by_numbers(settings);
  };
  return goes(ways.within, ways.settings_within) || goes(ways.between, ways.settings_between) ||
         goes(ways.between_domains, ways.settings_between_domains);
}

bool send_device_memory_alone(const Ways& ways) {
  const auto does = [](const Protocol* protocol, const Settings& settings) {
    return protocol == nullptr || protocol->sends_device_memory_alone(settings);
  };
  return does(ways.between != nullptr ? ways.between : ways.within,
              ways.between != nullptr ? ways.settings_between : ways.settings_within) &&
         does(ways.between_domains, ways.settings_between_domains);
}

std::unique_ptr<Channel> open_channel(Rank& rank, const Ways& ways, RankId peer) {
  const Way way = way_to(rank, ways, peer);
  return way.protocol.connect(rank, peer, way.settings);
}

Circle join_circle(MeasuredRank& rank, const Ways& ways, std::span<const int> members) {
  std::vector<RankId> all;
  for (const int member : members) all.push_back(RankId{member});
  Circle circle{.group = std::make_unique<RankGroup>(std::move(all), rank.position().places)};
  circle.self = std::make_unique<GroupRank>(rank, *circle.group);
  circle.all = ways.within->join(*circle.self, ways.settings_within);
  return circle;
}

void Connections::open(const std::set<RankId>& peers) {
  std::vector<std::function<void()>> works;
  for (const RankId peer : peers) {
    const auto [place, is_new] = channels_.try_emplace(peer);
    std::unique_ptr<Channel>& channel = place->second;
    if (is_new)
      works.emplace_back([this, &channel, peer] {
        const Way way = way_to(rank_, ways_, peer);
        channel = way.protocol.wants_same_places() && heap_ != nullptr
                      ? connect_on(*heap_, peer, way.protocol, way.settings)
                      : way.protocol.connect(rank_, peer, way.settings);
      });
  }
  if (!works.empty()) rank_.run(works);
}

void Connections::open(const Schedule& schedule) {
  schedule.for_each_step([this](const Step& step) {
    open(peers_of({.steps = {step}}));
    if (step.together) open(*step.together);
  });
}

void Connections::open(const Together& together) {
  Circle& circle = communicators_[together.members];
  if (circle.all) return;
  if (together.members.empty()) {
    circle.all = heap_ != nullptr ? join_on(*heap_, *ways_.within, ways_.settings_within)
                                  : ways_.within->join(rank_, ways_.settings_within);
    return;
  }
  circle = join_circle(rank_, ways_, together.members);
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
