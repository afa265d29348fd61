// Agreement: what all ranks must know alike before they choose: a rank knows its own paths only. Tokens go round twice:
// they learn, and then they say it.
#pragma once

#include <cstdint>
#include <vector>

#include "protocols/core/rank.hpp"
#include "protocols/nccl/peer_fifos.hpp"
#include "protocols/nccl/search.hpp"

namespace twinlink::nccl {

struct Agreement {
  bool reduces = false;                ///< switches add up between all pairs of each node, or domain
  bool all_meet = false;               ///< whoever shares a node, or a domain, meets in the others' memory
  std::vector<std::int32_t> island{};  ///< of each rank: the first rank that shares its node or reaches its memory
  Near near{};                         ///< of the first one
};

/// With the ranks before and behind this one, which have been connected for tags::kHeader.
/// `geometry` says who is near enough to meet in memory.
Outcome agree(Rank& rank, const Geometry& geometry, Seconds deadline, Agreement& agreement);

}  // namespace twinlink::nccl
