// The protocols of a real job where the user names none: as 'twinlink-sim explain' chooses, by the paths of its ranks.
#pragma once

#include <functional>
#include <set>

#include "protocols/core/path.hpp"
#include "protocols/core/protocol.hpp"
#include "real/job/job.hpp"

namespace twinlink::real {

struct ChosenProtocols {
  const Protocol* within = nullptr;   ///< nodes
  const Protocol* between = nullptr;  ///< them; the same where all pairs are of one kind
};

/// `peers` says with whom a rank has messages. All ranks of the job make this call, and get the same answer, which rank
/// 0 tells the user. An AgreedError if no protocol serves all pairs.
ChosenProtocols choose_protocols(Job& job, const std::set<RankId>& peers, Seconds timeout);

/// All ranks but `self`.
std::set<RankId> all_others(const Rank& self);

}  // namespace twinlink::real
