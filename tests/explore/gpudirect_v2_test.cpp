// gpudirect-v2 with batches through all interleavings: windows of messages, and ends that do not agree.
#include <gmock/gmock.h>

#include <string>
#include <tuple>
#include <vector>

#include "protocols/core/options.hpp"
#include "protocols/registry.hpp"
#include "tests/explore/bodies.hpp"
#include "tests/explore/expectations.hpp"
#include "tests/support/test_name.hpp"

namespace twinlink::explore {
namespace {

using testing::ElementsAre;
using testing::Gt;
using testing::Pair;

const Protocol& protocol() { return find_protocol("gpudirect-v2"); }

Settings with(const std::string& engine, int batch, int depth) {
  Settings settings{.depth = depth};
  set_option(protocol(), settings, "engine", engine);
  set_option(protocol(), settings, "batch", std::to_string(batch));
  return settings;
}

/// Who moves the bytes, and whether messages lie in one buffer or each in its own.
class ExploredBatches : public testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  [[nodiscard]] static Exchange of(int forth, int back, int depth, int batch = 2) {
    const auto& [engine, together] = GetParam();
    return {.protocol = protocol().name(),
            .forth = forth,
            .back = back,
            .settings = with(engine, batch, depth),
            .together = together};
  }
  static void expect_delivered(const Exchange& exchange, const Limits& limits = {.likeness = Likeness::looks}) {
    const ExploreResult result = clean_exploration_of(exchange_of(exchange), limits);
    EXPECT_THAT(result.endings, ElementsAre(Pair("delivered | delivered", Gt(0U))));
  }
};

TEST_P(ExploredBatches, DeliverAWindowOneWay) {
  expect_delivered(of(5, 0, 2));
  expect_delivered(of(0, 5, 2));
  expect_delivered(of(6, 0, 3, 3));
}

TEST_P(ExploredBatches, DeliverWindowsBothWays) {
  expect_delivered(of(kMany, kMany, 1));
  expect_delivered(of(kSome, kSome, 2));
  expect_delivered(of(5, 1, 2, 3));
}

TEST_P(ExploredBatches, GoOnAlikeWhereTheyLookAlike) {
  expect_delivered(of(3, 0, 2), {.likeness = Likeness::bytes, .compare_looks = true});
}

INSTANTIATE_TEST_SUITE_P(Of, ExploredBatches,
                         testing::Combine(testing::Values("copy-engine", "kernel-push", "kernel-pull"),
                                          testing::Bool()),
                         [](const auto& param) {
                           return test_name(std::get<0>(param.param)) +
                                  (std::get<1>(param.param) ? "_in_one_buffer" : "_in_many");
                         });

/// What one end of a window has: messages of one length, and the largest batch.
struct End {
  int messages = 2;
  Bytes size = 16_B;
  int batch = 2;
};

/// Rank 0 sends, rank 1 receives, and they do not agree. Each says how it ended; what is delivered must be intact.
Scenario disagreement(const std::string& engine, const End& sender, const End& receiver) {
  const auto body = [engine](const End& end, MeasuredRank& rank, Witness& witness) {
    const bool sends = rank.id().value == 0;
    const Buffer buffer = rank.allocate(Memory::device, end.size * static_cast<std::uint64_t>(end.messages));
    std::vector<View> window;
    for (int i = 0; i < end.messages; ++i) {
      window.emplace_back(buffer, end.size * static_cast<std::uint64_t>(i), end.size);
      rank.fill(window.back(), sends ? content(0, i) : kSentinel);
    }
    const auto channel = protocol().connect(rank, RankId{sends ? 1 : 0}, with(engine, end.batch, 2));
    const Outcome outcome = sends ? channel->exchange(window, {}) : channel->exchange({}, window);
    witness.ending(to_string(outcome.status));
    for (int i = 0; i < end.messages && !sends && outcome.ok(); ++i) {
      const bool intact = rank.check(window[static_cast<std::size_t>(i)], content(0, i)).intact();
      witness.require(intact, "a message was said to be delivered and is not");
    }
  };
  return {.bodies = {[body, sender](MeasuredRank& rank, Witness& witness) { body(sender, rank, witness); },
                     [body, receiver](MeasuredRank& rank, Witness& witness) { body(receiver, rank, witness); }}};
}

class ExploredDisagreement : public testing::TestWithParam<std::string> {
 protected:
  static void expect_noticed_by_both(const End& sender, const End& receiver) {
    const ExploreResult result = clean_exploration_of(disagreement(GetParam(), sender, receiver));
    EXPECT_THAT(result.endings, ElementsAre(Pair("wrong size | wrong size", Gt(0U))));
  }
};

TEST_P(ExploredDisagreement, AboutTheLengthIsNoticedByBoth) {
  expect_noticed_by_both({.size = 16_B}, {.size = 17_B});
  expect_noticed_by_both({.size = 17_B}, {.size = 16_B});
}

TEST_P(ExploredDisagreement, AboutTheNumberInABatchIsNoticedByBoth) {
  expect_noticed_by_both({.messages = 3, .batch = 4}, {.messages = 4, .batch = 4});
  expect_noticed_by_both({.messages = 4, .batch = 4}, {.messages = 3, .batch = 4});
  // As many bytes, but other messages.
  expect_noticed_by_both({.messages = 4, .size = 8_B, .batch = 4}, {.messages = 2, .size = 16_B, .batch = 4});
  expect_noticed_by_both({.messages = 2, .size = 16_B, .batch = 4}, {.messages = 1, .size = 32_B, .batch = 4});
}

TEST_P(ExploredDisagreement, AboutTheOptionIsNoticedByBoth) {
  expect_noticed_by_both({.messages = 4, .batch = 2}, {.messages = 4, .batch = 4});
  expect_noticed_by_both({.messages = 4, .batch = 1}, {.messages = 4, .batch = 4});
  expect_noticed_by_both({.messages = 4, .batch = 4}, {.messages = 4, .batch = 1});
}

INSTANTIATE_TEST_SUITE_P(Of, ExploredDisagreement, testing::Values("copy-engine", "kernel-push", "kernel-pull"),
                         [](const auto& param) { return test_name(param.param); });

}  // namespace
}  // namespace twinlink::explore
