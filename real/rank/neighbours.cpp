#include "real/rank/neighbours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace twinlink::real {
namespace {

using nlohmann::json;

/// How a rank's row of the matrices says that all is granted.
constexpr const char* kGranted = "";

json to_json(const DeviceInfo& device) {
  std::vector<int> uuid;
  for (const std::byte b : device.uuid) uuid.push_back(std::to_integer<int>(b));
  return {{"name", device.name},
          {"uuid", uuid},
          {"pci", device.pci_bus_id},
          {"major", device.capability_major},
          {"minor", device.capability_minor},
          {"unified", device.unified_addressing},
          {"memory", device.memory.count()}};
}

DeviceInfo device_from_json(const json& facts) {
  DeviceInfo device{.name = facts.at("name"),
                    .pci_bus_id = facts.at("pci"),
                    .capability_major = facts.at("major"),
                    .capability_minor = facts.at("minor"),
                    .unified_addressing = facts.at("unified"),
                    .memory = Bytes{facts.at("memory").get<std::uint64_t>()}};
  std::ranges::transform(facts.at("uuid"), device.uuid.begin(), [](const json& b) { return std::byte(b.get<int>()); });
  return device;
}

/// What a rank tells all others about itself.
struct Introduction {
  std::string host;
  DeviceInfo device;
  std::vector<std::string> visible;  ///< PCI bus ids
};

std::vector<Introduction> introduce(const Mpi& mpi, const DeviceRuntime& runtime, const std::string& host) {
  json mine{{"host", host}, {"device", to_json(runtime.device())}, {"visible", json::array()}};
  for (const DeviceInfo& device : runtime.devices()) mine["visible"].push_back(device.pci_bus_id);
  std::vector<Introduction> all;
  for (const std::string& text : mpi.all_gather(mine.dump())) {
    const json facts = json::parse(text);
    all.push_back({facts.at("host"), device_from_json(facts.at("device")), facts.at("visible")});
  }
  return all;
}

std::vector<Place> number_places(const std::vector<Introduction>& ranks) {
  std::vector<std::string> hosts;  // in the order of the ranks
  std::map<std::string, std::set<std::string>> gpus;
  for (const Introduction& rank : ranks) {
    if (std::ranges::find(hosts, rank.host) == hosts.end()) hosts.push_back(rank.host);
    gpus[rank.host].insert(rank.visible.begin(), rank.visible.end());
  }
  std::vector<Place> places;
  for (const Introduction& rank : ranks) {
    const auto& node_gpus = gpus[rank.host];
    places.push_back({.node = static_cast<int>(std::ranges::find(hosts, rank.host) - hosts.begin()),
                      .gpu = static_cast<int>(std::distance(node_gpus.begin(), node_gpus.find(rank.device.pci_bus_id))),
                      .device = rank.device.name});
  }
  return places;
}

/// What a rank of this node must open to prove that mapping works.
struct Sample {
  SharedMemory::Token table{};
  SharedMemory::Token signals{};
  SharedMemory::Token messages{};
  SharedMemory::Token life{};
  IpcToken token{};
};

/// One rank's view of another; empty for granted, else the reason.
struct Row {
  std::vector<std::string> mapping;
  std::vector<std::string> peer_access;
};

std::string try_mapping(DeviceRuntime& runtime, Shared shared, RankId peer, const Uuid& device, const Sample& sample) {
  try {
    shared.exports.attach(peer, sample.table);
    shared.signals.attach(peer, sample.signals);
    shared.messages.attach(peer, sample.messages);
    shared.life.attach(peer, sample.life);
    runtime.close_memory(runtime.open_memory(sample.token, device));
    return kGranted;
  } catch (const EnvironmentError& error) {
    return error.what();
  }
}

/// The checks that every peer-to-peer program makes before it asks the driver.
Answer check_capabilities(const DeviceInfo& one, const DeviceInfo& other) {
  for (const DeviceInfo* device : {&one, &other}) {
    if (!device->unified_addressing) {
      return Answer::refused(fmt::format("{} ({}) has no unified addressing", device->name, to_string(device->uuid)));
    }
    if (device->capability_major < 2) {
      return Answer::refused(fmt::format("{} ({}) has compute capability {}.{}, peer access needs 2.0", device->name,
                                         to_string(device->uuid), device->capability_major, device->capability_minor));
    }
  }
  return Answer::granted();
}

Row look_around(DeviceRuntime& runtime, Shared shared, const std::vector<Introduction>& ranks,
                const std::vector<Sample>& samples, std::size_t self) {
  Row row;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Introduction& peer = ranks[r];
    std::string mapping = kGranted;
    std::string access = kGranted;
    if (peer.host != ranks[self].host) {
      mapping = access = "the GPUs are on different nodes";
    } else if (r != self) {
      mapping = try_mapping(runtime, shared, RankId{static_cast<int>(r)}, peer.device.uuid, samples[r]);
      const Answer capable = check_capabilities(ranks[self].device, peer.device);
      const auto driver = runtime.peer_access(peer.device);
      access = !capable ? capable.reason : driver ? driver->reason : mapping;
    }
    row.mapping.push_back(std::move(mapping));
    row.peer_access.push_back(std::move(access));
  }
  return row;
}

