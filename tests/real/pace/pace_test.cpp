// Which GPU of a platform each rank plays, and what the job then says of its ways. Three ranks; what one of them can
// tell by itself is asked on each.
#include "real/pace/pace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/real/rank/messages.hpp"
#include "tests/real/system/mpi_session.hpp"

namespace twinlink::real {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Keeneland's nodes have three GPUs, of which the last two are peers.
PaceOptions kids(std::string places = "", std::vector<std::string> overrides = {}) {
  return {.platform = TWINLINK_PLATFORMS "/keeneland-kids.yaml",
          .overrides = std::move(overrides),
          .places = std::move(places)};
}

template <class E>
std::string refusal(const PaceOptions& options, WithinNode within_node = WithinNode::library, int rank = 0) {
  return message_of<E>([&] { const Pace pace(options, within_node, RankId{rank}); });
}

TEST(Pace, EveryGpuOfThePlatformIsADeviceOfItsOwn) {
  std::set<Uuid> devices;
  for (int rank = 0; rank < 7; ++rank) {
    const Pace by_order(kids(), WithinNode::library, RankId{rank});
    const auto runtime = by_order.make_runtime("here");
    EXPECT_TRUE(devices.insert(runtime->device().uuid).second) << rank;
    EXPECT_EQ(runtime->device().name, "emulated Tesla M2090");
    const std::string place = std::to_string(rank / 3) + "/" + std::to_string(rank % 3);
    const Pace by_name(kids("9/0," + place), WithinNode::library, RankId{1});
    EXPECT_EQ(by_name.make_runtime("here")->device().uuid, runtime->device().uuid);
  }
}

TEST(Pace, WhatTheDeviceReachesIsOfItsOwnNode) {
  const Pace pace(kids(), WithinNode::library, RankId{4});
  const auto runtime = pace.make_runtime("here");
  for (const int device : {3, 5})
    EXPECT_NO_THROW(static_cast<void>(runtime->allocate_on(emulated_uuid("here", device), 8_B)));
  EXPECT_THROW(static_cast<void>(runtime->allocate_on(emulated_uuid("here", 2), 8_B)), std::exception);
  EXPECT_EQ(pace.numa_domains(), 2);
}

TEST(Pace, PlacesThatThePlatformDoesNotHaveAreRefused) {
  EXPECT_THAT(refusal<UsageError>(kids("0/1"), WithinNode::library, 1),
              HasSubstr("--places names 1 devices, and none for rank 1"));
  EXPECT_THAT(refusal<UsageError>(kids("0/0,0/3"), WithinNode::library, 1),
              HasSubstr("there is no device 0/3 on platform 'keeneland-kids'"));
  EXPECT_THAT(refusal<UsageError>(kids("120/0")), HasSubstr("there is no device 120/0"));
  EXPECT_THAT(refusal<UsageError>(kids("0/0,,0/1")), HasSubstr("''"));
  const PaceOptions two{.platform = TWINLINK_PLATFORMS "/h200-nvlink.yaml"};
  EXPECT_NO_THROW(Pace(two, WithinNode::library, RankId{1}));
  EXPECT_THAT(refusal<UsageError>(two, WithinNode::library, 2),
              HasSubstr("platform 'h200-nvlink' has no GPU for rank 2: 1 nodes of 2 GPUs"));
  EXPECT_THAT(refusal<UsageError>(two, WithinNode::loopback),
              HasSubstr("--intra-node loopback needs a network adapter, and platform 'h200-nvlink' has none"));
  EXPECT_EQ(platform_file({}), std::filesystem::path());
  EXPECT_EQ(platform_file(two), two.platform);
}

/// Four ranks that all hosts map, of which this one plays a GPU with a peer.
Neighbours four_ranks() {
  Neighbours all;
  for (int rank = 0; rank < 4; ++rank) {
    all.ranks.push_back({.host = "here",
                         .path = {.same_node = true,
                                  .peer_access = Answer::granted(),
                                  .device_mapping = Answer::granted(),
                                  .one_sided = Answer::granted(),
                                  .gpu_programs = Answer::granted()}});
  }
  all.places.resize(4);
  all.peer_access.assign(4, std::vector<std::string>(4));
  return all;
}

TEST(Pace, GivesEveryWayThePlatformsAnswers) {
  const Pace pace(kids("0/0,0/1,0/2,1/0"), WithinNode::library, RankId{1});
  Neighbours all = four_ranks();
  pace.apply(all);
  EXPECT_THAT(all.places, ElementsAre(Place{0, 0}, Place{0, 1}, Place{0, 2}, Place{1, 0}));
  EXPECT_EQ(all.places[3].device, "emulated Tesla M2090");
  const Path& hub = all.ranks[2].path;
  EXPECT_TRUE(hub.same_node && hub.peer_access && hub.device_mapping && hub.one_sided);
  const Path& sockets = all.ranks[0].path;
  EXPECT_TRUE(sockets.same_node && !sockets.peer_access && sockets.device_mapping);
  const Path& nodes = all.ranks[3].path;
  EXPECT_FALSE(nodes.same_node || nodes.peer_access || nodes.device_mapping || nodes.one_sided);
  for (const int rank : {0, 2, 3}) EXPECT_FALSE(all.ranks[static_cast<std::size_t>(rank)].path.gpu_programs);
  // By pairs, both ways.
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = 0; b < 4; ++b) {
      const bool peers = a == b || (a == 1 && b == 2) || (a == 2 && b == 1);
      EXPECT_EQ(all.peer_access[a][b].empty(), peers) << a << " " << b << ": " << all.peer_access[a][b];
    }
  }
}

