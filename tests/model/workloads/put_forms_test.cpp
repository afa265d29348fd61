// What puts by thread blocks take on the simulated machine, in closed form: messages of two ranks, and blocks to
// experts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/engine/simulation.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/core/options.hpp"
#include "protocols/puts/expert_puts.hpp"
#include "protocols/registry.hpp"
#include "protocols/workloads/execution.hpp"
#include "protocols/workloads/experts.hpp"
#include "tests/model/engine/block_machine.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

Settings by_blocks(int blocks, const std::string& order = {}) {
  Settings settings;
  const Protocol& protocol = find_protocol("symmetric-put");
  set_option(protocol, settings, "engine", "blocks");
  set_option(protocol, settings, "blocks", std::to_string(blocks));
  if (!order.empty()) set_option(protocol, settings, "order", order);
  return settings;
}

/// From the common start until the receiver goes on, of a message whose memory is known.
Seconds time_of_put(const Settings& settings, Bytes size, bool both_ways = false) {
  return simulated(machine_with_blocks(), peers(2), [&](MeasuredRank& rank, Seconds& arrived) {
    const std::uint64_t self = static_cast<std::uint64_t>(rank.id().value);
    const View out(rank.allocate(Memory::device, size));
    const View in(rank.allocate(Memory::device, size));
    const auto channel = find_protocol("symmetric-put").connect(rank, RankId{1 - rank.id().value}, settings);
    const bool sends = both_ways || self == 0;
    const bool receives = both_ways || self == 1;
    const auto move = [&] {
      return channel->exchange(sends ? std::span(&out, 1) : std::span<const View>{},
                               receives ? std::span(&in, 1) : std::span<const View>{});
    };
    EXPECT_TRUE(move().ok());
    rank.fill(out, Payload{7 + self});
    rank.fill(in, kSentinel);
    begin_at_once(rank);
    const Seconds start = rank.now();
    EXPECT_TRUE(move().ok());
    if (!receives) return;
    arrived = std::max(arrived, rank.now() - start);
    EXPECT_TRUE(rank.check(in, Payload{7 + 1 - self}).intact());
  });
}

TEST(PutForms, AMessageIsALaunchItsBytesAndTheWayOfItsFenceAndSignal) {
  expect_near(time_of_put(by_blocks(1, "user"), 64_KiB), kOverhead + 64_KiB / kBlockRate + kHopSimple);
}
TEST(PutForms, FourBlocksStoreFourTimesAsMuch) {
  expect_near(time_of_put(by_blocks(4, "user"), 64_KiB), kOverhead + 64_KiB / Rate{4e9} + kHopSimple);
}
TEST(PutForms, EightBlocksShareWhatAKernelReaches) {
  expect_near(time_of_put(by_blocks(8, "user"), 64_KiB), kOverhead + 64_KiB / kKernelPush + kHopSimple);
}
TEST(PutForms, BlocksThatPutAndBlocksThatAwaitPassEachOther) {
  expect_near(time_of_put(by_blocks(2, "user"), 64_KiB, true), kOverhead + 64_KiB / Rate{2e9} + kHopSimple);
}
/// The target opens its memory before the origin launches, and has launched its own blocks by then.
TEST(PutForms, WhereTheProtocolOrdersTheTargetOpensItsMemoryFirst) {
  expect_near(time_of_put(by_blocks(1, "exchange"), 64_KiB), kControl + kOverhead + 64_KiB / kBlockRate + kHopSimple);
}

// ---- blocks to experts ----------------------------------------------------------------------------------------------

struct Experts {
  int ranks = 2;
  int of_each = 1;
  int blocks = 1;
};

/// Of an even routing, `block` for each expert of each rank.
Seconds time_to_experts(bool back, const Experts& experts, Bytes block, int times = 1,
                        const Platform& platform = machine_with_blocks(), std::vector<Place> places = {}) {
  if (places.empty()) places = peers(experts.ranks);
  return simulated(platform, places, [&](MeasuredRank& rank, Seconds& last) {
    const int count = experts.ranks * experts.of_each;
    const workloads::Shape shape{.ranks = experts.ranks, .experts = {.count = count, .top = 1}};
    const std::uint64_t elements = block.count() / 8 * static_cast<std::uint64_t>(count);
    workloads::Schedule schedule = back ? workloads::together_combine(shape, rank.id().value, elements)
                                        : workloads::together_dispatch(shape, rank.id().value, elements);
    const Protocol& protocol = find_protocol("symmetric-put");
    const Settings settings = by_blocks(experts.blocks);
    const workloads::PortionLists& lists = schedule.steps.front().together->blocks;
    const Bytes slots = room_for_experts(protocol, settings, experts.ranks, lists.portions());
    SymmetricHeap heap(rank, workloads::bytes_of(schedule.data) + slots + 4_KiB, {}, kLong);
    const workloads::Buffers buffers(heap, schedule.data, 0);
    const auto all = join_on(heap, protocol, settings);
    const auto run = [&](int runs) {
      const workloads::Together& together = *schedule.steps.front().together;
      EXPECT_TRUE(all->run(together.what, buffers.view(together.data), runs, lists.portions()).ok());
    };
    run(1);
    workloads::prepare(rank, schedule, buffers);
    begin_at_once(rank);
    const Seconds start = rank.now();
    run(times);
    last = std::max(last, rank.now() - start);
    EXPECT_EQ(workloads::fault_in(rank, schedule, buffers), std::nullopt);
  });
}

