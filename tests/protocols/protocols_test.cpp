// Small things of the core: words for people, control messages, waiting, what protocols say about paths.
#include <gmock/gmock.h>

#include <array>
#include <string>
#include <vector>

#include "protocols/core/protocol.hpp"
#include "protocols/core/rank.hpp"
#include "protocols/registry.hpp"
#include "tests/protocols/scripted_rank.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink {
namespace {

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

/// Everything is granted, but the one.
Path without(Answer Path::*refused, Path path = {.same_node = true}) {
  for (Answer Path::*each : {&Path::peer_access, &Path::device_mapping, &Path::one_sided,
                             &Path::device_memory_on_network, &Path::cpu_reaches_device, &Path::gpu_programs}) {
    path.*each = Answer::granted();
  }
  if (refused != nullptr) path.*refused = Answer::refused("why");
  return path;
}

/// Who cannot run there, or only by a detour (~), and why.
std::string refusals(const Path& path) {
  std::string all;
  for (const Protocol* protocol : all_protocols()) {
    const Support support = protocol->supports(path);
    EXPECT_EQ(support.usable(), support.kind != Support::Kind::no);
    if (support.kind == Support::Kind::yes) continue;
    all += (support.usable() ? "~" : "") + std::string(protocol->name()) + ": " + support.reason + "\n";
  }
  return all;
}

TEST(Support, EachAnswerIsWhatSomeProtocolsNeed) {
  EXPECT_EQ(refusals(without(nullptr)), "");
  EXPECT_EQ(refusals(without(&Path::peer_access)), "~gpudirect-v2: why\nsymmetric-put: why\n~cuda-ipc: why\n");
  EXPECT_EQ(refusals(without(&Path::device_mapping)), "gpudirect-v2: why\ncuda-ipc: why\n");
  EXPECT_EQ(refusals(without(&Path::one_sided)), "symmetric-put: why\n");
  EXPECT_EQ(refusals(without(&Path::device_memory_on_network)), "gpudirect-v3: why\n");
  EXPECT_EQ(refusals(without(&Path::shared_buffers)), "gpudirect-v1: why\n");
  EXPECT_EQ(refusals(without(&Path::cuda_aware_mpi)), "cuda-aware: why\n");
  EXPECT_EQ(refusals(without(&Path::gpu_programs)), "nccl: why\n");
  const std::string ends = "the GPUs are on different nodes, and ";
  EXPECT_EQ(refusals(without(nullptr, {})), "cuda-ipc: " + ends + "CUDA IPC ends at the node\n");
  EXPECT_EQ(
      refusals(without(&Path::peer_access, {})),
      "gpudirect-v2: " + ends + "peer-to-peer ends at the node\ncuda-ipc: " + ends + "CUDA IPC ends at the node\n");
  EXPECT_EQ(refusals(without(&Path::peer_access, {.same_node = true, .same_device = true})),
            "~gpudirect-v2: why\nsymmetric-put: why\n");
}

TEST(Support, TheShortestWayServesAllPathsWithoutADetour) {
  const auto way = [](const std::vector<Path>& paths) { return shortest_way(paths).name(); };
  const Path all = without(nullptr);
  EXPECT_EQ(way({all}), "gpudirect-v2");
  EXPECT_EQ(way({all, without(&Path::peer_access)}), "gpudirect-v3") << "v2 would take a detour";
  EXPECT_EQ(way({without(&Path::device_mapping), all, without(&Path::device_memory_on_network)}), "symmetric-put");
  Path none{};
  none.shared_buffers = none.cuda_aware_mpi = Answer::refused("why");
  EXPECT_EQ(way({none}), "staging");
  EXPECT_TRUE(serves_all(find_protocol("staging"), {}));
  EXPECT_FALSE(serves_all(find_protocol("host"), {})) << "its messages are in host memory";
}

TEST(Support, ARefusalNamesTheProtocolAndTheReason) {
  EXPECT_EQ(
      said_by<UnavailableError>([] { require_support(find_protocol("gpudirect-v2"), Path{}); }),
      "protocol 'gpudirect-v2' cannot run here: the GPUs are on different nodes, and peer-to-peer ends at the node");
}

TEST(CheckSettings, SaysWhatIsAllowed) {
  const auto said = [](const Settings& settings) {
    return said_by([&] { check_settings(find_protocol("staging"), settings); });
  };
  const std::string who = "protocol 'staging': ";
  for (const int depth : {0, 1025}) {
    EXPECT_EQ(said({.depth = depth}), who + "depth is " + std::to_string(depth) + ", but must lie between 1 and 1024");
  }
  for (const Settings& good : {Settings{.depth = 1}, Settings{.depth = 1024}, Settings{.chunk = 256_GiB, .depth = 4}}) {
    EXPECT_EQ(said(good), "nothing was refused");
  }
  EXPECT_EQ(said({.chunk = 256_GiB, .depth = 5}),
            who + "5 chunks of 256G are more than the 1024G that may be under way at once");
  EXPECT_EQ(said({.timeout = Seconds{0}}), who + "the timeout must be longer than zero");
  ScriptedRank rank;
  rank.path() = without(nullptr);
  for (const Protocol* protocol : all_protocols()) {
    EXPECT_THROW(static_cast<void>(protocol->connect(rank, RankId{1}, {.depth = 0})), UsageError) << protocol->name();
  }
}

}  // namespace
}  // namespace twinlink
