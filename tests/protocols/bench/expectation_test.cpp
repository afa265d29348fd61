#include "protocols/bench/measure/expectation.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <utility>

#include <nlohmann/json.hpp>

#include "protocols/bench/results/files.hpp"
#include "tests/protocols/bench/samples.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::bench {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class ExpectationFile : public testing::Test {
 protected:
  ExpectationFile() {
    result_.world = "simulated";
    result_.environment = nlohmann::json{{"platform", "example"}};
    const Series& series = result_.series;
    plan_ = {
        .pattern = series.pattern, .sizes = {4_B, 8_B, 64_KiB}, .window = series.window, .settings = series.settings};
  }
  void TearDown() override { fs::remove(file_); }

  [[nodiscard]] Expectation read() const {
    write_json(result_, file_);
    return read_expectation(file_, "gpudirect-v1", plan_);
  }
  /// What is said of a file for which the plan was spoilt, or of one that was.
  [[nodiscard]] std::string refusal() const {
    return said_by<InputError>([&] { return read(); });
  }

  fs::path file_ = fs::path(testing::TempDir()) /
                   (std::string("twinlink-") + testing::UnitTest::GetInstance()->current_test_info()->name());
  Result result_ = sample_result();
  Plan plan_{};
};

TEST_F(ExpectationFile, GivesAllItsTimes) {
  const Expectation expectation = read();
  EXPECT_EQ(expectation.file, file_.string());
  EXPECT_EQ(expectation.platform, "example");
  EXPECT_THAT(expectation.points, testing::ElementsAre(ExpectedTime{4_B, 2.5}, ExpectedTime{64_KiB, 20.25}));
  EXPECT_EQ(expectation.find(8_B), nullptr);
  EXPECT_EQ(expectation.find(64_KiB)->time_us, 20.25);
}

TEST_F(ExpectationFile, MustBeSimulated) {
  result_.world = "measured";
  EXPECT_THAT(refusal(), AllOf(HasSubstr(file_.string()), HasSubstr("only a simulated result is an expectation")));
}

TEST_F(ExpectationFile, MustBeOfTheSameCurve) {
  const auto refused = [this](const std::function<void(Series&)>& spoil) {
    const Series good = result_.series;
    spoil(result_.series);
    std::string said = refusal();
    result_.series = good;
    return said;
  };
  EXPECT_THAT(refused([](Series& s) { s.protocol = "host"; }),
              HasSubstr("error: no expectation of this run: the protocol is host there and gpudirect-v1 here"));
  EXPECT_THAT(refused([](Series& s) { s.pattern = Pattern::pingpong; }), HasSubstr("the pattern is pingpong there"));
  EXPECT_THAT(refused([](Series& s) { s.window = 16; }), HasSubstr("the window is 16 there and 64 here"));
  EXPECT_THAT(refused([](Series& s) { s.settings.chunk = 1_MiB; }), HasSubstr("the chunk is 1M there and 256K here"));
  EXPECT_THAT(refused([](Series& s) { s.settings.depth = 2; }), HasSubstr("the depth is 2 there and 8 here"));
  EXPECT_THAT(refused([](Series& s) {
                s.settings.options = {{"buffers", "shared"}};
              }),
              HasSubstr("the set of options is buffers=shared there and defaults here"));
  EXPECT_THAT(refused([](Series& s) { s.facts.packing.layout = Layout::vector(8_B, 16_B); }),
              HasSubstr("layout=vector:8,16 pack=kernel there and defaults here"));
  EXPECT_THAT(refused([](Series& s) { s.points.front().time_us.median = 0; }), HasSubstr("4: 0 us is no time"));
  EXPECT_THAT(refused([](Series& s) { s.from = "0/3"; }), "nothing was refused");
}

TEST_F(ExpectationFile, MustHaveTheSameOtherPairs) {
  const Settings settings{.chunk = 64_KiB, .depth = 2};
  result_.series.beside = {{.protocol = "staging", .settings = settings, .from = "0/2", .to = "0/3"}};
  EXPECT_THAT(refusal(), HasSubstr("what runs beside it is staging:chunk=64K:depth=2 there and nothing here"));
  plan_.beside = {{.first = RankId{5}, .second = RankId{4}, .protocol = "staging", .settings = settings}};
  EXPECT_THAT(refusal(), "nothing was refused") << "wherever";
  plan_.beside[0].settings.depth = 3;
  EXPECT_THAT(refusal(), HasSubstr("depth=2 there and staging:chunk=64K:depth=3 here"));
}

TEST_F(ExpectationFile, MustHaveASizeOfTheRun) {
  plan_.sizes = {8_B, 16_B};
  EXPECT_THAT(refusal(), HasSubstr("holds none of the sizes of this run"));
}

TEST_F(ExpectationFile, MustNameItsPlatform) {
  result_.environment = nlohmann::json::object();
  EXPECT_THAT(refusal(), HasSubstr("member 'environment.platform' is missing"));
}

TEST_F(ExpectationFile, MustBeAResult) {
  EXPECT_THROW(read_expectation(file_, "gpudirect-v1", plan_), InputError) << "there is no such file";
  write_json_file(file_, {{"kind", "twinlink-probe"}, {"schema", 1}});
  EXPECT_THROW(read_expectation(file_, "gpudirect-v1", plan_), InputError);
}

TEST(Expectation, ReadsBackWhatWasWritten) {
  // A third has no finite decimal form: the number must survive the text all the same.
  const Expectation written{.file = "s.json", .platform = "example", .points = {{4_B, 1.0 / 3}, {64_KiB, 20}}};
  const nlohmann::json environment{{"expected", nlohmann::json::parse(to_text(to_json(written)))}};
  const auto read = expectation_of(environment, "m.json");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->file, "s.json");
  EXPECT_EQ(read->platform, "example");
  EXPECT_EQ(read->points, written.points);
  EXPECT_FALSE(expectation_of({{"host", "a"}}, "m.json").has_value());
}

TEST(Expectation, AWrongMemberIsNamed) {
  const auto refused = [](nlohmann::json expected) -> std::string {
    return said_by<InputError>([&] { expectation_of({{"expected", std::move(expected)}}, "m.json"); });
  };
  const auto with_point = [](nlohmann::json point) {
    return nlohmann::json{{"file", "s"}, {"platform", "p"}, {"points", nlohmann::json::array({std::move(point)})}};
  };
  EXPECT_THAT(refused(3), HasSubstr("m.json: error: member 'environment.expected' is no object"));
  EXPECT_THAT(refused({{"file", "s"}}), HasSubstr("'environment.expected.platform' is missing"));
  EXPECT_THAT(refused({{"file", "s"}, {"platform", "p"}, {"points", 1}}), HasSubstr("points' is no array"));
  for (const nlohmann::json& point :
       {nlohmann::json(4), nlohmann::json::array({4}), nlohmann::json::array({-4, 1.0}),
        nlohmann::json::array({4, "1"}), nlohmann::json::array({4, 0}), nlohmann::json::array({4, 1, 1})}) {
    EXPECT_THAT(refused(with_point(point)), HasSubstr("points' holds something")) << point;
  }
}

}  // namespace
}  // namespace twinlink::bench
