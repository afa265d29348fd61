#include "protocols/bench/measure/driver.hpp"

#include <gmock/gmock.h>

#include "protocols/registry.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/protocols/bench/slow_at_first.hpp"
#include "tests/support/said_by.hpp"
#include "tests/support/test_name.hpp"

namespace twinlink::bench {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Not;

// The rules of the fake world's clock, in microseconds.
constexpr double kCall = 1.0;
double message(Bytes size) { return 1.0 + 1e-3 * static_cast<double>(size.count()); }

Plan small_plan(Pattern pattern, std::vector<Bytes> sizes) {
  return {.pattern = pattern,
          .sizes = std::move(sizes),
          .window = 4,
          .small = {.warmup = 1, .iterations = 3},
          .large = {.warmup = 1, .iterations = 2},
          .settings = {.depth = 4}};
}

/// What the first rank of the plan measured.
Series run(const FakeWorldOptions& world, std::string_view protocol, const Plan& plan) {
  Series series;
  run_fake_world(world, [&](MeasuredRank& rank) {
    Series mine = measure(rank, find_protocol(protocol), plan);
    if (rank.id() == plan.first) {
      series = std::move(mine);
    } else {
      EXPECT_TRUE(mine.points.empty());
    }
  });
  return series;
}

std::string refusal_of_run(const FakeWorldOptions& world, std::string_view protocol, const Plan& plan) {
  return said_by<CheckError>([&] { run(world, protocol, plan); });
}
std::string refusal_of_run(const std::function<void(MeasuredRank&)>& body) {
  return said_by<CheckError>([&] { run_fake_world({}, body); });
}

TEST(SizeSweep, EndsAtItsEndIfItIsReached) {
  EXPECT_EQ(size_sweep(4_B, 64_B, 2), (std::vector{4_B, 8_B, 16_B, 32_B, 64_B}));
  EXPECT_EQ(size_sweep(1_B, 63_B, 4), (std::vector{1_B, 4_B, 16_B}));
  EXPECT_EQ(size_sweep(5_B, 5_B, 2), std::vector{5_B});
}

TEST(SizeSweep, DoesNotOverflow) {
  const Bytes most{std::numeric_limits<std::int64_t>::max()};
  EXPECT_EQ(size_sweep(most, most, 1 << 20), std::vector{most});
  EXPECT_EQ(size_sweep(1_B, most, 2).size(), 63U);
}

TEST(SizeSweep, RefusesWhatIsNoSweep) {
  EXPECT_THROW(size_sweep(4_B, 64_B, 1), UsageError);
  EXPECT_THROW(size_sweep(8_B, 4_B, 2), UsageError);
  EXPECT_THROW(size_sweep(0_B, 4_B, 2), UsageError);
}

TEST(Driver, PingPongTimeIsHalfOfTheRoundTrip) {
  const Series series = run({}, "host", small_plan(Pattern::pingpong, {4_B, 8_KiB}));
  ASSERT_EQ(series.points.size(), 2U);
  for (const Point& point : series.points) {
    EXPECT_THAT(point.time_us.median, DoubleNear(message(point.size), 1e-6));
    EXPECT_THAT(point.bandwidth_MBps, DoubleNear(static_cast<double>(point.size.count()) / message(point.size), 1e-3));
    EXPECT_TRUE(point.verified);
  }
  EXPECT_EQ(series.points[0].time_us.n, 3U);
  EXPECT_EQ(series.points[1].time_us.n, 2U) << "8 KiB is large";
}

TEST(Driver, BandwidthTimeIsTheWindowsTimeOverItsMessages) {
  const Series series = run({}, "host", small_plan(Pattern::bandwidth, {1_KiB}));
  // Four messages one after the other, and the empty answer.
  EXPECT_THAT(series.points.at(0).time_us.median, DoubleNear((4 * message(1_KiB) + kCall) / 4, 1e-6));
  EXPECT_EQ(series.window, 4);
}

TEST(Driver, BidirectionalRateCountsBothDirections) {
  const Series series = run({}, "host", small_plan(Pattern::bidirectional, {1_KiB}));
  const Point& point = series.points.at(0);
  EXPECT_THAT(point.time_us.median, DoubleNear((4 * message(1_KiB) + kCall) / 4, 1e-6));
  EXPECT_THAT(point.bandwidth_MBps, DoubleNear(2 * 1024 / point.time_us.median, 1e-6));
}

/// Each buffer has as many rounds as the others, and is checked.
TEST(Driver, TakesBuffersInTurn) {
  Plan plan = small_plan(Pattern::pingpong, {4_B});
  plan.facts.buffers = 3;
  for (const auto& [iterations, rounds] : {std::pair{1, 3}, {3, 3}, {4, 6}, {6, 6}, {7, 9}}) {
    plan.small.iterations = iterations;
    const Point point = run({}, "gpudirect-v2", plan).points.at(0);
    EXPECT_EQ(point.time_us.n, static_cast<std::size_t>(rounds)) << iterations;
    EXPECT_NEAR(point.time_us.min, point.time_us.max, 1e-6) << "no buffer is new when it counts";
  }
  // Behind the cold message those of the check, the third of which has the third buffer.
  EXPECT_EQ(refusal_of_run({.fault = {{Fault::Kind::drop, RankId{1}, 3, 2_B}}}, "host", plan),
            "rank 1: host, 4 B: dropped at byte 2 of message 0");
}

TEST(Driver, SaysWhatRanAndOnWhat) {
  const Series series = run({}, "gpudirect-v2", small_plan(Pattern::pingpong, {4_B}));
  EXPECT_EQ(series.protocol, "gpudirect-v2");
  EXPECT_EQ(series.label, "gpudirect-v2");
  EXPECT_EQ(series.from, "0/0");
  EXPECT_EQ(series.to, "0/1");
  EXPECT_EQ(series.window, 1) << "a ping-pong has one message at a time";
  EXPECT_EQ(series.points.at(0).path, "peer copy by the copy engine");
}

TEST(Driver, ReportsTheColdFirstMessageApart) {
  // Opening the peer's memory and exporting one's own: only the first message each way pays.
  const Series series = run({}, "gpudirect-v2", small_plan(Pattern::pingpong, {4_B}));
  EXPECT_GE(series.cold_us, series.points.at(0).time_us.max + kCall);
}

TEST(Driver, StoresThePresetBesideItsSettings) {
  Plan plan = small_plan(Pattern::pingpong, {4_B});
  plan.preset = "a library";
  EXPECT_EQ(run({}, "host", plan).preset, "a library");
}

TEST(Driver, TellsOfEverySizeWhenItsTimeIsFinal) {
  Plan plan = small_plan(Pattern::pingpong, {4_B, 64_B});
  plan.passes = 2;
  std::vector<std::size_t> known;
  plan.on_point = [&](const Series& so_far) {
    EXPECT_EQ(so_far.points.back().size, plan.sizes[so_far.points.size() - 1]);
    known.push_back(so_far.points.size());
  };
  run({}, "host", plan);
  EXPECT_EQ(known, (std::vector<std::size_t>{1, 2}));
}

TEST(Driver, KeepsSamplesIfAsked) {
  Plan plan = small_plan(Pattern::pingpong, {4_B});
  EXPECT_TRUE(run({}, "host", plan).points.at(0).samples_us.empty());
  plan.keep_samples = true;
  EXPECT_EQ(run({}, "host", plan).points.at(0).samples_us.size(), 3U);
}

TEST(Driver, CutsRoundsToTheBudgetAtBothEnds) {
  Plan plan = small_plan(Pattern::pingpong, {4_B});
  plan.small.iterations = 1000;
  plan.budget = Seconds{20 * 1e-6};  // a round takes a little over 2 us
  EXPECT_EQ(run({}, "host", plan).points.at(0).time_us.n, 9U);
  plan.small.warmup = 0;
  EXPECT_EQ(run({}, "host", plan).points.at(0).time_us.n, 9U) << "a budget holds without any warm-up";
}

TEST(Driver, KeepsTheQuieterPassOfEverySize) {
  const auto medians = [](int passes, Seconds slow_until) {
    Plan plan = small_plan(Pattern::pingpong, {4_B, 8_KiB});
    plan.passes = passes;
    std::vector<double> times_us;
    run_fake_world({}, [&](MeasuredRank& rank) {
      SlowAtFirst slow(rank, slow_until);
      const Series series = measure(slow, find_protocol("host"), plan);
      if (rank.id() != plan.first) return;
      for (const Point& point : series.points) times_us.push_back(point.time_us.median);
    });
    return times_us;
  };
  const std::vector<double> quiet{message(4_B), message(8_KiB)};
  const auto as_quiet = testing::Pointwise(DoubleNear(1e-6), quiet);
  // 4 B: a cold round, a checked one, one to warm up, the word that it was warm and three that count are over after
  // 17 us; of 8 KiB each takes 18.
  const Seconds during_the_first{17e-6};
  EXPECT_THAT(medians(1, {}), as_quiet);
  EXPECT_THAT(medians(1, during_the_first), Not(as_quiet)) << "what the test adds itself shows";
  EXPECT_THAT(medians(2, during_the_first), as_quiet);
  EXPECT_THAT(medians(2, {}), as_quiet) << "and no size is there twice";
}

TEST(Driver, RefusesToMeasureInNoPass) {
  Plan plan = small_plan(Pattern::pingpong, {4_B});
  plan.passes = 0;
  EXPECT_THROW(run({}, "host", plan), UsageError);
}

TEST(Driver, LeavesOtherRanksAlone) {
  Plan plan = small_plan(Pattern::pingpong, {4_B});
  plan.first = RankId{2};
  plan.second = RankId{0};
  const Series series = run({.ranks = 3}, "staging", plan);
  EXPECT_EQ(series.from, "0/2");
  EXPECT_EQ(series.to, "0/0");
}

TEST(Driver, EveryProtocolPassesItsChecksInEveryPattern) {
  for (const Protocol* protocol : protocols_without_programs()) {
    for (const Pattern pattern : {Pattern::pingpong, Pattern::bandwidth, Pattern::bidirectional}) {
      EXPECT_NO_THROW(run({}, protocol->name(), small_plan(pattern, {1_B, 100_B, 64_KiB}))) << protocol->name();
    }
  }
}

TEST(Driver, ReleasesAllThatItAllocated) {
  for (const Protocol* protocol : protocols_without_programs()) {
    run_fake_world({}, [&](MeasuredRank& rank) {
      measure(rank, *protocol, small_plan(Pattern::bidirectional, {1_KiB}));
      EXPECT_EQ(live_buffers(rank), 0U) << protocol->name();
    });
  }
}

// ---- faults ---------------------------------------------------------------------------------------------------------

// Transfer 0 into either end is the cold message, transfer 1 the checked one before the timed rounds.

TEST(Verification, NamesTheOffsetOfADroppedByte) {
  const FakeWorldOptions world{.fault = {{Fault::Kind::drop, RankId{1}, 1, 4_KiB}}};
  EXPECT_EQ(refusal_of_run(world, "gpudirect-v1", small_plan(Pattern::pingpong, {64_KiB})),
            "rank 1: gpudirect-v1, 65536 B: scrambled at byte 4096 of message 0")
      << "dropped between the hosts: the device got what lay in the host's buffer";
  EXPECT_EQ(refusal_of_run(world, "host", small_plan(Pattern::pingpong, {64_KiB})),
            "rank 1: host, 65536 B: dropped at byte 4096 of message 0");
  EXPECT_EQ(refusal_of_run(world, "gpudirect-v2", small_plan(Pattern::pingpong, {64_KiB})),
            "rank 1: gpudirect-v2, 65536 B: dropped at byte 4096 of message 0");
}

TEST(Verification, NamesTheOffsetOfAScrambledByte) {
  const FakeWorldOptions world{.fault = {{Fault::Kind::scramble, RankId{0}, 1, 17_B}}};
  EXPECT_EQ(refusal_of_run(world, "staging", small_plan(Pattern::pingpong, {1_KiB})),
            "rank 0: staging, 1024 B: scrambled at byte 17 of message 0");
}

TEST(Verification, NamesTheMessageOfAWindow) {
  // Window of four; transfers 1 to 4 are checked.
  const FakeWorldOptions world{.fault = {{Fault::Kind::drop, RankId{1}, 4, 99_B}}};
  for (const Pattern pattern : {Pattern::bandwidth, Pattern::bidirectional}) {
    EXPECT_EQ(refusal_of_run(world, "host", small_plan(pattern, {1_KiB})),
              "rank 1: host, 1024 B: dropped at byte 99 of message 3");
  }
}

TEST(Verification, ChecksAfterTheTimedRoundsToo) {
  // Cold, check, one warm-up, three timed: transfer 6 is the second check.
  const FakeWorldOptions world{.fault = {{Fault::Kind::drop, RankId{1}, 6, 0_B}}};
  EXPECT_THAT(refusal_of_run(world, "host", small_plan(Pattern::pingpong, {1_KiB})), HasSubstr("dropped at byte 0"));
}

/// Copies nothing out of its device any more after the first few times: what a host's buffer had stays there.
class StuckRank final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override {
    constexpr int kGood = 2;  // the cold message and the first check
    const bool out = from.buffer.memory == Memory::device && to.buffer.memory != Memory::device;
    const bool lost = out && ++copied_out_ > kGood;
    if (!lost) return DecoratedRank::start_copy(to, from, blocks, stream, engine);
    return DecoratedRank::start_copy(to.slice({}, {}), from.slice({}, {}), {}, stream, engine);
  }

