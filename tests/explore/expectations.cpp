#include "tests/explore/expectations.hpp"

#include <gtest/gtest.h>

namespace twinlink::explore {

ExploreResult clean_exploration_of(const Scenario& scenario, const Limits& limits) {
  ExploreResult result = explore(scenario, limits);
  EXPECT_TRUE(result.clean()) << to_string(result);
  EXPECT_EQ(result.ambiguous, 0U);
  return result;
}

Finding finding_with(const ExploreResult& result, const std::string& words) {
  for (const auto* findings : {&result.violations, &result.deadlocks}) {
    for (const Finding& finding : *findings) {
      if (finding.what.find(words) != std::string::npos) return finding;
    }
  }
  ADD_FAILURE() << "no finding says '" << words << "'\n" << to_string(result);
  return {};
}

}  // namespace twinlink::explore
