// The closed form of recorded jobs on an idle machine. Nothing is fitted: what differs is arithmetic, far below 0.1 %.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/engine/simulation.hpp"
#include "model/study/child_process.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "protocols/bench/measure/collectives.hpp"
#include "protocols/registry.hpp"
#include "protocols/workloads/goal/player.hpp"
#include "tests/model/engine/one_message.hpp"
#include "tests/support/finish.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers
using workloads::goal::Job;
using workloads::goal::Played;

void meet_all(MeasuredRank& rank) { bench::meet_all(rank, bench::Patience::of_turn(kLong)); }

/// All ranks go on at one moment, the next of those that are so far apart.
void begin_together(MeasuredRank& rank, int round) {
  meet_all(rank);
  const Seconds begin = Seconds{0.1} * (round + 1);
  finish(rank, rank.compute(begin - rank.now(), kOnHost), kLong);
}

/// The second time through a job of two or three ranks: connections are made and memory is known. Once per process.
std::vector<Played> second_round(const std::string& text, const std::vector<Place>& places = {kLoneGpu, kOtherNode},
                                 const Platform& platform = sample_platform()) {
  const Job job(workloads::goal::read_trace(text, "a.goal"));
  std::vector<Played> all(places.size());
  const Protocol& used = find_protocol("host");
  simulate(platform, places, [&](MeasuredRank& inner) {
    ConcurrentRank rank(inner);
    workloads::goal::Player player(rank, {&used, &used, used.defaults(), used.defaults()}, job);
    for (int round = 0; round < 2; ++round) {
      begin_together(rank, round);
      all[static_cast<std::size_t>(rank.id().value)] = player.play(false, kLong);
    }
    meet_all(rank);
    player.close();
    meet_all(rank);
  });
  return all;
}

/// What the text says, and nothing beside it.
constexpr Seconds calc(double microseconds) { return Seconds{microseconds * 1e-6}; }
/// A host message.
Seconds host_message(Bytes size) { return kHost + kLatency + size / kWire; }

TEST(GoalForms, AChainIsTheSumOfItsParts) {
  const std::vector<Played> all = second_round(
      "num_ranks 2\nrank 0 {\na: calc 100000\nb: send 1048576b to 1\nb requires a\nc: recv 524288b from 1\n}\n"
      "rank 1 {\na: recv 1048576b from 0\nb: calc 50000\nb requires a\nc: send 524288b to 0\nc requires b\n}\n");
  const Seconds there = calc(100) + host_message(1_MiB);
  expect_near(all[0].ended, there + calc(50) + host_message(512_KiB));
  // Rank 1 waits for the first message, and rank 0 from the end of its send to the answer.
  expect_near(all[1].waited, there);
  expect_near(all[0].waited, calc(50) + host_message(512_KiB));
}

TEST(GoalForms, DifferentCpusRunSideBySideAndOneInTurn) {
  const std::vector<Played> all = second_round(
      "num_ranks 2\nrank 0 {\ncalc 100000 cpu 0\ncalc 70000 cpu 1\n}\nrank 1 {\ncalc 100000\ncalc 70000\n}\n");
  expect_near(all[0].ended, calc(100));
  expect_near(all[1].ended, calc(100) + calc(70));
  expect_near(all[0].waited, Seconds{});
}

TEST(GoalForms, RequiresWaitsForTheEndAndIRequiresForTheStart) {
  const std::vector<Played> all = second_round(
      "num_ranks 2\nrank 0 {\na: calc 100000\nb: calc 70000 cpu 1\nb irequires a\n}\n"
      "rank 1 {\na: calc 100000\nb: calc 70000 cpu 1\nb requires a\nc: calc 0 cpu 2\nc requires b\n}\n");
  expect_near(all[0].ended, calc(100));
  expect_near(all[1].ended, calc(100) + calc(70));
}

/// Traces join others by a calc of 0, which is no work: it waits for none.
TEST(GoalForms, NothingIsDoneBesideABusyCpu) {
  const std::vector<Played> all = second_round(
      "num_ranks 2\nrank 0 {\nbusy: calc 5000000\na: calc 10000 cpu 1\nb: calc 0\nb requires a\n"
      "c: send 1048576b to 1\nc requires b\n}\nrank 1 {\nrecv 1048576b from 0\n}\n");
  expect_near(all[1].ended, calc(10) + host_message(1_MiB));
}

