// What messages whose bytes lie apart cost, against closed forms: every method of packing, over three protocols, on one
// node and between nodes.
#include "protocols/layout/packing.hpp"

#include <gmock/gmock.h>

#include "model/engine/simulation.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/registry.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr double kTolerance_us = 1e-3;
constexpr Seconds kOverhead = kHost + kLatency;
constexpr Rate kWithinDevice{50e9};
constexpr Rate kWithinNode{3e9};
constexpr Bytes kSize = 40'000_B;

struct Case {
  std::string protocol;
  bool same_node;
  PackMethod method;
  std::string layout;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.protocol << (c.same_node ? " on one node, " : " between nodes, ") << to_string(c.method) << ", "
       << c.layout;
}

/// Into and out of the packed buffer: device memory, or pinned for the protocol `host`.
Seconds rearranged(const Case& c, Rate engine, Rate kernel) {
  const std::vector<LayoutBlock> blocks = parse_layout(c.layout).blocks(kSize);
  const auto count = static_cast<double>(blocks.size());
  Seconds each{};
  switch (c.method) {
    case PackMethod::copies:
      for (const LayoutBlock& block : blocks) each += kOverhead + block.length / engine;
      return each;
    case PackMethod::rows:
      return kOverhead + kEngineBlock * count + kSize / engine;
    case PackMethod::kernel:
      return kOverhead + kKernelBlock * count + kSize / kernel;
  }
  return {};
}

Seconds expected(const Case& c) {
  const Seconds network = kOverhead + kSize / (c.same_node ? kWithinNode : kWire);
  if (c.protocol == "host") return rearranged(c, kUp, kUp) + network + rearranged(c, kDown, kDown);
  return rearranged(c, kWithinDevice, kWithinDevice) * 2 + kOverhead * 2 + kSize / kUp + network + kSize / kDown;
}

class PackingClosedForm : public ::testing::TestWithParam<Case> {};

TEST_P(PackingClosedForm, Holds) {
  const Case& c = GetParam();
  bench::Plan plan;
  plan.sizes = {kSize};
  plan.facts.packing = {parse_layout(c.layout), c.method};
  const Place there = c.same_node ? Place{0, 2, {}} : Place{1, 0, {}};
  bench::Series series;
  simulate(sample_platform(), std::vector<Place>{{0, 0, {}}, there}, [&](MeasuredRank& rank) {
    const Protocol& protocol = find_protocol(c.protocol);
    bench::Plan mine = plan;
    mine.settings = protocol.defaults();
    mine.settings.chunk = Bytes{};
    bench::Series measured = bench::measure(rank, protocol, mine);
    if (rank.id() == plan.first) series = std::move(measured);
  });
  EXPECT_TRUE(series.points.at(0).verified);
  EXPECT_NEAR(series.points.at(0).time_us.median, expected(c).microseconds(), kTolerance_us);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string protocol : {"staging", "gpudirect-v1", "host"}) {
    for (const bool same_node : {false, true}) {
      for (const PackMethod method : {PackMethod::copies, PackMethod::rows, PackMethod::kernel}) {
        all.push_back({protocol, same_node, method, "vector:400,1000"});
        if (method != PackMethod::rows) all.push_back({protocol, same_node, method, "indexed:8+24,100+1,500+700"});
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, PackingClosedForm, ::testing::ValuesIn(cases()));

/// The commands of a stream are queued, so only the first latency shows; but each copy's blocks take their time.
TEST(BlockCopies, OfOneStreamTakeTheTimeOfTheirBlocksOneAfterTheOther) {
  constexpr std::uint64_t kCopies = 3;
  constexpr std::uint64_t kBlocks = 100;
  constexpr Bytes kBlock = 64_B;
  simulate(sample_platform(), std::vector<Place>{{0, 0, {}}}, [&](Rank& rank) {
    const Buffer spread = rank.allocate(Memory::device, kBlock * 2 * kBlocks);
    const Buffer packed = rank.allocate(Memory::device, kBlock * kBlocks);
    std::vector<Block> blocks;
    for (std::uint64_t i = 0; i < kBlocks; ++i) blocks.push_back({kBlock * i, kBlock * 2 * i, kBlock});
    std::vector<Op> ops;
    for (std::uint64_t i = 0; i < kCopies; ++i) {
      ops.push_back(rank.copy_blocks(View(packed), View(spread), blocks, Stream{}, Engine::dma));
    }
    for (const Op op : ops) EXPECT_EQ(wait(rank, op, Seconds{1}), Status::delivered);
    const Seconds one = kEngineBlock * static_cast<double>(kBlocks) + kBlock * kBlocks / kWithinDevice;
    EXPECT_NEAR(rank.now().microseconds(), (kOverhead + one * kCopies).microseconds(), kTolerance_us);
  });
}

}  // namespace
}  // namespace twinlink::model
