// The handshake inside cuda-ipc: up to seven messages each way, in several orders, and all states that its two ends can
// end in. tests/protocols/ipc_handshake_test.cpp runs the two machines alone, and has what they end in.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/explore/bodies.hpp"
#include "tests/explore/cuda_ipc_jobs.hpp"
#include "tests/explore/expectations.hpp"
#include "tests/protocols/handshake_exploration.hpp"
#include "tests/support/test_name.hpp"

namespace twinlink::explore {
namespace {

using handshake::Fidelity;
using Plan = std::vector<Sends>;
using Endings = std::set<std::string>;

/// First all messages of one rank, one by one, and then all of the other; each rank begins once.
std::vector<Plan> one_after_the_other() {
  std::vector<Plan> plans;
  for (const int first : {1, 5, 6, 7}) {
    for (const int second : {0, 1, 7}) {
      for (const bool reversed : {false, true}) {
        Plan plan = times(first, {reversed ? Sends{0, 1} : Sends{1, 0}});
        const Plan then = times(second, {reversed ? Sends{1, 0} : Sends{0, 1}});
        plan.insert(plan.end(), then.begin(), then.end());
        plans.push_back(plan);
      }
    }
  }
  return plans;
}

/// Both at the same time or in turn, one message of each at a time, or several at once.
std::vector<Plan> both_together() {
  return {times(1, {{1, 1}}),         times(7, {{1, 1}}), times(7, {{1, 0}, {0, 1}}),
          times(7, {{0, 1}, {1, 0}}), {{2, 2}, {1, 1}},   {{7, 1}}};
}

Endings endings_of(const std::vector<Plan>& plans, IpcJob job) {
  Endings endings;
  for (const Plan& plan : plans) {
    job.exchanges = plan;
    const ExploreResult result = clean_exploration_of(scenario_of(job));
    for (const auto& [ending, count] : result.endings) endings.insert(ending);
  }
  return endings;
}

std::string to_text(const Endings& endings) {
  std::string text;
  for (const std::string& ending : endings) text += " (" + ending + ")";
  return text;
}

/// What two machines alone can end in, in the words of an ending.
Endings endings_of_machines(const IpcJob& job) {
  const handshake::Exploration all({.fidelity = job.fidelity, .peer_access = job.peer_access, .late = job.late});
  Endings endings;
  for (const auto& [first, second] : all.endings()) {
    endings.insert(std::string(to_string(first)) + " | " + std::string(to_string(second)));
  }
  return endings;
}

/// One line for each answer to: is there peer access, and which ranks are late? "access, late 01: (ACKED | OK)".
std::string endings_of(Fidelity fidelity, Bytes eager) {
  std::string text;
  for (const bool access : {true, false}) {
    for (const auto& late : {std::array{false, false}, std::array{false, true}, std::array{true, true}}) {
      const IpcJob job{.fidelity = fidelity, .peer_access = access, .late = late, .eager = eager};
      Endings endings = endings_of(one_after_the_other(), job);
      endings.merge(endings_of(both_together(), job));
      text += std::string(access ? "access" : "none") + ", late " + (late[0] ? "1" : "0") + (late[1] ? "1" : "0") +
              ":" + to_text(endings) + "\n";
      if (eager > Bytes{}) continue;
      // With headers, which are answered, each end receives all that the other one says of the handshake. So it must
      // end in a state that the machines alone can end in.
      const Endings possible = endings_of_machines(job);
      EXPECT_TRUE(std::ranges::includes(possible, endings)) << text << "the machines:" << to_text(possible);
    }
  }
  return text;
}

struct Expected {
  Fidelity fidelity;
  Bytes eager;
  std::string_view endings;

