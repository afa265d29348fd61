// symmetric-put through all interleavings, in both orders: who says that memory may be overwritten, and quiet.
#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "protocols/core/options.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "tests/explore/bodies.hpp"
#include "tests/explore/expectations.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::explore {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;

struct Puts {
  std::string_view order = "exchange";
  std::string_view engine = "copy-engine";
  int forth = 1;
  int back = 1;
  int exchanges = 2;
  int depth = 1;
  bool user_orders = false;  ///< both ranks meet between the exchanges
  Path path = neighbours();
};

void connect_ends(Rank& rank, RankId peer) {
  rank.step("meet");
  ControlMessage received;
  const Op sent = rank.send_control(peer, tags::kFirstFree, ControlMessage());
  finish(rank, rank.recv_control(peer, tags::kFirstFree, received), kLong);
  finish(rank, sent, kLong);
}

/// The same buffers in every exchange. After each, all puts have ended: so what was sent is overwritten at once, and
/// that is a conflict where a put still reads it.
void put_again_and_again(const Puts& puts, MeasuredRank& rank, Witness& witness) {
  const int me = rank.id().value;
  const RankId peer{1 - me};
  std::vector<View> outgoing;
  std::vector<View> incoming;
  for (int i = 0; i < (me == 0 ? puts.forth : puts.back); ++i) {
    outgoing.emplace_back(rank.allocate(Memory::device, kSize));
  }
  for (int i = 0; i < (me == 0 ? puts.back : puts.forth); ++i) {
    incoming.emplace_back(rank.allocate(Memory::device, kSize));
    rank.fill(incoming.back(), kSentinel);
  }
  {
    const Protocol& protocol = find_protocol("symmetric-put");
    Settings settings{.depth = puts.depth};
    set_option(protocol, settings, "order", puts.order);
    set_option(protocol, settings, "engine", puts.engine);
    const auto channel = protocol.connect(rank, peer, settings);
    for (int exchange = 0; exchange < puts.exchanges; ++exchange) {
      if (exchange > 0 && puts.user_orders) connect_ends(rank, peer);
      rank.step("fill");
      int number = 10 * exchange;
      for (const View& view : outgoing) rank.fill(view, content(me, number++));
      const Outcome outcome = channel->exchange(outgoing, incoming);
      witness.ending(to_string(outcome.status));
      if (!outcome.ok()) break;
      rank.step("quiet");
      for (const View& view : outgoing) rank.fill(view, kSentinel);
      rank.step("check");
      number = 10 * exchange;
      for (const View& view : incoming) {
        witness.require(rank.check(view, content(peer.value, number++)).intact(), "a message is not what was sent");
      }
    }
  }
  connect_ends(rank, peer);
  for (const View& view : outgoing) rank.release(view.buffer);
  for (const View& view : incoming) rank.release(view.buffer);
}

Scenario scenario_of(const Puts& puts) {
  const Body body = [puts](MeasuredRank& rank, Witness& witness) { put_again_and_again(puts, rank, witness); };
  return {.bodies = {body, body}, .path = puts.path};
}

void expect_delivered(const Puts& puts, const Limits& limits = {.likeness = Likeness::looks}) {
  const ExploreResult result = clean_exploration_of(scenario_of(puts), limits);
  EXPECT_THAT(result.endings, ElementsAre(Key("delivered | delivered")));
}

/// The order of the protocol, or of its user, who then meets the peer between two exchanges.
class ExploredPuts : public testing::TestWithParam<std::string_view> {
 protected:
  [[nodiscard]] static Puts of(int forth, int back, int exchanges, int depth = 1) {
    return {.order = GetParam(),
            .forth = forth,
            .back = back,
            .exchanges = exchanges,
            .depth = depth,
            .user_orders = GetParam() == "user"};
  }
};

TEST_P(ExploredPuts, AreQuietBothWays) {
  expect_delivered(of(1, 1, 3));
  expect_delivered(of(2, 2, 2, 1));
  expect_delivered(of(2, 2, 2, 2));
  expect_delivered(of(kMany, kMany, 1));
}

TEST_P(ExploredPuts, AreQuietOneWay) {
  expect_delivered(of(kSome, 0, 2));
  expect_delivered(of(0, kSome, 2, 2));
}

TEST_P(ExploredPuts, AreQuietByAKernelToo) {
  Puts puts = of(2, 1, 2);
  puts.engine = "kernel";
  expect_delivered(puts);
}

TEST_P(ExploredPuts, AreQuietBetweenNodes) {
  Puts puts = of(2, 1, 2);
  puts.path = apart();
  puts.path.one_sided = puts.path.device_mapping = Answer::granted();  // to the adapter
  expect_delivered(puts);
}

TEST_P(ExploredPuts, GoOnAlikeWhereTheyLookAlike) {
  expect_delivered(of(1, 1, 1), {.likeness = Likeness::bytes, .compare_looks = true});
  expect_delivered(of(1, 0, 2), {.likeness = Likeness::bytes, .compare_looks = true});
}

INSTANTIATE_TEST_SUITE_P(Of, ExploredPuts, testing::Values("exchange", "user"),
                         [](const auto& param) { return std::string(param.param); });

// ---- a user who does not order the puts -----------------------------------------------------------------------------

TEST(SeededBug, AHeapThatNobodyOrders) {
  const ExploreResult result =
      explore(scenario_of({.order = "user", .back = 0, .user_orders = false}), {.likeness = Likeness::looks});
  // The second put begins as soon as the first one is quiet; the target has not looked at the first one yet.
  const Finding found = finding_with(result, "rank 1: check reads device[0+64] of rank 1 while this is in flight");
  EXPECT_THAT(found.what, HasSubstr("in flight: rank 0: put device[0+64] of rank 0 -> device[0+64] of rank 1"));
  EXPECT_THAT(found.trace, AllOf(HasSubstr("rank 0 | put | put device[0+64] -> device[0+64] stream 0 signal | ended\n"
                                           "rank 0 | put | put device[0+64] -> device[0+64] stream 0 signal\n"
                                           "rank 1 | await signal | await signal of rank 0 | ended\n"),
                                 HasSubstr("VIOLATION rank 1: check reads")));
  finding_with(result, "rank 1: a message is not what was sent");
}

TEST(SeededBug, NoneInTheSameHeapInEitherOrder) {
  clean_exploration_of(scenario_of({.order = "user", .back = 0, .user_orders = true}));
  clean_exploration_of(scenario_of({.order = "exchange", .back = 0}));
}

}  // namespace
}  // namespace twinlink::explore
