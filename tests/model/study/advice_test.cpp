// Advice from made-up curves, whose answers are known in closed form.
#include "model/study/advice.hpp"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

namespace twinlink::model {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

/// The settings of a protocol that sends whole messages, one after the other.
constexpr Tuning kPlain{.chunk = Bytes{}, .depth = 1};

/// The time of `size` bytes as a pipeline of two equal steps, in microseconds: one more piece than there are, each with
/// an overhead. With a depth of one, nothing overlaps.
struct Pipeline {
  double overhead_us = 0;
  double us_per_byte = 0;

  [[nodiscard]] double time(Bytes size, const Tuning& tuning) const {
    const auto bytes = static_cast<double>(size.count());
    const double chunk = tuning.chunk == Bytes{} ? bytes : static_cast<double>(tuning.chunk->count());
    const double pieces = std::ceil(bytes / chunk);
    const double turns = tuning.depth == 1 ? 2 * pieces : pieces + 1;
    return turns * (overhead_us + bytes / pieces * us_per_byte);
  }
};

/// What simulating the pipeline would give, with the default search.
Contestant simulate(const std::string& name, const Pipeline& pipeline, std::span<const Bytes> sizes) {
  Contestant contestant{.who = {name, {}}};
  const SearchSpace space = default_search(sizes.back(), kPlain);
  for (const Bytes size : sizes) {
    for (const Tuning& tuning : tunings_at(size, 1, space)) {
      contestant.samples[size].push_back({tuning, pipeline.time(size, tuning), name});
    }
  }
  return contestant;
}

Contestant curve(const std::string& name, const std::vector<std::pair<Bytes, double>>& points) {
  Contestant contestant{.who = {name, {}}};
  for (const auto& [size, time_us] : points) contestant.samples[size] = {{{}, time_us, {}}};
  return contestant;
}

Sample sample(Bytes chunk, int depth, double time_us) { return {{chunk, depth}, time_us, {}}; }

std::vector<std::string> winners(const Advice& advice) {
  std::vector<std::string> names;
  for (const SizeAdvice& at_size : advice.sizes) names.push_back(to_string(at_size.ranking.front().who));
  return names;
}

// ---- which tunings are tried --------------------------------------------------------------------------------------

TEST(DefaultSearch, HasPowersOfTwoUpToTheMessageAndTheProtocolsOwn) {
  const SearchSpace space = default_search(32_KiB, {.chunk = 3_KiB, .depth = 3});
  EXPECT_THAT(space.chunks, ElementsAre(0_B, 4_KiB, 8_KiB, 16_KiB, 3_KiB));
  EXPECT_THAT(space.depths, ElementsAre(1, 2, 3, 4, 8, 16));
  EXPECT_EQ(space.most_pieces, 256);
}

TEST(TuningsAt, AWholeMessageHasNoUseForDepth) {
  EXPECT_THAT(tunings_at(4_KiB, 1, default_search(64_MiB, {.chunk = 0_B, .depth = 3})),
              ElementsAre(Tuning{0_B, 1}, Tuning{0_B, 3}))
      << "but the protocol's own depth is tried";
}

TEST(TuningsAt, DepthEndsWithTheFirstThatHoldsAllPieces) {
  const SearchSpace space{.chunks = {0_B, 4_KiB, 8_KiB, 16_KiB}, .depths = {1, 2, 4, 8}, .most_pieces = 256};
  EXPECT_THAT(tunings_at(12_KiB, 1, space), ElementsAre(Tuning{0_B, 1}, Tuning{4_KiB, 1}, Tuning{4_KiB, 2},
                                                        Tuning{4_KiB, 4}, Tuning{8_KiB, 1}, Tuning{8_KiB, 2}))
      << "three pieces of 4 KiB, two of 8 KiB; 16 KiB is the whole message";
}

TEST(TuningsAt, AWindowOfWholeMessagesIsAPipelineToo) {
  EXPECT_THAT(tunings_at(4_B, 4, {.chunks = {0_B}, .depths = {1, 2, 4, 8}, .most_pieces = 1}),
              ElementsAre(Tuning{0_B, 1}, Tuning{0_B, 2}, Tuning{0_B, 4}))
      << "and it is tried however many messages it has";
}

TEST(TuningsAt, CutsNoFinerThanTheLimit) {
  const SearchSpace space = default_search(64_MiB, kPlain);
  EXPECT_THAT(tunings_at(2_MiB, 1, space), Contains(Tuning{8_KiB, 2}));
  EXPECT_THAT(tunings_at(2_MiB, 1, space), Not(Contains(Tuning{4_KiB, 2})));
  EXPECT_THAT(tunings_at(2_MiB, 64, space), Not(Contains(Tuning{256_KiB, 2}))) << "512 pieces in a window of 64";
}

TEST(ChunksMatter, WhereAnySizeIsFasterOrSlowerInPieces) {
  Contestant contestant{.who = {"p", {}}};
  contestant.samples[8_KiB] = {sample(0_B, 1, 10), sample(0_B, 4, 9), sample(4_KiB, 4, 9), sample(4_KiB, 2, 10)};
  EXPECT_FALSE(chunks_matter(contestant)) << "9 as the whole one with that depth";
  contestant.samples[16_KiB] = {sample(0_B, 1, 20), sample(8_KiB, 2, 20.5)};
  EXPECT_TRUE(chunks_matter(contestant));
}

TEST(ChunksMatter, WhereWholeMessagesAreRefused) {
  Contestant contestant{.who = {"p", {}}};
  contestant.samples[8_KiB] = {sample(4_KiB, 2, 10)};
  EXPECT_TRUE(chunks_matter(contestant));
  EXPECT_FALSE(chunks_matter({.who = {"p", {}}}));
}

// ---- which tuning is chosen ---------------------------------------------------------------------------------------

TEST(SimplestOfFastest, TakesTheLargestChunkWithinTheMargin) {
  const std::vector samples{sample(16_KiB, 4, 100.0), sample(32_KiB, 4, 100.9), sample(64_KiB, 4, 101.1)};
  EXPECT_EQ(simplest_of_fastest(samples, 0.01).tuning, (Tuning{32_KiB, 4}));
  EXPECT_EQ(simplest_of_fastest(samples, 0).tuning, (Tuning{16_KiB, 4}));
  EXPECT_EQ(simplest_of_fastest(samples, 0.02).tuning, (Tuning{64_KiB, 4}));
}

TEST(SimplestOfFastest, TheWholeMessageIsTheLargestChunk) {
  EXPECT_EQ(simplest_of_fastest(std::vector{sample(64_MiB, 1, 100), sample(0_B, 1, 100)}).tuning, (Tuning{0_B, 1}));
}

TEST(SimplestOfFastest, ThenTheLeastDepth) {
  EXPECT_EQ(
      simplest_of_fastest(std::vector{sample(4_KiB, 8, 100), sample(4_KiB, 2, 100.5), sample(4_KiB, 1, 150)}).tuning,
      (Tuning{4_KiB, 2}));
}

TEST(MakeAdvice, FindsTheBestChunkOfAPipeline) {
  // (n + 1) (o + s r / n) is least at n = sqrt(s r / o): 1 MiB at 1/1024 us a byte and 4 us a piece gives n = 16.
  const Pipeline pipeline{.overhead_us = 4, .us_per_byte = 1.0 / 1024};
  const Advice advice = make_advice(std::vector{simulate("pipe", pipeline, std::vector{1_MiB})}, Ranks::protocols, 0);
  ASSERT_EQ(advice.sizes.size(), 1U);
  const Sample& best = advice.sizes[0].ranking.front().best;
  EXPECT_EQ(best.tuning, (Tuning{64_KiB, 2}));
  EXPECT_DOUBLE_EQ(best.time_us, 17 * (4 + 64));
}

TEST(MakeAdvice, DoesNotCutWhereOverheadRules) {
  // Two pieces overlap half of the message and pay one more overhead: better from s r = 2 o on, which is 8 KiB.
  const Pipeline pipeline{.overhead_us = 4, .us_per_byte = 1.0 / 1024};
  const std::vector sizes{4_KiB, 8_KiB, 16_KiB};
  const Advice advice = make_advice(std::vector{simulate("pipe", pipeline, sizes)}, Ranks::protocols, 0);
  ASSERT_EQ(advice.sizes.size(), 3U);
  EXPECT_EQ(advice.sizes[0].ranking.front().best.tuning, (Tuning{0_B, 1}));
  EXPECT_EQ(advice.sizes[1].ranking.front().best.tuning, (Tuning{0_B, 1})) << "equal: 2 (4 + 8) = 3 (4 + 4)";
  EXPECT_EQ(advice.sizes[2].ranking.front().best.tuning, (Tuning{8_KiB, 2}));
}

// ---- who wins -----------------------------------------------------------------------------------------------------

TEST(MakeAdvice, RanksByTimeAndSaysByHowMuch) {
  const Advice advice =
      make_advice(std::vector{curve("slow", {{4_B, 3}}), curve("fast", {{4_B, 2}}), curve("middle", {{4_B, 2.5}})});
  const SizeAdvice& at_size = advice.sizes.at(0);
  ASSERT_EQ(at_size.ranking.size(), 3U);
  EXPECT_EQ(at_size.ranking[0].who.protocol, "fast");
  EXPECT_EQ(at_size.ranking[1].who.protocol, "middle");
  EXPECT_EQ(at_size.ranking[2].who.protocol, "slow");
  EXPECT_DOUBLE_EQ(slower_by(at_size, 0), 0);
  EXPECT_DOUBLE_EQ(slower_by(at_size, 1), 0.25);
  EXPECT_DOUBLE_EQ(slower_by(at_size, 2), 0.5);
}

TEST(MakeAdvice, NoTieOfTuningsDecidesBetweenProtocols) {
  // a's simplest tuning within the margin is slower than b, its fastest is not.
  Contestant a{.who = {"a", {}}};
  a.samples[64_KiB] = {sample(16_KiB, 4, 100), sample(0_B, 1, 100.9)};
  const Advice advice = make_advice(std::vector{curve("b", {{64_KiB, 100.5}}), a});
  EXPECT_THAT(winners(advice), ElementsAre("a"));
  const Choice& winner = advice.sizes[0].ranking.front();
  EXPECT_EQ(winner.best.tuning, (Tuning{0_B, 1}));
  EXPECT_DOUBLE_EQ(winner.best.time_us, 100.9);
  EXPECT_DOUBLE_EQ(winner.fastest_us, 100);
  EXPECT_NEAR(slower_by(advice.sizes[0], 1), 0.005, 1e-12);
}

TEST(MakeAdvice, AProtocolRanksOnceWithTheFirstVariantWithinTheMargin) {
  Contestant preset{.who = {"a", "preset"}};
  preset.samples[8_KiB] = {sample(0_B, 1, 99.5)};
  preset.samples[16_KiB] = {sample(4_KiB, 2, 150)};
  const std::vector contestants{curve("a", {{8_KiB, 100}, {16_KiB, 200}}), preset,
                                curve("b", {{8_KiB, 120}, {16_KiB, 160}})};
  const Advice advice = make_advice(contestants);
  ASSERT_EQ(advice.sizes.size(), 2U);
  ASSERT_EQ(advice.sizes[0].ranking.size(), 2U);
  EXPECT_THAT(winners(advice), ElementsAre("a", "a preset"));
  EXPECT_DOUBLE_EQ(advice.sizes[0].ranking[0].fastest_us, 99.5);
  EXPECT_TRUE(advice.takeovers.empty()) << "it is one protocol";
  const Advice apart = make_advice(contestants, Ranks::variants);
  EXPECT_THAT(winners(apart), ElementsAre("a preset", "a preset"));
  EXPECT_EQ(apart.sizes[0].ranking.size(), 3U);
}

TEST(MakeAdvice, EqualOnesStandInTheOrderOfTheContestants) {
  const Advice advice =
      make_advice(std::vector{curve("first", {{4_B, 2}, {8_B, 2}}), curve("second", {{4_B, 2}, {8_B, 2}})});
  EXPECT_THAT(winners(advice), ElementsAre("first", "first"));
  EXPECT_TRUE(advice.takeovers.empty());
}

TEST(MakeAdvice, ATakeoverIsWhereTheTwoCurvesCross) {
  // a = s / 1000 and b = sqrt(s) / 10 cross at 10^4; a power law is straight in logarithms, so that it is exact.
  std::vector<std::pair<Bytes, double>> a;
  std::vector<std::pair<Bytes, double>> b;
  for (const Bytes size : {64_B, 512_B, 4096_B, 32768_B, 262144_B}) {
    const auto bytes = static_cast<double>(size.count());
    a.emplace_back(size, bytes / 1000);
    b.emplace_back(size, std::sqrt(bytes) / 10);
  }
  const Advice advice = make_advice(std::vector{curve("b", b), curve("a", a)});
  EXPECT_THAT(winners(advice), ElementsAre("a", "a", "a", "b", "b"));
  ASSERT_EQ(advice.takeovers.size(), 1U);
  const Takeover& takeover = advice.takeovers[0];
  EXPECT_EQ(takeover.from, "a");
  EXPECT_EQ(takeover.to, "b");
  EXPECT_EQ(takeover.after, 4096_B);
  EXPECT_EQ(takeover.by, 32768_B);
  ASSERT_TRUE(takeover.at);
  EXPECT_NEAR(*takeover.at, 10000, 1e-6);
}

TEST(MakeAdvice, TakeoversFollowEachOther) {
  const Advice advice = make_advice(std::vector{curve("a", {{4_B, 1}, {16_B, 2}, {64_B, 8}}),
                                                curve("b", {{4_B, 2}, {16_B, 1}, {64_B, 2}}),
                                                curve("c", {{4_B, 9}, {16_B, 9}, {64_B, 1}})});
  ASSERT_EQ(advice.takeovers.size(), 2U);
  EXPECT_EQ(advice.takeovers[0].to, "b");
  EXPECT_NEAR(advice.takeovers[0].at.value(), 8, 1e-9);
  EXPECT_EQ(advice.takeovers[1].from, "b");
  EXPECT_EQ(advice.takeovers[1].to, "c");
  EXPECT_GT(advice.takeovers[1].at.value(), 16);
  EXPECT_LT(advice.takeovers[1].at.value(), 64);
}

TEST(MakeAdvice, WithoutATimeAtBothSizesACrossoverHasNoPlace) {
  const Advice advice = make_advice(std::vector{curve("a", {{4_B, 1}}), curve("b", {{8_B, 2}})});
  ASSERT_EQ(advice.takeovers.size(), 1U);
  EXPECT_FALSE(advice.takeovers[0].at);
  EXPECT_EQ(advice.takeovers[0].by, 8_B);
}

// ---- one setting for all sizes ------------------------------------------------------------------------------------

TEST(BestSingleTuning, HasTheLeastGeometricMean) {
  Contestant contestant{.who = {"p", {}}};
  contestant.samples[8_KiB] = {sample(0_B, 1, 10), sample(4_KiB, 1, 20)};
  contestant.samples[16_KiB] = {sample(0_B, 1, 90), sample(4_KiB, 1, 10), sample(8_KiB, 1, 30)};
  // Whole: 1 and 9; 4 KiB: 2 and 1; 8 KiB, which is the whole of the first message: 1 and 3.
  const auto best = best_single_tuning(contestant, {});
  ASSERT_TRUE(best);
  EXPECT_EQ(best->tuning, (Tuning{4_KiB, 1}));
  EXPECT_DOUBLE_EQ(best->loss, std::sqrt(2.0) - 1);
  EXPECT_TRUE(best->missing.empty());
}

TEST(BestSingleTuning, ADepthBeyondThePiecesActsAsTheDeepestThatWasTried) {
  Contestant contestant{.who = {"p", {}}};
  contestant.samples[8_KiB] = {sample(0_B, 1, 10), sample(4_KiB, 1, 9), sample(4_KiB, 2, 8)};
  contestant.samples[16_KiB] = {sample(0_B, 1, 20), sample(4_KiB, 1, 18), sample(4_KiB, 2, 16), sample(4_KiB, 4, 12)};
  const auto best = best_single_tuning(contestant, {});
  ASSERT_TRUE(best);
  EXPECT_EQ(best->tuning, (Tuning{4_KiB, 4}));
  EXPECT_DOUBLE_EQ(best->loss, 0);
}

TEST(BestSingleTuning, SearchesTheDepthsAndChunksAskedFor) {
  Contestant contestant{.who = {"p", {}}};
  contestant.samples[16_KiB] = {sample(0_B, 1, 20), sample(4_KiB, 1, 18), sample(4_KiB, 4, 10), sample(8_KiB, 1, 15),
                                sample(8_KiB, 2, 12)};
  EXPECT_EQ(best_single_tuning(contestant, {.depths = {1}})->tuning, (Tuning{8_KiB, 1}));
  EXPECT_EQ(best_single_tuning(contestant, {.finest_chunk = 8_KiB})->tuning, (Tuning{8_KiB, 2}));
  EXPECT_EQ(best_single_tuning(contestant, {.finest_chunk = 1_MiB})->tuning, (Tuning{0_B, 1}));
}

TEST(BestSingleTuning, ExtrapolatesAFullPipelineAndSaysSo) {
  // Linear in the size once there are many pieces: the time that was not simulated comes out exactly.
  const Pipeline pipeline{.overhead_us = 0.004, .us_per_byte = 1.0 / 1024};
  std::vector<Bytes> sizes;
  for (Bytes size = 64_KiB; size <= 16_MiB; size = size * 2) sizes.push_back(size);
  const Contestant contestant = simulate("pipe", pipeline, sizes);
  const auto best = best_single_tuning(contestant, {.depths = {2}}, 0);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->tuning, (Tuning{4_KiB, 2}));
  EXPECT_THAT(best->missing, ElementsAre(2_MiB, 4_MiB, 8_MiB, 16_MiB)) << "more than 256 pieces of 4 KiB";
  double sum = 0;
  for (const auto& [size, samples] : contestant.samples) {
    sum += std::log(pipeline.time(size, best->tuning) / std::ranges::min(samples, {}, &Sample::time_us).time_us);
  }
  EXPECT_NEAR(best->loss, std::exp(sum / static_cast<double>(sizes.size())) - 1, 1e-12);
}

