// A connection of gpudirect-v2; gpudirect_v2.cpp has its scenario.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "protocols/core/protocol.hpp"
#include "protocols/core/rank.hpp"

namespace twinlink {

/// The values of the option `engine`, in its order.
enum class PeerMover { copy_engine, kernel_push, kernel_pull, resident_push };

/// The options of the protocol.
struct PeerCopies {
  PeerMover mover = PeerMover::copy_engine;
  std::uint64_t batch = 1;
};

/// Meets the peer, which must do the same. Of one that does not come until the timeout every exchange says so.
std::unique_ptr<Channel> connect_peers(Rank& rank, RankId peer, const PeerCopies& copies, const Settings& settings,
                                       std::string path_taken);

}  // namespace twinlink
