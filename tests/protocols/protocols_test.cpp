// Small things of the core: words for people, control messages, waiting, what protocols say about paths.
#include <gmock/gmock.h>

#include <array>
#include <vector>

#include "protocols/core/protocol.hpp"
#include "protocols/core/rank.hpp"
#include "protocols/registry.hpp"
#include "tests/protocols/scripted_rank.hpp"

namespace twinlink {
namespace {

using testing::HasSubstr;

TEST(Words, ForMemory) {
  EXPECT_EQ(to_string(Memory::device), "device");
  EXPECT_EQ(to_string(Memory::pinned), "pinned");
  EXPECT_EQ(to_string(Memory::pageable), "pageable");
  EXPECT_EQ(to_string(Memory::shared_pinned), "shared pinned");
}

TEST(Words, ForStatus) {
  EXPECT_EQ(to_string(Status::delivered), "delivered");
  EXPECT_EQ(to_string(Status::unsupported), "unsupported");
  EXPECT_EQ(to_string(Status::timed_out), "timed out");
  EXPECT_EQ(to_string(Status::peer_failed), "peer failed");
  EXPECT_EQ(to_string(Status::wrong_size), "wrong size");
}

TEST(Words, ForVerdicts) {
  EXPECT_EQ(to_string(Verdict{}), "intact");
  EXPECT_EQ(to_string(Verdict{Verdict::Kind::dropped, 4096_B}), "dropped at byte 4096");
  EXPECT_EQ(to_string(Verdict{Verdict::Kind::scrambled, 17_B}), "scrambled at byte 17");
}

TEST(Words, ForPlaces) { EXPECT_EQ(to_string(Place{.node = 3, .gpu = 1}), "3/1"); }

TEST(ControlMessage, GivesBackTheValueThatWasPutIn) {
  struct Value {
    int a;
    double b;
  };
  const ControlMessage message(Value{7, 2.5});
  EXPECT_EQ(message.as<Value>().a, 7);
  EXPECT_EQ(message.as<Value>().b, 2.5);
  EXPECT_EQ(message.bytes().size(), sizeof(Value));
}

TEST(ControlMessage, OfAnotherSizeIsRefused) {
  EXPECT_THROW(static_cast<void>(ControlMessage(std::uint32_t{1}).as<std::uint64_t>()), UsageError);
  EXPECT_THROW(static_cast<void>(ControlMessage().as<char>()), UsageError);
}

TEST(ControlMessage, AssignReplacesContentAndSize) {
  ControlMessage message(std::uint64_t{1});
  const std::array content{std::byte{1}, std::byte{2}, std::byte{3}};
  message.assign(content);
  EXPECT_TRUE(std::equal(message.bytes().begin(), message.bytes().end(), content.begin(), content.end()));
  message.assign({});
  EXPECT_TRUE(message.bytes().empty());
}

TEST(ControlMessage, AnIpcHandleFitsIn) { EXPECT_LE(sizeof(IpcHandle), ControlMessage::kCapacity); }

TEST(Views, ASliceCountsFromTheStartOfItsView) {
  const Buffer buffer{.id = 1, .memory = Memory::pinned, .size = 100_B};
  const View slice = View(buffer, 10_B, 50_B).slice(5_B, 20_B);
  EXPECT_EQ(slice.offset, 15_B);
  EXPECT_EQ(slice.length, 20_B);
  EXPECT_EQ(View(buffer).length, 100_B);
}

TEST(WaitHelper, ReturnsTheStatusOfTheOperation) {
  ScriptedRank rank;
  EXPECT_EQ(wait(rank, rank.begin(1.0_us), Seconds{1}), Status::delivered);
  EXPECT_EQ(wait(rank, rank.begin(1.0_us, Status::wrong_size), Seconds{1}), Status::wrong_size);
  EXPECT_EQ(rank.abandoned(), 0U);
}

TEST(WaitHelper, AbandonsWhatMissesTheDeadline) {
  ScriptedRank rank;
  EXPECT_EQ(wait(rank, rank.begin(std::nullopt), 3.0_us), Status::timed_out);
  EXPECT_EQ(rank.abandoned(), 1U);
  EXPECT_NEAR(rank.now().microseconds(), 3, 1e-9);
}

Path within_a_node() {
  Path path{.same_node = true};
  path.peer_access = Answer::granted();
  path.device_mapping = Answer::granted();
  return path;
}

TEST(Support, PeerCopiesNeedPeerAccessAndOneNode) {
  const Protocol& v2 = find_protocol("gpudirect-v2");
  EXPECT_EQ(v2.supports(within_a_node()).kind, Support::Kind::yes);

  Path staged = within_a_node();
  staged.peer_access = Answer::refused("different I/O hubs");
  EXPECT_EQ(v2.supports(staged).kind, Support::Kind::fallback);
  EXPECT_THAT(v2.supports(staged).reason, HasSubstr("different I/O hubs"));

  Path unmapped = staged;
  unmapped.device_mapping = Answer::refused("no IPC in this container");
  EXPECT_EQ(v2.supports(unmapped).kind, Support::Kind::no);
  EXPECT_THAT(v2.supports(unmapped).reason, HasSubstr("no IPC in this container"));

  EXPECT_EQ(v2.supports(Path{}).kind, Support::Kind::no);
  EXPECT_THAT(v2.supports(Path{}).reason, HasSubstr("different nodes"));
}

TEST(Support, RdmaGoesWhereTheAdapterReachesDeviceMemoryWhateverTheNodes) {
  const Protocol& v3 = find_protocol("gpudirect-v3");
  Path path{.device_memory_on_network = Answer::refused("Fermi has no GPUDirect RDMA")};
  EXPECT_EQ(v3.supports(path).kind, Support::Kind::no);
  EXPECT_EQ(v3.supports(path).reason, "Fermi has no GPUDirect RDMA");
  path.device_memory_on_network = Answer::granted();
  EXPECT_EQ(v3.supports(path).kind, Support::Kind::yes);
  path.same_node = true;
  EXPECT_EQ(v3.supports(path).kind, Support::Kind::yes) << "in loopback";
}

TEST(Support, SharedBuffersNeedDriversThatShareThem) {
  Path path;
  path.shared_buffers = Answer::refused("CUDA 3.0");
  EXPECT_EQ(find_protocol("gpudirect-v1").supports(path).kind, Support::Kind::no);
  EXPECT_EQ(find_protocol("staging").supports(path).kind, Support::Kind::yes);
}

TEST(Support, StagingThroughTheHostWorksEverywhere) {
  for (const std::string_view name : {"host", "staging", "gpudirect-v1"}) {
    EXPECT_EQ(find_protocol(name).supports(Path{}).kind, Support::Kind::yes) << name;
    EXPECT_EQ(find_protocol(name).supports(within_a_node()).kind, Support::Kind::yes) << name;
  }
}

TEST(Support, ARefusalNamesTheProtocolAndTheReason) {
  try {
    require_support(find_protocol("gpudirect-v2"), Path{});
    FAIL();
  } catch (const UnavailableError& refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr("gpudirect-v2"));
    EXPECT_THAT(refusal.what(), HasSubstr("different nodes"));
    EXPECT_EQ(refusal.exit_code(), ExitCode::unavailable);
  }
}

TEST(CheckSettings, SaysWhatIsAllowed) {
  try {
    check_settings(find_protocol("staging"), {.depth = 0});
    FAIL();
  } catch (const UsageError& refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr("depth is 0"));
    EXPECT_THAT(refusal.what(), HasSubstr("between 1 and"));
  }
}

}  // namespace
}  // namespace twinlink