 private:
  int copied_out_ = 0;
};

TEST(Verification, NoticesAMessageThatIsTheOneCheckedBefore) {
  EXPECT_THAT(refusal_of_run([](MeasuredRank& rank) {
                StuckRank stuck(rank);
                measure(stuck, find_protocol("staging"), small_plan(Pattern::pingpong, {1_KiB}));
              }),
              HasSubstr("staging, 1024 B: scrambled at byte 0"));
}

TEST(Verification, IsLeftOutIfAsked) {
  Plan plan = small_plan(Pattern::pingpong, {1_KiB});
  plan.verify = false;
  const FakeWorldOptions world{.fault = {{Fault::Kind::drop, RankId{1}, 1, 0_B}}};
  EXPECT_FALSE(run(world, "host", plan).points.at(0).verified);
}

TEST(Verification, ReportsAnExchangeThatWasNotDelivered) {
  // The second rank never comes: the first one's message is answered by nobody.
  EXPECT_THAT(refusal_of_run([](MeasuredRank& rank) {
                if (rank.id() == RankId{0}) measure(rank, find_protocol("host"), small_plan(Pattern::pingpong, {4_B}));
              }),
              AllOf(HasSubstr("rank 0"), HasSubstr("timed out")));
}

/// Never sees a message of `size` bytes.
class DeafRank final : public DecoratedRank {
 public:
  DeafRank(MeasuredRank& inner, Bytes size) : DecoratedRank(inner), size_(size) {}
  Op receive(RankId peer, Tag tag, View to) override {
    const Tag nobody_sends{tag.value + 1000};
    return DecoratedRank::receive(peer, to.length == size_ ? nobody_sends : tag, to);
  }

