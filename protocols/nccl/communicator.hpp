// Collectives of the protocol "nccl": one program on all ranks.
#pragma once

#include <array>
#include <memory>

#include "protocols/core/protocol.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/nccl/nccl_options.hpp"

namespace twinlink::nccl {

/// The tags of a connection: its places, and its lengths.
inline constexpr std::array kControlTags{tags::kReady, tags::kHeader};

/// `options` with their levels settled. `rank` outlives it.
std::unique_ptr<Communicator> make_communicator(Rank& rank, const Settings& settings, const Options& options);

}  // namespace twinlink::nccl
