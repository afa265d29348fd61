// From what a profiler has seen to a job: what waits for what, and which messages a collective is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "protocols/core/errors.hpp"
#include "protocols/workloads/goal/job.hpp"
#include "protocols/workloads/goal/recording.hpp"
#include "protocols/workloads/goal/trace.hpp"

namespace twinlink::workloads::goal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RecordedCollective collective(const std::string& what, int ranks, std::uint64_t bytes, Span when,
                              std::int64_t stream = 1) {
  RecordedCollective all{.what = what, .group = "0", .bytes = bytes, .when = when, .stream = stream};
  for (int r = 0; r < ranks; ++r) all.ranks.push_back(r);
  return all;
}

/// All ranks have seen the same.
std::vector<RankRecording> alike(int ranks, const RankRecording& recording) {
  std::vector<RankRecording> all(static_cast<std::size_t>(ranks), recording);
  for (std::size_t r = 0; r < all.size(); ++r) all[r].file = "rank" + std::to_string(r) + ".json";
  return all;
}

std::string text_of(const std::vector<RankRecording>& ranks) { return goal_text(ranks, {}, {"made here"}); }
Job job_of(const std::vector<RankRecording>& ranks) { return Job(read_trace(text_of(ranks), "job.goal")); }

using Change = std::function<void(std::vector<RankRecording>&)>;
/// The job of what has been changed, or why there is none.
std::string said_of(std::vector<RankRecording> ranks, const Change& change) {
  change(ranks);
  try {
    return text_of(ranks);
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(Recordings, WhatComesBehindAStandstillHasWaited) {
  // 50 of work, a sum, a gap of 10, and 40 of work.
  const auto ranks =
      alike(2, {.computes = {{100, 150}, {260, 300}}, .collectives = {collective("all-reduce", 2, 64, {150, 250})}});
  EXPECT_DOUBLE_EQ(job_of(ranks).longest_path().microseconds() * 1e3, 100);
  EXPECT_THAT(text_of(ranks), HasSubstr("// made here\nnum_ranks 2\n\nrank 0 {\n  t1: calc 50\n"
                                        "  t2: send 32b to 1 tag 1\n  t2 requires t1\n"));
  // The last one of both waits for the sum and for the work before it.
  EXPECT_THAT(text_of(ranks), HasSubstr("  t8: calc 0\n  t8 requires t1\n  t8 requires t7\n"
                                        "  t9: calc 50\n  t9 requires t8\n"));
}

TEST(Recordings, WhatRunsBesideACollectiveWaitsForNothing) {
  const auto ranks =
      alike(2, {.computes = {{0, 60}, {50, 200}}, .collectives = {collective("all-reduce", 2, 64, {0, 100})}});
  EXPECT_THAT(text_of(ranks), HasSubstr(": calc 200\n}")) << "one piece, for kernels overlap, and behind nothing";
  EXPECT_DOUBLE_EQ(job_of(ranks).longest_path().microseconds() * 1e3, 200);
}

TEST(Recordings, AKernelThatBeginsWithACollectivesEndHasWaitedForIt) {
  for (const std::int64_t begin : {200, 201}) {
    const auto ranks = alike(2, {.computes = {{0, 100}, {begin, begin + 100}},
                                 .collectives = {collective("all-reduce", 2, 64, {100, 200})}});
    EXPECT_DOUBLE_EQ(job_of(ranks).longest_path().microseconds() * 1e3, static_cast<double>(begin)) << "work alone";
  }
}

TEST(Recordings, CollectivesOfAStreamFollowEachOtherAndThoseOfOthersDoNot) {
  RankRecording both{
      .computes = {{0, 200}},
      .collectives = {collective("broadcast", 2, 8, {0, 50}, 1), collective("broadcast", 2, 8, {60, 70}, 1)}};
  const std::string one = text_of(alike(2, both));
  EXPECT_THAT(one, HasSubstr("t1: send 8b to 1 tag 1\n  t2: calc 60\n  t3: calc 0\n  t3 requires t1\n  t3 requires t2\n"
                             "  t4: send 8b to 1 tag 2\n  t4 requires t3\n"));
  both.collectives[1].stream = 2;
  EXPECT_THAT(text_of(alike(2, both)), HasSubstr("t3: send 8b to 1 tag 2\n  t3 requires t2\n  t4: calc 140\n"));
}

TEST(Recordings, EveryCollectiveIsTheMessagesOfItsAlgorithm) {
  for (const std::uint64_t ranks : {2, 3, 4, 7}) {
    const std::uint64_t size = 840;
    const std::uint64_t others = ranks - 1;
    for (const auto& [what, sent] :
         std::vector<std::pair<std::string, std::uint64_t>>{{"all-reduce", 2 * others * size},
                                                            {"all-gather", others * size},
                                                            {"reduce-scatter", others * size},
                                                            {"broadcast", others * size},
                                                            {"reduce", others * size},
                                                            {"all-to-all", others * size}}) {
      const auto n = static_cast<int>(ranks);
      const Job job = job_of(alike(n, {.collectives = {collective(what, n, size, {0, 10})}}));
      std::uint64_t bytes = 0;
      for (int r = 0; r < n; ++r) bytes += job.of(r).sent().count();
      EXPECT_EQ(bytes, sent) << what << " of " << ranks;
    }
    for (const std::string what : {"gather", "scatter", "barrier"}) {
      const auto n = static_cast<int>(ranks);
      const Job job = job_of(alike(n, {.collectives = {collective(what, n, 840, {0, 10})}}));
      EXPECT_GT(job.of(0).sent() + job.of(1).sent(), Bytes{}) << what;
    }
  }
  EXPECT_FALSE(is_recordable("halo-2d"));
}

TEST(Recordings, AnAlgorithmThatIsNamedIsTaken) {
  const auto ranks = alike(4, {.collectives = {collective("all-reduce", 4, 64, {0, 10})}});
  const Algorithm& tree = find_algorithm(find_workload("all-reduce"), "tree");
  EXPECT_THAT(goal_text(ranks, {{"all-reduce", &tree}}, {}), HasSubstr("send 64b to 0"));
  EXPECT_THAT(text_of(ranks), Not(HasSubstr("send 64b"))) << "a ring sends parts";
}

TEST(Recordings, BlocksAndMessagesGoWhereTheyWereSent) {
  std::vector<RankRecording> ranks = alike(2, {.collectives = {collective("all-to-all", 2, 0, {0, 10})}});
  ranks[0].collectives[0].to = {5, 30};
  ranks[0].collectives[0].from = {5, 70};
  ranks[1].collectives[0].to = {70, 0};
  ranks[1].collectives[0].from = {30, 0};
  RecordedCollective send{.what = "send", .group = "0", .ranks = {1}, .bytes = 9, .when = {20, 30}, .stream = 3};
  ranks[0].collectives.push_back(send);
  send.what = "recv";
  send.ranks = {0};
  ranks[1].collectives.push_back(send);
  const Job job = job_of(ranks);
  EXPECT_EQ(job.of(0).sent(), Bytes{30 + 9});
  EXPECT_EQ(job.of(1).sent(), Bytes{70});
  const auto refused = [&](const Change& change) { return said_of(ranks, change); };
  EXPECT_THAT(refused([](auto& all) { all[1].collectives[0].from[0] = 31; }),
              HasSubstr("rank0.json: error: an all-to-all sends 30 bytes to rank 1, which receives 31"));
  EXPECT_THAT(refused([](auto& all) { all[1].collectives.pop_back(); }),
              HasSubstr("rank0.json: error: rank 0 sends 1 messages to rank 1, which receives 0"));
  EXPECT_THAT(refused([](auto& all) { all[1].collectives[1].bytes = 8; }), HasSubstr("of other lengths"));
  EXPECT_THAT(refused([](auto& all) { all[1].collectives[0].to.clear(); }), HasSubstr("at some ranks only"));
}

TEST(Recordings, RanksThatDisagreeAreNamed) {
  const auto ranks = alike(2, {.collectives = {collective("all-reduce", 2, 64, {0, 10})}});
  const auto refused = [&](const Change& change) { return said_of(ranks, change); };
  EXPECT_THAT(refused([](auto& all) { all[1].collectives[0].bytes = 72; }),
              HasSubstr("rank1.json: error: the 1. collective of its group is all-reduce of 72 bytes among ranks 0, 1, "
                        "and in rank0.json all-reduce of 64 bytes"));
  EXPECT_THAT(refused([](auto& all) { all[1].collectives[0].what = "broadcast"; }), HasSubstr("is broadcast"));
  EXPECT_THAT(refused([](auto& all) { all[1].collectives.clear(); }), HasSubstr("there are 0 collectives"));
  EXPECT_THAT(refused([](auto& all) { all[1].collectives.push_back(all[1].collectives[0]); }),
              HasSubstr("there are 2 collectives"));
  EXPECT_THAT(refused([](auto& all) { all[0].collectives[0].ranks = {0, 2}; }), HasSubstr("files of 2 ranks"));
  const auto of_others = [](auto& all) {
    all.push_back(all[0]);
    for (RankRecording& each : all) each.collectives[0].ranks = {1, 2};
  };
  EXPECT_THAT(refused(of_others),
              HasSubstr("rank0.json: error: all-reduce of 64 bytes among ranks 1, 2: this rank is not of"));
}

}  // namespace
}  // namespace twinlink::workloads::goal
