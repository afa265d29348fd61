#include "platforms/import/model_facts.hpp"

#include <algorithm>
#include <cassert>
#include <string>

#include <fmt/format.h>

namespace twinlink::platforms {
namespace {

using Better = Assumption::Better;
using Remote = GpuLinks::Remote;

/// Virtual machines hide the switch at the other end.
bool is_switched(const GpuFacts& gpu) {
  return std::ranges::any_of(gpu.links, [](const GpuLinks& links) {
    return links.remote == Remote::nvswitch || links.remote == Remote::hidden;
  });
}

bool links_lead(const GpuFacts& from, const GpuFacts& to) {
  return std::ranges::any_of(from.links, [&](const GpuLinks& links) {
    return links.remote == Remote::gpu && links.remote_bus_id == to.bus_id;
  });
}

}  // namespace

void take_links_of_board(NodeDescription& facts, const std::vector<GpuModel>& models) {
  constexpr std::size_t kOfABoard = 8;
  if (facts.gpus.size() < 2 || std::ranges::any_of(facts.gpus, &GpuFacts::links_told)) return;
  const GpuModel& board = models.front();
  const bool alike = std::ranges::count(models, board) == std::ssize(models);
  if (!board.switched.value_or(false) || !board.links || !alike || facts.gpus.size() % kOfABoard != 0) {
    facts.notes.push_back(fmt::format(
        "{} does not tell of NVLinks, and this platform has none; nvidia-smi topo -m tells of them", facts.origin));
    return;
  }
  for (GpuFacts& gpu : facts.gpus) gpu.links.push_back({.remote = Remote::nvswitch, .count = *board.links});
  facts.notes.push_back(
      fmt::format("{} does not tell of NVLinks; {} of this model are on a board where each has {} to NVSwitches, and "
                  "so they are here",
                  facts.origin, facts.gpus.size(), *board.links));
}

void join_processors(NodeDescription& facts, std::vector<GpuModel>& models) {
  for (std::size_t i = 0; i < facts.gpus.size(); ++i) {
    GpuFacts& gpu = facts.gpus[i];
    GpuModel& model = models[i];
    if (gpu.coherent && !model.c2c && model.name.empty()) {
      const auto like = std::ranges::find_if(gpu_table(), [](const GpuModel& each) { return each.c2c.has_value(); });
      model.c2c = like->c2c;
      model.from_host = like->from_host;
      model.to_host = like->to_host;
      model.source = "as " + like->name;
      assume(facts, "a GPU whose memory is a NUMA domain is joined to its processor as that of " + like->name,
             Better::name);
    }
    if (!model.c2c || reaches_memory(gpu)) continue;
    const auto place = std::ranges::find_if(
        facts.pci, [&](const PciFacts& pci) { return pci.kind == PciFacts::Kind::gpu && pci.bus_id == gpu.bus_id; });
    assert(place != facts.pci.end());
    gpu.links.push_back({.kind = GpuLinks::Kind::c2c, .remote = Remote::memory, .remote_numa = place->numa});
    SocketFacts& socket = facts.sockets[static_cast<std::size_t>(place->socket)];
    if (socket.cpu == Cpu::unknown) socket.cpu = Cpu::arm;
    assume(facts, "GPUs of this model have NVLink-C2C to their processor, of which nobody tells", Better::xml);
  }
}

void refuse_peers(NodeDescription& facts, const std::vector<GpuModel>& models) {
  const std::size_t gpus = facts.gpus.size();
  if (gpus < 2 || !facts.peer_access.empty()) return;
  const auto is_refused = [](const GpuModel& model) { return !model.pcie_peers.value_or(true); };
  if (std::ranges::none_of(models, is_refused)) {
    assume(facts, "GPUs reach each other where the wiring lets them, for no driver was asked", Better::driver);
    return;
  }
  facts.peer_access.assign(gpus, std::vector<std::string>(gpus));
  for (std::size_t a = 0; a < gpus; ++a) {
    for (std::size_t b = 0; b < gpus; ++b) {
      const GpuFacts& one = facts.gpus[a];
      const GpuFacts& other = facts.gpus[b];
      const bool linked = (is_switched(one) && is_switched(other)) || links_lead(one, other) || links_lead(other, one);
      if (a == b || linked || !(is_refused(models[a]) || is_refused(models[b]))) continue;
      facts.peer_access[a][b] = "its driver gives none over PCIe";
    }
  }
  assume(facts, "the driver gives GPUs of this model no peer access over PCIe", Better::driver);
}

bool reaches_memory(const GpuFacts& gpu) {
  return std::ranges::find(gpu.links, Remote::memory, &GpuLinks::remote) != gpu.links.end();
}

}  // namespace twinlink::platforms
