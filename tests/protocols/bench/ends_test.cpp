// Where messages lie, what is computed between them, and one process with both GPUs, in the driver.
#include "protocols/bench/measure/ends.hpp"

#include <gmock/gmock.h>

#include <optional>
#include <set>
#include <string>

#include "protocols/bench/cli/settings_options.hpp"
#include "protocols/bench/measure/one_process.hpp"
#include "protocols/bench/measure/trace.hpp"
#include "protocols/registry.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::bench {
namespace {

using testing::Contains;
using testing::DoubleNear;
using testing::Field;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

// The rules of the fake world's clock, in microseconds: also of copies.
double message_time(Bytes size) { return 1.0 + 1e-3 * static_cast<double>(size.count()); }

Plan plan_of(Pattern pattern, Bytes size, Settings settings) {
  return {.pattern = pattern,
          .sizes = {size},
          .window = 4,
          .small = {.warmup = 1, .iterations = 3},
          .large = {.warmup = 1, .iterations = 3},
          .settings = std::move(settings)};
}

Plan plan_of(std::string_view protocol, Bytes size) {
  return plan_of(Pattern::pingpong, size, find_protocol(protocol).defaults());
}

Series run(std::string_view protocol, const Plan& plan, const FakeWorldOptions& world = {}) {
  Series series;
  run_fake_world(world, [&](MeasuredRank& rank) {
    Series mine = measure(rank, find_protocol(protocol), plan);
    if (rank.id() == plan.first) series = std::move(mine);
  });
  return series;
}

TEST(Ends, AreReadAndWrittenAlike) {
  for (const char* text : {"device,host", "host,device", "pinned,host", "device,device"}) {
    EXPECT_EQ(to_string(parse_ends(text)), text);
  }
  for (const char* wrong : {"device", "device,host,host", "", "gpu,host", "device,"}) {
    EXPECT_THAT(said_by([&] { parse_ends(wrong); }), HasSubstr("device, host or pinned")) << wrong;
  }
}

TEST(Ends, AMessageIsCopiedOnTheSideOfItsGpuOnly) {
  for (const char* ends : {"device,pinned", "pinned,device"}) {
    Plan plan = plan_of("gpudirect-v1", 1_KiB);
    plan.facts.ends = parse_ends(ends);
    const Series series = run("gpudirect-v1", plan);
    // There: a copy and a message. Back: a message and a copy.
    EXPECT_THAT(series.points.at(0).time_us.median, DoubleNear(2 * message_time(1_KiB), 1e-6)) << ends;
    EXPECT_THAT(named(series.facts), Contains(Pair("ends", ends)));
    EXPECT_THAT(series.points.at(0).path, HasSubstr("at one end, in host memory at the other"));
    EXPECT_TRUE(series.points.at(0).verified);
  }
}

TEST(Ends, AreRefusedWithTheReasonWhereBytesGoFromGpuToGpu) {
  for (const char* protocol : {"gpudirect-v2", "cuda-ipc", "symmetric-put"}) {
    Plan plan = plan_of(protocol, 4_B);
    plan.facts.ends = parse_ends("device,host");
    EXPECT_THAT(said_by([&] { check_ends(find_protocol(protocol), plan); }), HasSubstr("from GPU to GPU")) << protocol;
    plan.facts.ends = parse_ends("device,device");
    EXPECT_NO_THROW(check_ends(find_protocol(protocol), plan));
  }
  Plan plan = plan_of("host", 4_B);
  plan.facts.ends = parse_ends("pinned,host");
  EXPECT_NO_THROW(check_ends(find_protocol("host"), plan));
  plan.facts.ends = parse_ends("device,host");
  EXPECT_THAT(said_by([&] { check_ends(find_protocol("host"), plan); }), HasSubstr("host memory only"));
}

TEST(Ends, EveryProtocolThatTakesHostMemoryDeliversFromIt) {
  for (const Protocol* protocol : all_protocols()) {
    if (!protocol->takes_host_memory(protocol->defaults()) || protocol->message_memory() != Memory::device) continue;
    for (const char* ends : {"device,host", "host,device", "host,pinned"}) {
      Plan plan = plan_of(protocol->name(), 100_KiB);
      plan.pattern = Pattern::bidirectional;
      plan.facts.ends = parse_ends(ends);
      EXPECT_TRUE(run(protocol->name(), plan).points.at(0).verified) << protocol->name() << " " << ends;
    }
  }
}

TEST(Compute, LiesBetweenMessagesAndIsNoPartOfTheirTimes) {
  for (const Pattern pattern : {Pattern::pingpong, Pattern::bandwidth, Pattern::bidirectional}) {
    Plan plan = plan_of(pattern, 1_KiB, find_protocol("host").defaults());
    const double without = run("host", plan).points.at(0).time_us.median;
    plan.facts.compute = 50.0_us;
    const Series series = run("host", plan);
    EXPECT_THAT(series.points.at(0).time_us.median, DoubleNear(without, 1e-6)) << to_string(pattern);
    EXPECT_THAT(named(series.facts), Contains(Pair("compute", "50us")));
  }
}

TEST(Compute, IsShownByTheTrace) {
  Plan plan = plan_of("host", 4_B);
  plan.facts.compute = 50.0_us;
  std::string text;
  run_fake_world({}, [&](MeasuredRank& rank) {
    const std::string mine = trace(rank, find_protocol("host"), plan, false);
    if (rank.id() == RankId{0}) text = mine;
  });
  EXPECT_THAT(text, HasSubstr("receive           receive pageable[0+4] <- rank 0\n"
                              "compute           compute 50.0 us stream 0\n"));
}

TEST(OneProcess, CopiesThereAndBack) {
  Plan plan = plan_of("gpudirect-v2", 1_KiB);
  plan.facts.one_process = true;
  const Series series = run("gpudirect-v2", plan);
  EXPECT_THAT(series.points.at(0).time_us.median, DoubleNear(message_time(1_KiB), 1e-6));
  EXPECT_EQ(series.label, "gpudirect-v2 in one process");
  EXPECT_EQ(series.points.at(0).path, "one process: peer copy by the copy engine");
  EXPECT_TRUE(series.points.at(0).verified);
  EXPECT_EQ(series.from + " " + series.to, "0/0 0/1");
  for (const Pattern pattern : {Pattern::bandwidth, Pattern::bidirectional}) {
    plan.pattern = pattern;
    const int each = pattern == Pattern::bidirectional ? 2 : 1;
    EXPECT_THAT(run("gpudirect-v2", plan).points.at(0).time_us.median, DoubleNear(each * message_time(1_KiB), 1e-6));
  }
}

TEST(OneProcess, SaysThatTheDriverGoesThroughTheHost) {
  Plan plan = plan_of("gpudirect-v2", 4_B);
  plan.facts.one_process = true;
  EXPECT_EQ(run("gpudirect-v2", plan, {.peer_access = false}).points.at(0).path,
            "one process: the driver copies through host memory: no peer access");
}

TEST(OneProcess, TracesNoMessageAndNoHandle) {
  Plan plan = plan_of("gpudirect-v2", 64_B);
  plan.facts.one_process = true;
  std::string text;
  run_fake_world({}, [&](MeasuredRank& rank) {
    const std::string mine = trace(rank, find_protocol("gpudirect-v2"), plan, false);
    if (rank.id() == RankId{0}) text = mine;
  });
  EXPECT_THAT(text, HasSubstr("allocate device[0+256] on the GPU of rank 1"));
  EXPECT_THAT(text, HasSubstr("copy there        copy device[0+64] -> device[0+64] stream 0\n"
                              "copy back         copy device[0+64] -> device[0+64] stream 1\n"));
  for (const char* never : {"send", "receive", "open", "export", "control"}) EXPECT_THAT(text, Not(HasSubstr(never)));
}

/// Copies nothing in one stream; what is copied there ends as `status`.
class BrokenStream final : public DecoratedRank {
 public:
  BrokenStream(MeasuredRank& inner, int stream, Status status)
      : DecoratedRank(inner), stream_(stream), status_(status) {}
  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override {
    const bool broken = stream.index == stream_;
    if (broken) to.length = from.length = {};
    const Op op = DecoratedRank::start_copy(to, from, blocks, stream, engine);
    if (broken) broken_.insert(op.id);
    return op;
  }
  std::optional<Completion> wait_any(std::span<const Op> ops, Seconds deadline) override {
    auto ended = DecoratedRank::wait_any(ops, deadline);
    if (ended && broken_.contains(ops[ended->index].id)) ended->status = status_;
    return ended;
  }