 private:
  Bytes size_;
};

TEST(Verification, ReportsALostMessageWithItsProtocolAndSize) {
  EXPECT_THAT(refusal_of_run([](MeasuredRank& rank) {
                DeafRank deaf(rank, 64_B);
                measure(deaf, find_protocol("staging"), small_plan(Pattern::bidirectional, {16_B, 64_B}));
              }),
              AllOf(HasSubstr("staging, 64 B: timed out"), HasSubstr("step 'receive'")));
}

// ---- plans ----------------------------------------------------------------------------------------------------------

TEST(Driver, RefusesPlansThatMakeNoSense) {
  const auto refuses = [](const std::function<void(Plan&)>& spoil) {
    Plan plan = small_plan(Pattern::pingpong, {4_B, 8_B});
    spoil(plan);
    EXPECT_THROW(run({}, "host", plan), UsageError);
  };
  refuses([](Plan& plan) { plan.sizes.clear(); });
  refuses([](Plan& plan) { plan.sizes = {8_B, 4_B}; });
  refuses([](Plan& plan) { plan.window = 0; });
  refuses([](Plan& plan) { plan.window = kMaxWindow + 1; });
  refuses([](Plan& plan) { plan.small.iterations = 0; });
  refuses([](Plan& plan) { plan.second = RankId{2}; });
  refuses([](Plan& plan) { plan.second = plan.first; });
  refuses([](Plan& plan) { plan.pattern = Pattern::copy; });
  refuses([](Plan& plan) { plan.settings.depth = 0; });
  refuses([](Plan& plan) { plan.facts.buffers = 0; });
  refuses([](Plan& plan) { plan.facts.buffers = kMaxBuffers + 1; });
}

