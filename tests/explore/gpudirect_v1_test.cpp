// gpudirect-v1 with credits through all interleavings: more chunks than buffers, so that the sender needs grants.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>

#include "protocols/core/options.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/explore/bodies.hpp"
#include "tests/explore/expectations.hpp"

namespace twinlink::explore {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

constexpr Bytes kChunk = 16_B;
constexpr Tag kNobodysTag{tags::kFirstFree.value + 1};

/// A receiver whose first grant goes astray: it is sent where nobody receives it.
class LosesAGrant final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;

  Op send_control(RankId peer, Tag tag, const ControlMessage& message) override {
    const bool grant = tag.value == tags::kCredit.value && message.bytes().empty();
    if (!grant || lost_) return DecoratedRank::send_control(peer, tag, message);
    lost_ = true;
    step("grant credit, and lose it");
    return DecoratedRank::send_control(peer, kNobodysTag, message);
  }

 private:
  bool lost_ = false;
};

Scenario with_a_lost_grant(Scenario scenario, std::size_t at) {
  scenario.bodies[at] = [body = scenario.bodies[at]](MeasuredRank& rank, Witness& witness) {
    LosesAGrant loses(rank);
    body(loses, witness);
  };
  return scenario;
}

/// A message of so many chunks; a message of none is left out.
Exchange chunks(std::string_view buffers, std::string_view credits, int forth, int back, int depth = 2) {
  Exchange exchange{.protocol = "gpudirect-v1",
                    .forth = forth > 0 ? 1 : 0,
                    .back = back > 0 ? 1 : 0,
                    .size = kChunk * static_cast<std::uint64_t>(std::max(forth, back)),
                    .settings = {.chunk = kChunk, .depth = depth}};
  const Protocol& protocol = find_protocol(exchange.protocol);
  set_option(protocol, exchange.settings, "buffers", buffers);
  set_option(protocol, exchange.settings, "credits", credits);
  return exchange;
}

void expect_delivered(const Scenario& scenario, const Limits& limits = {.likeness = Likeness::looks}) {
  const ExploreResult result = clean_exploration_of(scenario, limits);
  EXPECT_THAT(result.endings, ElementsAre(Pair("delivered | delivered", testing::Gt(0U))));
}

/// Whose buffers, and how many grants come at once.
class ExploredCredits : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  [[nodiscard]] static Exchange of(int forth, int back, int depth = 2) {
    return chunks(std::get<0>(GetParam()), std::get<1>(GetParam()), forth, back, depth);
  }
};

TEST_P(ExploredCredits, DeliverMoreChunksThanBuffersOneWay) {
  expect_delivered(exchange_of(of(kMany, 0)));
  expect_delivered(exchange_of(of(0, kMany)));
  expect_delivered(exchange_of(of(kMany, 0, 3)));
}

TEST_P(ExploredCredits, DeliverMoreChunksThanBuffersBothWays) { expect_delivered(exchange_of(of(kSome, kSome))); }

/// Three messages of two chunks each, or of three, through two buffers.
TEST_P(ExploredCredits, GoOnFromOneMessageToTheNext) {
  for (const int chunks_each : {2, 3}) {
    Exchange messages = of(chunks_each, 0);
    messages.forth = 3;
    expect_delivered(exchange_of(messages));
  }
}

TEST_P(ExploredCredits, DeliverWhatIsSentOnlyToAPostedReceive) {
  Scenario scenario = exchange_of(of(kSome, kSome));
  scenario.eager_limit = 0_B;
  expect_delivered(scenario);
}

TEST_P(ExploredCredits, GoOnAlikeWhereTheyLookAlike) {
  expect_delivered(exchange_of(of(3, 0)), {.likeness = Likeness::bytes, .compare_looks = true});
}

/// Shows that the sender does need the grants above: without one of them nothing goes on.
TEST_P(ExploredCredits, WaitForEverForAGrantThatIsLost) {
  for (const int lost_by : {0, 1}) {
    for (const bool both_ways : {false, kFibersCanGoBack}) {
      const int back = both_ways ? 3 : 0;
      const Exchange exchange = lost_by == 1 ? of(3, back) : of(back, 3);
      const Scenario lossy = with_a_lost_grant(exchange_of(exchange), static_cast<std::size_t>(lost_by));
      const ExploreResult result = explore(lossy, {.likeness = Likeness::looks});
      EXPECT_TRUE(result.complete);
      EXPECT_THAT(result.violations, IsEmpty()) << to_string(result);
      EXPECT_THAT(result.deadlocks, Not(IsEmpty()));
      EXPECT_THAT(result.endings, ElementsAre(Pair("waits for ever | waits for ever", testing::Gt(0U))));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, ExploredCredits,
                         testing::Combine(testing::Values("own", "shared"), testing::Values("1", "2")),
                         [](const auto& param) {
                           return std::get<0>(param.param) + "_buffers_by_" + std::get<1>(param.param);
                         });

// Three chunks through two buffers: the sender needs one grant, for the third chunk.
TEST(SeededBug, ACreditLost) {
  const ExploreResult own = explore(with_a_lost_grant(exchange_of(chunks("own", "1", 3, 0)), 1));
  EXPECT_THAT(
      finding_with(own, "WAITS FOR EVER").trace,
      AllOf(HasSubstr("rank 1 | copy in | copy pinned[0+16] -> device[0+16] stream 1 | ended\n"
                      "rank 1 | grant credit, and lose it | send_control rank 0 0 B\n"),
            HasSubstr("rank 0 | copy out | copy device[32+16] -> pinned[0+16] stream 0 | ended\n"),
            HasSubstr("rank 0 | receive credit | recv_control rank 1\n"), Not(HasSubstr("recv_control rank 1 | ended")),
            EndsWith("rank 0 | receive credit | WAITS FOR EVER for recv_control rank 1\n"
                     "rank 1 | grant credit | WAITS FOR EVER for receive pinned[0+16] of rank 1 <- rank 0\n")));

  // The last word of the sender was "filled": of the second chunk, while it received no grant for the third.
  const ExploreResult shared = explore(with_a_lost_grant(exchange_of(chunks("shared", "1", 3, 0)), 1));
  EXPECT_THAT(finding_with(shared, "WAITS FOR EVER").trace,
              AllOf(HasSubstr("rank 1 | copy in | copy shared pinned[0+16] -> device[0+16] stream 1 | ended\n"
                              "rank 1 | grant credit, and lose it | send_control rank 0 0 B\n"),
                    HasSubstr("rank 0 | receive credit | recv_control rank 1\n"), Not(HasSubstr("copy device[32+16]")),
                    EndsWith("rank 0 | send filled | WAITS FOR EVER for recv_control rank 1\n"
                             "rank 1 | grant credit | WAITS FOR EVER for recv_control rank 0\n")));
}

}  // namespace
}  // namespace twinlink::explore
