#include "platforms/tools/wiring.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "platforms/topology/topology.hpp"

namespace twinlink::platforms {
namespace {

using Kind = Location::Kind;

bool join_the_same(const Link& a, const Link& b) { return std::minmax(a.from, a.to) == std::minmax(b.from, b.to); }

/// Is each direction of one as wide as that of the other?
bool are_alike(const Link& a, const Link& b) {
  const bool turned = a.from != b.from;
  return link_width(a, true) == link_width(b, !turned) && link_width(a, false) == link_width(b, turned);
}

/// Equally good ways that divide at one part.
struct Fork {
  std::size_t ways = 0;
  std::set<std::size_t> links{};  ///< of which one is taken there
  std::string example{};
};

class WiringCheck {
 public:
  explicit WiringCheck(const Platform& platform)
      : node_(platform.node), topology_(platform), used_(platform.node.links.size()) {}

  std::vector<std::string> run() {
    between_gpus();
    for (std::size_t gpu = 0; gpu < node_.gpus.size(); ++gpu) {
      to_memories(gpu);
      to_adapters(gpu);
    }
    between_host_parts();
    report_parallel_links();
    report_unused_links();
    report_forks();
    return std::move(warnings_);
  }

 private:
  void cross(const Route& route) {
    for (const Hop& hop : route) used_[hop.link] = true;
  }

  /// As Topology::copy_route() goes, which is by host memory where peers have no way of their own.
  void between_gpus() {
    for (std::size_t a = 0; a < node_.gpus.size(); ++a) {
      for (std::size_t b = a + 1; b < node_.gpus.size(); ++b) {
        const bool peers = topology_.peer_access(a, b).yes;
        if (!peers && topology_.part_with(a) != topology_.part_with(b)) continue;
        for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
          cross(topology_.copy_route({Kind::gpu, from}, {Kind::gpu, to}));
        }
        if (peers) look_for_forks(node_.gpus[a].name, node_.gpus[b].name, Traffic::peers, "between GPUs");
      }
    }
  }

  void to_memories(std::size_t gpu) {
    const std::string& name = node_.gpus[gpu].name;
    const NodePart& own = topology_.parts()[topology_.part_with(gpu)];
    for (std::size_t i = own.first_memory; i < own.first_memory + own.memories; ++i) {
      cross(topology_.copy_route({Kind::gpu, gpu}, {Kind::memory, i}));
      cross(topology_.copy_route({Kind::memory, i}, {Kind::gpu, gpu}));
      look_for_forks(name, node_.memories[i].name, Traffic::host, "between GPUs and memories");
    }
  }

  void to_adapters(std::size_t gpu) {
    const Gpu& device = node_.gpus[gpu];
    if (device.nic.empty()) return;
    std::vector<std::string> nics = device.more_nics;
    nics.push_back(device.nic);
    const Location here{Kind::gpu, gpu};
    for (const std::string& nic : nics) {
      cross(topology_.to_nic_route(here, nic));
      cross(topology_.from_nic_route(nic, here));
      const bool direct = topology_.ways().find(device.name, nic, Traffic::adapter) != nullptr;
      look_for_forks(device.name, nic, direct ? Traffic::adapter : Traffic::host, "between GPUs and adapters");
    }
  }

  /// Messages leave any memory by any adapter of its node, or cross to another memory.
  void between_host_parts() {
    for (const NodePart& part : topology_.parts()) {
      for (std::size_t i = 0; i < part.memories; ++i) {
        const Location here{Kind::memory, part.first_memory + i};
        for (std::size_t nic = part.first_nic; nic < part.first_nic + part.nics; ++nic) {
          cross(topology_.to_nic_route(here, node_.nics[nic].name));
          cross(topology_.from_nic_route(node_.nics[nic].name, here));
        }
        for (std::size_t other = 0; other < part.memories; ++other) {
          cross(topology_.copy_route(here, {Kind::memory, part.first_memory + other}));
        }
      }
    }
  }

  /// Both directions: they may differ in width. One of them counts.
  void look_for_forks(std::string_view a, std::string_view b, Traffic traffic, const std::string& kind) {
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      const Way* const way = topology_.ways().find(from, to, traffic);
      if (way == nullptr || !way->other) continue;
      note_fork(from, *way, kind);
      return;
    }
  }

  void note_fork(std::string_view from, const Way& way, const std::string& kind) {
    const auto [taken, other] = std::ranges::mismatch(way.route, *way.other);
    const Link& link = node_.links[taken->link];
    Fork& fork = forks_[{kind, taken->forward ? link.from : link.to}];
    ++fork.ways;
    fork.links.insert({taken->link, other->link});
    if (fork.example.empty()) {
      fork.example =
          fmt::format("{}, or {}", topology_.describe(from, way.route), topology_.describe(from, *way.other));
    }
  }

