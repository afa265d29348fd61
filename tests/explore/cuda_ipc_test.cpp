// The cuda-ipc protocol through all interleavings, with every fidelity of its handshake.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "protocols/cuda_ipc.hpp"
#include "tests/explore/bodies.hpp"
#include "tests/explore/hash.hpp"

namespace twinlink::explore {
namespace {

using handshake::Fidelity;

constexpr Seconds kLong{1000};
constexpr Tag kMeet{70};
constexpr Bytes kSize = 64_B;

struct Ipc {
  Fidelity fidelity = Fidelity::design;
  std::array<int, 2> sends{1, 1};  ///< of each rank, in each exchange
  int exchanges = 1;
  bool peer_access = true;
  std::array<bool, 2> late{};
  Bytes eager{};  ///< 0: each message that is staged has a header of its own
  bool late_tells = false;
};

/// All that the protocol remembers between two waits and that the outside cannot tell.
std::uint64_t digest_of(const CudaIpcChannel& channel) {
  Hash hash;
  const handshake::Endpoint& end = channel.handshake();
  hash.add(static_cast<std::uint64_t>(end.state()) * 16 + static_cast<std::uint64_t>(end.tries()),
           end.get_enabled() ? 1 : 0);
  hash.add(channel.counts().ipc_messages, channel.counts().staged_messages);
  hash.add(channel.counts().fragments_sent);
  return hash.key().low;
}

void converse(const Ipc& job, Rank& rank, Witness& witness) {
  const int me = rank.id().value;
  const RankId peer{1 - me};
  std::vector<View> outgoing;
  std::vector<View> incoming;
  for (int i = 0; i < job.sends[static_cast<std::size_t>(me)]; ++i)
    outgoing.emplace_back(rank.allocate(Memory::device, kSize));
  for (int i = 0; i < job.sends[static_cast<std::size_t>(peer.value)]; ++i)
    incoming.emplace_back(rank.allocate(Memory::device, kSize));
  {
    CudaIpcOptions options{.fidelity = job.fidelity, .eager = job.eager};
    options.payload = kSize;
    options.late = job.late[static_cast<std::size_t>(me)];
    CudaIpcChannel channel(rank, peer, options, kLong);
    const std::function<std::uint64_t()> digest = [&channel] { return digest_of(channel); };
    witness.watch(digest);
    for (int exchange = 0; exchange < job.exchanges; ++exchange) {
      int number = 10 * exchange;
      for (const View& view : outgoing) rank.fill(view, content(me, number++));
      for (const View& view : incoming) rank.fill(view, kSentinel);
      const Outcome outcome = channel.exchange(outgoing, incoming);
      witness.require(outcome.ok(), outcome.reason);
      number = 10 * exchange;
      for (const View& view : incoming) {
        witness.require(rank.check(view, content(peer.value, number++)).intact(), "a message is not what was sent");
      }
    }
    const handshake::Endpoint& end = channel.handshake();
    witness.require(end.tries() <= handshake::kMaxTries, "more than five requests");
    witness.require(channel.counts().ipc_messages == 0 || end.get_enabled(), "IPC was used and is not enabled");
    witness.ending(to_string(end.state()));
    witness.unwatch();
  }
  Message heard;
  const Op told = rank.tell(peer, kMeet, Message());
  wait(rank, rank.hear(peer, kMeet, heard), kLong);
  wait(rank, told, kLong);
  for (const View& view : outgoing) rank.release(view.buffer);
  for (const View& view : incoming) rank.release(view.buffer);
}

Scenario scenario_of(const Ipc& job) {
  const Body body = [job](Rank& rank, Witness& witness) { converse(job, rank, witness); };
  Scenario scenario{.bodies = {body, body}};
  scenario.late_tells = job.late_tells;
  if (!job.peer_access) scenario.path.peer_access = Answer::refused("no peer access");
  return scenario;
}

ExploreResult clean_exploration_of(const Ipc& job, const Limits& limits = {.likeness = Likeness::looks}) {
  ExploreResult result = explore(scenario_of(job), limits);
  EXPECT_TRUE(result.clean()) << to_string(job.fidelity) << ": " << to_string(result);
  EXPECT_EQ(result.ambiguous, 0U) << to_string(job.fidelity);
  return result;
}

/// The states in which both ends may be when all is over: "(OK | ACKED)".
std::string endings_of(const Ipc& job) {
  std::string text;
  for (const auto& [ending, count] : clean_exploration_of(job).endings) text += "(" + ending + ")";
  return text;
}

class ExploredCudaIpc : public testing::TestWithParam<Fidelity> {};

TEST_P(ExploredCudaIpc, DeliversWithAndWithoutPeerAccess) {
  for (const bool access : {true, false}) {
    clean_exploration_of({.fidelity = GetParam(), .sends = {kSome - 1, kSome - 1}, .peer_access = access});
    clean_exploration_of({.fidelity = GetParam(), .sends = {2, 1}, .exchanges = 2, .peer_access = access});
    clean_exploration_of({.fidelity = GetParam(), .sends = {kMany, 0}, .peer_access = access});
    clean_exploration_of({.fidelity = GetParam(), .sends = {kSome, kSome}, .peer_access = access, .eager = 256_B});
  }
}

TEST_P(ExploredCudaIpc, DeliversWhenControlMessagesEndLate) {
  clean_exploration_of({.fidelity = GetParam(), .sends = {1, 0}, .exchanges = 2, .late_tells = true});
  clean_exploration_of(
      {.fidelity = GetParam(), .sends = {1, 1}, .peer_access = false, .eager = 256_B, .late_tells = true});
}

TEST_P(ExploredCudaIpc, GoesOnAlikeWhereItLooksAlike) {
  const Limits limits{.likeness = Likeness::bytes, .compare_looks = true};
  for (const bool access : {true, false}) {
    clean_exploration_of({.fidelity = GetParam(), .sends = {1, 0}, .peer_access = access}, limits);
    clean_exploration_of({.fidelity = GetParam(), .sends = {1, 1}, .peer_access = access, .eager = 256_B}, limits);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, ExploredCudaIpc, testing::ValuesIn(handshake::kFidelities), [](const auto& param) {
  std::string name(to_string(param.param));
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
});

/// The first rank's state stands first. Computed by the explorer, and read by people: who asks and is refused in
/// silence stays SENT; who was late stays INIT, and so does the other, whom it told.
TEST(CudaIpcEndings, DependOnWhoSendsAndOnPeerAccess) {
  std::string text;
  for (const Fidelity fidelity : handshake::kFidelities) {
    text += std::string(to_string(fidelity)) + ":";
    for (const bool access : {true, false}) {
      text += " both " + endings_of({.fidelity = fidelity, .sends = {2, 2}, .peer_access = access});
      text += " one " + endings_of({.fidelity = fidelity, .sends = {2, 0}, .peer_access = access});
      text +=
          " late " + endings_of({.fidelity = fidelity, .sends = {2, 0}, .peer_access = access, .late = {true, true}});
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
