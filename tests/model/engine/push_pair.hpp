// Two ranks on one node of the sample machine, of which the first writes into the second's memory.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "model/engine/rank/sim_rank.hpp"
#include "model/engine/simulation.hpp"
#include "protocols/core/measured_rank.hpp"
#include "tests/model/engine/one_message.hpp"

namespace twinlink::model::testing {

inline const std::vector<Place> kPeers{kFirstPeer, kSecondPeer};

/// Rank 0 runs `body` with device memory of its own, 1 MiB of a pattern, and with as much of rank 1 that it has opened.
/// Rank 1 waits for `signals` that are due as they say, and expects all of the pattern behind each.
void push(const Platform& platform, const std::vector<Place>& places, std::size_t signals,
          const std::function<void(MeasuredRank&, Buffer own, Buffer theirs)>& body, const OpObserver& observer = {});

/// What a UsageError says that `call` throws.
std::string refusal(const std::function<void()>& call);

/// A signal that says when it should be seen.
Signal signal_due(Seconds time);

}  // namespace twinlink::model::testing