std::vector<Row> gather_rows(const Mpi& mpi, const Row& mine) {
  std::vector<Row> rows;
  for (const std::string& text : mpi.all_gather(json::array({mine.mapping, mine.peer_access}).dump())) {
    const json row = json::parse(text);
    rows.push_back({row.at(0), row.at(1)});
  }
  return rows;
}

/// Granted both ways, else the reason of the rank with the smaller number that refuses: the same at both ends.
std::string both_ways(const std::vector<Row>& rows, std::vector<std::string> Row::*what, std::size_t a, std::size_t b) {
  const auto& [low, high] = std::minmax(a, b);
  const std::string& reason = (rows[low].*what)[high];
  return reason.empty() ? (rows[high].*what)[low] : reason;
}

Answer answer(const std::string& reason) { return reason.empty() ? Answer::granted() : Answer::refused(reason); }

}  // namespace

Neighbours meet_neighbours(const Mpi& mpi, DeviceRuntime& runtime, const std::string& host, Shared shared) {
  const auto self = static_cast<std::size_t>(mpi.rank());
  const std::vector<Introduction> ranks = introduce(mpi, runtime, host);
  std::byte* const sample = runtime.allocate(Bytes{1});
  const std::vector<Sample> samples =
      mpi.all_gather_values(Sample{shared.exports.token(), shared.signals.token(), shared.messages.token(),
                                   shared.life.token(), runtime.export_memory(sample)});
  const std::vector<Row> rows = gather_rows(mpi, look_around(runtime, shared, ranks, samples, self));
  runtime.free(sample);  // all ranks have closed it: their rows are here

  const Answer on_network = runtime.host_addressable() ? Answer::granted() : mpi_reads_cuda_memory();
  // Where they do not reach each other's memory, they meet in host memory, which both map; between nodes CPUs carry.
  const auto programs = [&](const std::vector<Row>& all, bool same_node, std::size_t a, std::size_t b) {
    Answer runs = runtime.runs_programs();
    if (!runs) return runs;
    if (!same_node) return runs;
    return answer(both_ways(all, &Row::mapping, a, b));
  };
  Neighbours result;
  result.places = number_places(ranks);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const bool same_node = ranks[r].host == ranks[self].host;
    result.ranks.push_back({.host = ranks[r].host,
                            .device = ranks[r].device,
                            .path = {.same_node = same_node,
                                     .same_device = same_node && ranks[r].device.uuid == ranks[self].device.uuid,
                                     .peer_access = answer(both_ways(rows, &Row::peer_access, self, r)),
                                     .device_mapping = answer(both_ways(rows, &Row::mapping, self, r)),
                                     .one_sided = answer(both_ways(rows, &Row::mapping, self, r)),
                                     .device_memory_on_network = on_network,
                                     .cpu_reaches_device = runtime.cpu_reaches_device(),
                                     // Until somebody knows better, as near as need be.
                                     .level = same_node ? Level::pix : Level::sys,
                                     .gpu_programs = programs(rows, same_node, self, r)}});
    result.peer_access.emplace_back();
    for (std::size_t s = 0; s < ranks.size(); ++s) {
      result.peer_access.back().push_back(both_ways(rows, &Row::peer_access, r, s));
    }
  }
  return result;
}

}  // namespace twinlink::real