/// A block stores what it has for all ranks, one expert after the other. Another one takes out what has come, in the
/// order of ranks: behind the last slot of all, or behind the last one of the first rank all those of the others.
Seconds form_of(const Experts& experts, Bytes block, Rate rate) {
  const auto others = static_cast<std::uint64_t>(experts.ranks - 1);
  const auto each = static_cast<std::uint64_t>(experts.of_each / experts.blocks);
  const auto after = [&](std::uint64_t sent, std::uint64_t taken) {
    return block * (sent * static_cast<std::uint64_t>(experts.blocks)) / rate + kHopSimple + block * taken / kBlockRate;
  };
  return kOverhead + std::max(after(each * others, 1), after((each - 1) * others + 1, 1 + (others - 1) * each));
}

class ToExperts : public ::testing::TestWithParam<std::tuple<bool, Experts>> {};

TEST_P(ToExperts, AreLaunchedStoredSeenAndTakenOut) {
  const auto& [back, experts] = GetParam();
  const Rate blocks{kBlockRate.bytes_per_second() * experts.blocks};
  expect_near(time_to_experts(back, experts, 16_KiB), form_of(experts, 16_KiB, std::min(blocks, kKernelPush)));
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<bool, Experts>>& tested) {
  const auto& [back, experts] = tested.param;
  return std::string(back ? "combine" : "dispatch") + "_of_" + std::to_string(experts.ranks) + "_with_" +
         std::to_string(experts.of_each) + "_in_" + std::to_string(experts.blocks);
}

constexpr std::array kExperts{Experts{2, 1, 1}, Experts{3, 1, 1}, Experts{4, 2, 2}, Experts{3, 4, 2}, Experts{4, 8, 8}};
INSTANTIATE_TEST_SUITE_P(Of, ToExperts, ::testing::Combine(::testing::Bool(), ::testing::ValuesIn(kExperts)), name_of);

// ---- between nodes --------------------------------------------------------------------------------------------------

Platform machine_whose_gpus_drive_adapters() {
  Platform platform = machine_with_blocks();
  platform.gpu_types.front().capability_major = 3;
  platform.fabric->rdma = Rdma{.by_gpu = "a test", .latency = made_up(kRdmaExtra)};
  return platform;
}
/// The lone GPU of each of so many nodes.
std::vector<Place> one_on_each(int nodes) {
  std::vector<Place> places;
  for (int node = 0; node < nodes; ++node) places.push_back({node, 0, {}});
  return places;
}

/// The bell and the request cross the bus three times, the bytes that the adapter reads twice, and those that it writes
/// once.
constexpr Seconds kPutIsSeen = kSimple + kBus * 6 + kLatency + kRdmaExtra * 2;

/// A block copies what it has into its memory and rings, for one rank after the other; the puts share the wire. Another
/// one has begun to take the own block out.
class BetweenNodes : public ::testing::TestWithParam<bool> {};
TEST_P(BetweenNodes, AdaptersPutWhatBlocksAskFor) {
  constexpr Rate kBeside{kLocal.bytes_per_second() - kBlockRate.bytes_per_second()};
  constexpr Bytes kBlock = 8_KiB;  // the own one is taken out before others come
  const auto time = [&](int nodes, int times = 1) {
    return time_to_experts(GetParam(), {nodes, 1, 1}, kBlock, times, machine_whose_gpus_drive_adapters(),
                           one_on_each(nodes));
  };
  expect_near(time(2), kOverhead + kBlock / kBeside / 2 + kBlock / kWire + kPutIsSeen + kBlock / kBlockRate);
  expect_near(time(3), kOverhead + kBlock * 2 / kWire + kPutIsSeen + kBlock * 2 / kBlockRate);
}
INSTANTIATE_TEST_SUITE_P(PutForms, BetweenNodes, ::testing::Bool());

/// Of sixteen ranks on two nodes half of the bytes go through each GPU's adapter. At worst all that one node does comes
/// first, and what the last block takes behind it.
TEST(PutForms, AdaptersBoundWhatGoesBetweenNodes) {
  Platform platform = read_platform(TWINLINK_SOURCE_DIR "/platforms/hgx-h100.yaml");
  std::vector<Place> places;
  for (int rank = 0; rank < 16; ++rank) places.push_back({rank / 8, rank % 8, {}});
  constexpr Bytes kBlock = 32_KiB;
  constexpr int kOfEach = 16;
  const auto time = [&](const Experts& experts, std::vector<Place> at) {
    return time_to_experts(false, experts, kBlock, 1, platform, std::move(at));
  };
  const Seconds adapters = kBlock * std::uint64_t{kOfEach * 8} / platform.fabric->link.value;
  const Seconds both = time({16, kOfEach, kOfEach}, places);
  EXPECT_GE(both, adapters);
  EXPECT_LE(both, adapters + time({8, kOfEach, kOfEach}, {places.begin(), places.begin() + 8}) +
                      time({2, 1, 1}, {places.front(), places.back()}));
  platform.fabric->rdma->by_gpu.clear();
  EXPECT_THROW(time({16, kOfEach, kOfEach}, places), Error) << "nobody says that GPUs drive adapters";
}

}  // namespace
}  // namespace twinlink::model
