#include "protocols/bench/results/results.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include <nlohmann/json.hpp>

#include "protocols/bench/results/build.hpp"
#include "protocols/bench/results/files.hpp"
#include "tests/protocols/bench/samples.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::bench {
namespace {

using testing::HasSubstr;

std::string refusal_of_result(const nlohmann::json& json) {
  return said_by<InputError>([&] { result_from_json(json, "r.json"); });
}

/// What is said of a good result after `spoil`.
std::string refusal_of_result_after(const std::function<void(nlohmann::json&)>& spoil) {
  nlohmann::json json = to_json(sample_result());
  spoil(json);
  return refusal_of_result(json);
}

TEST(Build, IsSaidAsTheCompilerWasTold) {
  const nlohmann::json build = describe_build();
  EXPECT_FALSE(build.at("type").get<std::string>().empty());
  const std::string flags = build.at("flags");
#ifdef NDEBUG
  EXPECT_THAT(flags, HasSubstr("-DNDEBUG"));
#else
  EXPECT_THAT(flags, testing::Not(HasSubstr("-DNDEBUG")));
#endif
#ifdef __OPTIMIZE__
  EXPECT_THAT(flags, testing::ContainsRegex("-O[123sg]"));
#endif
}

TEST(ResultFile, ReadsBackWhatWasWritten) {
  const Result written = sample_result();
  const Result read = result_from_json(to_json(written), "r.json");
  EXPECT_EQ(to_json(read), to_json(written));
  // Members that equality of JSON could hide, if both ways forgot them.
  EXPECT_EQ(read.world, "measured");
  EXPECT_EQ(read.environment, written.environment);
  EXPECT_EQ(read.series.pattern, Pattern::bandwidth);
  EXPECT_EQ(read.series.settings.chunk, 256_KiB);
  EXPECT_EQ(read.series.settings.depth, 8);
  EXPECT_EQ(read.series.settings.timeout, Seconds{30});
  EXPECT_EQ(read.series.window, 64);
  EXPECT_EQ(read.series.cold_us, 181.5);
  ASSERT_EQ(read.series.points.size(), 2U);
  EXPECT_EQ(read.series.points[0].time_us, written.series.points[0].time_us);
  EXPECT_EQ(read.series.points[0].samples_us, written.series.points[0].samples_us);
  EXPECT_EQ(read.series.points[1].path, "peer copy, directly");
  EXPECT_TRUE(read.series.points[1].verified);
}

TEST(ResultFile, HasTheMembersThatReadersRelyOn) {
  const nlohmann::json json = to_json(sample_result());
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["kind"], "twinlink-result");
  EXPECT_EQ(json["points"][1]["bytes"], 65536);
  EXPECT_EQ(json["points"][1]["time_us"], 20.25);
  EXPECT_EQ(json["points"][1]["bandwidth_MBps"], 3236.346);
  EXPECT_EQ(json["points"][0]["unstable"], true);
  EXPECT_EQ(json["points"][1]["unstable"], false);
}

TEST(ResultFile, APointThatAnEarlierFileCallsDisturbedIsUnstable) {
  nlohmann::json json = to_json(sample_result());
  for (nlohmann::json& point : json["points"]) point.erase("unstable");
  EXPECT_FALSE(result_from_json(json, "r.json").series.points[1].time_us.unstable);
  json["points"][1]["left_out"] = 7;
  json["points"][1]["disturbed"] = true;
  EXPECT_TRUE(result_from_json(json, "r.json").series.points[1].time_us.unstable);
}

TEST(ResultFile, KeepsEveryDigit) {
  Result result = sample_result();
  result.series.cold_us = 0.1 + 0.2;
  const auto text = to_json(result).dump();
  EXPECT_EQ(result_from_json(nlohmann::json::parse(text), "r.json").series.cold_us, 0.1 + 0.2);
}

TEST(ResultFile, NamesAMissingMember) {
  const nlohmann::json good = to_json(sample_result());
  for (const auto& item : good.items()) {
    EXPECT_EQ(refusal_of_result_after([&](nlohmann::json& json) { json.erase(item.key()); }),
              "r.json: error: member '" + item.key() + "' is missing");
  }
  for (const auto& item : good["points"][1].items()) {
    if (item.key() == "unstable") continue;  // which earlier files do not have
    EXPECT_EQ(refusal_of_result_after([&](nlohmann::json& json) { json["points"][1].erase(item.key()); }),
              "r.json: error: member 'points[1]." + item.key() + "' is missing");
  }
  for (const auto& item : good["settings"].items()) {
    EXPECT_EQ(refusal_of_result_after([&](nlohmann::json& json) { json["settings"].erase(item.key()); }),
              "r.json: error: member 'settings." + item.key() + "' is missing");
  }
}

