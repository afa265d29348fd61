// A world of ranks that talk to each other, in one interleaving of an explored job and by a made-up clock. It stands in
// for a machine where a test needs one, and it can break a transfer on purpose.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "protocols/core/measured_rank.hpp"
#include "tests/explore/explorer/scenario.hpp"

namespace twinlink {

using explore::Fault;

struct FakeWorldOptions {
  int ranks = 2;
  bool same_node = true;
  bool peer_access = true;
  int numa_domains = 2;
  std::optional<Fault> fault{};
};

/// What a send() does not wait with for its receiver, as MPI does.
inline constexpr Bytes kLeavesAlone = 64_KiB;

/// Runs `body` once per rank, in turn from one wait to the next, always in the same order; times are those of
/// Scenario::clock. Where all ranks wait, the wait of the earliest deadline is over at once. The first exception is
/// thrown again once all ranks have ended.
void run_fake_world(const FakeWorldOptions& options, const std::function<void(MeasuredRank&)>& body);

/// Buffers of a rank of such a world that were neither released nor closed.
std::size_t live_buffers(const Rank& rank);

}  // namespace twinlink