  friend void PrintTo(const Expected& expected, std::ostream* out) {
    *out << to_string(expected.fidelity) << ", eager " << format_size(expected.eager);
  }
};

/// Computed by the explorer, and read by people. The first rank's state stands first.
///
/// With headers, which wait for an answer: BAD beside INIT or SENT: after five requests to a peer that is late a rank
/// gives up. SENT beside BAD: a refusal that nobody sends. Both INIT: one asked at most five times, and the other never
/// sent. A late rank that sends before it receives the request is not late.
///
/// Small messages wait for no answer, so all may be over before a rank receives the answer to its request: it stays
/// SENT, although the peer has acknowledged, is not ready or, in the repaired handshake too, has refused.
constexpr std::array kExpected{
    Expected{Fidelity::design, 0_B,
             "access, late 00: (ACKED | OK) (OK | ACKED) (OK | OK)\n"
             "access, late 01: (ACKED | OK) (BAD | INIT) (BAD | SENT) (INIT | INIT) (OK | OK)\n"
             "access, late 11: (ACKED | OK) (BAD | INIT) (BAD | SENT) (INIT | BAD) (INIT | INIT) (OK | ACKED) (OK | OK)"
             " (SENT | BAD)\n"
             "none, late 00: (BAD | BAD) (BAD | SENT) (SENT | BAD)\n"
             "none, late 01: (BAD | BAD) (BAD | INIT) (BAD | SENT) (INIT | INIT)\n"
             "none, late 11: (BAD | BAD) (BAD | INIT) (BAD | SENT) (INIT | BAD) (INIT | INIT) (SENT | BAD)\n"},
    Expected{Fidelity::openmpi_4_1, 0_B,
             "access, late 00: (ACKED | ACKED)\n"
             "access, late 01: (ACKED | ACKED) (BAD | INIT) (BAD | SENT) (INIT | INIT)\n"
             "access, late 11: (ACKED | ACKED) (BAD | INIT) (BAD | SENT) (INIT | BAD) (INIT | INIT) (SENT | BAD)\n"
             "none, late 00: (BAD | SENT) (SENT | BAD)\n"
             "none, late 01: (BAD | INIT) (BAD | SENT) (INIT | INIT) (SENT | BAD)\n"
             "none, late 11: (BAD | INIT) (BAD | SENT) (INIT | BAD) (INIT | INIT) (SENT | BAD)\n"},
    Expected{Fidelity::openmpi_5, 0_B,
             "access, late 00: (ACKED | ACKED)\n"
             "access, late 01: (ACKED | ACKED)\n"
             "access, late 11: (ACKED | ACKED)\n"
             "none, late 00: (BAD | SENT) (SENT | BAD)\n"
             "none, late 01: (BAD | SENT) (SENT | BAD)\n"
             "none, late 11: (BAD | SENT) (SENT | BAD)\n"},
    Expected{
        Fidelity::repaired, 0_B,
        "access, late 00: (ACKED | OK) (OK | ACKED) (OK | OK)\n"
        "access, late 01: (ACKED | OK) (BAD | BAD) (BAD | INIT) (INIT | INIT) (OK | OK)\n"
        "access, late 11: (ACKED | OK) (BAD | BAD) (BAD | INIT) (INIT | BAD) (INIT | INIT) (OK | ACKED) (OK | OK)\n"
        "none, late 00: (BAD | BAD)\n"
        "none, late 01: (BAD | BAD) (BAD | INIT) (INIT | INIT)\n"
        "none, late 11: (BAD | BAD) (BAD | INIT) (INIT | BAD) (INIT | INIT)\n"},
    Expected{Fidelity::design, 256_B,
             "access, late 00: (ACKED | ACKED) (ACKED | OK) (ACKED | SENT) (OK | ACKED) (OK | OK) (SENT | ACKED)\n"
             "access, late 01: (ACKED | ACKED) (ACKED | OK) (ACKED | SENT) (OK | OK) (SENT | INIT)\n"
             "access, late 11: (ACKED | ACKED) (ACKED | OK) (ACKED | SENT) (INIT | SENT) (OK | ACKED) (OK | OK)"
             " (SENT | ACKED) (SENT | INIT)\n"
             "none, late 00: (BAD | BAD) (BAD | SENT) (SENT | BAD)\n"
             "none, late 01: (BAD | BAD) (BAD | SENT) (SENT | INIT)\n"
             "none, late 11: (BAD | BAD) (BAD | SENT) (INIT | SENT) (SENT | BAD) (SENT | INIT)\n"},
    Expected{Fidelity::openmpi_4_1, 256_B,
             "access, late 00: (ACKED | ACKED) (ACKED | SENT) (SENT | ACKED)\n"
             "access, late 01: (ACKED | ACKED) (ACKED | SENT) (SENT | ACKED) (SENT | INIT)\n"
             "access, late 11: (ACKED | ACKED) (ACKED | SENT) (INIT | SENT) (SENT | ACKED) (SENT | INIT)\n"
             "none, late 00: (BAD | SENT) (SENT | BAD)\n"
             "none, late 01: (BAD | SENT) (SENT | BAD) (SENT | INIT)\n"
             "none, late 11: (BAD | SENT) (INIT | SENT) (SENT | BAD) (SENT | INIT)\n"},
    Expected{Fidelity::openmpi_5, 256_B,
             "access, late 00: (ACKED | ACKED) (ACKED | SENT) (SENT | ACKED)\n"
             "access, late 01: (ACKED | ACKED) (ACKED | SENT) (SENT | ACKED)\n"
             "access, late 11: (ACKED | ACKED) (ACKED | SENT) (SENT | ACKED)\n"
             "none, late 00: (BAD | SENT) (SENT | BAD)\n"
             "none, late 01: (BAD | SENT) (SENT | BAD)\n"
             "none, late 11: (BAD | SENT) (SENT | BAD)\n"},
    Expected{Fidelity::repaired, 256_B,
             "access, late 00: (ACKED | ACKED) (ACKED | OK) (ACKED | SENT) (OK | ACKED) (OK | OK) (SENT | ACKED)\n"
             "access, late 01: (ACKED | ACKED) (ACKED | OK) (ACKED | SENT) (OK | OK) (SENT | INIT)\n"
             "access, late 11: (ACKED | ACKED) (ACKED | OK) (ACKED | SENT) (INIT | SENT) (OK | ACKED) (OK | OK)"
             " (SENT | ACKED) (SENT | INIT)\n"
             "none, late 00: (BAD | BAD) (BAD | SENT) (SENT | BAD)\n"
             "none, late 01: (BAD | BAD) (BAD | SENT) (SENT | INIT)\n"
             "none, late 11: (BAD | BAD) (BAD | SENT) (INIT | SENT) (SENT | BAD) (SENT | INIT)\n"},
};

class ExploredHandshake : public testing::TestWithParam<Expected> {};

TEST_P(ExploredHandshake, EndsInTheseStatesOnly) {
  if (!kFibersCanGoBack) GTEST_SKIP() << "too many states where each step back costs an execution";
  EXPECT_EQ(endings_of(GetParam().fidelity, GetParam().eager), GetParam().endings);
}

/// Every byte of stacks and heaps is compared here: that is what allows to compare looks above.
TEST_P(ExploredHandshake, GoesOnAlikeWhereItLooksAlike) {
  const Limits limits{.likeness = Likeness::bytes, .compare_looks = true};
  const Plan plan = kFibersCanGoBack ? Plan{{1, 0}, {1, 0}, {0, 1}} : Plan{{1, 0}};
  clean_exploration_of(
      scenario_of(
          {.fidelity = GetParam().fidelity, .exchanges = plan, .late = {false, true}, .eager = GetParam().eager}),
      limits);
}

INSTANTIATE_TEST_SUITE_P(Of, ExploredHandshake, testing::ValuesIn(kExpected), [](const auto& param) {
  return test_name(to_string(param.param.fidelity)) +
         (param.param.eager == Bytes{} ? "_with_headers" : "_with_small_messages");
});

}  // namespace
}  // namespace twinlink::explore