TEST(BestSingleTuning, NeedsATimeForEverySize) {
  Contestant contestant{.who = {"p", {}}};
  contestant.samples[8_KiB] = {sample(4_KiB, 1, 20)};
  contestant.samples[16_KiB] = {sample(8_KiB, 1, 30)};
  EXPECT_FALSE(best_single_tuning(contestant, {})) << "neither was tried twice";
  // Of pieces of 4 KiB there is one time: a message of 4 KiB is a whole one.
  contestant.samples[4_KiB] = {sample(0_B, 1, 10)};
  EXPECT_FALSE(best_single_tuning(contestant, {}));
  EXPECT_FALSE(best_single_tuning({.who = {"p", {}}}, {}));
}

// ---- in the words of a library ------------------------------------------------------------------------------------

Contestant piped() {
  Contestant contestant{.who = {"p", {}}};
  contestant.samples[64_KiB] = {sample(0_B, 1, 100), sample(16_KiB, 2, 40), sample(16_KiB, 4, 30),
                                sample(32_KiB, 2, 50)};
  return contestant;
}

constexpr Alias kChunk{"C", "chunk", "lib"};
constexpr Alias kDepth{"D", "depth", "lib"};
constexpr Alias kOther{"O", "chunk", "other"};

Preset preset(int depth) {
  return {.name = "lib-2.3", .description = "", .settings = {.chunk = 4_KiB, .depth = depth}};
}

