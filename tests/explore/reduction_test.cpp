// The reduction leaves out nothing that a rank can tell: small jobs explored with it, without it, by looks, by bytes,
// and the smallest ones without merging any states.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/explore/bodies.hpp"
#include "tests/explore/small_jobs.hpp"

namespace twinlink::explore {
namespace {

Scenario chunks(std::string_view protocol, Bytes eager_limit) {
  Scenario scenario =
      exchange_of({.protocol = protocol, .forth = 1, .back = 1, .size = 60_B, .settings = {.chunk = 30_B, .depth = 2}});
  scenario.eager_limit = eager_limit;
  return scenario;
}

struct Small {
  std::string name;
  Scenario scenario;
  bool tiny = false;  ///< can be explored without merging states
};

std::vector<Small> small_scenarios() {
  return {{"messages_of_two_tags", messages_of_two_tags(), true},
          {"messages_of_one_tag", messages_of_one_tag(), true},
          {"two_senders", two_senders(), true},
          {"copies_of_one_stream", two_copies(Stream{0}, Stream{0}, true), true},
          {"copies_of_two_streams", two_copies(Stream{0}, Stream{1}, false), true},
          {"eager", both_send_first(8_B, 8_B), true},
          {"stuck", both_send_first(9_B, 8_B), true},
          {"read_before_write", overwrites_what_a_peer_reads(true), true},
          {"torn_read", overwrites_what_a_peer_reads(false), true},
          {"put", put_and_answer(Reuse::after_the_put), true},
          {"put_until_the_answer", put_and_answer(Reuse::after_the_answer), true},
          {"put_from_what_changes", put_and_answer(Reuse::at_once), true},
          {"copy_then_put", put_behind_a_copy(false)},
          {"put_before_copy_in_span", put_behind_a_copy(true)},
          {"host", chunks("host", 1_KiB)},
          {"host_posted", chunks("host", 0_B)},
          {"staging", chunks("staging", 1_KiB)},
          {"staging_posted", chunks("staging", 0_B)},
          {"gpudirect_v2", exchange_of({.protocol = "gpudirect-v2", .settings = {.depth = 1}})}};
}

class ReductionOf : public testing::TestWithParam<Small> {};

TEST_P(ReductionOf, LosesNoEndingAndNoFinding) {
  const ExploreResult reduced = explore(GetParam().scenario, {.likeness = Likeness::looks});
  std::vector<Limits> others{{.reduction = Reduction::none, .likeness = Likeness::looks},
                             {.likeness = Likeness::bytes, .compare_looks = true}};
  if (GetParam().tiny) {
    others.push_back({.reduction = Reduction::none, .merge = false});
    others.push_back({.merge = false});
  }
  for (const Limits& limits : others) {
    const ExploreResult other = explore(GetParam().scenario, limits);
    EXPECT_TRUE(other.complete);
    EXPECT_EQ(endings_of(reduced), endings_of(other));
    EXPECT_EQ(findings_of(reduced), findings_of(other));
    EXPECT_LE(reduced.states, other.states);
    EXPECT_EQ(other.ambiguous, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, ReductionOf, testing::ValuesIn(small_scenarios()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace twinlink::explore
