// Who is in the job, on which host and device, and what lies between: found out once, at the start.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "protocols/core/path.hpp"
#include "protocols/gpu/release.hpp"
#include "real/device/device_runtime.hpp"
#include "real/rank/control_messages.hpp"
#include "real/rank/exports.hpp"
#include "real/rank/life_signs.hpp"
#include "real/rank/signals.hpp"
#include "real/system/mpi.hpp"

namespace twinlink::real {

/// One rank, as this rank sees it.
struct Neighbour {
  std::string host{};
  DeviceInfo device{};
  Path path{};  ///< from this rank; of this rank itself, meaningless
};

/// All ranks of the job, this one among them. It does not change.
struct Neighbours {
  std::vector<Neighbour> ranks{};
  std::vector<Place> places{};  ///< of the ranks
  /// By rank and rank: peer access, both ways; empty for granted, else the reason.
  std::vector<std::vector<std::string>> peer_access{};
  std::shared_ptr<const gpu::Release> release{};  ///< by whose tables libraries choose; null: none was found
};

/// What the ranks of a node share beside the memory of their devices.
struct Shared {
  Exports& exports;
  Signals& signals;
  ControlMessages& messages;
  LifeSigns& life;
};

/// Asks every rank who it is, and the driver what lies between. Two devices are one if host and UUID agree. A node's
/// GPUs are numbered by PCI bus id, over all that its ranks see. Opens in `shared` what the node's other ranks have;
/// where that cannot be done, device_mapping says so. Collective.
Neighbours meet_neighbours(const Mpi& mpi, DeviceRuntime& runtime, const std::string& host, Shared shared);

}  // namespace twinlink::real
