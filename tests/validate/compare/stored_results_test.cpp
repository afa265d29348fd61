#include "tests/validate/compare/stored_results.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/validate/fixtures.hpp"
#include "tests/validate/scratch_folder.hpp"

namespace twinlink::validate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(StoredResults, FollowTheRules) { EXPECT_THAT(test::check_stored_results(TWINLINK_VALIDATE_DATA), IsEmpty()); }

TEST(StoredResults, EveryRuleIsChecked) {
  const test::ScratchFolder folder;
  const auto store = [&](const std::string& name, const bench::Result& result) {
    bench::write_json(result, folder.path() / name);
  };
  auto bare = test::make_result("measured", "staging", {{4, 1}});
  bare.command.clear();
  bare.environment = nlohmann::json::object();
  auto unverified = test::make_result("measured", "staging", {{4, 1}, {8, 2}});
  unverified.series.points[1].verified = false;
  store("bare.json", bare);
  store("good.json", test::make_result("measured", "staging", {{4, 1}}));
  store("simulated.json", test::make_result("simulated", "staging", {{4, 1}}));
  store("unlisted.json", test::make_result("measured", "staging", {{4, 1}}));
  store("unverified.json", unverified);
  std::ignore = folder.write("README.md",
                             "| file | machine |\n|---|---|\n| `good.json` | x |\n| bare.json | x |\n"
                             "| `simulated.json` | x |\n| `unverified.json` | x |\n| `gone.json` | x |\n");

  EXPECT_THAT(test::check_stored_results(folder.path()),
              ElementsAre("bare.json: no command line", "bare.json: no environment",
                          "gone.json: in README.md, but no such file", "simulated.json: not measured",
                          "unlisted.json: no row in README.md", "unverified.json: not verified"));
}

}  // namespace
}  // namespace twinlink::validate
