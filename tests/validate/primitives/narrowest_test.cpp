// What limits the bytes of a copy or message beside its links.
#include <gtest/gtest.h>

#include "platforms/reader/platform_reader.hpp"
#include "validate/primitives/primitive.hpp"

namespace twinlink::validate {
namespace {

class Narrowest : public ::testing::Test {
 protected:
  [[nodiscard]] double gigabytes(const std::string& name, const std::string& peer = {}) const {
    const platforms::Topology topology(platform_);
    std::string reason;
    const auto primitive = find_primitive({.name = name, .gpu = "0/0", .peer = peer, .size = 1_MiB}, topology, reason);
    return narrowest_link(primitive.value(), 1_MiB, topology).value().bytes_per_second() / 1e9;
  }
  static platforms::Sourced<Rate> rate(double gigabytes) { return {.value = Rate{gigabytes * 1e9}}; }

  platforms::Platform platform_ =
      platforms::read_platform(std::filesystem::path(TWINLINK_SOURCE_DIR) / "platforms/workstation.yaml");
};

TEST_F(Narrowest, IsALinkOnAMachineWithFastMemory) {
  EXPECT_DOUBLE_EQ(gigabytes("copy pinned-to-device near"), 28.8);
  EXPECT_DOUBLE_EQ(gigabytes("peer copy write direct", "0/1"), 28.8);
}

TEST_F(Narrowest, OfMessagesBetweenNodesIsTheFabricEachWayOrBothWaysTogether) {
  platform_ = platforms::read_platform(std::filesystem::path(TWINLINK_SOURCE_DIR) / "platforms/keeneland-kids.yaml");
  platform_.fabric->link.value = Rate{3e9};
  platform_.fabric->duplex.reset();
  Primitive message{.kind = Primitive::Kind::message, .same_node = false};
  message.from.location = message.to.location = {platforms::Location::Kind::memory, 0};
  const auto narrowest = [&] { return narrowest_link(message, 1_MiB, platforms::Topology(platform_)).value(); };
  EXPECT_EQ(narrowest(), Rate{3e9});
  platform_.fabric->duplex = rate(4);
  EXPECT_EQ(narrowest(), Rate{3e9});
  platform_.fabric->duplex = rate(2);
  EXPECT_EQ(narrowest(), Rate{2e9});
}

/// A message leaves by the adapter of one GPU and comes by that of another, and takes these alone.
TEST_F(Narrowest, OfMessagesBetweenNodesIsTheSlowerOfTwoPorts) {
  platform_ = platforms::read_platform(std::filesystem::path(TWINLINK_SOURCE_DIR) / "platforms/dgx-a100.yaml");
  platform_.network->host_adapters = 1;
  const auto port_of = [&](std::size_t gpu) -> platforms::Nic& {
    return *std::ranges::find(platform_.node.nics, platform_.node.gpus[gpu].nic, &platforms::Nic::name);
  };
  const std::string name = "message pinned other-node";
  ASSERT_NE(&port_of(0), &port_of(1));
  port_of(1).link = rate(1);
  EXPECT_DOUBLE_EQ(gigabytes(name, "1/1"), 1);
  EXPECT_GT(gigabytes(name, "1/0"), 1);
  port_of(1).link.reset();
  port_of(0).link = rate(2);
  EXPECT_DOUBLE_EQ(gigabytes(name, "1/1"), 2);
  platform_.fabric->duplex = rate(6);
  port_of(1).port_share = 0.25;
  EXPECT_DOUBLE_EQ(gigabytes(name, "1/1"), 1.5) << "its share of both directions";
}

/// From `striped_from` on in equal parts, of which the slowest is the last: by the adapters' links here.
TEST_F(Narrowest, OfMessagesOverSeveralAdaptersIsTheSlowestPartAsOftenAsThereAreParts) {
  platform_ = platforms::read_platform(std::filesystem::path(TWINLINK_SOURCE_DIR) / "platforms/summit-256.yaml",
                                       std::vector<std::string>{"mpi.network.striped_from=64 KiB"});
  const platforms::Gpu& gpu = platform_.node.gpus[0];
  ASSERT_EQ(gpu.more_nics.size(), 1U);
  const auto link_of = [&](const std::string& nic) -> auto& {
    return std::ranges::find(platform_.node.nics, nic, &platforms::Nic::name)->link;
  };
  link_of(gpu.nic) = rate(3);
  link_of(gpu.more_nics[0]) = rate(2);
  const auto time = [&](Bytes size) {
    const platforms::Topology topology(platform_);
    std::string reason;
    const auto message = find_primitive(
        {.name = "message pinned other-node", .gpu = "0/0", .peer = "1/0", .size = size}, topology, reason);
    return narrowest_link(message.value(), size, topology).value().bytes_per_second() / 1e9;
  };
  EXPECT_DOUBLE_EQ(time(32_KiB), 3) << "by its GPU's own";
  EXPECT_DOUBLE_EQ(time(64_KiB), 2 * 2);
}

/// Control messages go between the memories next to the GPUs, whichever memory the message itself lies in.
TEST_F(Narrowest, AMessageThatAsksNowTakesARoundTripOfControlMessagesMore) {
  const auto file = std::filesystem::path(TWINLINK_SOURCE_DIR) / "platforms/keeneland-kids.yaml";
  const auto more = [&](std::size_t memory) {
    Primitive message{.kind = Primitive::Kind::message, .same_node = false};
    message.from.location = message.to.location = {platforms::Location::Kind::memory, memory};
    const auto time = [&](const std::vector<std::string>& overrides) {
      platform_ = platforms::read_platform(file, overrides);
      platform_.network->latency.value = platforms::Piecewise({{1_KiB, 3.0_us}, {1_MiB, 100.0_us}});
      return predict(message, 1_KiB, platforms::Topology(platform_)).value();
    };
    return (time({"mpi.network.eager_limit=256 B"}) - time({})).microseconds();
  };
  const platforms::Platform unchanged = platforms::read_platform(file);
  const platforms::Topology topology(unchanged);
  const std::string& nic = topology.graph().gpus[0].nic;
  const platforms::Location near{platforms::Location::Kind::memory, topology.memory_near(0)};
  const Seconds way = topology.message_way(near, {nic, nic}, near);
  const double asking = 2 * (topology.platform().network->control.value + way).microseconds();
  EXPECT_NEAR(more(0), asking, 1e-9);
  EXPECT_NEAR(more(1), asking, 1e-9);
}

TEST_F(Narrowest, IsTheDramThatACopyReadsOrWrites) {
  platform_.node.memories.front().bandwidth = rate(5);
  EXPECT_DOUBLE_EQ(gigabytes("copy pinned-to-device near"), 5);
  EXPECT_DOUBLE_EQ(gigabytes("copy device-to-pageable near"), 5);
  EXPECT_DOUBLE_EQ(gigabytes("copy host-to-host"), 5);
  EXPECT_DOUBLE_EQ(gigabytes("peer copy write direct", "0/1"), 28.8) << "peers pass it by";
}

TEST_F(Narrowest, IsTheDramThatAMessageIsReadOfAndWrittenTo) {
  platform_.node.memories.front().bandwidth = rate(0.5);
  EXPECT_DOUBLE_EQ(gigabytes("message pageable same-node", "0/1"), 0.5);
}

TEST_F(Narrowest, IsWhatCopiesFromAndToHostMemoryHaveOfAHub) {
  platform_.node.hubs.front().passing.duplex = rate(6);
  EXPECT_DOUBLE_EQ(gigabytes("copy pinned-to-device near"), 6);
  EXPECT_DOUBLE_EQ(gigabytes("copy device-to-pageable near"), 6);
  EXPECT_DOUBLE_EQ(gigabytes("peer copy write direct", "0/1"), 28.8) << "which is past host memory";
}

TEST_F(Narrowest, IsTheDramOfTheBounceBuffer) {
  platform_.node.hubs.front().passing.forwards = platforms::Forwards::none;
  platform_.node.memories.front().bandwidth = rate(5);
  EXPECT_DOUBLE_EQ(gigabytes("peer copy write staged", "0/1"), 5);
}

TEST_F(Narrowest, IsWhatAHubLetsPeersHave) {
  platform_.node.hubs.front().passing.peer_read = rate(3);
  platform_.node.hubs.front().passing.peer_write = rate(4);
  EXPECT_DOUBLE_EQ(gigabytes("peer copy write direct", "0/1"), 4);
  EXPECT_DOUBLE_EQ(gigabytes("peer copy read direct", "0/1"), 3);
  EXPECT_DOUBLE_EQ(gigabytes("copy pinned-to-device near"), 28.8) << "which is no peer traffic";
}

TEST_F(Narrowest, IsWhatALinkLetsPeersHaveWhereThatIsLess) {
  platform_.node.hubs.front().passing.peer_read = rate(3);
  for (platforms::Link& link : platform_.node.links) {
    link.peer_read = rate(2);
    link.peer_write = rate(5);
  }
  EXPECT_DOUBLE_EQ(gigabytes("peer copy write direct", "0/1"), 5);
  EXPECT_DOUBLE_EQ(gigabytes("peer copy read direct", "0/1"), 2);
  EXPECT_DOUBLE_EQ(gigabytes("copy pinned-to-device near"), 28.8) << "which is no peer traffic";
}

TEST_F(Narrowest, IsWhatALinkLetsOneCopyHave) {
  for (platforms::Link& link : platform_.node.links) {
    link.each_read = rate(7);
    link.each_write = rate(8);
  }
  EXPECT_DOUBLE_EQ(gigabytes("copy pinned-to-device near"), 7);
  EXPECT_DOUBLE_EQ(gigabytes("copy device-to-pinned near"), 8);
  EXPECT_DOUBLE_EQ(gigabytes("copy host-to-host"), 166.4) << "which no device does";
}

}  // namespace
}  // namespace twinlink::validate