TEST(Driver, RefusesAPathThatTheProtocolDoesNotSupport) {
  EXPECT_THROW(run({.same_node = false}, "gpudirect-v2", small_plan(Pattern::pingpong, {4_B})), UnavailableError);
}

// ---- copies ---------------------------------------------------------------------------------------------------------

TEST(CopyCurve, TimeIsHalfOfOutAndBack) {
  Series series;
  run_fake_world({}, [&](MeasuredRank& rank) {
    Series mine = measure_copy(rank, Memory::pinned, Locality::far, small_plan(Pattern::copy, {4_B, 1_KiB}));
    if (rank.id() == RankId{0}) series = std::move(mine);
  });
  EXPECT_EQ(series.protocol, "copy pinned far");
  EXPECT_EQ(series.pattern, Pattern::copy);
  ASSERT_EQ(series.points.size(), 2U);
  for (const Point& point : series.points) EXPECT_THAT(point.time_us.median, DoubleNear(message(point.size), 1e-6));
}

TEST(CopyCurve, NeedsHostMemory) {
  EXPECT_THROW(run_fake_world({.ranks = 1},
                              [](MeasuredRank& rank) {
                                measure_copy(rank, Memory::device, Locality::near, small_plan(Pattern::copy, {4_B}));
                              }),
               UsageError);
}

/// Copies all but the last byte.
class LazyRank final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override {
    const Bytes most = to.length - 1_B;
    return DecoratedRank::start_copy(to.slice({}, most), from.slice({}, most), blocks, stream, engine);
  }
};

TEST(CopyCurve, IsVerifiedIfAsked) {
  for (const bool verify : {true, false}) {
    Plan plan = small_plan(Pattern::copy, {1_KiB});
    plan.verify = verify;
    const auto measured = [&] {
      run_fake_world({.ranks = 1}, [&](MeasuredRank& rank) {
        LazyRank lazy(rank);
        measure_copy(lazy, Memory::pageable, Locality::near, plan);
      });
    };
    EXPECT_EQ(
        said_by<CheckError>(measured),
        verify ? "rank 0: copy pageable near, 1024 B: dropped at byte 1023 of host memory" : "nothing was refused");
  }
}

}  // namespace
}  // namespace twinlink::bench
