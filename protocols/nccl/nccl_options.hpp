// What a user may set about the protocol "nccl", by our names and by NCCL's.
#pragma once

#include <span>
#include <string_view>

#include "protocols/core/protocol.hpp"
#include "protocols/gpu/choice.hpp"
#include "protocols/nccl/peer_fifos.hpp"

namespace twinlink::nccl {

/// NCCL's own: 4 MiB in 8 slots.
inline constexpr Bytes kSlot = 512_KiB;
inline constexpr int kSlots = 8;

struct Options {
  gpu::Fixed fixed{};
  Geometry geometry{};
  gpu::Ground ground{};
  bool limits_channels = false;  ///< by the user
  bool nvls = true;
  bool p2p = true;
  bool shm = true;
};

std::span<const Option> option_list();
std::span<const Alias> alias_list();

/// `model` is the same at all ranks that choose together. A UsageError for settings that contradict each other.
Options read_options(const Protocol& protocol, const Settings& settings, std::string_view model, bool peer_access);
/// A rank may exchange messages with all of `ranks` at once, and a block that waits keeps its multiprocessor: a large
/// GPU has 132 of them, and each channel two blocks. What the user has fixed stays.
void leave_room_for_others(Options& options, int ranks);
/// An UnavailableError where the switches leave two ranks no memory to meet in.
void require_meeting(const Path& path, const Options& options);
/// A UsageError where collectives have no slot to go on with.
void require_slots(const Settings& settings);

}  // namespace twinlink::nccl