TEST(ResultFile, TellsNoMoreThanAnImportedCurveDoes) {
  const nlohmann::json json = to_json(imported_result());
  for (const char* name : {"command", "protocol", "preset", "from", "to", "settings", "window", "cold_us"}) {
    EXPECT_FALSE(json.contains(name)) << name;
  }
  EXPECT_EQ(json["points"][0],
            (nlohmann::json{{"bytes", 1024}, {"time_us", 2.0}, {"bandwidth_MBps", 512.0}, {"verified", false}}));
  const Result read = result_from_json(json, "r.json");
  EXPECT_EQ(to_json(read), json);
  EXPECT_FALSE(read.series.told.settings);
  EXPECT_FALSE(read.series.told.window);
  EXPECT_FALSE(read.series.told.cold_us);
  EXPECT_EQ(read.series.points[0].time_us.n, 0U);
  EXPECT_EQ(read.notes, std::vector<std::string>{"means"});
}

TEST(ResultFile, WhatAnImportedCurveTellsMustBeWhole) {
  nlohmann::json json = to_json(imported_result());
  json["points"][0]["n"] = 3;
  EXPECT_EQ(refusal_of_result(json), "r.json: error: member 'points[0].min_us' is missing");
  json = to_json(imported_result());
  json["settings"] = {{"depth", 1}};
  EXPECT_EQ(refusal_of_result(json), "r.json: error: member 'settings.chunk_bytes' is missing");
  json = to_json(imported_result());
  json["points"][0].erase("verified");
  EXPECT_EQ(refusal_of_result(json), "r.json: error: member 'points[0].verified' is missing");
}

TEST(ResultFile, WithoutItsOriginAnImportedCurveIsNone) {
  nlohmann::json json = to_json(imported_result());
  json["environment"].erase("origin");
  EXPECT_THAT(refusal_of_result(json), HasSubstr("is missing"));
}

TEST(ResultFile, KeepsPresetAndNotes) {
  Result result = sample_result();
  result.series.preset = "mvapich2";
  result.notes = {"one", "two"};
  const Result read = result_from_json(to_json(result), "r.json");
  EXPECT_EQ(read.series.preset, "mvapich2");
  EXPECT_EQ(read.notes, result.notes);
  EXPECT_TRUE(read.series.told.settings);
  EXPECT_EQ(refusal_of_result_after([](nlohmann::json& json) { json["notes"] = {1}; }),
            "r.json: error: member 'notes' holds something that is no text");
}

TEST(ResultFile, NamesAMemberOfTheWrongType) {
  const nlohmann::json good = to_json(sample_result());
  for (const auto& item : good.items()) {
    EXPECT_THAT(refusal_of_result_after([&](nlohmann::json& json) { json[item.key()] = nullptr; }),
                HasSubstr("r.json: error: member '" + item.key() + "' is no "));
  }
  for (const auto& item : good["points"][0].items()) {
    EXPECT_THAT(refusal_of_result_after([&](nlohmann::json& json) { json["points"][0][item.key()] = nullptr; }),
                HasSubstr("r.json: error: member 'points[0]." + item.key() + "' "));
  }
  EXPECT_EQ(refusal_of_result_after([](nlohmann::json& json) { json["points"][0] = 3; }),
            "r.json: error: member 'points[0]' is no object");
  EXPECT_EQ(refusal_of_result_after([](nlohmann::json& json) { json["points"][0]["samples_us"][1] = "x"; }),
            "r.json: error: member 'points[0].samples_us' holds something that is no number");
}

TEST(ResultFile, NamesAWrongValue) {
  EXPECT_EQ(refusal_of_result_after([](nlohmann::json& json) { json["points"][0]["bytes"] = -4; }),
            "r.json: error: member 'points[0].bytes' is no whole number from 0 on");
  EXPECT_EQ(refusal_of_result_after([](nlohmann::json& json) { json["points"][0]["bytes"] = 4.5; }),
            "r.json: error: member 'points[0].bytes' is no whole number from 0 on");
  EXPECT_EQ(refusal_of_result_after([](nlohmann::json& json) { json["window"] = 1ULL << 40U; }),
            "r.json: error: member 'window' is larger than 2147483647");
  EXPECT_EQ(refusal_of_result_after([](nlohmann::json& json) { json["world"] = "imagined"; }),
            "r.json: error: member 'world' is 'imagined', but must be 'simulated' or 'measured'");
  EXPECT_EQ(refusal_of_result_after([](nlohmann::json& json) { json["pattern"] = "ring"; }),
            "r.json: error: member 'pattern' is wrong: unknown pattern 'ring' (there are: pingpong bandwidth "
            "bidirectional copy)");
  EXPECT_EQ(refusal_of_result_after([](nlohmann::json& json) { json["schema"] = 2; }),
            "r.json: error: member 'schema' is 2, but this program reads schema 1");
  for (const auto& wrong : nlohmann::json::array({5, nlohmann::json::object(), {{"a", 1}, {"b", 2}}})) {
    EXPECT_EQ(refusal_of_result_after([&](nlohmann::json& json) { json["counters"] = {wrong}; }),
              "r.json: error: member 'counters' holds something that is no counter");
  }
  EXPECT_EQ(refusal_of_result_after([](nlohmann::json& json) { json["kind"] = "twinlink-probe"; }),
            "r.json: error: member 'kind' is 'twinlink-probe', where 'twinlink-result' is expected");
}