TEST(Pace, WhatThisHostRefusesItCannotPlay) {
  const Pace pace(kids("0/0,0/1,0/2,1/0"), WithinNode::library, RankId{1});
  Neighbours all = four_ranks();
  all.ranks[2].path.device_mapping = all.ranks[3].path.device_mapping = Answer::refused("no way into /proc");
  all.peer_access[1][2] = "this host refuses";
  pace.apply(all);
  const Path& path = all.ranks[2].path;
  for (const Answer* const answer : {&path.peer_access, &path.device_mapping, &path.one_sided}) {
    EXPECT_EQ(answer->reason, "no way into /proc");
  }
  EXPECT_EQ(all.peer_access[1][2], "this host refuses");
  EXPECT_EQ(all.ranks[3].path.peer_access.reason, "the GPUs are on different nodes");
}

TEST(Pace, ThoseWhoWriteOverTheNetworkHaveNobodyToPlayTheirAdapter) {
  const PaceOptions rdma{.platform = TWINLINK_PLATFORMS "/keeneland-kfs-rdma.yaml", .places = "0/0,1/1"};
  const Pace pace(rdma, WithinNode::library, RankId{0});
  Neighbours all = four_ranks();
  all.ranks.resize(2);
  pace.apply(all);
  EXPECT_THAT(all.ranks[1].path.one_sided.reason, HasSubstr("emulated devices have no adapter that writes"));
}

/// What all ranks find out together: the refusal, which must be everybody's; empty: none.
std::string required(const PaceOptions& options, const std::vector<std::string>& hosts) {
  Neighbours neighbours;
  for (const std::string& host : hosts) neighbours.ranks.push_back({.host = host});
  const Pace pace(options, WithinNode::library, RankId{mpi->rank()});
  try {
    pace.require(*mpi, neighbours);
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(Pace, RanksOfOneNodeOfThePlatformRunOnOneHost) {
  EXPECT_EQ(required(kids(), {"a", "a", "a"}), "");
  EXPECT_EQ(required(kids("0/0,0/1,1/0"), {"a", "a", "b"}), "");
  EXPECT_EQ(required(kids("0/0,1/1,1/0"), {"a", "a", "b"}),
            "ranks 1 and 2 play GPUs of one node, 1, but run on a and b: choose --places");
  EXPECT_EQ(required(kids("0/0,1/1,0/2"), {"a", "a", "b"}),
            "ranks 0 and 2 play GPUs of one node, 0, but run on a and b: choose --places");
  EXPECT_EQ(required(kids("0/0,0/1,0/2,1/0"), {"a", "a", "a"}), "--places names 4 devices, and this job has 3 ranks");
}

TEST(Pace, RanksKeepOnePace) {
  const std::string wrong = mpi->rank() == 1 ? "90 MB/s" : "91 MB/s";
  EXPECT_THAT(required(kids("", {"nodes.links.qpi.dma_read=" + wrong}), {"a", "a", "a"}),
              testing::AllOf(HasSubstr("the ranks must keep one pace: "),
                             HasSubstr("keeneland-kids.yaml is another platform for rank 1 than for rank 0")));
}

/// What is late on any rank is late: of each copy and size, over all ranks.
TEST(Pace, AtTheEndTheCopiesOfAllRanksAreCounted) {
  const Pace pace(kids("", {"gpu_types.m2090.copies.device-to-pinned.rate=1 kB/s"}), WithinNode::library,
                  RankId{mpi->rank()});
  const auto runtime = pace.make_runtime("here");
  std::byte* const device = runtime->allocate(4_KiB);
  std::vector<std::byte> host(4096);
  runtime->know_host_memory(host.data(), Memory::pinned, Locality::near, runtime->device().uuid);
  const auto clock = monotonic_clock();
  for (int copy = 0; copy <= mpi->rank(); ++copy) {
    const Event late = runtime->copy(device, host.data(), 4_KiB, Stream{0}, Engine::dma);
    clock->wait_until(clock->now() + 2000.0_us);  // the platform takes some 20 us
    while (!runtime->ended(late)) runtime->progress();
  }
  static_cast<void>(runtime->copy(host.data(), device, 1_KiB, Stream{1}, Engine::dma));  // not late in a second
  runtime->progress();
  const json facts = pace.conclude(*mpi, *runtime);
  EXPECT_EQ(facts.at("copies"), (json{{{"copy", "device-to-pinned"}, {"bytes", 1024}, {"copies", 3}, {"late", 0}},
                                      {{"copy", "pinned-to-device"}, {"bytes", 4096}, {"copies", 6}, {"late", 6}}}));
  EXPECT_EQ(facts.at("platform"), "keeneland-kids");
  EXPECT_EQ(facts.at("overrides"), json::array({"gpu_types.m2090.copies.device-to-pinned.rate=1 kB/s"}));
}

}  // namespace
}  // namespace twinlink::real
