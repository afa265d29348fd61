// Ground: what NCCL takes a machine for, and how many channels it looks for there: rules of its search (src/graph/
// search.cc, paths.cc, connect.cc), with the numbers of a release.
#pragma once

#include <string>
#include <vector>

#include "protocols/core/path.hpp"
#include "protocols/core/units.hpp"
#include "protocols/gpu/release.hpp"

namespace twinlink::gpu {

/// Channels side by side, as they are looked for.
struct Channels {
  int count = 1;
  Rate each{};
};

/// GPUs of a node that read what its switch adds up; what each reads within the node, and what goes between nodes.
struct Heads {
  int count = 0;
  Rate within{};
  Rate between{};
};

/// What a fact makes of a way to go: it is open or not, and by what: "the GPUs meet over PCIe".
struct Verdict {
  bool open = false;
  std::string why{};
};

/// What the rule knows of a machine, and of the ranks on it.
struct Ground {
  const Release* release = nullptr;  ///< outlives it
  int capability = 0;                ///< the least of all GPUs
  bool alike = true;                 ///< all have that
  Cpu cpu = Cpu::unknown;
  Level within = Level::sys;  ///< how far apart neighbours of a ring are within a node, the farthest
  Rate ring{};                ///< all channels of a ring within a node
  Rate links_of_gpu{};        ///< all of a GPU's links, where a switch joins them
  Heads heads{};              ///< of what a switch adds up
  int switch_channels = 0;    ///< of that, as many as the user leaves of the release's
  int pair_links = 0;         ///< that join any two GPUs of a node, the fewest; 0: PCIe does, too
  bool one_order = true;      ///< all channels go from GPU to GPU in the same order
  Channels searched{};        ///< before they are doubled
  int least_channels = 1;
  int channels = 2;           ///< at the most
  std::string channels_by{};  ///< why so many: "twice 12 of 20 GB/s"
  // Of several nodes, or domains of nodes that links join.
  int nodes = 1;
  int per_node = 1;  ///< ranks
  Rate adapter{};    ///< that a GPU has
  Rate network{};    ///< all channels of a ring between nodes
  Level to_adapter = Level::pix;
  Verdict reduces{false, "no switch joins the GPUs of each node"};  ///< one that adds up, and there are two at least

  /// Do links of GPUs join them all?
  [[nodiscard]] bool links() const { return within <= Level::nvl; }
  /// 0 Volta and older, 1 Ampere, 2 Hopper, 3 Blackwell.
  [[nodiscard]] std::size_t generation() const {
    return capability >= 100 ? 3 : capability >= 90 ? 2 : capability >= 80 ? 1 : 0;
  }
  /// Is LL128 on where nobody asks for it?
  [[nodiscard]] Verdict ll128() const;
};

/// What a release says of a capability: of the highest that is not above it, or else the lowest.
template <class T>
const T& of_capability(const ByCapability<T>& table, int capability) {
  auto found = table.upper_bound(capability);
  if (found != table.begin()) --found;
  return found->second;
}

/// What it takes the PCIe slot of a GPU for: whole generations of 16 lanes, or what has as much.
Rate slot_of(const Release& release, const DeviceFacts& facts);
/// What it expects between two GPUs over PCIe, the CPUs and what joins these.
Rate between_slots(const Release& release, const DeviceFacts& one, const DeviceFacts& other, Level level);

/// The farthest GPUs of a node that meet in device memory, of so many in it.
Level peer_level(const Release& release, Cpu cpu, int gpus);
/// Is an adapter so far from its GPU within `most`?
bool is_within(const Release& release, Level level, Level most);

/// The channels with the highest bandwidth, by the speeds that a release tries: `at` says how many of a speed there
/// are side by side. It stops where they have `total`, or where those of a speed are less than half as fast as the
/// best. Nothing found: one channel of 0.1 GB/s.
template <class At>
Channels search_channels(const std::vector<Rate>& speeds, Rate total, int most, const At& at) {
  constexpr double kHalf = 0.49;
  Channels best{.count = 0};
  const auto rate_of = [](const Channels& channels) { return channels.count * channels.each.bytes_per_second(); };
  for (const Rate speed : speeds) {
    if (best.count > 0 && (rate_of(best) >= total.bytes_per_second() ||
                           speed.bytes_per_second() <= kHalf * best.each.bytes_per_second())) {
      break;
    }
    const Channels now{std::min(at(speed), most), speed};
    if (now.count > 0 && rate_of(now) > rate_of(best)) best = now;
  }
  return best.count > 0 ? best : Channels{1, Rate{0.1e9}};
}

/// Fast channels are cut in two, so that more blocks share what they carry.
Channels doubled(const Release& release, Channels found, int capability);
/// "20.6 GB/s".
std::string in_gigabytes(Rate rate);

/// How many of a speed fit into a rate, but for rounding.
int fitting(Rate rate, Rate speed);

/// How many channels messages between two ranks share, a power of two, and how many of them the message to one rank
/// has, of `bytes` in lines or not, in a job of `ranks`.
struct MessageChannels {
  int all = 1;
  int most = 1;  ///< of any message
  int parts = 1;
  std::string why{};  ///< those of any message: "twice the 18 links between two GPUs"
};
MessageChannels message_channels(const Ground& ground, Bytes bytes, int ranks, bool lines);

/// Fills in what follows from the rest: channels, from `searched`, and the rates between nodes, from the adapters of a
/// node, of `each`, whose GPUs have slots of `slot` (zero: not known).
void look_between_nodes(Ground& ground, int adapters, Rate each, Rate slot);
void double_channels(Ground& ground);
/// Those of a node whose GPUs have links of ground.links_of_gpu to a switch, between nodes beside so many adapters.
Heads look_for_heads(const Ground& ground, int adapters);

}  // namespace twinlink::gpu
