// The closed form of recorded jobs on an idle machine. Nothing is fitted: what differs is arithmetic, far below 0.1 %.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "protocols/workloads/goal/player.hpp"
#include "tests/model/engine/one_message.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers
using workloads::goal::Job;
using workloads::goal::Played;

void meet_neighbour(Rank& rank) {
  const RankId peer{1 - rank.id().value};
  ControlMessage message;
  finish(rank, rank.send_control(peer, tags::kFirstFree, message), kLong);
  finish(rank, rank.recv_control(peer, tags::kFirstFree, message), kLong);
}

/// The second time through a job of two ranks: connections are made and memory is known. Once per process.
std::vector<Played> second_round(const std::string& text, const std::string& protocol,
                                 const std::vector<Place>& places) {
  const Job job(workloads::goal::read_trace(text, "a.goal"));
  std::vector<Played> all(2);
  const Protocol& used = find_protocol(protocol);
  simulate(sample_platform(), places, [&](MeasuredRank& inner) {
    ConcurrentRank rank(inner);
    workloads::goal::Player player(rank, {&used, &used, used.defaults(), used.defaults()}, job);
    for (int round = 0; round < 2; ++round) {
      meet_neighbour(rank);
      all[static_cast<std::size_t>(rank.id().value)] = player.play(false, kLong);
    }
    meet_neighbour(rank);
    player.close();
    meet_neighbour(rank);
  });
  return all;
}

/// A kernel's start, and what it computes.
constexpr Seconds kernel(double microseconds) { return kOverhead + Seconds{microseconds * 1e-6}; }
/// A host message beyond the eager limit.
Seconds host_message(Bytes size) { return kHost + kLatency + size / kWire; }

TEST(GoalForms, AChainIsTheSumOfItsParts) {
  const std::vector<Played> all = second_round(
      "num_ranks 2\nrank 0 {\na: calc 100000\nb: send 1048576b to 1\nb requires a\nc: recv 524288b from 1\n}\n"
      "rank 1 {\na: recv 1048576b from 0\nb: calc 50000\nb requires a\nc: send 524288b to 0\nc requires b\n}\n",
      "host", {kLoneGpu, kOtherNode});
  const Seconds there = kernel(100) + host_message(1_MiB);
  expect_near(all[0].ended, there + kernel(50) + host_message(512_KiB));
  // Rank 1 waits for the first message, and rank 0 from the end of its send to the answer.
  expect_near(all[1].waited, there);
  expect_near(all[0].waited, kernel(50) + host_message(512_KiB));
}

TEST(GoalForms, DifferentCpusRunSideBySideAndOneInTurn) {
  const std::vector<Played> all = second_round(
      "num_ranks 2\nrank 0 {\ncalc 100000 cpu 0\ncalc 70000 cpu 1\n}\nrank 1 {\ncalc 100000\ncalc 70000\n}\n", "host",
      {kLoneGpu, kOtherNode});
  expect_near(all[0].ended, kernel(100));
  expect_near(all[1].ended, kernel(100) + kernel(70));
  expect_near(all[0].waited, Seconds{});
}

TEST(GoalForms, RequiresWaitsForTheEndAndIRequiresForTheStart) {
  const std::vector<Played> all = second_round(
      "num_ranks 2\nrank 0 {\na: calc 100000\nb: calc 70000 cpu 1\nb irequires a\n}\n"
      "rank 1 {\na: calc 100000\nb: calc 70000 cpu 1\nb requires a\nc: calc 0 cpu 2\nc requires b\n}\n",
      "host", {kLoneGpu, kOtherNode});
  expect_near(all[0].ended, kernel(100));
  expect_near(all[1].ended, kernel(100) + kernel(70));
}

/// Memory is there for it before anybody asks.
TEST(GoalForms, ALateReceiverHoldsNoSenderUp) {
  const std::vector<Played> all = second_round(
      "num_ranks 2\nrank 0 {\na: send 1048576b to 1\nb: calc 10000\nb requires a\n}\n"
      "rank 1 {\na: calc 9000000\nb: recv 1048576b from 0\nb requires a\n}\n",
      "host", {kLoneGpu, kOtherNode});
  expect_near(all[0].ended, host_message(1_MiB) + kernel(10));
  expect_near(all[1].ended, kernel(9000));
}

TEST(GoalForms, MessagesBothWaysDoNotWaitForEachOther) {
  const std::vector<Played> all = second_round(
      "num_ranks 2\nrank 0 {\nsend 1048576b to 1\nrecv 1048576b from 1\n}\n"
      "rank 1 {\na: calc 1000000\nb: send 1048576b to 0\nb requires a\nrecv 1048576b from 0\n}\n",
      "host", {kLoneGpu, kOtherNode});
  expect_near(all[0].ended, kernel(1000) + host_message(1_MiB));
  expect_near(all[0].waited, kernel(1000));
}

}  // namespace
}  // namespace twinlink::model