TEST(ResultFile, HasFiguresOfNoFewerThanOneRound) {
  EXPECT_EQ(refusal_of_result_after([](nlohmann::json& json) { json["points"][0]["n"] = 0; }),
            "r.json: error: member 'points[0].n' is 0: figures of no rounds");
}

TEST(ResultFile, ReadsBackASampleOfAnyLength) {
  Result written = sample_result();
  written.series.points[0].samples_us = {1e305, 1e11, 0.00012};
  const Result read = result_from_json(nlohmann::json::parse(to_text(to_json(written))), "r.json");
  EXPECT_EQ(read.series.points[0].samples_us, (std::vector{1e305, 1e11, 0.0001}));
}

TEST(ResultFile, NamesAnUnknownMember) {
  EXPECT_EQ(refusal_of_result_after([](nlohmann::json& json) { json["bandwith"] = 1; }),
            "r.json: error: member 'bandwith' is unknown");
  EXPECT_EQ(refusal_of_result_after([](nlohmann::json& json) { json["points"][1]["Bytes"] = 1; }),
            "r.json: error: member 'points[1].Bytes' is unknown");
}

TEST(ResultFile, IsAnObject) {
  EXPECT_EQ(refusal_of_result(nlohmann::json::array()), "r.json: error: is no JSON object");
}

// ---- files ----------------------------------------------------------------------------------------------------------

class ResultOnDisk : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) / (std::string("twinlink-results-") + test->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// What reading `content` is refused with.
  std::string refusal_of_file(const std::string& content) {
    const auto file = folder_ / "r.json";
    std::ofstream(file, std::ios::binary) << content;
    return said_by<InputError>([&] { read_json(file); });
  }

  std::filesystem::path folder_;
};

TEST_F(ResultOnDisk, ReadsBackAndLeavesNothingElse) {
  write_json(sample_result(), folder_ / "r.json");
  EXPECT_EQ(to_json(read_json(folder_ / "r.json")), to_json(sample_result()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(ResultOnDisk, HasTheSameBytesEveryTime) {
  const auto bytes_of = [&](const char* name) {
    write_json(sample_result(), folder_ / name);
    std::ostringstream bytes;
    bytes << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
    return bytes.str();
  };
  EXPECT_EQ(bytes_of("a.json"), bytes_of("b.json"));
}

TEST_F(ResultOnDisk, ReplacesAnOlderFileWhole) {
  std::ofstream(folder_ / "r.json") << std::string(100'000, 'x');
  write_json(sample_result(), folder_ / "r.json");
  EXPECT_EQ(read_json(folder_ / "r.json").series.points.size(), 2U);
}

TEST_F(ResultOnDisk, SaysWhyItCannotBeWritten) {
  EXPECT_THAT(said_by<Error>([&] { write_json(sample_result(), folder_ / "missing" / "r.json"); }),
              HasSubstr("missing/r.json: write failed: No such file or directory"));
}

TEST_F(ResultOnDisk, RefusesWhatIsNoJson) {
  EXPECT_THAT(refusal_of_file(""), HasSubstr("r.json: error: not JSON"));
  EXPECT_THAT(refusal_of_file("{\"schema\": 1,"), HasSubstr("r.json: error: not JSON: parse error at line 1"));
  EXPECT_THAT(refusal_of_file(std::string("\0\xff\x80", 3)), HasSubstr("r.json: error: not JSON"));
  EXPECT_THAT(refusal_of_file(std::string(100'000, '[')), HasSubstr("r.json: error: nested deeper than 64 levels"));
}

TEST_F(ResultOnDisk, MayBeNestedInSixtyFourLevelsAndNoMore) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + "1" + std::string(levels, ']'); };
  EXPECT_THAT(refusal_of_file(nested(64)), HasSubstr("r.json: error: is no JSON object"));
  EXPECT_THAT(refusal_of_file(nested(65)), HasSubstr("r.json: error: nested deeper than 64 levels"));
}

TEST_F(ResultOnDisk, RefusesWhatIsNoFile) {
  EXPECT_THROW(read_json(folder_), InputError);
  EXPECT_THROW(read_json(folder_ / "missing.json"), InputError);
}

}  // namespace
}  // namespace twinlink::bench