  /// Each with a link that stands beside it and is used.
  void report_parallel_links() {
    for (std::size_t i = 0; i < node_.links.size(); ++i) {
      if (used_[i]) continue;
      const Link& idle = node_.links[i];
      for (std::size_t other = 0; other < node_.links.size(); ++other) {
        const Link& busy = node_.links[other];
        if (!used_[other] || !join_the_same(idle, busy)) continue;
        beside_.insert(i);
        parallel_[{busy.name, are_alike(idle, busy)}].push_back(idle.name);
        break;
      }
    }
    for (const auto& [busy, idle] : parallel_) {
      const auto& [name, alike] = busy;
      const Link& link = *std::ranges::find(node_.links, name, &Link::name);
      warnings_.push_back(
          fmt::format("no way takes {}, beside '{}' between '{}' and '{}'{}", in_ranges(idle), name, link.from, link.to,
                      alike ? fmt::format(": one link with 'count: {}' shares traffic over all", idle.size() + 1)
                            : ", which is wider"));
    }
  }

  void report_unused_links() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < node_.links.size(); ++i) {
      if (!used_[i] && !beside_.contains(i)) names.push_back(node_.links[i].name);
    }
    if (!names.empty()) {
      warnings_.push_back(fmt::format("no way of a copy, message or peer crosses {}", in_ranges(names)));
    }
  }

  void report_forks() {
    for (const auto& [where, fork] : forks_) {
      std::vector<std::string> names;
      for (const std::size_t link : fork.links) {
        if (!beside_.contains(link)) names.push_back(node_.links[link].name);
      }
      if (names.size() < 2) continue;  // report_parallel_links()
      warnings_.push_back(fmt::format(
          "{} way{} {} divide{} at '{}' by {}, equally short and wide: the order of the links decides; such as {}",
          fork.ways, fork.ways == 1 ? "" : "s", where.first, fork.ways == 1 ? "s" : "", where.second, in_ranges(names),
          fork.example));
    }
  }

  const Node& node_;
  Topology topology_;
  std::vector<bool> used_;          ///< by link
  std::set<std::size_t> beside_{};  ///< unused, beside one that is used
  std::map<std::pair<std::string, bool>, std::vector<std::string>>
      parallel_{};                                               ///< those, by the used one, as wide or not
  std::map<std::pair<std::string, std::string>, Fork> forks_{};  ///< by kind and part
  std::vector<std::string> warnings_{};
};

/// A name with a number in it: the first run of digits that a range can write.
struct Numbered {
  std::string before{};
  std::size_t number = 0;
  std::string after{};
};

std::optional<Numbered> numbered(const std::string& name) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::size_t kMostDigits = 6;
  const std::size_t begin = name.find_first_of(kDigits);
  if (begin == std::string::npos) return std::nullopt;
  const std::size_t end = std::min(name.find_first_not_of(kDigits, begin), name.size());
  const std::string digits = name.substr(begin, end - begin);
  if (digits.size() > kMostDigits || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
  return Numbered{name.substr(0, begin), std::stoul(digits), name.substr(end)};
}

}  // namespace

std::string in_ranges(const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < names.size();) {
    const std::optional<Numbered> first = numbered(names[i]);
    std::size_t end = i + 1;
    for (; first && end < names.size(); ++end) {
      const std::optional<Numbered> next = numbered(names[end]);
      const bool follows = next && next->before == first->before && next->after == first->after &&
                           next->number == first->number + (end - i);
      if (!follows) break;
    }
    const std::size_t count = end - i;
    texts.push_back(
        count == 1 ? names[i]
                   : fmt::format("{}[{}-{}]{}", first->before, first->number, first->number + count - 1, first->after));
    i = end;
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<std::string> wiring_warnings(const Platform& platform) {
  Platform alone = platform;
  alone.kinds.clear();
  std::vector<std::string> warnings = WiringCheck(alone).run();
  for (const NodeKind& kind : platform.kinds) {
    alone.node = kind.node;
    for (const std::string& warning : WiringCheck(alone).run()) {
      warnings.push_back(fmt::format("nodes of kind '{}': {}", kind.name, warning));
    }
  }
  const NetworkCosts& within = platform.intra_node;
  const Rate most = most_of_copied_messages(platform);
  if (within.copied_by != CopiedBy::none && within.rate && within.rate->value > most) {
    warnings.push_back(fmt::format("mpi.intra_node.rate: {} is more than CPUs copy, {} at most by 'copy_rate'",
                                   format_rate(within.rate->value), format_rate(most)));
  }
  return warnings;
}

}  // namespace twinlink::platforms
