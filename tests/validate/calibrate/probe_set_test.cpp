#include "validate/calibrate/probe_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/validate/scratch_folder.hpp"

namespace twinlink::validate {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class ProbeSetOf : public testing::Test {
 protected:
  /// Reads both, of which the second one is `change`d.
  void read_with(const std::function<void(nlohmann::json&)>& change) const {
    nlohmann::json content = nlohmann::json::parse(
        test::read_file(std::filesystem::path(TWINLINK_SOURCE_DIR) / "tests/validate/h200/probes.json"));
    const auto first = folder_.write("first.json", content.dump());
    change(content);
    set_ = read_probe_set(std::vector{first, folder_.write("second.json", content.dump())});
  }

  test::ScratchFolder folder_;
  mutable ProbeSet set_;
};

TEST_F(ProbeSetOf, TwoFilesHasTheLinesOfBoth) {
  read_with(
      [](nlohmann::json& content) { content["lines"].erase(content["lines"].begin() + 1, content["lines"].end()); });
  ASSERT_EQ(set_.files.size(), 2U);
  EXPECT_EQ(set_.probes.back().file, 1U);
  EXPECT_EQ(set_.probes.back().line.name, set_.probes.front().line.name);
}

TEST_F(ProbeSetOf, MeasuredAndSimulatedFilesIsRefused) {
  EXPECT_THAT([&] { read_with([](nlohmann::json& content) { content["world"] = "simulated"; }); },
              ThrowsMessage<InputError>(
                  HasSubstr("second.json: error: measured and simulated probes do not belong into one platform")));
}

/// Everything that is wrong with all files is said at once.
TEST_F(ProbeSetOf, LinesThatAreNoneAreNamed) {
  const auto refusal = [&](const std::function<void(nlohmann::json&)>& change) -> std::string {
    try {
      read_with([&](nlohmann::json& content) { change(content["lines"][0]); });
    } catch (const InputError& error) {
      const std::string what = error.what();
      return what.substr(what.find("second.json: error: ") + 20);
    }
    return "";
  };
  EXPECT_EQ(refusal([](auto&) {}), "");
  EXPECT_THAT(refusal([](auto& line) { line["p95_us"] = 1, line["p5_us"] = 1.5; }),
              HasSubstr(": 1.5 us and 1 us are no percentiles"));
  EXPECT_EQ(refusal([](auto& line) { line["p95_us"] = 1, line["p5_us"] = 1; }), "");
  EXPECT_THAT(refusal([](auto& line) { line["p5_us"] = -1; }), HasSubstr("are no percentiles"));
  EXPECT_THAT(refusal([](auto& line) { line["p95_us"] = 2e9; }), HasSubstr("are no percentiles"));
  EXPECT_THAT(refusal([](auto& line) { line["time_us"] = 0; }), HasSubstr(": the time must be positive"));
  EXPECT_THAT(refusal([](auto& line) { line["gpu"] = "first"; }), HasSubstr("'first'"));
  EXPECT_THAT(refusal([](auto& line) { line["peer"] = "second"; }), HasSubstr("'second'"));
  const std::vector files{folder_.write("a.json", "{"), folder_.write("b.json", "[]"), folder_.path() / "c.json"};
  EXPECT_THAT([&] { read_probe_set(files); },
              ThrowsMessage<InputError>(testing::AllOf(HasSubstr("a.json"), HasSubstr("b.json"), HasSubstr("c.json"))));
}

TEST_F(ProbeSetOf, FilesSayWhereTheyAreFrom) {
  const auto origin = [&](const nlohmann::json& environment) {
    read_with([&](nlohmann::json& content) { content["environment"] = environment; });
    return set_.files.at(1);
  };
  const auto rank = [](const char* place, const char* name) {
    return nlohmann::json{{"place", place}, {"device", {{"name", name}}}};
  };
  const ProbeOrigin two = origin({{"date", "2026-11-21T07:00:00Z"},
                                  {"ranks",
                                   {rank("0/0", "B"),
                                    rank("0/1", "A"),
                                    rank("0/2", "B"),
                                    rank("", "C"),
                                    rank("0/3", ""),
                                    {{"place", "0/4"}},
                                    7}}});
  EXPECT_EQ(two.date, "2026-11-21");
  EXPECT_EQ(two.machine, "1 x A, 2 x B");
  EXPECT_EQ(two.devices, (std::map<std::string, std::string>{{"0/0", "B"}, {"0/1", "A"}, {"0/2", "B"}}));
  EXPECT_EQ(origin({{"platform", "mine"}, {"ranks", 3}}).machine, "simulated mine");
  EXPECT_EQ(origin(nlohmann::json::object()).machine, "");
  EXPECT_THAT(
      [&] {
        origin({{"ranks", nlohmann::json::array({rank("here", "B")})}});
      },
      ThrowsMessage<InputError>(HasSubstr("second.json: error: member 'environment.ranks[].place': ")));
}

TEST_F(ProbeSetOf, ALineThatIsThereTwiceIsRefused) {
  EXPECT_THAT([&] { read_with([](nlohmann::json& content) { content["lines"].push_back(content["lines"][0]); }); },
              ThrowsMessage<InputError>(testing::AllOf(HasSubstr("second.json: error: "), HasSubstr(": named twice"))));
}

}  // namespace
}  // namespace twinlink::validate
