// What thread blocks do through all interleavings of two and three ranks: every line format is right as it stands, and
// each slip is found.
#include <gtest/gtest.h>

#include <ostream>

#include "protocols/gpu/work.hpp"
#include "tests/explore/explored_blocks.hpp"

namespace twinlink::gpu {

void PrintTo(LineFormat format, std::ostream* out) { *out << to_string(format); }

}  // namespace twinlink::gpu

namespace twinlink::explore {
namespace {

using gpu::LineFormat;
using gpu::Operation;
using gpu::Program;

/// FIFOs of two slots of two elements.
Program program_of(Operation operation, LineFormat format, int ranks, std::uint64_t elements) {
  return {.operation = operation, .format = format, .ranks = ranks, .bytes = elements * 8, .slot = 16, .slots = 2};
}

Program message(LineFormat format, std::uint64_t elements, std::uint64_t back = 0) {
  Program program = program_of(Operation::exchange, format, 2, elements);
  program.received = back * 8;
  return program;
}

class ExploredBlocks : public testing::TestWithParam<LineFormat> {
 protected:
  static void expect_clean(const Program& program) {
    const BlocksResult result = explore_blocks(program);
    EXPECT_TRUE(result.clean()) << result.finding << ", " << result.states << " states";
  }
};

TEST_P(ExploredBlocks, AMessageOfTwiceAsManySlotsAsTheFifoHas) { expect_clean(message(GetParam(), 8)); }

TEST_P(ExploredBlocks, MessagesThatPassEachOther) { expect_clean(message(GetParam(), 4, 2)); }

TEST_P(ExploredBlocks, AllReduceOfTwo) { expect_clean(program_of(Operation::all_reduce, GetParam(), 2, 8)); }

TEST_P(ExploredBlocks, AllReduceOfThree) { expect_clean(program_of(Operation::all_reduce, GetParam(), 3, 3)); }

/// Sums go up and come down through blocks that know nothing of each other.
TEST_P(ExploredBlocks, AllReduceInATree) {
  Program program = program_of(Operation::all_reduce, GetParam(), 2, 4);
  program.algorithm = gpu::Algorithm::tree;
  expect_clean(program);
  program = program_of(Operation::all_reduce, GetParam(), 3, 1);
  program.algorithm = gpu::Algorithm::tree;
  expect_clean(program);
}

TEST_P(ExploredBlocks, AllReduceInATreeWithTwoBelowTheRoot) {
  Program program = program_of(Operation::all_reduce, GetParam(), 3, 1);
  program.algorithm = gpu::Algorithm::tree;
  const BlocksResult result = explore_blocks(program, {.fan = true});
  EXPECT_TRUE(result.clean()) << result.finding << ", " << result.states << " states";
}

TEST_P(ExploredBlocks, AllGatherOfThree) { expect_clean(program_of(Operation::all_gather, GetParam(), 3, 3)); }

TEST_P(ExploredBlocks, ReduceScatterOfThree) { expect_clean(program_of(Operation::reduce_scatter, GetParam(), 3, 3)); }

/// Parallel trees have slots of simple alone: of four ranks those of two parts, of others of one.
TEST(ExploredTrees, PartsGoToAllAndSumsComeFromAll) {
  for (const Operation operation : {Operation::all_gather, Operation::reduce_scatter}) {
    for (const auto& [ranks, elements] : {std::pair{2, 8U}, {3, 3U}, {4, 4U}}) {
      Program program = program_of(operation, LineFormat::simple, ranks, elements);
      program.algorithm = gpu::Algorithm::pat;
      program.slot = ranks == 4 ? 32 : 16;
      const BlocksResult result = explore_blocks(program);
      EXPECT_TRUE(result.clean()) << ranks << ": " << result.finding << ", " << result.states << " states";
    }
  }
}

TEST(ExploredTrees, WithoutTheFenceItIsFound) {
  Program program = program_of(Operation::reduce_scatter, LineFormat::simple, 2, 12);
  program.algorithm = gpu::Algorithm::pat;
  EXPECT_NE(explore_blocks(program, {.no_fence = true}).finding.find("is wrong"), std::string::npos);
}

/// A rank takes a slot before it sends the next one, so one is enough; two ranks need credit for that one alone.
TEST(ExploredTrees, OneSlotIsEnoughWithCredit) {
  Program program = program_of(Operation::reduce_scatter, LineFormat::simple, 2, 8);
  program.algorithm = gpu::Algorithm::pat;
  program.slots = 1;
  const BlocksResult result = explore_blocks(program);
  EXPECT_TRUE(result.clean()) << result.finding;
  EXPECT_NE(explore_blocks(program, {.free_credit = true}).finding, "");
}

TEST_P(ExploredBlocks, BroadcastOfThree) { expect_clean(program_of(Operation::broadcast, GetParam(), 3, 6)); }

TEST_P(ExploredBlocks, ReduceToTheSecondOfThree) {
  Program program = program_of(Operation::reduce, GetParam(), 3, 4);
  program.root = 1;
  expect_clean(program);
}

/// Of LL, whose stores are the smallest, three have too many orders.
TEST_P(ExploredBlocks, AllToAllOfTwoOrThree) {
  const int ranks = GetParam() == LineFormat::ll ? 2 : 3;
  expect_clean(program_of(Operation::all_to_all, GetParam(), ranks, static_cast<std::uint64_t>(ranks)));
}

TEST_P(ExploredBlocks, ASlotThatIsFilledWithoutACreditIsFound) {
  EXPECT_NE(explore_blocks(message(GetParam(), 8), {.free_credit = true}).finding, "");
}

INSTANTIATE_TEST_SUITE_P(Of, ExploredBlocks, testing::Values(LineFormat::simple, LineFormat::ll, LineFormat::ll128),
                         [](const auto& tested) { return std::string(gpu::to_string(tested.param)); });

// ---- puts with a signal ---------------------------------------------------------------------------------------------

Program puts(std::uint64_t elements, std::uint64_t back = 0) {
  return {.operation = Operation::put, .ranks = 2, .bytes = elements * 8, .received = back * 8, .slot = 16};
}
void expect_clean(const BlocksResult& result) {
  EXPECT_TRUE(result.clean()) << result.finding << ", " << result.states << " states";
}

/// Neither sees a byte that is not there, nor does a second message, with its signal, come before the first one.
TEST(ExploredPuts, TwoMessagesAreThereWhenTheirSignalsAre) {
  expect_clean(explore_blocks(puts(3)));
  expect_clean(explore_blocks(puts(2, 1)));
}

TEST(ExploredPuts, WithoutTheFenceStaleBytesAreFound) {
  EXPECT_NE(explore_blocks(puts(1), {.no_fence = true}).finding.find("is wrong"), std::string::npos);
  EXPECT_NE(explore_blocks(puts(2, 1), {.no_fence = true}).finding.find("is wrong"), std::string::npos);
}

/// Who puts again to the same place must know that it has been read: a signal does not say it.
TEST(ExploredPuts, ASecondMessageToTheSamePlaceThatNobodyHasOpenedIsFound) {
  EXPECT_NE(explore_blocks(puts(2), {.same_place = true}).finding.find("is wrong"), std::string::npos);
}

// ---- blocks to experts ----------------------------------------------------------------------------------------------

/// Twice as many slots as a rank has experts.
Program experts(Operation operation, int ranks, int of_each) {
  return {.operation = operation,
          .ranks = ranks,
          .slot = 16,
          .slots = 2 * static_cast<std::uint64_t>(of_each),
          .experts = of_each};
}

class ExploredExperts : public testing::TestWithParam<Operation> {};

TEST_P(ExploredExperts, BlocksOfTwoRanksArriveWithTheirLengths) {
  expect_clean(explore_blocks(experts(GetParam(), 2, 2)));
}

/// Slots that were read are filled again.
TEST_P(ExploredExperts, AThirdTimeOverwritesNothing) { expect_clean(explore_blocks(experts(GetParam(), 2, 1), {}, 3)); }

/// A third launch is why there are two slots for each expert: none waits for credit, and none needs it.
TEST_P(ExploredExperts, NobodyWaitsForCredit) {
  expect_clean(explore_blocks(experts(GetParam(), 2, 1), {.free_credit = true}, 3));
  Program narrow = experts(GetParam(), 2, 1);
  narrow.slots = 1;
  EXPECT_NE(explore_blocks(narrow, {.free_credit = true}, 3).finding, "");
}

/// On the way back three have the same blocks, but by their lengths ten times as many interleavings.
TEST(ExploredExpertsOfThree, BlocksArriveInTheirPlaces) {
  expect_clean(explore_blocks(experts(Operation::dispatch, 3, 1)));
}

TEST_P(ExploredExperts, WithoutTheFenceItIsFound) {
  EXPECT_NE(explore_blocks(experts(GetParam(), 2, 1), {.no_fence = true}).finding.find("is wrong"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Of, ExploredExperts, testing::Values(Operation::dispatch, Operation::combine),
                         [](const auto& tested) { return std::string(gpu::to_string(tested.param)); });

TEST(SlipsOfBlocks, ARingThroughOneSlotWaitsForEver) {
  Program program = program_of(Operation::all_reduce, LineFormat::ll, 2, 2);
  program.slots = 1;
  EXPECT_NE(explore_blocks(program).finding.find("nobody can go on"), std::string::npos);
}

TEST(SlipsOfBlocks, SimpleWithoutItsFenceIsFound) {
  EXPECT_NE(explore_blocks(message(LineFormat::simple, 2), {.no_fence = true}).finding, "");
}

TEST(SlipsOfBlocks, ATornLineOfLl128IsFound) {
  EXPECT_NE(explore_blocks(message(LineFormat::ll128, 2), {.torn_lines = true}).finding, "");
}

TEST(SlipsOfBlocks, ATornHalfOfLlIsFound) {
  EXPECT_NE(explore_blocks(message(LineFormat::ll, 2), {.torn_halves = true}).finding, "");
}

/// LL and LL128 need no fence: they have none.
TEST(SlipsOfBlocks, LinesAreRightWithoutAFence) {
  for (const LineFormat format : {LineFormat::ll, LineFormat::ll128}) {
    EXPECT_TRUE(explore_blocks(message(format, 6), {.no_fence = true}).clean()) << gpu::to_string(format);
  }
}

}  // namespace
}  // namespace twinlink::explore
