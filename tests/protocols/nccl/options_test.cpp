// NCCL's own switches by their names, and what contradicts itself.
#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocols/core/errors.hpp"
#include "protocols/core/options.hpp"
#include "protocols/nccl/nccl.hpp"
#include "protocols/nccl/nccl_options.hpp"
#include "tests/protocols/release.hpp"
#include "tests/protocols/scripted_rank.hpp"
#include "tests/support/made_up_rank.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::nccl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Switches = std::vector<std::pair<std::string, std::string>>;

Options read(const Switches& switches, Settings settings = nccl_protocol().defaults()) {
  set_options(nccl_protocol(), settings, switches);
  return read_options(nccl_protocol(), settings);
}

/// Two ranks of a node whose GPUs are so far apart, with 18 links each.
Options between(const Switches& switches, Level level, Cpu cpu = Cpu::sapphire_rapids) {
  const DeviceFacts facts{.capability = 90, .links = 18, .cpu = cpu};
  const std::vector<Place> places{{0, 0, {}, facts}, {0, 1, {}, facts}};
  ScriptedRank nobody;
  MadeUpRank rank(
      nobody, RankId{0}, places,
      [&](int, int) {
        Path path{.same_node = true, .peer_access = Answer::granted()};
        path.level = level;
        path.links = level == Level::nvl ? 18 : 0;
        return path;
      },
      &release_2_28());
  Options options = read(switches);
  look_at(rank, RankId{1}, options);
  return options;
}

std::string refusal(const Switches& switches, const Settings& settings = nccl_protocol().defaults()) {
  return said_by([&] { return read(switches, settings); });
}

TEST(NcclOptions, AProcessHasAtLeastOneGpu) {
  EXPECT_EQ(read({{"gpus_per_process", "8"}}).gpus_per_process, 8);
  EXPECT_THAT(refusal({{"gpus_per_process", "0"}}), HasSubstr("gpus_per_process is 0, and a process has 1 to 1024"));
  EXPECT_FALSE(read({{"launch", "stream"}}).graph);
}

TEST(NcclOptions, TakesNcclsSwitchesByTheirNames) {
  const Options options = read({{"NCCL_ALGO", "Ring"},
                                {"NCCL_PROTO", "LL128"},
                                {"NCCL_MIN_NCHANNELS", "4"},
                                {"NCCL_MAX_NCHANNELS", "8"},
                                {"NCCL_BUFFSIZE", "1M"}});
  EXPECT_THAT(options.fixed.formats, ElementsAre(gpu::LineFormat::ll128));
  EXPECT_THAT(options.fixed.algorithms, ElementsAre(gpu::Algorithm::ring));
  EXPECT_EQ(options.least_channels, 4);
  EXPECT_EQ(options.most_channels, 8);
  EXPECT_EQ(options.geometry.slot, 128_KiB);
  EXPECT_TRUE(options.shm);
}

TEST(NcclOptions, TakesListsAndWhatAListLeavesOut) {
  using enum gpu::LineFormat;
  EXPECT_THAT(read({{"NCCL_PROTO", "LL,Simple"}}).fixed.formats, ElementsAre(ll, simple));
  EXPECT_THAT(read({{"NCCL_PROTO", "^LL128"}}).fixed.formats, ElementsAre(ll, simple));
  EXPECT_THAT(read({{"proto", "^ll,Simple"}}).fixed.formats, ElementsAre(ll128));
  EXPECT_THAT(read({{"NCCL_PROTO", "auto"}}).fixed.formats, IsEmpty());
  EXPECT_THAT(read({{"NCCL_ALGO", "Ring,Tree"}}).fixed.algorithms,
              ElementsAre(gpu::Algorithm::ring, gpu::Algorithm::tree));
  EXPECT_THAT(refusal({{"NCCL_PROTO", "^LL,LL128,Simple"}}), HasSubstr("proto=^LL,LL128,Simple leaves nothing"));
  EXPECT_THAT(refusal({{"NCCL_PROTO", "LL,LL64"}}), HasSubstr("'LL64' is none of"));
}

TEST(NcclOptions, WithoutPeerMemoryTheRuleKnowsIt) {
  const Options options = between({{"NCCL_P2P_DISABLE", "1"}}, Level::nvl);
  EXPECT_FALSE(options.p2p());
  EXPECT_EQ(options.ground.channels, 2);
}

/// A level lets all that are as near meet.
TEST(NcclOptions, LevelsSayWhereSlotsLie) {
  const std::vector<std::pair<std::string, Level>> named{{"LOC", Level::loc}, {"NVL", Level::nvl}, {"PIX", Level::pix},
                                                         {"PXB", Level::pxb}, {"PHB", Level::phb}, {"SYS", Level::sys}};
  const auto meets = [](const Switches& switches, Level level, Cpu cpu = Cpu::sapphire_rapids) {
    const Path path{.same_node = true, .peer_access = Answer::granted(), .level = level};
    return meet_in_memory(path, between(switches, level, cpu).geometry);
  };
  for (const auto& [name, most] : named) {
    for (const auto& [other, level] : named) {
      if (level == Level::loc) continue;
      EXPECT_EQ(meets({{"NCCL_P2P_LEVEL", name}}, level), level <= most) << other << " by " << name;
    }
    EXPECT_EQ(read({{"NCCL_NET_GDR_LEVEL", name}}).geometry.gdr, most);
  }
  EXPECT_TRUE(meets({}, Level::pxb));
  EXPECT_FALSE(meets({}, Level::phb)) << "NCCL's own";
  EXPECT_TRUE(meets({}, Level::sys, Cpu::amd)) << "two GPUs on AMD's";
  EXPECT_EQ(read({}).geometry.gdr, std::nullopt);
}