/// A send from where it begins, a recv from where it is asked for.
TEST(GoalForms, CommunicationIsHiddenWhileItsRankComputes) {
  const std::vector<Played> all = second_round(
      "num_ranks 2\nrank 0 {\ncalc 10000 cpu 1\na: send 1048576b to 1\nb: calc 5000\nb requires a\n}\n"
      "rank 1 {\ncalc 30000\na: calc 20000 cpu 1\nb: recv 1048576b from 0\nb requires a\n}\n");
  const auto& sent = all[0].under_way.at("messages");
  EXPECT_EQ(sent.calls, 1U);
  expect_near(sent.time, host_message(1_MiB));
  expect_near(sent.exposed, host_message(1_MiB) - calc(10));
  const auto& received = all[1].under_way.at("messages");
  EXPECT_EQ(received.calls, 1U);
  expect_near(received.time, host_message(1_MiB) - calc(20));
  expect_near(received.exposed, host_message(1_MiB) - calc(30));
}

/// Memory is there for it before anybody asks.
TEST(GoalForms, ALateReceiverHoldsNoSenderUp) {
  const std::vector<Played> all = second_round(
      "num_ranks 2\nrank 0 {\na: send 1048576b to 1\nb: calc 10000\nb requires a\n}\n"
      "rank 1 {\na: calc 9000000\nb: recv 1048576b from 0\nb requires a\n}\n");
  expect_near(all[0].ended, host_message(1_MiB) + calc(10));
  expect_near(all[1].ended, calc(9000));
}

TEST(GoalForms, MessagesBothWaysDoNotWaitForEachOther) {
  const std::vector<Played> all = second_round(
      "num_ranks 2\nrank 0 {\nsend 1048576b to 1\nrecv 1048576b from 1\n}\n"
      "rank 1 {\na: calc 1000000\nb: send 1048576b to 0\nb requires a\nrecv 1048576b from 0\n}\n");
  expect_near(all[0].ended, calc(1000) + host_message(1_MiB));
  expect_near(all[0].waited, calc(1000));
}

std::string rank_text(int rank, const std::string& tasks) {
  return "rank " + std::to_string(rank) + " {\n" + tasks + "}\n";
}

/// The sends of one moment are a window: the CPU posts one after the other, and their latencies overlap.
TEST(GoalForms, SendsOfOneMomentAreAWindow) {
  constexpr int kMessages = 50;
  std::string sends;
  std::string receives;
  for (int i = 0; i < kMessages; ++i) {
    sends += "send 8b to 1 tag " + std::to_string(i) + "\n";
    receives += "recv 8b from 0 tag " + std::to_string(i) + "\n";
  }
  const std::vector<Played> all = second_round("num_ranks 2\n" + rank_text(0, sends) + rank_text(1, receives));
  expect_near(all[0].ended, kHost * kMessages + kLatency + 8_B / kWire);
  expect_near(all[1].ended, all[0].ended);
}

/// Neither waits for the other: the second leaves when its calc is over, while the first is on its way. The CPU posts
/// the first before it computes.
TEST(GoalForms, SendsThatDoNotWaitForEachOtherOverlap) {
  const std::vector<Played> all = second_round(
      "num_ranks 2\n" + rank_text(0, "send 8b to 1 tag 1\nc: calc 2000\ns: send 8b to 1 tag 2\ns requires c\n") +
      rank_text(1, "recv 8b from 0 tag 1\nrecv 8b from 0 tag 2\n"));
  expect_near(all[0].ended, kHost + calc(2) + host_message(8_B));
}

TEST(GoalForms, ASendThatRequiresAnotherWaitsForIt) {
  const std::vector<Played> all =
      second_round("num_ranks 2\n" + rank_text(0, "a: send 8b to 1 tag 1\nb: send 8b to 1 tag 2\nb requires a\n") +
                   rank_text(1, "recv 8b from 0 tag 1\nrecv 8b from 0 tag 2\n"));
  expect_near(all[1].ended, host_message(8_B) * 2);
}

