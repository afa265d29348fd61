// From what a profiler has seen to a job: what waits for what, and which messages a collective is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocols/core/errors.hpp"
#include "protocols/workloads/goal/collectives.hpp"
#include "protocols/workloads/goal/job.hpp"
#include "protocols/workloads/goal/recording.hpp"
#include "protocols/workloads/goal/trace.hpp"
#include "tests/support/said_by.hpp"

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

std::string text_of(const std::vector<RankRecording>& ranks) { return goal_text(ranks, {"made here"}); }
/// Of messages alone.
Job job_of(const std::vector<RankRecording>& ranks, const Algorithms& algorithms = {}) {
  Trace trace = read_trace(text_of(ranks), "job.goal");
  expand(trace, algorithms, [](std::string_view) { return false; });
  return Job(std::move(trace));
}
double longest_ns(const std::vector<RankRecording>& ranks) { return job_of(ranks).longest_path().microseconds() * 1e3; }

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
  const auto ranks = alike(
      2, {.kernels = {{{100, 150}, 7}, {{260, 300}, 7}}, .collectives = {collective("all-reduce", 2, 64, {150, 250})}});
  EXPECT_DOUBLE_EQ(longest_ns(ranks), 100);
  EXPECT_THAT(text_of(ranks), HasSubstr("// made here\nnum_ranks 2\ngroup 0 { 0-1 }\n\nrank 0 {\n"));
  EXPECT_THAT(text_of(ranks), HasSubstr("all_reduce 64b in 0\n"));
}

TEST(Recordings, WhatRunsBesideACollectiveWaitsForNothing) {
  const auto ranks =
      alike(2, {.kernels = {{{0, 60}, 7}, {{50, 200}, 8}}, .collectives = {collective("all-reduce", 2, 64, {0, 100})}});
  EXPECT_DOUBLE_EQ(longest_ns(ranks), 200);
  EXPECT_THAT(text_of(ranks), HasSubstr("calc 150 cpu 3\n  t4 requires t3\n}")) << "behind its launch alone";
}

TEST(Recordings, AKernelThatBeginsWithACollectivesEndHasWaitedForIt) {
  for (const std::int64_t begin : {200, 201}) {
    const auto ranks = alike(2, {.kernels = {{{0, 100}, 7}, {{begin, begin + 100}, 7}},
                                 .collectives = {collective("all-reduce", 2, 64, {100, 200})}});
    EXPECT_DOUBLE_EQ(longest_ns(ranks), static_cast<double>(begin)) << "work alone";
  }
}

