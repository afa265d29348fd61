// What a user may set about the protocol "nccl", by our names and by NCCL's.
#pragma once

#include <optional>
#include <span>

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
  int least_channels = 0;  ///< as the user wants it, as the next one; 0: no limit
  int most_channels = 0;
  std::optional<Level> p2p_level{};  ///< the user's; loc: nowhere
  bool library = true;               ///< a simulation times NCCL's own kernels
  bool graph = true;                 ///< runs that follow each other are one graph
  int gpus_per_process = 1;          ///< which one thread launches for, one after the other
  bool nvls = true;
  bool shm = true;

  /// May GPUs meet in device memory anywhere? Of settled levels.
  [[nodiscard]] bool p2p() const { return geometry.p2p > Level::loc; }
};

std::span<const Option> option_list();
std::span<const Alias> alias_list();

/// What the user says. A UsageError for settings that contradict each other.
Options read_options(const Protocol& protocol, const Settings& settings);
/// An UnavailableError where nobody says by which release's rule.
void require_release(const Rank& rank);
/// Levels that the user leaves to the release. The same at all ranks.
void settle_levels(const Rank& rank, Options& options);
/// The ground of messages with a peer, with its channels. The same at both ends.
void look_at(const Rank& rank, RankId peer, Options& options);
/// Channels of the ground, as far as the user lets them be.
void settle_channels(Options& options);
/// Does the user want a switch that adds up, and nothing else?
bool only_by_switch(const Options& options);
/// A rank may exchange messages with all of `ranks` at once, and a block that waits keeps its multiprocessor: a large
/// GPU has 132 of them, and each channel two blocks. What the user has fixed stays.
void leave_room_for_others(Options& options, int ranks);
/// An UnavailableError where the switches leave two ranks no memory to meet in.
void require_meeting(const Path& path, const Options& options);
/// How many launches the thread of this rank's process makes before this rank's. A UsageError where not all of that
/// process's GPUs take part.
int launches_before(const Rank& rank, const Options& options);
/// A UsageError where collectives have no slot to go on with.
void require_slots(const Settings& settings);

}  // namespace twinlink::nccl
