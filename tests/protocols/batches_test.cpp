// Batches: what goes together, what it is called, and in how many copies it goes.
#include "protocols/gpudirect_v2/batches.hpp"

#include <gmock/gmock.h>

#include <array>
#include <set>

#include "protocols/parts/connection.hpp"
#include "tests/protocols/scripted_rank.hpp"
#include "tests/support/finish.hpp"

namespace twinlink {
namespace {

using testing::ElementsAre;

constexpr Buffer kOne{.id = 1, .memory = Memory::device, .size = 1_GiB};
constexpr Buffer kOther{.id = 2, .memory = Memory::device, .size = 1_GiB};

/// Views of these lengths, one behind the other.
std::vector<View> in_a_row(std::span<const Bytes> lengths) {
  std::vector<View> views;
  Bytes at{};
  for (const Bytes length : lengths) {
    views.emplace_back(kOne, at, length);
    at += length;
  }
  return views;
}

std::vector<std::size_t> sizes_of(std::span<const Bytes> lengths, std::uint64_t most, Bytes chunk = {}) {
  const std::vector<View> views = in_a_row(lengths);
  std::vector<std::size_t> sizes;
  for (std::span<const View> left = views; !left.empty(); left = left.subspan(sizes.back())) {
    sizes.push_back(first_batch(left, chunk, most).size());
  }
  return sizes;
}

/// Views of 8 B at these offsets.
std::vector<View> at(std::initializer_list<std::uint64_t> offsets, Buffer buffer = kOne) {
  std::vector<View> views;
  for (const std::uint64_t offset : offsets) views.emplace_back(buffer, Bytes{offset}, 8_B);
  return views;
}

std::vector<std::size_t> runs(const std::vector<View>& to, const std::vector<View>& from) {
  std::vector<std::size_t> counts;
  std::size_t next = 0;
  for (const BatchRun& run : runs_of(to, from)) {
    EXPECT_EQ(run.first, next);
    counts.push_back(run.count);
    next += run.count;
  }
  EXPECT_EQ(next, to.size());
  return counts;
}

TEST(BatchesOf, MessagesOfOneLength) {
  constexpr std::array kLengths{8_B, 8_B, 8_B, 8_B, 8_B, 9_B, 9_B, 8_B};
  EXPECT_THAT(sizes_of(kLengths, 1), ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(sizes_of(kLengths, 2), ElementsAre(2, 2, 1, 2, 1));
  EXPECT_THAT(sizes_of(kLengths, 64), ElementsAre(5, 2, 1));
  EXPECT_THAT(sizes_of({}, 64), ElementsAre());
}

TEST(BatchesOf, EmptyLongAndCutMessagesAreAlone) {
  constexpr std::array kLengths{
      0_B, 0_B, kLongestInBatch, kLongestInBatch, kLongestInBatch + 1_B, kLongestInBatch + 1_B};
  EXPECT_THAT(sizes_of(kLengths, 64), ElementsAre(1, 1, 2, 1, 1));
  constexpr std::array kPair{100_B, 100_B};
  EXPECT_THAT(sizes_of(kPair, 64, 99_B), ElementsAre(1, 1));
  EXPECT_THAT(sizes_of(kPair, 64, 100_B), ElementsAre(2));
}

TEST(BatchName, DiffersForWhateverDiffers) {
  const std::vector<Bytes> lengths(kMostInBatch, 4_KiB);
  const std::vector<View> views = in_a_row(lengths);
  std::set<std::uint64_t> names;
  for (std::size_t count = 1; count <= kMostInBatch; ++count) names.insert(batch_name(std::span(views).first(count)));
  // As many bytes in one message, or in another number of others.
  for (std::size_t count = 2; count <= kMostInBatch; ++count) {
    names.insert(batch_name(in_a_row(std::array{4_KiB * count})));
  }
  names.insert(batch_name(in_a_row(std::array{8_KiB, 8_KiB})));
  EXPECT_EQ(names.size(), kMostInBatch * 2);
  EXPECT_LT(*names.rbegin(), kEpochSignal);
}

TEST(BatchName, InWords) {
  EXPECT_EQ(describe_batch(batch_name(in_a_row(std::array{4_KiB}))), "4096 B");
  EXPECT_EQ(describe_batch(batch_name(in_a_row(std::array{kLongestInBatch, kLongestInBatch}))),
            "2 messages of 65536 B at once");
}

TEST(DistanceOf, IsThereIfAllLieAlike) {
  EXPECT_EQ(distance_of(at({0, 8, 16})), 8_B);
  EXPECT_EQ(distance_of(at({100, 200, 300, 400})), 100_B);
  EXPECT_EQ(distance_of(at({0})), std::nullopt);
  EXPECT_EQ(distance_of(at({0, 0})), std::nullopt) << "the same place";
  EXPECT_EQ(distance_of(at({0, 7})), std::nullopt) << "overlapping";
  EXPECT_EQ(distance_of(at({16, 8, 0})), std::nullopt) << "descending";
  EXPECT_EQ(distance_of(at({0, 8, 24})), std::nullopt);
  EXPECT_EQ(distance_of(std::array{at({0})[0], at({8}, kOther)[0]}), std::nullopt) << "in two buffers";
}

TEST(RunsOf, EndWhereEitherEndIsIrregular) {
  EXPECT_THAT(runs(at({0, 8, 16, 24}), at({0, 100, 200, 300})), ElementsAre(4));
  EXPECT_THAT(runs(at({0, 8, 16, 24}), at({0, 100, 200, 400})), ElementsAre(3, 1));
  EXPECT_THAT(runs(at({0, 8, 0, 8}), at({0, 8, 16, 24})), ElementsAre(2, 2)) << "a window that uses places in turn";
  EXPECT_THAT(runs(at({0, 0, 0}), at({0, 8, 16})), ElementsAre(1, 1, 1)) << "one place for all";
  EXPECT_THAT(runs(at({0, 8, 17}), at({0, 9, 18})), ElementsAre(2, 1));
}

TEST(BatchCopies, KeepsWhatEndsBeforeItsLastCopy) {
  ScriptedRank rank;
  BatchCopies copies(rank, Stream{0}, Engine::dma);
  const Op last = copies.start(at({0, 8, 0, 8}), at({0, 8, 16, 24}));
  EXPECT_EQ(rank.in_flight(), 2U);
  EXPECT_EQ(wait(rank, last, Seconds{1}), Status::delivered);
  EXPECT_TRUE(copies.settle(Seconds{1}).ok());
  EXPECT_EQ(rank.in_flight(), 0U);
  EXPECT_EQ(rank.abandoned(), 0U);
}

TEST(BatchCopies, SayThatOneOfThemHasFailed) {
  ScriptedRank rank;
  BatchCopies copies(rank, Stream{0}, Engine::dma);
  copies.keep(rank.begin(1.0_us, Status::peer_failed));
  copies.keep(rank.begin(1.0_us));
  const Outcome outcome = copies.settle(Seconds{1});
  EXPECT_EQ(outcome.status, Status::peer_failed);
  EXPECT_EQ(outcome.reason, "one of the copies of a batch");
}

TEST(BatchCopies, AbandonsWhatWasNotSettled) {
  ScriptedRank rank;
  {
    BatchCopies copies(rank, Stream{0}, Engine::dma);
    finish(rank, copies.start(at({0, 0, 0}), at({0, 8, 16})), Seconds{1});
  }
  EXPECT_EQ(rank.in_flight(), 0U);
  EXPECT_EQ(rank.abandoned(), 2U);
}

}  // namespace
}  // namespace twinlink
