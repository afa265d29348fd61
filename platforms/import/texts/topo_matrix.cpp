// nvidia-smi topo -m: a matrix of how each two devices are joined, and the NUMA domain of each GPU.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "platforms/import/gpu_models.hpp"
#include "platforms/import/texts/import_topology.hpp"
#include "platforms/import/texts/topo_text.hpp"

namespace twinlink::platforms {
namespace {

/// Of one GPU: those of H100 to B200 (NVIDIA's data sheets); those before had 12 at most.
constexpr int kMostNvlinks = 18;

using Row = TopoRow;

/// Sets that are joined step by step.
class Groups {
 public:
  explicit Groups(std::size_t size) : parents_(size) { std::iota(parents_.begin(), parents_.end(), 0U); }
  [[nodiscard]] std::size_t of(std::size_t member) const {
    while (parents_[member] != member) member = parents_[member];
    return member;
  }
  void join(std::size_t a, std::size_t b) { parents_[std::max(of(a), of(b))] = std::min(of(a), of(b)); }

 private:
  std::vector<std::size_t> parents_;
};

class MatrixImport {
 public:
  explicit MatrixImport(TopoText text) : text_(std::move(text)), rows_(text_.rows) {
    node_.origin = text_.origin;
    node_.notes = text_.notes;
    node_.peer_access = text_.peer_access;
    place_in_domains();
    add_devices();
    add_nvlinks();
    guess_capability();
  }

  NodeDescription take() { return std::move(node_); }

 private:
  [[nodiscard]] bool are(std::size_t a, std::size_t b, std::initializer_list<std::string_view> relations) const {
    return std::ranges::find(relations, rows_[a].cells[b]) != relations.end();
  }

