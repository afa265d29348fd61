// Agreement: what all ranks must know alike before they choose: a rank knows its own paths only. Tokens go round twice:
// they learn, and then they say it.
#pragma once

#include <cstdint>
#include <vector>

#include "protocols/core/rank.hpp"
#include "protocols/nccl/formation.hpp"

namespace twinlink::nccl {

struct Agreement {
  bool reduces = false;                ///< switches add up between all pairs
  bool all_reach = false;              ///< whoever shares a node, or a domain, reaches the others' memory
  std::vector<std::int32_t> island{};  ///< of each rank: the first rank that shares its node or reaches its memory
  Rates rates{};                       ///< between those of the first one
  Rate adapter{};                      ///< what an adapter carries between nodes, as rank 0 knows it
};

/// With the ranks before and behind this one, which have been connected for tags::kHeader.
Outcome agree(Rank& rank, bool p2p, Seconds deadline, Agreement& agreement);

}  // namespace twinlink::nccl
