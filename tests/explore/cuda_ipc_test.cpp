// The cuda-ipc protocol through all interleavings, with every fidelity of its handshake.
#include <gmock/gmock.h>

#include <string>

#include "tests/explore/bodies.hpp"
#include "tests/explore/cuda_ipc_jobs.hpp"
#include "tests/explore/expectations.hpp"
#include "tests/support/test_name.hpp"

namespace twinlink::explore {
namespace {

using handshake::Fidelity;

ExploreResult clean_exploration_of(const IpcJob& job, const Limits& limits = {.likeness = Likeness::looks}) {
  SCOPED_TRACE(std::string(to_string(job.fidelity)));
  return clean_exploration_of(scenario_of(job), limits);
}

/// The states in which both ends may be when all is over: "(OK | ACKED)".
std::string endings_of(const IpcJob& job) {
  std::string text;
  for (const auto& [ending, count] : clean_exploration_of(job).endings) text += "(" + ending + ")";
  return text;
}

class ExploredCudaIpc : public testing::TestWithParam<Fidelity> {};

TEST_P(ExploredCudaIpc, DeliversWithAndWithoutPeerAccess) {
  for (const bool access : {true, false}) {
    clean_exploration_of({.fidelity = GetParam(), .exchanges = {{kSome - 1, kSome - 1}}, .peer_access = access});
    clean_exploration_of({.fidelity = GetParam(), .exchanges = {{2, 1}, {2, 1}}, .peer_access = access});
    clean_exploration_of({.fidelity = GetParam(), .exchanges = {{kMany, 0}}, .peer_access = access});
    clean_exploration_of(
        {.fidelity = GetParam(), .exchanges = {{kSome, kSome}}, .peer_access = access, .eager = 256_B});
  }
}

TEST_P(ExploredCudaIpc, DeliversWhenControlMessagesEndLate) {
  clean_exploration_of({.fidelity = GetParam(), .exchanges = {{1, 0}, {1, 0}}, .late_sends = true});
  clean_exploration_of(
      {.fidelity = GetParam(), .exchanges = {{1, 1}}, .peer_access = false, .eager = 256_B, .late_sends = true});
}

TEST_P(ExploredCudaIpc, GoesOnAlikeWhereItLooksAlike) {
  const Limits limits{.likeness = Likeness::bytes, .compare_looks = true};
  for (const bool access : {true, false}) {
    clean_exploration_of({.fidelity = GetParam(), .exchanges = {{1, 0}}, .peer_access = access}, limits);
    clean_exploration_of({.fidelity = GetParam(), .exchanges = {{1, 1}}, .peer_access = access, .eager = 256_B},
                         limits);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, ExploredCudaIpc, testing::ValuesIn(handshake::kFidelities),
                         [](const auto& param) { return test_name(to_string(param.param)); });

/// The first rank's state stands first. Computed by the explorer, and read by people: who asks and is refused in
/// silence stays SENT; who was late stays INIT, and so does the other, who learned of it.
TEST(CudaIpcEndings, DependOnWhoSendsAndOnPeerAccess) {
  std::string text;
  for (const Fidelity fidelity : handshake::kFidelities) {
    text += std::string(to_string(fidelity)) + ":";
    for (const bool access : {true, false}) {
      text += " both " + endings_of({.fidelity = fidelity, .exchanges = {{2, 2}}, .peer_access = access});
      text += " one " + endings_of({.fidelity = fidelity, .exchanges = {{2, 0}}, .peer_access = access});
      text += " late " +
              endings_of({.fidelity = fidelity, .exchanges = {{2, 0}}, .peer_access = access, .late = {true, true}});
      text += access ? ";" : "\n";
    }
  }
  EXPECT_EQ(text,
            "design: both (OK | OK) one (OK | ACKED) late (INIT | INIT);"
            " both (BAD | BAD) one (SENT | BAD) late (INIT | INIT)\n"
            "openmpi-4.1: both (ACKED | ACKED) one (ACKED | ACKED) late (INIT | INIT);"
            " both (SENT | BAD) one (SENT | BAD) late (INIT | INIT)\n"
            "openmpi-5: both (ACKED | ACKED) one (ACKED | ACKED) late (ACKED | ACKED);"
            " both (SENT | BAD) one (SENT | BAD) late (SENT | BAD)\n"
            "repaired: both (OK | OK) one (OK | ACKED) late (INIT | INIT);"
            " both (BAD | BAD) one (BAD | BAD) late (INIT | INIT)\n");
}

}  // namespace
}  // namespace twinlink::explore
