#include "real/pace/pace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "platforms/reader/platform_file.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "real/device/host_runtime.hpp"

namespace twinlink::real {
namespace {

using nlohmann::json;
using Counts = PacedRuntime::Counts;

std::vector<Place> read_places(std::string_view text) {
  std::vector<Place> places;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    places.push_back(parse_place(text.substr(0, comma)));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return places;
}

platforms::Platform read_platform(const PaceOptions& options, WithinNode within_node) {
  platforms::Platform platform = platforms::read_platform(options.platform, options.overrides);
  platforms::set_within_node(platform, {.loopback = within_node == WithinNode::loopback});
  return platform;
}

Counts sum(const Mpi& mpi, const Counts& mine) {
  json rows = json::array();
  for (const auto& [copy, sizes] : mine) {
    for (const auto& [size, count] : sizes) rows.push_back({copy, size.count(), count.copies, count.late});
  }
  Counts all;
  for (const std::string& text : mpi.all_gather(rows.dump())) {
    for (const json& row : json::parse(text)) {
      PacedRuntime::Count& count = all[row.at(0)][Bytes{row.at(1)}];
      count.copies += row.at(2).get<std::uint64_t>();
      count.late += row.at(3).get<std::uint64_t>();
    }
  }
  return all;
}

/// What most copies of a size suffer, the medians show. Single ones are always late where the host does other work too.
void note_slow_copies(const Counts& counts, const std::string& platform) {
  for (const auto& [copy, sizes] : counts) {
    PacedRuntime::Count slow;
    std::string list;
    for (const auto& [size, count] : sizes) {
      if (2 * count.late <= count.copies) continue;
      list += (list.empty() ? "" : ", ") + format_size(size);
      slow.copies += count.copies;
      slow.late += count.late;
    }
    if (list.empty()) continue;
    fmt::print(stderr,
               "twinlink-real: note: {} of {} copies ({}, {}) took longer than {} says: this host's memory or "
               "processors are too slow for them\n",
               slow.late, slow.copies, copy, list, platform);
  }
}

}  // namespace

std::filesystem::path platform_file(const PaceOptions& options) {
  return options.platform.empty() ? std::filesystem::path() : platforms::find_platform(options.platform);
}

Pace::Pace(const PaceOptions& options, WithinNode within_node, RankId self)
    : options_(options),
      platform_(read_platform(options, within_node)),
      topology_(platform_),
      places_(read_places(options.places)),
      self_(self),
      place_(place_of(self)),
      clock_(monotonic_clock()) {}

Place Pace::place_of(RankId rank) const {
  const auto gpus = static_cast<int>(platform_.node.gpus.size());
  Place place{.node = rank.value / gpus, .gpu = rank.value % gpus};
  if (!options_.places.empty()) {
    if (static_cast<std::size_t>(rank.value) >= places_.size()) {
      throw UsageError(fmt::format("--places names {} devices, and none for rank {}", places_.size(), rank.value));
    }
    place = places_[static_cast<std::size_t>(rank.value)];
    topology_.require(place);
  } else if (place.node >= platform_.node.count) {
    throw UsageError(fmt::format("platform '{}' has no GPU for rank {}: {} nodes of {} GPUs", platform_.name,
                                 rank.value, platform_.node.count, gpus));
  }
  place.device = "emulated " + platform_.type_of(static_cast<std::size_t>(place.gpu)).model;
  place.facts = topology_.facts_of(place);
  return place;
}

/// Different for all GPUs of the platform, so that a host can play several nodes.
int Pace::device_number(const Place& place) const {
  return place.node * static_cast<int>(platform_.node.gpus.size()) + place.gpu;
}

std::unique_ptr<PacedRuntime> Pace::make_runtime(const std::string& host) const {
  PacedRuntime::Role role{.topology = topology_, .gpu = static_cast<std::size_t>(place_.gpu)};
  for (std::size_t gpu = 0; gpu < platform_.node.gpus.size(); ++gpu) {
    const Place place{.node = place_.node, .gpu = static_cast<int>(gpu)};
    role.node_gpus.emplace(emulated_uuid(host, device_number(place)), gpu);
  }
  auto emulated = std::make_unique<HostRuntime>(host, device_number(place_), HostPeers::all,
                                                platform_.type_of(role.gpu).memory.value);
  return std::make_unique<PacedRuntime>(std::move(emulated), std::move(role), *clock_);
}

void Pace::require(const Mpi& mpi, const Neighbours& neighbours) const {
  const std::vector<std::string> read = mpi.all_gather(platforms::platform_text(platform_));
  const auto other = std::ranges::find_if(read, [&](const std::string& text) { return text != read.front(); });
  if (other != read.end()) {
    throw UsageError(fmt::format("the ranks must keep one pace: {} is another platform for rank {} than for rank 0",
                                 options_.platform.string(), other - read.begin()));
  }
  const std::size_t ranks = neighbours.ranks.size();
  if (!places_.empty() && places_.size() != ranks) {
    throw UsageError(fmt::format("--places names {} devices, and this job has {} ranks", places_.size(), ranks));
  }
  for (std::size_t a = 0; a < ranks; ++a) {
    for (std::size_t b = a + 1; b < ranks; ++b) {
      const int node = place_of(RankId{static_cast<int>(a)}).node;
      if (node != place_of(RankId{static_cast<int>(b)}).node) continue;
      if (neighbours.ranks[a].host == neighbours.ranks[b].host) continue;
      throw UsageError(fmt::format("ranks {} and {} play GPUs of one node, {}, but run on {} and {}: choose --places",
                                   a, b, node, neighbours.ranks[a].host, neighbours.ranks[b].host));
    }
  }
}

void Pace::apply(Neighbours& neighbours) const {
  for (std::size_t r = 0; r < neighbours.ranks.size(); ++r) {
    Neighbour& rank = neighbours.ranks[r];
    const Place& place = neighbours.places[r] = place_of(RankId{static_cast<int>(r)});
    const Answer really_mapped = rank.path.device_mapping;
    rank.path = topology_.path(place_, place);
    // MPI carries messages from and to emulated devices of other nodes, but there is nobody to play their adapters.
    if (!rank.path.same_node && rank.path.one_sided) {
      rank.path.one_sided =
          Answer::refused("emulated devices have no adapter that writes into the memory of another node");
    }
    if (rank.path.gpu_programs) {
      rank.path.gpu_programs = Answer::refused("emulated devices keep no platform's pace in programs of thread blocks");
    }
    // What this host refuses it cannot play.
    if (!rank.path.same_node || really_mapped) continue;
    rank.path.peer_access = rank.path.device_mapping = rank.path.one_sided = really_mapped;
  }
  for (std::size_t a = 0; a < neighbours.ranks.size(); ++a) {
    for (std::size_t b = 0; b < neighbours.ranks.size(); ++b) {
      std::string& refusal = neighbours.peer_access[a][b];
      const Answer answer = topology_.path(neighbours.places[a], neighbours.places[b]).peer_access;
      if (!answer) refusal = answer.reason;
    }
  }
}

json Pace::conclude(const Mpi& mpi, const PacedRuntime& runtime) const {
  const Counts counts = sum(mpi, runtime.counts());
  json copies = json::array();
  for (const auto& [copy, sizes] : counts) {
    for (const auto& [size, count] : sizes) {
      copies.push_back({{"copy", copy}, {"bytes", size.count()}, {"copies", count.copies}, {"late", count.late}});
    }
  }
  if (mpi.rank() == 0) note_slow_copies(counts, platform_.name);
  return {{"platform", platform_.name},
          {"platform_file", platform_.file},
          {"platform_description", platform_.description},
          {"overrides", options_.overrides},
          {"copies", copies}};
}

}  // namespace twinlink::real
