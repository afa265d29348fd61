#include "protocols/nccl/nccl_options.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocols/core/options.hpp"

namespace twinlink::nccl {
namespace {

using gpu::LineFormat;

/// MAXCHANNELS of NCCL.
constexpr std::uint64_t kMostChannels = 64;

// Words are taken as NCCL's environment has them, too.
using Algorithm = std::optional<gpu::Algorithm>;
constexpr Choices kAlgorithms{OptionChoice<Algorithm>{"auto", std::nullopt},
                              OptionChoice<Algorithm>{"ring", gpu::Algorithm::ring},
                              OptionChoice<Algorithm>{"tree", gpu::Algorithm::tree},
                              OptionChoice<Algorithm>{"nvls", gpu::Algorithm::nvls},
                              OptionChoice<Algorithm>{"Ring", gpu::Algorithm::ring},
                              OptionChoice<Algorithm>{"Tree", gpu::Algorithm::tree},
                              OptionChoice<Algorithm>{"NVLS", gpu::Algorithm::nvls},
                              OptionChoice<Algorithm>{"nvlstree", gpu::Algorithm::nvls_tree},
                              OptionChoice<Algorithm>{"NVLSTree", gpu::Algorithm::nvls_tree},
                              OptionChoice<Algorithm>{"pat", gpu::Algorithm::pat},
                              OptionChoice<Algorithm>{"PAT", gpu::Algorithm::pat}};
using MostLevel = std::optional<Level>;
constexpr Choices kLevelNames{OptionChoice<MostLevel>{"auto", std::nullopt}, OptionChoice<MostLevel>{"LOC", Level::loc},
                              OptionChoice<MostLevel>{"NVL", Level::nvl},    OptionChoice<MostLevel>{"PIX", Level::pix},
                              OptionChoice<MostLevel>{"PXB", Level::pxb},    OptionChoice<MostLevel>{"PHB", Level::phb},
                              OptionChoice<MostLevel>{"SYS", Level::sys}};
constexpr Choices kKernels{OptionChoice<bool>{"nccl", true}, OptionChoice<bool>{"twinlink", false}};
constexpr Choices kLaunches{OptionChoice<bool>{"graph", true}, OptionChoice<bool>{"stream", false}};
using Format = std::optional<LineFormat>;
constexpr Choices kFormats{
    OptionChoice<Format>{"auto", std::nullopt},        OptionChoice<Format>{"ll", LineFormat::ll},
    OptionChoice<Format>{"ll128", LineFormat::ll128},  OptionChoice<Format>{"simple", LineFormat::simple},
    OptionChoice<Format>{"LL", LineFormat::ll},        OptionChoice<Format>{"LL128", LineFormat::ll128},
    OptionChoice<Format>{"Simple", LineFormat::simple}};

constexpr std::array kOptions{
    Option{
        "algo", kAlgorithms.list_names(), "auto",
        "how an all-reduce goes, in rings, in trees, or by a switch that adds up; all-gather and reduce-scatter have "
        "rings, and pat where each rank is alone on its node; others rings alone"},
    Option{"proto", kFormats.list_names(), "auto",
           "line format: ll and ll128 carry flags with the data, simple counts behind a fence; auto: as NCCL chooses"},
    Option{"channels", "COUNT", "0", "thread blocks of a kernel, each with a share of the bytes; 0: as NCCL chooses"},
    Option{"min_channels", "COUNT", "0", "as NCCL chooses, but no fewer; 0: no limit"},
    Option{"max_channels", "COUNT", "0", "as NCCL chooses, but no more; 0: no limit"},
    Option{"buffer", "SIZE", "0",
           "of a channel's FIFO, whose slots are then a part of it; 0: as many slots as the depth"},
    Option{"kernels", kKernels.names(), "nccl",
           "whose times a simulation gives, where the platform knows those of NCCL's kernels; real GPUs run ours"},
    Option{"launch", kLaunches.names(), "graph",
           "how the calls of --graph are launched within a node: by one graph, or each by itself, as nccl-tests does"},
    Option{"gpus_per_process", "COUNT", "1",
           "of a simulation: one thread launches for so many GPUs of a node, one after the other (nccl-tests' -g)"},
    Option{"nvls_enable", kSwitch.names(), "1", "let a switch that adds up do it where the rule chooses so"},
    Option{"p2p_disable", kSwitch.names(), "0", "meet in host memory even where GPUs reach each other's"},
    Option{"p2p_level", kLevelNames.names(), "auto",
           "the farthest GPUs that meet in device memory, by NVLinks, one PCIe switch, several, a CPU, or any way"},
    Option{"shm_disable", kSwitch.names(), "0", "do not meet in host memory"},
    Option{"gdr_level", kLevelNames.names(), "auto",
           "the farthest adapters for which slots between nodes lie in device memory, where they reach it"},
    Option{"pxn_disable", kSwitch.names(), "0",
           "messages to another rail leave by the own adapter, not from the GPU of the node that is beside that rail"},
};

constexpr std::array kAliases{Alias{"NCCL_ALGO", "algo"},
                              Alias{"NCCL_PROTO", "proto"},
                              Alias{"NCCL_MIN_NCHANNELS", "min_channels"},
                              Alias{"NCCL_MAX_NCHANNELS", "max_channels"},
                              Alias{"NCCL_MIN_CTAS", "min_channels"},
                              Alias{"NCCL_MAX_CTAS", "max_channels"},
                              Alias{"NCCL_BUFFSIZE", "buffer"},
                              Alias{"NCCL_NVLS_ENABLE", "nvls_enable"},
                              Alias{"NCCL_P2P_DISABLE", "p2p_disable"},
                              Alias{"NCCL_P2P_LEVEL", "p2p_level"},
                              Alias{"NCCL_SHM_DISABLE", "shm_disable"},
                              Alias{"NCCL_NET_GDR_LEVEL", "gdr_level"},
                              Alias{"NCCL_PXN_DISABLE", "pxn_disable"}};

int channels_of(const OptionReader& read, std::string_view name) {
  const std::uint64_t channels = read.count(name);
  if (channels <= kMostChannels) return static_cast<int>(channels);
  throw UsageError("protocol 'nccl': " + std::string(name) + " is " + std::to_string(channels) + ", more than " +
                   std::to_string(kMostChannels));
}

int gpus_of(const OptionReader& read) {
  constexpr std::uint64_t kMost = 1024;
  const std::uint64_t gpus = read.count("gpus_per_process");
  if (gpus >= 1 && gpus <= kMost) return static_cast<int>(gpus);
  throw UsageError("protocol 'nccl': gpus_per_process is " + std::to_string(gpus) + ", and a process has 1 to " +
                   std::to_string(kMost));
}

/// What the rule may choose from: limits of the channels, or their number.
void limit_channels(const OptionReader& read, Options& options) {
  options.least_channels = channels_of(read, "min_channels");
  options.most_channels = channels_of(read, "max_channels");
  const int fixed = channels_of(read, "channels");
  if (options.most_channels > 0 && options.least_channels > options.most_channels) {
    throw UsageError("protocol 'nccl': min_channels is " + std::to_string(options.least_channels) +
                     ", and max_channels " + std::to_string(options.most_channels));
  }
  if (fixed > 0 && (options.least_channels > 0 || options.most_channels > 0)) {
    throw UsageError(
        "protocol 'nccl': channels says how many there are, which leaves nothing to min_channels and "
        "max_channels");
  }
  if (fixed > 0) options.fixed.channels = fixed;
}

/// What the user says of a switch that adds up.
void require_switch(const Options& options) {
  if (!only_by_switch(options)) return;
  if (!options.nvls)
    throw UsageError("protocol 'nccl': algo is " + std::string(to_string(options.fixed.algorithms.front())) +
                     ", and nvls_enable forbids it");
  if (options.fixed.leaves(LineFormat::simple)) return;
  throw UsageError("protocol 'nccl': algo is " + std::string(to_string(options.fixed.algorithms.front())) +
                   ", which has slots of simple alone, and proto is " +
                   std::string(to_string(options.fixed.formats.front())));
}

/// What a list leaves; nothing: "auto".
template <class T, std::size_t kCount>
std::vector<T> chosen(const OptionReader& read, std::string_view name, const Choices<std::optional<T>, kCount>& table) {
  std::vector<T> values;
  for (const std::optional<T>& value : read.choices(name, table)) {
    if (value) values.push_back(*value);
  }
  if (!values.empty() || read.text(name) == "auto") return values;
  throw UsageError("protocol 'nccl': " + std::string(name) + "=" + std::string(read.text(name)) + " leaves nothing");
}

/// Of each slot: a chunk, or its part of the buffer.
Bytes slot_of(const OptionReader& read, const Settings& settings, int slots) {
  const Bytes buffer = read.size("buffer");
  const Bytes chunk = settings.chunk_or_whole() == Bytes{} ? kSlot : settings.chunk_or_whole();
  if (buffer == Bytes{}) return chunk;
  if (chunk != kSlot) throw UsageError("protocol 'nccl': --chunk and buffer both say how large a slot is");
  constexpr Bytes kLeast{16};
  const Bytes slot{buffer.count() / static_cast<std::uint64_t>(slots)};
  if (slot >= kLeast) return slot;
  throw UsageError("protocol 'nccl': a buffer of " + format_size(buffer) + " has no room for " + std::to_string(slots) +
                   " slots");
}

}  // namespace

std::span<const Option> option_list() { return kOptions; }
std::span<const Alias> alias_list() { return kAliases; }

bool only_by_switch(const Options& options) {
  return options.fixed.algorithms.size() == 1 && is_by_switch(options.fixed.algorithms.front());
}

Options read_options(const Protocol& protocol, const Settings& settings) {
  const OptionReader read(protocol, settings);
  Options options;
  options.fixed.formats = chosen(read, "proto", kFormats);
  options.fixed.algorithms = chosen(read, "algo", kAlgorithms);
  options.library = read.choice("kernels", kKernels);
  options.graph = read.choice("launch", kLaunches);
  options.gpus_per_process = gpus_of(read);
  options.nvls = read.choice("nvls_enable", kSwitch);
  require_switch(options);
  options.p2p_level = read.choice("p2p_disable", kSwitch) ? Level::loc : read.choice("p2p_level", kLevelNames);
  options.shm = !read.choice("shm_disable", kSwitch);
  limit_channels(read, options);
  const int slots = settings.depth.value_or(kSlots);
  options.geometry = {.slot = slot_of(read, settings, slots),
                      .slots = slots,
                      .gdr = read.choice("gdr_level", kLevelNames),
                      .pxn = !read.choice("pxn_disable", kSwitch)};
  return options;
}

void require_release(const Rank& rank) {
  const gpu::Release* const release = rank.position().release;
  if (release == nullptr) {
    throw UnavailableError(
        "protocol 'nccl' cannot run here: nobody says by which release of NCCL, for no tables of one were found");
  }
  for (const Place& place : rank.position().places) {
    const int has = place.facts.capability;
    if (has == 0 || has >= release->oldest) continue;
    const auto text = [](int capability) {
      return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
    };
    throw UnavailableError("protocol 'nccl' cannot run here: " + release->name +
                           " runs on GPUs from compute capability " + text(release->oldest) + " on, and " +
                           to_string(place) + " has " + text(has) + "; an older release may, by --set ccl=");
  }
}

int launches_before(const Rank& rank, const Options& options) {
  const int before = rank.id().value % options.gpus_per_process;
  const int first = rank.id().value - before;
  for (int other = first; other < first + options.gpus_per_process; ++other) {
    const bool there = other < rank.ranks();
    const Place& own = rank.place(rank.id());
    const Place& at = rank.place(there ? RankId{other} : rank.id());
    if (there && at.node == own.node && at.gpu - own.gpu == other - rank.id().value) continue;
    throw UsageError("protocol 'nccl': gpus_per_process is " + std::to_string(options.gpus_per_process) +
                     ", and beside " + to_string(own) + " not so many GPUs one after the other take part");
  }
  return before;
}

void settle_levels(const Rank& rank, Options& options) {
  const Place& first = rank.place(RankId{0});
  const auto beside = std::ranges::count(rank.position().places, first.node, &Place::node);
  options.geometry.release = rank.position().release;
  options.geometry.p2p =
      options.p2p_level.value_or(gpu::peer_level(*options.geometry.release, first.facts.cpu, static_cast<int>(beside)));
  options.geometry.pxn = options.geometry.pxn && options.p2p();
}

namespace {

/// Do some ranks reach each other by adapters alone?
bool are_on_several_nodes(const Rank& rank) {
  const std::span<const Place> places = rank.position().places;
  const int own = rank.place(rank.id()).node;
  const auto other = std::ranges::find_if(places, [&](const Place& place) { return place.node != own; });
  if (other == places.end()) return false;
  return !rank.path_to(RankId{static_cast<int>(other - places.begin())}).peer_access.yes;
}

}  // namespace

void look_at(const Rank& rank, RankId peer, Options& options) {
  settle_levels(rank, options);
  const DeviceFacts& here = rank.place(rank.id()).facts;
  const DeviceFacts& there = rank.place(peer).facts;
  const Path& path = rank.path_to(peer);
  gpu::Ground& ground = options.ground;
  const gpu::Release& release = *options.geometry.release;
  ground.release = &release;
  ground.capability = std::min(here.capability, there.capability);
  ground.alike = here.capability == there.capability;
  ground.cpu = here.cpu;
  ground.within = path.level;
  ground.nodes = are_on_several_nodes(rank) ? 2 : 1;
  ground.pair_links = path.level == Level::nvl ? path.links : 0;
  ground.adapter = here.adapter_rate == Rate{} ? release.unknown_adapter : here.adapter_rate;
  if (meet_in_memory(path, options.geometry) && path.level == Level::nvl) {
    ground.ring = Rate{std::min(here.links, there.links) *
                       gpu::of_capability(release.link, ground.capability).bytes_per_second()};
    const gpu::Channels found =
        gpu::search_channels(gpu::of_capability(release.speeds_within, ground.capability), ground.ring,
                             release.most_channels / 2, [&](Rate speed) { return gpu::fitting(ground.ring, speed); });
    ground.searched = gpu::doubled(release, found, ground.capability);
  }
  settle_channels(options);
}

namespace {

/// All messages together have a power of two, collectives what there is.
int message_room(const gpu::Ground& ground) { return gpu::message_channels(ground, Bytes{}, 2, false).all; }

}  // namespace

void settle_channels(Options& options) {
  gpu::Ground& ground = options.ground;
  gpu::double_channels(ground);
  ground.least_channels = std::max(options.least_channels, 1);
  if (options.most_channels > 0) ground.channels = std::min(ground.channels, options.most_channels);
  ground.channels = std::max(ground.channels, ground.least_channels);
  const gpu::Release& release = *ground.release;
  ground.switch_channels = gpu::of_capability(
      ground.nodes == 1 ? release.switch_channels : release.switch_channels_between, ground.capability);
  if (options.most_channels > 0) ground.switch_channels = std::min(ground.switch_channels, options.most_channels);
  ground.switch_channels = std::max(ground.switch_channels, ground.least_channels);
  options.geometry.channels = options.fixed.channels.value_or(std::max(message_room(ground), ground.switch_channels));
}

void leave_room_for_others(Options& options, int ranks) {
  if (options.fixed.channels) return;
  constexpr int kTogether = 64;
  // Messages have a power of two.
  const auto fair = static_cast<unsigned>(kTogether / std::max(ranks - 1, 1));
  const int each = std::max(static_cast<int>(std::bit_floor(fair)), options.ground.least_channels);
  options.ground.channels = std::min(options.ground.channels, each);
  options.geometry.channels = message_room(options.ground);
}

/// Between nodes there is the network.
void require_meeting(const Path& path, const Options& options) {
  if (meet_in_memory(path, options.geometry) || !path.same_node || options.shm) return;
  throw UnavailableError(std::string("protocol 'nccl' cannot run here: ") +
                         (path.peer_access ? "p2p_disable or p2p_level forbids peer memory" : path.peer_access.reason) +
                         ", and shm_disable forbids host memory");
}

/// A rank asks for the next slot behind it before it frees the last one before it.
void require_slots(const Settings& settings) {
  if (settings.depth.value_or(kSlots) >= 2) return;
  throw UsageError(
      "protocol 'nccl': depth is 1, but collectives need two slots at least: all ranks would wait for each other");
}

}  // namespace twinlink::nccl