TEST(AdviceInAliases, GivesBothSettingsWhereBothHaveNames) {
  const auto advice = advice_in_aliases(std::vector{kOther, kDepth, kChunk}, preset(2), piped(), {});
  ASSERT_TRUE(advice);
  EXPECT_THAT(advice->lines, ElementsAre("C=16384", "D=4"));
  EXPECT_FALSE(advice->fixed_depth);
}

TEST(AdviceInAliases, KeepsThePresetsDepthWhereNobodyCanSetIt) {
  const auto advice = advice_in_aliases(std::vector{kChunk}, preset(2), piped(), {});
  ASSERT_TRUE(advice);
  EXPECT_THAT(advice->lines, ElementsAre("C=16384"));
  EXPECT_TRUE(advice->fixed_depth);
  EXPECT_EQ(advice->tuning.tuning.depth, 2);
  EXPECT_DOUBLE_EQ(advice->tuning.loss, 40.0 / 30 - 1);
}

TEST(AdviceInAliases, SaysNothingWithoutANameOrAnythingToSet) {
  EXPECT_FALSE(advice_in_aliases({}, preset(2), piped(), {})) << "no name";
  EXPECT_FALSE(advice_in_aliases(std::vector{kOther}, preset(2), piped(), {})) << "another library's";
  EXPECT_FALSE(advice_in_aliases(std::vector{kDepth}, preset(2), piped(), {})) << "none for the chunk";
  EXPECT_FALSE(advice_in_aliases(std::vector{kChunk, kDepth}, preset(1), curve("p", {{4_B, 1}}), {}))
      << "whole messages are best";
}

TEST(Variants, AreNamedWithTheirPreset) {
  EXPECT_EQ(to_string(Variant{"cuda-ipc", ""}), "cuda-ipc");
  EXPECT_EQ(to_string(Variant{"cuda-ipc", "openmpi-5"}), "cuda-ipc openmpi-5");
}

}  // namespace
}  // namespace twinlink::model