/// A host that launches faster than the GPU works: 10 us for each launch, 2 us on the way.
RankRecording launched() {
  RankRecording all{.kernels = {{{2'000, 102'000}, 7, 0}, {{102'000, 152'000}, 7, 10'000}},
                    .collectives = {collective("all-reduce", 2, 64, {102'000, 202'000}, 17)}};
  all.collectives[0].launched = 20'000;
  return all;
}

TEST(Recordings, TheHostsTimeBetweenLaunchesIsHiddenBehindKernels) {
  // The second kernel was launched while the first one ran: they are one.
  const std::string text = text_of(alike(2, launched()));
  EXPECT_THAT(text, HasSubstr("t1: calc 150000 cpu 1\n"));
  EXPECT_DOUBLE_EQ(longest_ns(alike(2, launched())), 150'000) << "what launching takes is beside it";
  RankRecording slow = launched();
  for (RecordedKernel& kernel : slow.kernels) kernel.when.end = kernel.when.begin + 1'000;
  slow.kernels[1].when = {12'000, 13'000};
  slow.collectives[0].when = {22'000, 122'000};
  EXPECT_DOUBLE_EQ(longest_ns(alike(2, slow)), 20'000) << "to the launch of the collective, if all GPUs are idle";
}

TEST(Recordings, AKernelHasWaitedForWhatItsStreamWasToldTo) {
  // Launched early, it begins when the sum in the other stream ends; or a call says that it waits, and it comes later.
  for (const int waits : {0, 1}) {
    RankRecording recording = launched();
    recording.kernels.push_back({{waits == 0 ? 203'000 : 402'000, 412'000}, 7, waits == 0 ? 30'000 : 400'000, waits});
    const std::string text = text_of(alike(2, recording));
    const std::size_t line = text.rfind("  t", text.find("all_reduce")) + 2;
    const std::string name = text.substr(line, text.find(':', line) - line);
    EXPECT_THAT(text, HasSubstr(" requires " + name + "\n")) << waits << "\n" << text;
  }
  RankRecording beside = launched();
  beside.kernels.push_back({{402'000, 412'000}, 7, 400'000, 0});
  EXPECT_THAT(text_of(alike(2, beside)), Not(HasSubstr("requires t4\n  t6"))) << "nobody said so";
}

TEST(Recordings, ACallThatWaitsForTheGpuHoldsTheHostUp) {
  RankRecording recording = launched();
  recording.waits = {{30'000, 210'000}};
  recording.kernels.push_back({{222'000, 232'000}, 7, 220'000});
  // Behind the sum, of which nothing counts here: 8 us after its end until the launch, 2 on the way, and 10 of work.
  EXPECT_DOUBLE_EQ(longest_ns(alike(2, recording)), 150'000 + 20'000 + 10'000);
}

TEST(Recordings, AWaitIsForWhatHadEndedWhateverIsQueuedBehindIt) {
  RankRecording recording = launched();
  recording.waits = {{30'000, 210'000}};  // for the sum, while a kernel is still busy behind the second one
  recording.kernels.push_back({{152'000, 900'000}, 7, 25'000});
  recording.kernels.push_back({{222'000, 232'000}, 8, 220'000});
  const std::string text = text_of(alike(2, recording));
  const std::size_t line = text.rfind("  t", text.find("all_reduce")) + 2;
  EXPECT_THAT(text, HasSubstr("calc 0\n")) << text;
  EXPECT_THAT(text.substr(text.find("calc 0\n")),
              HasSubstr("requires " + text.substr(line, text.find(':', line) - line)));
}

TEST(Recordings, KernelsThatOverlapInAStreamKeepTheirTime) {
  RankRecording recording{.kernels = {{{10'000, 110'000}, 7, 0}, {{50'000, 60'000}, 7, 1'000}},
                          .collectives = {collective("all-reduce", 2, 64, {120'000, 130'000}, 1)}};
  recording.collectives[0].launched = 2'000;
  EXPECT_THAT(text_of(alike(2, recording)), HasSubstr("calc 100000 cpu 1\n"));
}

TEST(Recordings, GroupsOfTheSameRanksAreDifferentOnes) {
  std::vector<RankRecording> ranks =
      alike(2, {.collectives = {collective("all-reduce", 2, 64, {0, 10}), collective("broadcast", 2, 8, {20, 30}, 2)}});
  for (RankRecording& rank : ranks) rank.collectives[1].group = "1";
  EXPECT_THAT(text_of(ranks), HasSubstr("group 0 { 0-1 }\ngroup 1 { 0-1 }\n"));
  EXPECT_GT(job_of(ranks).of(0).sent(), Bytes{});
}

TEST(Recordings, RanksBeginAsFarApartAsTheirCollectivesSay) {
  std::vector<RankRecording> ranks = alike(2, launched());
  // The second one's clock is 1 s ahead; its first kernel is 40 us longer, so it began 40 us before.
  for (RecordedKernel& kernel : ranks[1].kernels)
    kernel.when = {kernel.when.begin + 1'000'000'000, kernel.when.end + 1'000'000'000};
  for (RecordedKernel& kernel : ranks[1].kernels) *kernel.launched += 1'000'000'000;
  ranks[1].kernels[0].when.begin -= 40'000;
  *ranks[1].kernels[0].launched -= 40'000;
  ranks[1].collectives[0].when = {1'000'102'000, 1'000'202'000};
  ranks[1].collectives[0].launched = 1'000'020'000;
  EXPECT_THAT(text_of(ranks), HasSubstr("rank 0 {\n  t1: calc 40000\n"));
}

TEST(Recordings, CollectivesOfAStreamFollowEachOtherAndThoseOfOthersDoNot) {
  RankRecording both{
      .kernels = {{{0, 200}, 7}},
      .collectives = {collective("broadcast", 2, 8, {0, 50}, 1), collective("broadcast", 2, 8, {60, 70}, 1)}};
  EXPECT_THAT(text_of(alike(2, both)), HasSubstr("t2: broadcast 8b in 0\n  t3: calc 60\n"));
  EXPECT_THAT(text_of(alike(2, both)), HasSubstr("broadcast 8b in 0\n  t4 requires t2\n"));
  both.collectives[1].stream = 2;
  both.collectives[0].when.end = 65;
  EXPECT_THAT(text_of(alike(2, both)), Not(HasSubstr("requires t2\n")));
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
  EXPECT_EQ(job_of(ranks, {.named = {{"all-reduce", &tree}}}).of(1).largest()->size, Bytes{64});
  EXPECT_EQ(job_of(ranks).of(1).largest()->size, Bytes{16}) << "a ring sends parts";
  // Of four ranks and 64 B all bytes go to the nearest, then to the next.
  Algorithms tuned{.library = &workloads::mpi::find_library("openmpi 4.1", "")};
  EXPECT_EQ(job_of(ranks, tuned).of(1).largest()->size, Bytes{64});
  tuned.tuned = {"all-gather"};
  EXPECT_EQ(job_of(ranks, tuned).of(1).largest()->size, Bytes{16}) << "others go as nobody names them";
  const auto refused = [&](const std::string& what) {
    const auto others = alike(4, {.collectives = {collective(what, 4, 64, {0, 10})}});
    return said_by<UsageError>([&] { job_of(others, {.library = tuned.library, .on_gpus = true}); });
  };
  EXPECT_THAT(refused("all-reduce"), HasSubstr("has GPUs' buffers copied to the host"));
  EXPECT_THAT(refused("reduce-scatter"), HasSubstr("no copy of GPUs' buffers to the host"));
  EXPECT_THAT(refused("barrier"), HasSubstr("has no buffer"));
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
  EXPECT_THAT(text_of(ranks), Not(HasSubstr("all_to_all")));
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

TEST(Recordings, EqualBlocksAreTheCollective) {
  std::vector<RankRecording> ranks = alike(2, {.collectives = {collective("all-to-all", 2, 60, {0, 10})}});
  for (RankRecording& rank : ranks) rank.collectives[0].to = rank.collectives[0].from = {30, 30};
  EXPECT_THAT(text_of(ranks), HasSubstr("all_to_all 60b in 0"));
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