TEST(NcclOptions, CollectivesHaveTwoSlotsAtLeast) {
  Settings settings = nccl_protocol().defaults();
  settings.depth = 1;
  EXPECT_EQ(read({}, settings).geometry.slots, 1) << "a message goes through one slot";
  EXPECT_THROW(require_slots(settings), UsageError);
  settings.depth = 2;
  EXPECT_NO_THROW(require_slots(settings));
}

/// 64 blocks each way, whatever they are for; what the user wants has its own way.
TEST(NcclOptions, ChannelsLeaveRoomForMessagesWithAllOthers) {
  const auto channels = [](int ranks, const Switches& switches = {}) {
    Options options = between(switches, Level::nvl);
    leave_room_for_others(options, ranks);
    return options.geometry.channels;
  };
  for (const auto& [ranks, expected] :
       {std::pair{1, 32}, {2, 32}, {3, 32}, {4, 16}, {5, 16}, {8, 8}, {33, 2}, {65, 1}, {66, 1}, {1000, 1}}) {
    EXPECT_EQ(channels(ranks), expected) << ranks;
  }
  EXPECT_EQ(channels(8, {{"max_channels", "6"}}), 8) << "the power of two that is next";
  EXPECT_EQ(channels(8, {{"min_channels", "12"}}), 16);
  EXPECT_EQ(channels(1000, {{"channels", "5"}}), 5);
}

TEST(NcclOptions, HasNcclsOwnSizesByDefault) {
  const Options options = between({}, Level::nvl);
  EXPECT_EQ(options.geometry.slot, 512_KiB);
  EXPECT_EQ(options.geometry.slots, 8);
  EXPECT_EQ(options.ground.channels, 24);
  EXPECT_EQ(options.geometry.channels, 32) << "messages have a power of two";
  EXPECT_TRUE(options.fixed.formats.empty());
}

TEST(NcclOptions, RefusesWhatContradictsItself) {
  EXPECT_THAT(refusal({{"min_channels", "8"}, {"max_channels", "4"}}),
              HasSubstr("min_channels is 8, and max_channels 4"));
  EXPECT_THAT(refusal({{"channels", "8"}, {"NCCL_MAX_NCHANNELS", "4"}}), HasSubstr("leaves nothing to min_channels"));
  EXPECT_THAT(refusal({{"channels", "65"}}), HasSubstr("channels is 65, more than 64"));
  Settings chunked = nccl_protocol().defaults();
  chunked.chunk = 64_KiB;
  EXPECT_THAT(refusal({{"NCCL_BUFFSIZE", "1M"}}, chunked), HasSubstr("both say how large a slot is"));
  EXPECT_THAT(refusal({{"buffer", "100"}}), HasSubstr("no room for 8 slots"));
  EXPECT_THAT(refusal({{"proto", "LL64"}}), HasSubstr("'LL64' is none of"));
  EXPECT_THAT(refusal({{"NCCL_ALGO", "CollNetChain"}}), HasSubstr("'CollNetChain' is none of"));
  EXPECT_THAT(refusal({{"NCCL_ALGO", "NVLS"}, {"NCCL_PROTO", "LL"}}),
              HasSubstr("slots of simple alone, and proto is ll"));
  EXPECT_THAT(refusal({{"NCCL_ALGO", "NVLS"}, {"NCCL_NVLS_ENABLE", "0"}}), HasSubstr("nvls_enable forbids it"));
  EXPECT_THAT(refusal({{"NCCL_P2P_LEVEL", "PIX,"}}), HasSubstr("'PIX,' is none of"));
  EXPECT_THAT(refusal({{"NCCL_PXN_DISABLE", "2"}}), HasSubstr("'2' is none of"));
}

TEST(NcclOptions, SwitchesOfRailsAndOfASwitchThatAddsUp) {
  EXPECT_TRUE(read({}).geometry.pxn);
  EXPECT_FALSE(read({{"NCCL_PXN_DISABLE", "1"}}).geometry.pxn);
  EXPECT_FALSE(between({{"NCCL_P2P_DISABLE", "1"}}, Level::nvl).geometry.pxn);
  EXPECT_TRUE(read({}).nvls);
  EXPECT_FALSE(read({{"NCCL_NVLS_ENABLE", "0"}}).nvls);
  EXPECT_TRUE(only_by_switch(read({{"NCCL_ALGO", "NVLS"}})));
}

TEST(NcclOptions, RanksNeedMemoryToMeetIn) {
  const auto meets = [](const Switches& switches, const Path& path) {
    return said_by<UnavailableError>([&] { require_meeting(path, between(switches, path.level)); });
  };
  const Path peers{.same_node = true, .peer_access = Answer::granted(), .level = Level::nvl};
  const Path neighbours{.same_node = true, .peer_access = Answer::refused("no peers"), .level = Level::nvl};
  const Path domain{.peer_access = Answer::granted(), .level = Level::nvl};
  EXPECT_EQ(meets({{"shm_disable", "1"}}, peers), "nothing was refused");
  EXPECT_EQ(meets({{"p2p_disable", "1"}}, peers), "nothing was refused");
  EXPECT_EQ(meets({}, neighbours), "nothing was refused");
  EXPECT_EQ(meets({}, domain), "nothing was refused");
  EXPECT_THAT(meets({{"p2p_disable", "1"}, {"shm_disable", "1"}}, peers),
              HasSubstr("p2p_disable or p2p_level forbids peer memory, and shm_disable forbids host memory"));
  EXPECT_THAT(meets({{"shm_disable", "1"}}, neighbours), HasSubstr("no peers, and shm_disable forbids host memory"));
  EXPECT_EQ(meets({{"p2p_disable", "1"}}, domain), "nothing was refused") << "over the network";
}

}  // namespace
}  // namespace twinlink::nccl
