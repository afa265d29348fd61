// Messages within a node of the sample platform whose bytes a CPU copies.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "tests/model/engine/one_message.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model::testing {

/// `intra_node.rate` of the sample platform: what a CPU copies of messages.
inline constexpr Rate kSharedMemory{3e9};
inline const std::vector<Place> kTwo{kFirstPeer, kSecondPeer};

inline Platform copied_by(CopiedBy who) {
  Platform platform = sample_platform();
  platform.intra_node.copied_by = who;
  return platform;
}

/// Of fresh page-locked memory.
inline Op send(Rank& rank, int to, Bytes size, Tag tag = tags::kData) {
  return rank.send(RankId{to}, tag, View(rank.allocate(Memory::pinned, size)));
}
inline Op receive(Rank& rank, int from, Bytes size, Tag tag = tags::kData) {
  return rank.receive(RankId{from}, tag, View(rank.allocate(Memory::pinned, size)));
}
inline void finish(Rank& rank, Op op) { EXPECT_EQ(wait(rank, op, kLong), Status::delivered); }

/// Two ranks send to each other at once. When both messages are there.
inline Seconds both_ways(const Platform& platform, Bytes size) {
  return simulated(platform, kTwo, [&](Rank& rank, Seconds& end) {
    const int peer = 1 - rank.id().value;
    const Op out = send(rank, peer, size);
    const Op in = receive(rank, peer, size);
    finish(rank, in);
    finish(rank, out);
    end = rank.now();
  });
}

}  // namespace twinlink::model::testing
