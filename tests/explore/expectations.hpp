// What tests expect of explorations.
#pragma once

#include <string>

#include "tests/explore/explorer/scenario.hpp"

namespace twinlink::explore {

/// Explores; expects that nothing is found, and that states that look alike go on alike where that is compared.
ExploreResult clean_exploration_of(const Scenario& scenario, const Limits& limits = {.likeness = Likeness::looks});

/// The first finding whose words contain `words`; a failure of the test, and an empty one, if there is none.
Finding finding_with(const ExploreResult& result, const std::string& words);

}  // namespace twinlink::explore