 private:
  int stream_;
  Status status_;
  std::set<std::uint64_t> broken_{};
};

TEST(OneProcess, ProvesTheWayThereAndTheWayBack) {
  for (const Pattern pattern : {Pattern::pingpong, Pattern::bandwidth, Pattern::bidirectional}) {
    for (const int stream : {0, 1}) {
      for (const Status status : {Status::delivered, Status::peer_failed}) {
        Plan plan = plan_of("gpudirect-v2", 1_KiB);
        plan.facts.one_process = true;
        plan.pattern = pattern;
        plan.verify = status == Status::delivered;
        const std::string said = said_by<CheckError>([&] {
          run_fake_world({}, [&](MeasuredRank& rank) {
            BrokenStream broken(rank, stream, status);
            measure(broken, find_protocol("gpudirect-v2"), plan);
          });
        });
        const bool used = stream == 0 || pattern != Pattern::bandwidth;
        const char* const why = plan.verify ? "dropped at byte 0 of message 0" : "peer failed";
        EXPECT_EQ(said, used ? std::string("rank 0: one process, 1024 B: ") + why : "nothing was refused");
      }
    }
  }
}

TEST(OneProcess, RefusesWhatIsMoreThanSuchACopy) {
  const auto refused = [](std::string_view protocol, const std::function<void(Plan&)>& change) {
    Plan plan = plan_of(protocol, 4_B);
    plan.facts.one_process = true;
    change(plan);
    return said_by([&] { check_one_process(find_protocol(protocol), plan); });
  };
  EXPECT_EQ(refused("gpudirect-v2", [](Plan&) {}), "nothing was refused");
  EXPECT_THAT(refused("staging", [](Plan&) {}), HasSubstr("-p gpudirect-v2"));
  EXPECT_THAT(refused("gpudirect-v2", [](Plan& p) { p.settings.options["engine"] = "kernel-push"; }),
              HasSubstr("without settings"));
  EXPECT_THAT(refused("gpudirect-v2", [](Plan& p) { p.facts.compute = 1.0_us; }), HasSubstr("--compute"));
}

TEST(Counters, TellOfBothEnds) {
  // The receiver of the first message opens what is sent from, and both do in turn.
  const Series series = run("cuda-ipc", plan_of("cuda-ipc", 1_MiB));
  std::size_t own = 0;
  for (const Counter& counter : series.counters) own += counter.name.starts_with("peer: ") ? 0 : 1;
  ASSERT_GT(own, 0U);
  EXPECT_EQ(series.counters.size(), 2 * own);
  for (std::size_t i = 0; i < own; ++i) EXPECT_EQ(series.counters[own + i].name, "peer: " + series.counters[i].name);
  EXPECT_THAT(series.counters, Contains(Field(&Counter::name, HasSubstr("peer: "))));
}

TEST(TwoNames, OfOneOptionWithTwoValuesAreAnError) {
  const Protocol& protocol = find_protocol("cuda-aware");
  const auto refused = [&](const NamedValues& values, std::optional<Bytes> chunk = std::nullopt) {
    return said_by([&] { make_settings(protocol, {.chunk = chunk, .options = values}); });
  };
  EXPECT_EQ(refused({{"ipc", "0"}, {"MV2_CUDA_IPC", "1"}}),
            "protocol 'cuda-aware': ipc=0 and MV2_CUDA_IPC=1 are two values of one option");
  EXPECT_EQ(refused({{"MV2_CUDA_IPC", "1"}, {"ipc", "1"}}), "nothing was refused") << "they agree";
  EXPECT_EQ(refused({{"ipc", "0"}, {"ipc", "1"}}), "nothing was refused") << "of one name the last value counts";
  EXPECT_EQ(refused({{"MV2_CUDA_BLOCK_SIZE", "65536"}}, 128_KiB),
            "protocol 'cuda-aware': --chunk 128K and MV2_CUDA_BLOCK_SIZE=65536 are two values of one option");
  EXPECT_EQ(refused({{"MV2_CUDA_BLOCK_SIZE", "65536"}}, 64_KiB), "nothing was refused");
}

}  // namespace
}  // namespace twinlink::bench
