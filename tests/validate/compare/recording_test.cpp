#include "validate/compare/recording.hpp"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/said_by.hpp"
#include "tests/validate/fixtures.hpp"
#include "tests/validate/import/foreign_files.hpp"
#include "tests/validate/scratch_folder.hpp"

namespace twinlink::validate {
namespace {

using test::make_result;
using test::ScratchFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ReadRecording : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const nlohmann::json& content) {
    return folder_.write(name, content.dump());
  }
  static std::string refusal(const std::filesystem::path& file) {
    return said_by<InputError>([&] { return read_recording(file); });
  }

  ScratchFolder folder_;
};

TEST_F(ReadRecording, TakesTheMediansAscending) {
  auto result = make_result("measured", "staging", {{16, 4}, {4, 1.5}, {8, 2}});
  result.series.points[0].time_us.unstable = true;
  const auto file = write("r.json", bench::to_json(result));
  const auto recording = read_recording(file);
  EXPECT_EQ(recording.file, file.string());
  EXPECT_EQ(recording.world, "measured");
  ASSERT_TRUE(recording.series.has_value());
  EXPECT_EQ(recording.series->protocol, "staging");
  ASSERT_EQ(recording.samples.size(), 3U);
  EXPECT_EQ(recording.samples[0].key.size, Bytes{4});
  EXPECT_EQ(recording.samples[0].time_us, 1.5);
  EXPECT_EQ(recording.samples[2].key.size, Bytes{16});
  EXPECT_TRUE(recording.samples[2].unstable);
  EXPECT_FALSE(recording.samples[0].unstable);
}

TEST_F(ReadRecording, TimesThatAreNotPositiveAreNamedAllAtOnce) {
  const auto file =
      write("r.json", bench::to_json(make_result("measured", "staging", {{4, 0}, {8, -1}, {16, 1}, {16, 1}})));
  EXPECT_THAT(refusal(file), AllOf(HasSubstr("r.json: error: 4: the time must be positive, but is 0 us"),
                                   HasSubstr("\n" + file.string() + ": error: 8: the time must be positive"),
                                   HasSubstr("error: 16: named twice")));
}

TEST_F(ReadRecording, AResultWithoutSizesIsRefused) {
  const auto file = write("r.json", bench::to_json(make_result("measured", "staging", {})));
  EXPECT_THAT(refusal(file), HasSubstr("r.json"));
}

TEST_F(ReadRecording, BrokenFilesAreNamed) {
  EXPECT_THAT(refusal(folder_.path() / "missing.json"), HasSubstr("missing.json"));
  EXPECT_THAT(refusal(folder_.path()), HasSubstr(folder_.path().string()));
  EXPECT_THAT(refusal(folder_.write("empty.json", "")), HasSubstr("empty.json"));
  EXPECT_THAT(refusal(folder_.write("cut.json", R"({"schema": 1, )")), HasSubstr("cut.json"));
  EXPECT_THAT(refusal(folder_.write("binary.json", std::string("\0\xff\x80", 3))), HasSubstr("binary.json"));
  EXPECT_THAT(refusal(folder_.write("array.json", "[1, 2]")), HasSubstr("array.json"));
  EXPECT_THAT(refusal(folder_.write("other.json", R"({"kind": "something else"})")), HasSubstr("other.json"));
}

TEST_F(ReadRecording, ProbesAreToldFromResultsByTheirKind) {
  auto probes = test::make_probes("measured", {{16, 4}, {4, 1.5}});
  probes.findings.notes = {"no peer access"};
  probes.findings.lines[1].time_us.unstable = true;
  const auto recording = read_recording(write("p.json", bench::to_json(probes)));
  EXPECT_FALSE(recording.series.has_value());
  EXPECT_EQ(recording.world, "measured");
  EXPECT_EQ(recording.notes, std::vector<std::string>{"no peer access"});
  ASSERT_EQ(recording.samples.size(), 2U);
  EXPECT_EQ(recording.samples[0].key, (Key{"host message", "0/0", "1/0", Bytes{16}}));
  EXPECT_EQ(recording.samples[0].time_us, 4);
  EXPECT_FALSE(recording.samples[0].unstable);
  EXPECT_TRUE(recording.samples[1].unstable);
}

TEST_F(ReadRecording, AProbeWithoutATimeIsNamedInFull) {
  const auto file = write("p.json", bench::to_json(test::make_probes("measured", {{16, 4}, {4, 0}})));
  EXPECT_THAT(refusal(file), AllOf(HasSubstr("p.json"), HasSubstr("host message"), Not(HasSubstr("16"))));
}

TEST_F(ReadRecording, TheWorldIsMeasuredOrSimulated) {
  auto result = make_result("measured", "staging", {{4, 1}});
  result.world = "imagined";
  EXPECT_THAT(refusal(write("r.json", bench::to_json(result))), AllOf(HasSubstr("r.json"), HasSubstr("imagined")));
}

TEST_F(ReadRecording, OtherToolsFilesAreImportedOnTheWay) {
  const auto curve = read_recording(folder_.write("osu.txt", test::osu_latency_75()));
  ASSERT_TRUE(curve.series.has_value());
  EXPECT_EQ(curve.world, "measured");
  EXPECT_EQ(curve.program, "osu_latency 7.5");
  EXPECT_EQ(curve.samples.size(), 3U);
  EXPECT_THAT(curve.notes, ::testing::ElementsAre(HasSubstr("means")));
  EXPECT_TRUE(read_recording(write("nccl.json", test::sendrecv_2())).series.has_value());
}

TEST_F(ReadRecording, WhatAnotherToolsFileDoesNotTellIsNoted) {
  EXPECT_THAT(read_recording(write("nv.json", test::nvbandwidth_08())).notes, ::testing::Contains(HasSubstr("--size")));
}

TEST_F(ReadRecording, TextOfNoToolIsRefused) {
  EXPECT_THAT(refusal(folder_.write("notes.txt", "64 8.01\n")), AllOf(HasSubstr("notes.txt"), HasSubstr("not JSON")));
}

TEST_F(ReadRecording, AMissingMemberIsNamed) {
  auto content = bench::to_json(make_result("measured", "staging", {{4, 1}}));
  content.erase("world");
  EXPECT_THAT(refusal(write("r.json", content)), AllOf(HasSubstr("r.json"), HasSubstr("world")));
}

}  // namespace
}  // namespace twinlink::validate
