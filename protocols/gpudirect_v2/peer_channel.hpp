// A connection of gpudirect-v2, whoever moves the bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "protocols/core/protocol.hpp"
#include "protocols/gpudirect_v2/peer_mover.hpp"

namespace twinlink {

/// Meets the peer, which must do the same. Of one that does not come until the timeout every exchange says so. Up to
/// `batch` messages go as one.
std::unique_ptr<Channel> connect_peers(Rank& rank, RankId peer, const PeerMover& mover, std::uint64_t batch,
                                       const Settings& settings, std::string path_taken);

}  // namespace twinlink