/// Two large messages at once on nodes with two adapters, the second with `nic`.
Seconds over_two_adapters(const std::string& nic, Bytes size) {
  Platform platform = sample_platform();
  platform.node.nics.push_back({.name = "nic1"});
  Link link = platform.node.links.back();
  link.name = "nic1-hub1";
  link.from = "nic1";
  link.to = "hub1";
  platform.node.links.push_back(link);
  const std::string bytes = std::to_string(size.count());
  const std::vector<Played> all = second_round(
      "num_ranks 2\n" + rank_text(0, "send " + bytes + "b to 1 tag 0\nsend " + bytes + "b to 1 tag 1" + nic + "\n") +
          rank_text(1, "recv " + bytes + "b from 0 tag 0\nrecv " + bytes + "b from 0 tag 1" + nic + "\n"),
      {kLoneGpu, kOtherNode}, platform);
  return all[1].ended;
}

TEST(GoalForms, WithoutANicMessagesShareTheAdapterOfTheGpu) {
  expect_near(over_two_adapters("", 4_MiB), kHost + kLatency + 4_MiB / kWire * 2);
}

TEST(GoalForms, TheNumberOfTheNicIsAnAdapterOfTheNode) {
  expect_near(over_two_adapters(" nic 1", 4_MiB), kHost * 2 + kLatency + 4_MiB / kWire);
}

TEST(GoalForms, AMessageToItselfIsACopy) {
  constexpr Rate kHostCopy{8e9};
  const std::vector<Played> all = second_round(
      "num_ranks 2\n" + rank_text(0, "s: send 1048576b to 0\nr: recv 1048576b from 0\n") + rank_text(1, "calc 10\n"));
  expect_near(all[0].ended, kOverhead + 1_MiB / kHostCopy);
}

TEST(GoalForms, AReceiveMayBeLongerThanItsMessage) {
  const std::vector<Played> all =
      second_round("num_ranks 2\n" + rank_text(0, "send 100b to 1\n") + rank_text(1, "recv 1048576b from 0\n"));
  expect_near(all[1].ended, host_message(100_B));
}

/// Whose message comes first is what a receive of any source takes.
TEST(GoalForms, AReceiveOfAnySourceTakesTheFirstMessage) {
  const std::vector<Played> all =
      second_round("num_ranks 3\n" +
                       rank_text(0,
                                 "a: recv 8b from -1 tag 5\nb: calc 100000\nb requires a\nc: recv 8b from -1 tag -1\n"
                                 "c requires b\n") +
                       rank_text(1, "c: calc 50000\ns: send 8b to 0 tag 5\ns requires c\n") +
                       rank_text(2, "c: calc 20000\ns: send 8b to 0 tag 5\ns requires c\n"),
                   {kLoneGpu, kOtherNode, {2, 0, {}}});
  expect_near(all[0].ended, calc(20) + host_message(8_B) + calc(100));
}

/// LogGOPS: o of the sender, L, s G, and then o of the receiver, which lies behind the arrival: a library takes a
/// message in when it is there. Two messages, the second after the first.
TEST(GoalForms, TheReceiversOverheadLiesBehindTheArrival) {
  constexpr Seconds kReceiver = 1.5_us;
  Platform platform = sample_platform();
  platform.network->completion = {.value = Piecewise({{Bytes{}, kReceiver}}), .source = {Quality::assumed, "o"}};
  const std::vector<Played> all = second_round(
      "num_ranks 3\n" + rank_text(0, "recv 1024b from 1\n") +
          rank_text(1, "b: recv 1024b from 2\nc: send 1024b to 0\nc requires b\n") + rank_text(2, "send 1024b to 1\n"),
      {kLoneGpu, kOtherNode, {2, 0, {}}}, platform);
  expect_near(all[0].ended, (host_message(1_KiB) + kReceiver) * 2);
}

// ---- collectives that a protocol does by itself

std::vector<Place> four_gpus() { return {{0, 0, {}}, {0, 1, {}}, {0, 2, {}}, {0, 3, {}}}; }
Platform hopper() { return read_platform(TWINLINK_SOURCE_DIR "/platforms/hgx-h100.yaml"); }

/// The longest that a rank takes for what `prepare` makes, the second time. In a process of its own.
using Prepared = std::function<std::function<Seconds()>(ConcurrentRank& rank)>;
double second_us(const std::vector<Place>& places, const Prepared& prepare) {
  return std::stod(in_child_process([&] {
    Seconds longest{};
    simulate(hopper(), places, [&](MeasuredRank& inner) {
      ConcurrentRank rank(inner);
      const auto once = prepare(rank);
      begin_together(rank, 0);
      once();
      begin_together(rank, 1);
      longest = std::max(longest, once());
      meet_all(rank);
    });
    return fmt::format("{:.9f}", longest.microseconds());
  }));
}

