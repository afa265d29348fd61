#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/said_by.hpp"
#include "validate/import/import.hpp"

namespace twinlink::validate {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A node with copies of two GPUs, one collective of eight ranks, and what nobody here measures.
const std::string kNodeOfSuperbench =
    R"({"node": "n7", "gpu-copy-bw:perf/cpu_to_gpu0_by_dma_under_numa0_bw": 55.25, )"
    R"("gpu-copy-bw:perf/cpu_to_gpu0_by_dma_under_numa1_bw": 41.5, "gpu-copy-bw:perf/gpu1_to_cpu_by_sm_under_numa0_bw": 50, )"
    R"("gpu-copy-bw:perf/gpu0_to_gpu1_read_by_dma_bw": 320.5, "gpu-copy-bw:perf/gpu0_to_gpu1_write_by_dma_bw": 310, )"
    R"("gpu-copy-bw:perf/gpu0_and_gpu1_write_by_sm_bw": 600, "gpu-copy-bw:perf/gpu0_to_gpu0_by_dma_bw": 1300, )"
    R"("ib-loopback/ib_write_bw_8388608:0": 46.8, "monitor/gpu_power:0": 90, )"
    R"("nccl-bw:nvlink/allreduce_8388608_time:0": 97.1, "nccl-bw:nvlink/allreduce_8388608_algbw:0": 86.39, )"
    R"("nccl-bw:nvlink/allreduce_8388608_busbw:0": 151.18, "nccl-bw:nvlink/allreduce_8_time:0": 20.5, )"
    R"("nccl-bw:nvlink/allreduce_8_busbw:0": 0, "nccl-bw:nvlink/allreduce_8_time:1": 99})";

Imported of_superbench(const std::string& text, const ImportWishes& wishes) {
  return import_content(Tool::superbench, text, "r.jsonl", wishes);
}

std::string refusal_of_superbench(const std::string& text, const ImportWishes& wishes) {
  return said_by([&] { return of_superbench(text, wishes); });
}

TEST(ImportSuperbench, IsToldByItsFirstLine) {
  EXPECT_EQ(recognise(kNodeOfSuperbench + "\n" + kNodeOfSuperbench + "\n"), Tool::superbench);
  EXPECT_EQ(recognise(Content(nlohmann::json::parse(R"({"node": "n7"})"))), std::nullopt);
  EXPECT_EQ(recognise(std::string(R"({"node": "n7", "kernel-launch/event_time:0": 0.006})")), std::nullopt);
}

TEST(ImportSuperbench, ListsNodesCopiesAndCollectives) {
  EXPECT_THAT(refusal_of_superbench(kNodeOfSuperbench, {}),
              AllOf(HasSubstr("1: gpu-copy-bw:perf of n7, 5 copies"),
                    HasSubstr("2: nccl-bw:nvlink of n7: allreduce, 2 sizes")));
  EXPECT_THAT(refusal_of_superbench("{\"node\": \"a\", \"ib-loopback/x:0\": 1}", {}),
              HasSubstr("holds nothing that can be imported"));
  EXPECT_THAT(refusal_of_superbench(kNodeOfSuperbench + "\n{\"node\": \"n8\",", {.table = 1}),
              HasSubstr("r.jsonl:2: error: is no object"));
}

TEST(ImportSuperbench, CopiesAreProbes) {
  const auto probes = std::get<bench::ProbeFile>(of_superbench(kNodeOfSuperbench, {.table = 1}));
  std::vector<std::string> lines;
  for (const bench::ProbeLine& line : probes.findings.lines) {
    lines.push_back(line.name + " " + line.gpu + " " + line.peer + " " + nlohmann::json(line.bandwidth_MBps).dump());
    EXPECT_EQ(line.size, 64_MiB);
  }
  EXPECT_THAT(lines, ElementsAre("peer copy read direct 0/1 0/0 320500.0", "peer copy write direct 0/0 0/1 310000.0",
                                 "copy kernel-to-pinned 0/1  50000.0", "copy pinned-to-device near 0/0  55250.0"))
      << "who reads copies itself, and the near domain is the faster one";
  EXPECT_THAT(probes.findings.notes, Contains(HasSubstr("gpu0_and_gpu1_write_by_sm_bw")));
  EXPECT_THAT(probes.findings.notes, Contains(HasSubstr("ib-loopback, monitor")));
  const auto told = std::get<bench::ProbeFile>(of_superbench(kNodeOfSuperbench, {.size = 1_MiB, .table = 1}));
  EXPECT_EQ(told.findings.lines.front().size, 1_MiB);
  EXPECT_THAT(refusal_of_superbench(kNodeOfSuperbench, {.table = 1, .ranks = 8}), HasSubstr("holds primitives"));
}

/// 151.18 is 1.75 of 86.39: eight ranks.
TEST(ImportSuperbench, BothRatesTellHowManyRanksThereAre) {
  const auto file = std::get<bench::WorkloadFile>(of_superbench(kNodeOfSuperbench, {.table = 2}));
  EXPECT_EQ(file.series.workload, "all-reduce");
  EXPECT_EQ(file.series.ranks, 8);
  ASSERT_EQ(file.series.points.size(), 2U);
  EXPECT_EQ(file.series.points[0].size, Bytes{8});
  EXPECT_EQ(file.series.points[0].time_us.median, 20.5) << "of rank 0";
  EXPECT_EQ(file.series.points[1].time_us.median, 97.1);
}

TEST(ImportSuperbench, ABusRateAloneNeedsTheRanks) {
  const std::string text =
      R"({"node": "n", "rccl-bw/allgather_1073741824_busbw:0": 350, "rccl-bw/allgather_64_busbw:0": 0})";
  EXPECT_THAT(refusal_of_superbench(text, {}), HasSubstr("holds no result"));
  const auto file = std::get<bench::WorkloadFile>(of_superbench(text, {.ranks = 8}));
  ASSERT_EQ(file.series.points.size(), 1U);
  EXPECT_NEAR(file.series.points[0].time_us.median, 1073741824 / (350e3 * 8 / 7), 1e-6);
  EXPECT_THAT(file.series.notes, Contains(HasSubstr("left out: 1 sizes")));
}

}  // namespace
}  // namespace twinlink::validate
