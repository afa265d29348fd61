#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/said_by.hpp"
#include "tests/validate/import/foreign_files.hpp"
#include "validate/import/import.hpp"

namespace twinlink::validate {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Bytes kSize{512U << 20U};

bench::ProbeFile imported_probes(const json& content, const ImportWishes& wishes = {.size = kSize}) {
  return std::get<bench::ProbeFile>(import_content(Tool::nvbandwidth, content, "nv.json", wishes));
}

std::string refusal_of_probes(const json& content, const ImportWishes& wishes = {.size = kSize}) {
  return said_by([&] { return imported_probes(content, wishes); });
}

/// What is said of the file after `spoil` was at its first test: host to device by the copy engine.
std::string refusal_of_probes_after(const std::function<void(json&)>& spoil) {
  json content = test::nvbandwidth_08();
  spoil(content["nvbandwidth"]["testcases"][0]);
  return refusal_of_probes(content);
}

/// "GPU PEER GB/s" of each line of that name.
std::vector<std::string> lines(const bench::ProbeFile& probes, const std::string& name) {
  std::vector<std::string> found;
  for (const auto& line : probes.findings.lines) {
    if (line.name != name) continue;
    found.push_back(line.gpu + " " + line.peer + " " + json(line.bandwidth_MBps / 1000).dump());
  }
  return found;
}

TEST(ImportNvbandwidth, RatesBecomeTimesOfTheSizeThatTheUserTells) {
  const auto probes = imported_probes(test::nvbandwidth_08());
  EXPECT_EQ(probes.world, "measured");
  EXPECT_EQ(probes.program, "nvbandwidth v0.8");
  EXPECT_THAT(probes.command, IsEmpty());
  const auto& line = probes.findings.lines.at(0);
  EXPECT_EQ(line.name, "copy pinned-to-device near");
  EXPECT_EQ(line.gpu, "0/0");
  EXPECT_EQ(line.peer, "");
  EXPECT_EQ(line.size, kSize);
  EXPECT_EQ(line.bandwidth_MBps, 55250) << "a GB is 10^9 bytes";
  EXPECT_EQ(line.time_us.n, 0U);
  EXPECT_DOUBLE_EQ(line.time_us.median, static_cast<double>(kSize.count()) / 55250);
}

TEST(ImportNvbandwidth, TheRowOfAMatrixIsTheGpuThatCopies) {
  const auto probes = imported_probes(test::nvbandwidth_08());
  EXPECT_THAT(lines(probes, "copy pinned-to-device near"), ElementsAre("0/0  55.25", "0/1  55.5"));
  EXPECT_THAT(lines(probes, "copy kernel-to-pinned"), ElementsAre("0/0  54.25", "0/1  54.5"));
  EXPECT_THAT(lines(probes, "peer copy read direct"), ElementsAre("0/0 0/1 400.0", "0/1 0/0 200.0"));
  EXPECT_THAT(lines(probes, "copy kernel-push"), ElementsAre("0/0 0/1 320.0")) << "N/A is no line";
}

TEST(ImportNvbandwidth, WhatIsLeftOutIsNoted) {
  EXPECT_THAT(imported_probes(test::nvbandwidth_08()).findings.notes,
              ElementsAre("device_to_device_bidirectional_memcpy_write_ce left out: no probe measures this",
                          "device_to_host_memcpy_ce left out: Waived",
                          "device_to_device_latency_sm left out: no probe measures this", HasSubstr("launch")));
}

TEST(ImportNvbandwidth, OfBothWaysAtOnceTheSlowerOneCounts) {
  json content = test::nvbandwidth_08();
  const auto add = [&](const char* name, const char* matrix) {
    content["nvbandwidth"]["testcases"].push_back(
        {{"name", name}, {"status", "Passed"}, {"bandwidth_matrix", json::parse(matrix)}});
  };
  add("host_to_device_bidirectional_memcpy_ce", R"([["45.5", "46"]])");
  EXPECT_THAT(lines(imported_probes(content), "copy pinned near both-ways"), ElementsAre("0/0  45.5", "0/1  46.0"));
  add("device_to_host_bidirectional_memcpy_ce", R"([["46.5", "44"]])");
  EXPECT_THAT(lines(imported_probes(content), "copy pinned near both-ways"), ElementsAre("0/0  45.5", "0/1  44.0"));
}

TEST(ImportNvbandwidth, ALineIsOneThatOurProbesHave) {
  json content = test::nvbandwidth_08();
  for (const auto& line : imported_probes(content).findings.lines) {
    EXPECT_THAT(line.name, testing::Not(HasSubstr("other way busy")));
  }
}

TEST(ImportNvbandwidth, WhatTheToolComplainsOfIsANote) {
  json content = test::nvbandwidth_08();
  content["nvbandwidth"]["warning"] = "cuMemHostRegister failed";
  EXPECT_THAT(imported_probes(content).findings.notes, Contains("nvbandwidth's warning: cuMemHostRegister failed"));
}

TEST(ImportNvbandwidth, ARateThatGivesNoTimeIsRefused) {
  for (const char* rate : {"1e308", "1e306", "1e-300", "1e30"}) {
    json content = test::nvbandwidth_08();
    content["nvbandwidth"]["testcases"][0]["bandwidth_matrix"] = json::array({json::array({rate, "55"})});
    EXPECT_THAT(refusal_of_probes(content),
                AllOf(HasSubstr("nv.json: error: member 'nvbandwidth.testcases[0].bandwidth_matrix' holds \"" +
                                std::string(rate) + "\" GB/s for copies of 512M: the time must be ")));
  }
}

TEST(ImportNvbandwidth, TheOriginIsInTheEnvironment) {
  const auto origin = imported_probes(test::nvbandwidth_08()).environment->at("origin");
  EXPECT_EQ(origin.at("tool"), "nvbandwidth");
  EXPECT_EQ(origin.at("file"), "nv.json");
  EXPECT_EQ(origin.at("Driver Version"), "580.105.08");
  EXPECT_EQ(origin.at("GPU Device list").size(), 2U);
}

TEST(ImportNvbandwidth, NumbersAreReadAsTexts) {
  json content = test::nvbandwidth_08();
  content["nvbandwidth"]["testcases"][0]["bandwidth_matrix"] = json::parse(R"([[55.25, "5.55e+01"]])");
  EXPECT_THAT(lines(imported_probes(content), "copy pinned-to-device near"), ElementsAre("0/0  55.25", "0/1  55.5"));
}

TEST(ImportNvbandwidth, TheSizeIsTheToolsOwnWhereNobodyTellsIt) {
  const auto probes = imported_probes(test::nvbandwidth_08(), {});
  EXPECT_EQ(probes.findings.lines.at(0).size, kSize);
  EXPECT_EQ(probes.environment->at("origin").at("bytes"), "nvbandwidth's default");
  EXPECT_THAT(probes.findings.notes,
              Contains(AllOf(HasSubstr("does not tell"), HasSubstr("512M"), HasSubstr("--size"))));
}

TEST(ImportNvbandwidth, HasNoCurves) {
  EXPECT_THAT(refusal_of_probes(test::nvbandwidth_08(), {.protocol = "cuda-ipc", .size = kSize}),
              HasSubstr("holds primitives"));
  EXPECT_THAT(refusal_of_probes(test::nvbandwidth_08(), {.window = 1, .size = kSize}), HasSubstr("holds primitives"));
  EXPECT_THAT(refusal_of_probes(test::nvbandwidth_08(), {.from = "0/0", .size = kSize}), HasSubstr("holds primitives"));
  EXPECT_THAT(refusal_of_probes(test::nvbandwidth_08(), {.pattern = bench::Pattern::pingpong}),
              HasSubstr("holds primitives"));
  EXPECT_EQ(refusal_of_probes(test::nvbandwidth_08(), {.table = 1}), "--table: all tests of nv.json are imported");
  EXPECT_EQ(refusal_of_probes(test::nvbandwidth_08(), {.ranks = 2}), "--ranks: nv.json holds no collective");
  EXPECT_EQ(refusal_of_probes(test::nvbandwidth_08(), {.test = "all_reduce_perf"}), "--test: nv.json names its test");
}

TEST(ImportNvbandwidth, BrokenMatricesAreNamed) {
  const auto with = [](const char* matrix) {
    return refusal_of_probes_after([&](json& test) { test["bandwidth_matrix"] = json::parse(matrix); });
  };
  const std::string member = "nv.json: error: member 'nvbandwidth.testcases[0].bandwidth_matrix' ";
  EXPECT_EQ(with(R"([["fast", "1"]])"), member + "holds \"fast\", which is no positive number of GB/s");
  EXPECT_EQ(with(R"([["1", "-1"]])"), member + "holds \"-1\", which is no positive number of GB/s");
  EXPECT_EQ(with(R"([["1", "inf"]])"), member + "holds \"inf\", which is no positive number of GB/s");
  EXPECT_EQ(with(R"([["1", null]])"), member + "holds null, which is no positive number of GB/s");
  EXPECT_EQ(with(R"([["1", "2"], ["1", "2"]])"), member + "has 2 rows, not the host's one");
  EXPECT_EQ(with(R"([["1", "2"], ["1"]])"), member + "is no matrix: its rows differ in length");
  EXPECT_EQ(with(R"([])"), member + "has 0 rows, not the host's one");
  EXPECT_EQ(with(R"("1")"), member + "is no array");
  json content = test::nvbandwidth_08();
  content["nvbandwidth"]["testcases"][2]["bandwidth_matrix"] = json::parse(R"([["N/A", "1"]])");
  EXPECT_THAT(refusal_of_probes(content),
              HasSubstr("testcases[2].bandwidth_matrix' has 1 rows of 2 columns: it must be square"));
}

TEST(ImportNvbandwidth, MissingMembersAreNamed) {
  for (const char* name : {"name", "status", "bandwidth_matrix"}) {
    EXPECT_EQ(refusal_of_probes_after([&](json& test) { test.erase(name); }),
              "nv.json: error: member 'nvbandwidth.testcases[0]." + std::string(name) + "' is missing");
  }
  EXPECT_THAT(refusal_of_probes_after([](json& test) { test["bandwidth_description"] = "memory latency (ns)"; }),
              HasSubstr("'nvbandwidth.testcases[0].bandwidth_description' does not say (GB/s)"));
  json content = test::nvbandwidth_08();
  content["nvbandwidth"].erase("version");
  EXPECT_EQ(imported_probes(content).program, "nvbandwidth v0.8") << "git tells it, too";
  content["nvbandwidth"].erase("git_version");
  EXPECT_THAT(refusal_of_probes(content), HasSubstr("is missing"));
  EXPECT_THAT(refusal_of_probes(json::object()), HasSubstr("'nvbandwidth' is missing"));
}

TEST(ImportNvbandwidth, AFileWithoutAResultSaysWhy) {
  json content = test::nvbandwidth_08();
  content["nvbandwidth"].erase("testcases");
  content["nvbandwidth"]["error"] = "no CUDA-capable device is detected";
  EXPECT_THAT(refusal_of_probes(content),
              HasSubstr("nv.json: error: holds no result: no CUDA-capable device is detected"));
  content = test::nvbandwidth_08();
  content["nvbandwidth"]["testcases"] = {
      {{"name", "some_new_test"}, {"status", "Passed"}},
      {{"name", "host_to_device_memcpy_ce"}, {"status", "Error"}, {"error", "bad copy"}}};
  EXPECT_THAT(refusal_of_probes(content), AllOf(HasSubstr("holds nothing that can be imported: some_new_test left out"),
                                                HasSubstr("Error: bad copy")));
}

// ---- the text ---------------------------------------------------------------------------------------------------

constexpr const char* kNvbandwidthText = R"(nvbandwidth Version: v0.9
Built from Git version: v0.9

CUDA Runtime Version: 13000
Driver Version: 580.1

Device 0: NVIDIA Sample (00000000:01:00)
Device 1: NVIDIA Sample (00000000:02:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.25     55.50

SUM host_to_device_memcpy_ce 110.75

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    400.00
 1    200.00       N/A

SUM device_to_device_memcpy_read_ce 600.00

Running device_to_device_latency_sm.
Device to Device Latency SM GPU(row) <-> GPU(column) (ns)
           0         1
 0       N/A    700.00
 1    700.00       N/A

Running host_device_latency_sm.
Waived: 
NOTE: The reported results may not reflect the full capabilities of the platform.
)";

bench::ProbeFile probes_of_text(const std::string& text) {
  return std::get<bench::ProbeFile>(import_content(Tool::nvbandwidth, text, "nv.txt", {.size = kSize}));
}

TEST(ImportNvbandwidthText, SaysWhatTheJsonSays) {
  const auto probes = probes_of_text(kNvbandwidthText);
  EXPECT_EQ(recognise(Content(std::string(kNvbandwidthText))), Tool::nvbandwidth);
  EXPECT_EQ(probes.program, "nvbandwidth v0.9");
  EXPECT_THAT(lines(probes, "copy pinned-to-device near"), ElementsAre("0/0  55.25", "0/1  55.5"));
  EXPECT_THAT(lines(probes, "peer copy read direct"), ElementsAre("0/0 0/1 400.0", "0/1 0/0 200.0"));
  const auto origin = probes.environment->at("origin");
  EXPECT_EQ(origin.at("GPU Device list").size(), 2U);
  EXPECT_EQ(origin.at("Driver Version"), "580.1");
  EXPECT_THAT(probes.findings.notes, Contains("device_to_device_latency_sm left out: no probe measures this"));
}

/// What a test says after its matrix, or instead of one, is of it alone.
TEST(ImportNvbandwidthText, EachTestHasItsOwnOutcome) {
  const auto probes = probes_of_text(
      "nvbandwidth Version: v0.9\nWARNING: clocks are low\n\n"
      "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n 0\n0 55.25\n"
      "SUM host_to_device_memcpy_ce 55.25\n3 lines follow that are no rows\n"
      "Running device_to_host_memcpy_ce.\nERROR: out of memory\n\n"
      "Running host_to_device_memcpy_sm.\nmemcpy SM CPU(row) -> GPU(column) bandwidth (GB/s)\n"
      "Running device_to_host_memcpy_sm.\nFailed: for a reason\n5 words that are no columns\n"
      "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
      " 0 1\n0 N/A 400.00\n1 200.00 N/A\n\n4 no row behind an empty line\n"
      "SUM device_to_device_memcpy_read_ce 600.00\n");
  EXPECT_THAT(lines(probes, "copy pinned-to-device near"), ElementsAre("0/0  55.25"));
  EXPECT_THAT(lines(probes, "peer copy read direct"), ElementsAre("0/0 0/1 400.0", "0/1 0/0 200.0"));
  EXPECT_EQ(probes.findings.lines.size(), 3U);
  EXPECT_THAT(probes.findings.notes,
              ElementsAre("device_to_host_memcpy_ce left out: ERROR: ERROR: out of memory",
                          "host_to_device_memcpy_sm left out: without a result",
                          "device_to_host_memcpy_sm left out: Failed: Failed: for a reason",
                          "nvbandwidth's warning: line 2 of nv.txt: WARNING: clocks are low", HasSubstr("launch")));
  EXPECT_EQ(probes_of_text("Running host_to_device_memcpy_ce.\nx bandwidth (GB/s)\n0\n0 1.00\n").program,
            "nvbandwidth of an unknown version");
}

TEST(ImportNvbandwidthText, OldReleasesHaveNoughtBetweenAGpuAndItself) {
  EXPECT_THAT(lines(probes_of_text("Running device_to_device_memcpy_write_ce.\nmemcpy CE GPU(row) <- GPU(column) "
                                   "bandwidth (GB/s)\n  0 1\n0 0.00 276.25\n1 276.50 0.00\n"),
                    "peer copy write direct"),
              ElementsAre("0/0 0/1 276.25", "0/1 0/0 276.5"));
}

/// Where the lines "Running" are lost, as a copy of the screen has it.
TEST(ImportNvbandwidthText, TheSumNamesATestThatNothingElseNames) {
  const std::string matrix = "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n 0 1\n0 N/A 400.00\n1 200.00 N/A\n\n";
  const std::string host = "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n 0\n0 55.25\n";
  const auto probes =
      probes_of_text("nvbandwidth Version: v0.9\n" + matrix + "SUM device_to_device_memcpy_read_ce 600.00\n" + host +
                     "SUM host_to_device_memcpy_ce 55.25\n");
  EXPECT_THAT(lines(probes, "peer copy read direct"), ElementsAre("0/0 0/1 400.0", "0/1 0/0 200.0"));
  EXPECT_THAT(lines(probes, "copy pinned-to-device near"), ElementsAre("0/0  55.25"));
  EXPECT_THAT(said_by([&] { return probes_of_text("nvbandwidth Version: v0.9\n" + matrix); }),
              HasSubstr("a matrix whose test is named neither before it nor by its SUM"));
}

TEST(ImportNvbandwidthText, WhatIsCutOffIsRefusedByItsLine) {
  const auto refusal = [](const std::string& text) -> std::string {
    return said_by([&] { return probes_of_text(text); });
  };
  const std::string begin =
      "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n   0   1\n";
  EXPECT_EQ(refusal(begin + "0 N/A 400.00\n1 200.00\n"),
            "nv.txt:5: error: a row of 1 values, where there are 2 columns: is it cut off?");
  EXPECT_THAT(refusal(begin + "0 N/A 4\x99.00\n1 200.00 N/A\n"),
              HasSubstr(".00\", which is no positive number of GB/s"))
      << "not a word of JSON's";
  EXPECT_THAT(refusal(begin + "0 N/A 400.00\n"), HasSubstr("has 1 rows of 2 columns: it must be square"));
  EXPECT_EQ(refusal(begin + "0 N/A 400.00\n2 200.00 N/A\n"), "nv.txt:5: error: row 1 of the matrix is called '2'");
  const std::string whole(kNvbandwidthText);
  const std::size_t row = whole.find("55.50");
  const std::size_t sum = whole.find("SUM host_to_device_memcpy_ce 110.75");
  EXPECT_EQ(refusal(whole.substr(0, row + 2)),
            "nv.txt:13: error: host_to_device_memcpy_ce ends before its SUM: is it cut off?");
  EXPECT_EQ(refusal(whole.substr(0, row + 2) + whole.substr(row + 5)),
            "nv.txt:15: error: 110.75 is not the sum of its matrix, 110.25: is it cut off?");
  for (const std::size_t length : {2, 10, 31, 34}) {
    EXPECT_THAT(refusal(whole.substr(0, sum + length)), HasSubstr("is it cut off?")) << length;
  }
  EXPECT_THAT(refusal(whole + whole), HasSubstr("is host_to_device_memcpy_ce once more: one report after another"));
  EXPECT_EQ(refusal("Running device_to_device_memcpy_read_ce.\nx bandwidth (GB/s)\n   0   2\n"),
            "nv.txt:3: error: column 1 of the matrix is called '2'");
}

}  // namespace
}  // namespace twinlink::validate
