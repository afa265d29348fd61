#include "protocols/bench/measure/trace.hpp"

#include <gmock/gmock.h>

#include "protocols/registry.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/explore/explorer/fake_world.hpp"

namespace twinlink::bench {
namespace {

using testing::HasSubstr;

Plan plan_for(Bytes size, Settings settings) { return {.sizes = {size, size * 2}, .settings = settings}; }

/// The text that rank 0 gets; every other rank must get none.
std::string trace_of(std::string_view protocol, const Plan& plan, bool times = false, FakeWorldOptions world = {}) {
  std::string text;
  run_fake_world(world, [&](MeasuredRank& rank) {
    const std::string mine = trace(rank, find_protocol(protocol), plan, times);
    if (rank.id() == RankId{0}) {
      text = mine;
    } else {
      EXPECT_EQ(mine, "");
    }
  });
  return text;
}

TEST(Trace, TellsWhatBothRanksDoFromConnectToClose) {
  const std::string prepare =
      "prepare           allocate pageable[0+40]\n"
      "prepare           allocate pageable[0+40]\n";
  const std::string close = "close             release pageable[0+40]\n";
  const auto of_rank = [&](const std::string& self, const std::string& peer) {
    const std::string sends =
        "copy out          copy device[0+40] -> pageable[0+40] stream 0\n"
        "copy out          copy device[40+24] -> pageable[0+24] stream 0\n"
        "send              send pageable[0+40] -> rank " +
        peer +
        "\n"
        "send              send pageable[0+24] -> rank " +
        peer + "\n";
    const std::string receives = "receive           receive pageable[0+40] <- rank " + peer +
                                 "\n"
                                 "receive           receive pageable[0+24] <- rank " +
                                 peer +
                                 "\n"
                                 "copy in           copy pageable[0+40] -> device[0+40] stream 1\n"
                                 "copy in           copy pageable[0+24] -> device[40+24] stream 1\n";
    std::string text = "# rank " + self + ", connect\n";
    for (const std::string which : {"first", "warm"}) {
      for (const bool out : {self == "0", self == "1"}) {
        text += "# rank " + self + ", " + which + " message " + (out ? "to" : "from") + " rank " + peer + "\n";
        text += (which == "first" ? prepare : "") + (out ? sends : receives);
      }
    }
    return text + "# rank " + self + ", close\n" + close + close + close + close;
  };
  EXPECT_EQ(trace_of("staging", plan_for(64_B, {.chunk = 40_B, .depth = 2})),
            "# staging, messages of 64, chunk 40, depth 2\n" + of_rank("0", "1") + of_rank("1", "0"));
}

TEST(Trace, OnlyTheFirstMessageOpensMemory) {
  const std::string text = trace_of("gpudirect-v2", plan_for(64_B, {.depth = 2}));
  const std::size_t warm = text.find("warm message");
  const std::string opening = "peer copy         open memory of rank 1";
  EXPECT_THAT(text, HasSubstr(opening));
  EXPECT_LT(text.find(opening), warm);
  EXPECT_EQ(text.find(opening, warm), std::string::npos);
}

TEST(Trace, RanksThatTakeNoPartLeaveNoLine) {
  const Plan plan = plan_for(64_B, {.depth = 2});
  EXPECT_EQ(trace_of("staging", plan, false, {.ranks = 4}), trace_of("staging", plan));
}

TEST(Trace, TimesAreSinceTheBeginningOfTheirPart) {
  const std::string text = trace_of("host", plan_for(1000_B, {.depth = 1}), true);
  // A message takes 1 us and 1 ns a byte.
  EXPECT_THAT(text, HasSubstr("# rank 1, warm message to rank 0\n     0.000     2.000  send  "));
}

TEST(Trace, AMessageThatDoesNotArriveIsAnError) {
  /// Sends one byte less than it is told to.
  struct Short final : DecoratedRank {
    using DecoratedRank::DecoratedRank;
    Op send(RankId peer, Tag tag, View from) override { return inner().send(peer, tag, from.slice({}, 1_B)); }
  };
  const auto run = [] {
    run_fake_world({}, [](MeasuredRank& rank) {
      Short broken(rank);
      trace(broken, find_protocol("host"), plan_for(64_B, {.timeout = Seconds{1}}), false);
    });
  };
  EXPECT_THROW(run(), CheckError);
}

TEST(Trace, ShowsHowAMessageWithGapsIsPackedAndUnpacked) {
  Plan plan = plan_for(64_B, {.depth = 1});
  plan.facts.packing = {Layout::vector(16_B, 32_B), PackMethod::kernel};
  const std::string text = trace_of("host", plan);
  EXPECT_THAT(text, testing::StartsWith("# host, messages of 64, chunk not set, depth 1, layout=vector:16,32, "
                                        "pack=kernel\n"));
  EXPECT_THAT(text, HasSubstr("pack              copy 4 blocks device[0+112] -> pinned[0+64] stream 0 by kernel\n"
                              "send              send pinned[0+64] -> rank 1\n"));
  EXPECT_THAT(text, HasSubstr("receive           receive pinned[0+64] <- rank 0\n"
                              "unpack            copy 4 blocks pinned[0+64] -> device[0+112] stream 0 by kernel\n"));
}

}  // namespace
}  // namespace twinlink::bench
