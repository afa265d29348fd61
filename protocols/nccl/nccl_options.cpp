#include "protocols/nccl/nccl_options.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "protocols/core/options.hpp"

namespace twinlink::nccl {
namespace {

using gpu::LineFormat;

/// MAXCHANNELS of NCCL.
constexpr std::uint64_t kMostChannels = 64;

// Words are taken as NCCL's environment has them, too.
using Algorithm = std::optional<gpu::Algorithm>;
constexpr Choices kAlgorithms{
    OptionChoice<Algorithm>{"auto", std::nullopt},         OptionChoice<Algorithm>{"ring", gpu::Algorithm::ring},
    OptionChoice<Algorithm>{"tree", gpu::Algorithm::tree}, OptionChoice<Algorithm>{"nvls", gpu::Algorithm::nvls},
    OptionChoice<Algorithm>{"Ring", gpu::Algorithm::ring}, OptionChoice<Algorithm>{"Tree", gpu::Algorithm::tree},
    OptionChoice<Algorithm>{"NVLS", gpu::Algorithm::nvls}};
/// How far apart GPUs may be that meet in device memory, and a GPU and its adapter: nowhere, over NVLinks, anywhere.
enum class Level { none, links, all };
constexpr Choices kPeerLevels{OptionChoice<Level>{"SYS", Level::all}, OptionChoice<Level>{"NVL", Level::links},
                              OptionChoice<Level>{"LOC", Level::none}};
constexpr Choices kAdapterLevels{OptionChoice<Level>{"SYS", Level::all}, OptionChoice<Level>{"LOC", Level::none}};
using Format = std::optional<LineFormat>;
constexpr Choices kFormats{
    OptionChoice<Format>{"auto", std::nullopt},        OptionChoice<Format>{"ll", LineFormat::ll},
    OptionChoice<Format>{"ll128", LineFormat::ll128},  OptionChoice<Format>{"simple", LineFormat::simple},
    OptionChoice<Format>{"LL", LineFormat::ll},        OptionChoice<Format>{"LL128", LineFormat::ll128},
    OptionChoice<Format>{"Simple", LineFormat::simple}};

constexpr std::array kOptions{
    Option{
        "algo", kAlgorithms.names(), "auto",
        "how an all-reduce goes, in rings, in trees, or by a switch that adds up; other collectives have rings alone"},
    Option{"proto", kFormats.names(), "auto",
           "line format: ll and ll128 carry flags with the data, simple counts behind a fence; auto: as NCCL chooses"},
    Option{"channels", "COUNT", "0", "thread blocks of a kernel, each with a share of the bytes; 0: as NCCL chooses"},
    Option{"min_channels", "COUNT", "0", "as NCCL chooses, but no fewer; 0: no limit"},
    Option{"max_channels", "COUNT", "0", "as NCCL chooses, but no more; 0: no limit"},
    Option{"buffer", "SIZE", "0",
           "of a channel's FIFO, whose slots are then a part of it; 0: as many slots as the depth"},
    Option{"nvls_enable", kSwitch.names(), "1", "let a switch that adds up do it where the rule chooses so"},
    Option{"p2p_disable", kSwitch.names(), "0", "meet in host memory even where GPUs reach each other's"},
    Option{"p2p_level", kPeerLevels.names(), "SYS",
           "where GPUs meet in device memory: wherever they reach it, over NVLinks alone, nowhere"},
    Option{"shm_disable", kSwitch.names(), "0", "do not meet in host memory"},
    Option{"gdr_level", kAdapterLevels.names(), "SYS",
           "where slots between nodes lie in device memory: wherever adapters read and write it, nowhere"},
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

/// What the rule may choose from: limits of the channels, or their number.
void limit_channels(const OptionReader& read, Options& options) {
  const int least = channels_of(read, "min_channels");
  const int most = channels_of(read, "max_channels");
  const int fixed = channels_of(read, "channels");
  if (most > 0 && least > most) {
    throw UsageError("protocol 'nccl': min_channels is " + std::to_string(least) + ", and max_channels " +
                     std::to_string(most));
  }
  if (fixed > 0 && (least > 0 || most > 0)) {
    throw UsageError(
        "protocol 'nccl': channels says how many there are, which leaves nothing to min_channels and "
        "max_channels");
  }
  if (fixed > 0) options.fixed.channels = fixed;
  options.limits_channels = least > 0 || most > 0;
  options.ground.least_channels = std::max(least, 1);
  if (most > 0) options.ground.channels = std::min(options.ground.channels, most);
  options.ground.channels = std::max(options.ground.channels, options.ground.least_channels);
}

/// What the user says of a switch that adds up.
void require_switch(const Options& options) {
  if (options.fixed.algorithm != gpu::Algorithm::nvls) return;
  if (!options.nvls) throw UsageError("protocol 'nccl': algo is nvls, and nvls_enable forbids it");
  if (options.fixed.format.value_or(LineFormat::simple) == LineFormat::simple) return;
  throw UsageError("protocol 'nccl': algo is nvls, which has slots of simple alone, and proto is " +
                   std::string(to_string(*options.fixed.format)));
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

Options read_options(const Protocol& protocol, const Settings& settings, std::string_view model, bool peer_access) {
  const OptionReader read(protocol, settings);
  Options options;
  options.fixed.format = read.choice("proto", kFormats);
  options.fixed.algorithm = read.choice("algo", kAlgorithms);
  options.nvls = read.choice("nvls_enable", kSwitch);
  require_switch(options);
  const Level level = read.choice("p2p_level", kPeerLevels);
  options.p2p = !read.choice("p2p_disable", kSwitch) && level != Level::none;
  if (level == Level::links && !gpu::ground_of(model, true).links) options.p2p = false;
  options.shm = !read.choice("shm_disable", kSwitch);
  options.ground = gpu::ground_of(model, peer_access && options.p2p);
  limit_channels(read, options);
  const int slots = settings.depth.value_or(kSlots);
  options.geometry = {.slot = slot_of(read, settings, slots),
                      .slots = slots,
                      .channels = options.fixed.channels.value_or(options.ground.channels),
                      .p2p = options.p2p,
                      .gdr = read.choice("gdr_level", kAdapterLevels) == Level::all,
                      .pxn = options.p2p && !read.choice("pxn_disable", kSwitch)};
  return options;
}

void leave_room_for_others(Options& options, int ranks) {
  if (options.fixed.channels) return;
  constexpr int kTogether = 64;
  const int each = std::max(kTogether / std::max(ranks - 1, 1), options.ground.least_channels);
  options.ground.channels = std::min(options.ground.channels, each);
  options.geometry.channels = options.ground.channels;
}

/// Between nodes there is the network.
void require_meeting(const Path& path, const Options& options) {
  if ((path.peer_access && options.p2p) || !path.same_node || options.shm) return;
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