/// A job of one collective of all, by `-p nccl`.
Prepared as_a_job(const Job& job) {
  return [&job](ConcurrentRank& rank) {
    const Protocol& nccl = find_protocol("nccl");
    const auto ways =
        std::make_shared<workloads::Ways>(workloads::Ways{&nccl, &nccl, nccl.defaults(), nccl.defaults()});
    const auto player = std::make_shared<workloads::goal::Player>(rank, *ways, job);
    return [ways, player] {
      const Played played = player->play(false, kLong);
      if (!played.outcome.ok()) throw UsageError(played.outcome.reason);
      return played.ended;
    };
  };
}
Prepared by_itself(Collective what, Bytes room) {
  return [what, room](ConcurrentRank& rank) {
    const Protocol& nccl = find_protocol("nccl");
    const std::shared_ptr<Communicator> all = nccl.join(rank, nccl.defaults());
    return [&rank, all, what, data = View(rank.allocate(Memory::device, room, Locality::near))] {
      const Seconds start = rank.now();
      if (const Outcome outcome = all->run(what, data); !outcome.ok()) throw UsageError(outcome.reason);
      return rank.now() - start;
    };
  };
}

std::string job_of_all(int ranks, const std::string& tasks) {
  std::string text = "num_ranks " + std::to_string(ranks) + "\ngroup 0 { 0-" + std::to_string(ranks - 1) + " }\n";
  for (int rank = 0; rank < ranks; ++rank) text += rank_text(rank, tasks);
  return text;
}

TEST(GoalForms, ACollectiveTakesWhatItsProtocolTakesForIt) {
  constexpr std::array kTogether{std::pair{"all_reduce", Collective::all_reduce},
                                 std::pair{"all_gather", Collective::all_gather},
                                 std::pair{"reduce_scatter", Collective::reduce_scatter},
                                 std::pair{"broadcast", Collective::broadcast},
                                 std::pair{"reduce", Collective::reduce},
                                 std::pair{"all_to_all", Collective::all_to_all}};
  for (const auto& [name, what] : kTogether) {
    const Job job(workloads::goal::read_trace(job_of_all(4, name + std::string(" 1048576b in 0\n")), "a.goal"));
    const Bytes room = what == Collective::all_to_all ? 2_MiB : 1_MiB;
    EXPECT_NEAR(second_us(four_gpus(), as_a_job(job)), second_us(four_gpus(), by_itself(what, room)), 1e-6) << name;
  }
}

/// Messages of a pair both ways, in lanes of their own, of which each end posts those that it receives first.
TEST(GoalForms, KernelsThatWaitForEachOtherDoNotStandInOneStream) {
  const Job job(workloads::goal::read_trace(
      "num_ranks 2\n" +
          rank_text(0, "a: calc 1000\nb: send 1048576b to 1 tag 1\nb requires a\nc: recv 1048576b from 1 tag 2\n") +
          rank_text(1, "a: calc 1000\nb: send 1048576b to 0 tag 2\nb requires a\nc: recv 1048576b from 0 tag 1\n"),
      "a.goal"));
  for (const bool apart : {false, true}) {
    const std::vector<Place> places{{0, 0, {}}, {apart ? 1 : 0, apart ? 0 : 1, {}}};
    EXPECT_GT(second_us(places, as_a_job(job)), 1.0) << "it comes to its end";
  }
}

TEST(GoalForms, ARankWithMoreLanesThanStreamsIsRefused) {
  std::string first;
  std::string text;
  for (int rank = 1; rank < 8; ++rank) {
    first += "send 8b to " + std::to_string(rank) + "\nrecv 8b from " + std::to_string(rank) + "\n";
    text += rank_text(rank, "send 8b to 0\nrecv 8b from 0\n");
  }
  const Job job(workloads::goal::read_trace("num_ranks 8\n" + rank_text(0, first) + text, "a.goal"));
  std::vector<Place> places;
  for (int gpu = 0; gpu < 8; ++gpu) places.push_back({0, gpu, {}});
  EXPECT_THAT(
      said_by<UsageError>([&] { second_us(places, as_a_job(job)); }),
      ::testing::HasSubstr("rank 0 has 14 lanes to and from its peers, and collectives in 0 groups: nccl has streams "
                           "for 12 of both"));
}

}  // namespace
}  // namespace twinlink::model