  /// GPUs say their domain, or their CPUs, which differ from domain to domain. What is nearer to them than SYS is in
  /// theirs. An NVLink hides how else two GPUs are joined.
  void place_in_domains() {
    std::map<std::string, int> by_cpus;
    const bool told = std::ranges::all_of(rows_, [](const Row& row) { return !row.is_gpu() || row.domain; });
    for (Row& row : rows_) {
      if (told || !row.is_gpu() || row.cpus.empty()) continue;
      row.domain = by_cpus.try_emplace(row.cpus, static_cast<int>(by_cpus.size())).first->second;
    }
    if (!told && !by_cpus.empty()) {
      assume(node_, "GPUs with the same CPUs are in one NUMA domain", Assumption::Better::xml);
    }
    Groups near(rows_.size());
    for (std::size_t a = 0; a < rows_.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (are(a, b, {"NODE", "PHB", "PXB", "PIX", "PSB"})) near.join(a, b);
      }
    }
    std::map<std::size_t, int> of_group;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].domain) of_group.try_emplace(near.of(i), *rows_[i].domain);
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].domain) continue;
      if (const auto found = of_group.find(near.of(i)); found != of_group.end()) rows_[i].domain = found->second;
    }
    part_from_each_other(near);
    place_the_rest(near);
    for (const int number : domains()) {
      node_.memories.push_back({.number = number, .sockets = {static_cast<int>(node_.sockets.size())}});
      node_.sockets.emplace_back();
    }
  }

  [[nodiscard]] std::set<int> domains() const {
    std::set<int> result;
    for (const Row& row : rows_) {
      if (row.domain) result.insert(*row.domain);
    }
    return result;
  }

  [[nodiscard]] int unused_domain() const {
    const std::set<int> used = domains();
    int number = 0;
    while (used.contains(number)) ++number;
    return number;
  }

  /// SYS leads through the link between sockets, whatever two devices say of their domain.
  void part_from_each_other(const Groups& near) {
    for (std::size_t a = 0; a < rows_.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (!are(a, b, {"SYS", "SOC"}) || near.of(a) == near.of(b) || !rows_[a].domain) continue;
        if (rows_[a].domain != rows_[b].domain) continue;
        const int apart = unused_domain();
        node_.notes.push_back(fmt::format(
            "{} and {} are {} to each other and name one NUMA domain, {}: {} is taken to be behind a link between "
            "sockets, in domain {}",
            rows_[b].name, rows_[a].name, rows_[a].cells[b], *rows_[a].domain, rows_[a].name, apart));
        for (std::size_t i = 0; i < rows_.size(); ++i) {
          if (near.of(i) == near.of(a)) rows_[i].domain = apart;
        }
      }
    }
  }

  /// Do members of two groups say so of each other?
  [[nodiscard]] bool are_far(const Groups& near, std::size_t group, std::size_t other) const {
    for (std::size_t a = 0; a < rows_.size(); ++a) {
      for (std::size_t b = 0; b < rows_.size() && near.of(a) == group; ++b) {
        if (near.of(b) == other && are(a, b, {"SYS", "SOC"})) return true;
      }
    }
    return false;
  }

  /// Groups in which none names a domain: those of GPUs share one with groups that are not far from them, and adapters
  /// that are far from all GPUs are in one more.
  void place_the_rest(const Groups& near) {
    std::optional<int> far;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].domain) continue;
      const bool is_gpu = rows_[i].is_gpu();
      const int number = !is_gpu && far ? *far : unused_domain();
      if (!is_gpu) far = number;
      for (std::size_t j = rows_.size(); j-- > i;) {
        const bool with_it = near.of(j) == near.of(i) || (is_gpu && !are_far(near, near.of(i), near.of(j)));
        if (!rows_[j].domain && with_it) rows_[j].domain = number;
      }
      if (domains().size() == 1) continue;
      node_.notes.push_back(
          fmt::format("{}: nobody tells its NUMA domain; the file has it in domain {}, behind a link between sockets",
                      rows_[i].name, number));
    }
  }

  [[nodiscard]] int socket_of(int domain) const {
    return std::ranges::find(node_.memories, domain, &NumaFacts::number)->sockets.front();
  }

  /// Devices with PIX between them are on one switch; those with PXB on switches under one.
  void add_devices() {
    Groups upper(rows_.size());
    Groups lower(rows_.size());
    for (std::size_t a = 0; a < rows_.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (are(a, b, {"PIX", "PSB"})) lower.join(a, b);
        if (are(a, b, {"PIX", "PSB", "PXB"})) upper.join(a, b);
      }
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      PciFacts facts{.kind = row.is_gpu() ? PciFacts::Kind::gpu : PciFacts::Kind::adapter,
                     .bus_id = row.name,
                     .socket = socket_of(*row.domain),
                     .numa = *row.domain,
                     .infiniband = true};
      facts.parent = bridge("lower", lower.of(i), facts, bridge("upper", upper.of(i), facts, std::nullopt));
      if (row.is_gpu()) {
        const auto number = static_cast<int>(node_.gpus.size());
        GpuFacts gpu{.bus_id = row.name, .coherent = row.coherent, .links_told = text_.names_nvlinks};
        if (const auto model = text_.models.find(number); model != text_.models.end()) gpu.model = model->second;
        node_.gpus.push_back(std::move(gpu));
      } else {
        const auto name = text_.legend.find(row.name);
        facts.name = name == text_.legend.end() ? row.name : name->second;
        const auto state = text_.states.find(facts.name);
        if (state != text_.states.end() && !state->second.up) {
          node_.notes.push_back(facts.name + " has no port that is active, and is left out");
          continue;
        }
        constexpr double kGigabit = 1e9 / 8;
        if (state != text_.states.end() && state->second.gigabits > 0) {
          facts.ports = {
              Rate{state->second.gigabits * kGigabit},
              {Quality::derived, fmt::format("{} Gbit/s of active ports, before headers", state->second.gigabits)}};
        }
      }
      node_.pci.push_back(std::move(facts));
    }
  }

  /// One with a single device below is but a piece of wire, and vanishes with it.
  int bridge(const std::string& level, std::size_t group, const PciFacts& below, std::optional<int> parent) {
    const auto [found, is_new] = bridges_.try_emplace({level, group}, static_cast<int>(node_.pci.size()));
    if (is_new) node_.pci.push_back({.parent = parent, .socket = below.socket, .numa = below.numa});
    return found->second;
  }

  [[nodiscard]] int nvlinks_of(const Row& row) const {
    int sum = 0;
    for (const std::string& cell : row.cells) sum += nvlinks(cell);
    return sum;
  }

  /// A GPU that has more links to all peers together than a GPU has is on switches, with as many as it has to each.
  void add_nvlinks() {
    std::size_t gpu = 0;
    for (const Row& row : rows_) {
      int most = 0;
      for (const std::string& cell : row.cells) most = std::max(most, nvlinks(cell));
      if (!row.is_gpu()) continue;
      std::vector<GpuLinks>& links = node_.gpus[gpu++].links;
      const bool on_switch = nvlinks_of(row) > kMostNvlinks;
      if (on_switch) links.push_back({.remote = GpuLinks::Remote::nvswitch, .count = most});
      for (std::size_t b = 0; b < rows_.size(); ++b) {
        const int count = nvlinks(row.cells[b]);
        if (count == 0 || (on_switch && nvlinks_of(rows_[b]) > kMostNvlinks)) continue;
        links.push_back({.remote = GpuLinks::Remote::gpu, .remote_bus_id = rows_[b].name, .count = count});
      }
      if (on_switch) {
        assume(node_, "GPUs with more NVLinks to their peers than a GPU has are on NVSwitches, which are one hub",
               Assumption::Better::xml);
      }
    }
  }

  /// By the NVLinks of the GPU that has the most: 18 of Hopper, 12 of Ampere, up to 6 of Volta. A bridge of Ampere's
  /// PCIe cards has four to one peer; Pascal one to each of four.
  void guess_capability() {
    int most = 0;
    std::size_t peers = 0;
    for (const GpuFacts& gpu : node_.gpus) {
      int links = 0;
      for (const GpuLinks& each : gpu.links) links += each.count;
      if (links <= most) continue;
      most = links;
      peers = gpu.links.size();
    }
    constexpr int kHopper = 18;
    constexpr int kVolta = 6;
    constexpr int kBridge = 4;
    if (most == 0) return;
    const std::pair<int, int> capability = most >= kHopper                       ? std::pair(9, 0)
                                           : most > kVolta                       ? std::pair(8, 0)
                                           : most == kBridge && peers == 1       ? std::pair(8, 0)
                                           : most == kBridge && peers == kBridge ? std::pair(6, 0)
                                                                                 : std::pair(7, 0);
    bool guessed = false;
    for (GpuFacts& gpu : node_.gpus) {
      complete(gpu);
      if (gpu.capability) continue;
      gpu.capability = capability;
      gpu.capability_told = false;
      guessed = true;
    }
    if (!guessed) return;
    assume(node_,
           fmt::format("the compute capability of a GPU, and with it the generation of PCIe, by its {} NVLinks: {}.{}",
                       most, capability.first, capability.second),
           Assumption::Better::name);
  }

  TopoText text_;
  std::vector<Row>& rows_;
  NodeDescription node_{};
  std::map<std::pair<std::string, std::size_t>, int> bridges_{};  ///< index into the PCI objects
};

}  // namespace

NodeDescription describe_topo_matrix(const std::string& text, const std::string& file) {
  return MatrixImport(read_topo_text(text, file)).take();
}

}  // namespace twinlink::platforms
