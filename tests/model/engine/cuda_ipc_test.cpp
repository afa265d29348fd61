// The cuda-ipc protocol on the sample machine: times against closed forms, ways taken, the states of the handshake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "protocols/trace/tracing_rank.hpp"
#include "tests/model/engine/ipc_pair.hpp"
#include "tests/platforms/sample_platform.hpp"
#include "tests/support/test_name.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr double kTolerance = 1e-4;  ///< in microseconds
constexpr Seconds kOverhead = kHost + kLatency;
/// Later than all that went before.
constexpr Seconds kStart{0.01};

std::uint64_t counter(const Channel& channel, std::string_view name) {
  for (const Counter& one : channel.counters()) {
    if (one.name == name) return one.value;
  }
  ADD_FAILURE() << "no counter '" << name << "'";
  return 0;
}

/// The time of one message, both ends starting at the same moment, as the receiver sees it.
struct Times {
  Seconds first{};   ///< the first message by IPC
  Seconds second{};  ///< the same again
};

// ---- closed forms ---------------------------------------------------------------------------------------------------

/// What a message by IPC costs the receiver: it ends when FIN has been sent.
Seconds by_ipc(Bytes size) { return kExport + kControl + kOverhead + size / kPeer + kHost; }

TEST(CudaIpcTimes, AWarmMessageIsExportHeaderCopyAndFinAndTheFirstOneOpensToo) {
  Times times;
  run_ipc_pair({}, [&](const IpcEnd& end) {
    const View message(end.device(1_MiB));
    end.shake_hands();
    for (const Seconds start : {kStart, kStart * 2}) {
      end.sleep_until(start);
      const Seconds ended = end.one_message(message);
      if (!end.sending()) (start == kStart ? times.first : times.second) = ended - start;
    }
    EXPECT_THAT(end.channel.path_taken(), StartsWith("CUDA IPC"));
  });
  EXPECT_NEAR(times.second.microseconds(), by_ipc(1_MiB).microseconds(), kTolerance);
  EXPECT_NEAR((times.first - times.second).microseconds(), kOpen.microseconds(), kTolerance);
}

TEST(CudaIpcTimes, TheSenderWaitsForFin) {
  run_ipc_pair({}, [&](const IpcEnd& end) {
    const View message(end.device(1_MiB));
    end.shake_hands();
    end.one_message(message);
    end.connect_ends();
    end.sleep_until(kStart);
    const Seconds ended = end.one_message(message);
    if (!end.sending()) return;
    // FIN takes a control message; sending it occupies the receiver for a part of that.
    EXPECT_NEAR((ended - kStart).microseconds(), (by_ipc(1_MiB) - kHost + kControl).microseconds(), kTolerance);
  });
}

/// Half a round of a warm ping-pong: the export is paid for every message, as in smcuda, and so is sending FIN.
TEST(CudaIpcTimes, PingPong) {
  constexpr int kRounds = 4;
  run_ipc_pair({}, [&](const IpcEnd& end) {
    const View ball(end.device(1_MiB));
    Seconds start{};
    const auto round = [&] {
      EXPECT_TRUE((end.sending() ? end.channel.send(ball) : end.channel.receive(ball)).ok());
      EXPECT_TRUE((end.sending() ? end.channel.receive(ball) : end.channel.send(ball)).ok());
    };
    for (int i = 0; i < 2; ++i) round();  // The handshake, and both openings.
    end.connect_ends();
    end.sleep_until(kStart);
    start = end.rank.now();
    for (int i = 0; i < kRounds; ++i) round();
    if (!end.sending()) return;
    EXPECT_NEAR(((end.rank.now() - start) / (2 * kRounds)).microseconds(), by_ipc(1_MiB).microseconds(), kTolerance);
  });
}

/// One fragment: header, clear to send, copy out, fragment, copy in, and the message that the fragment is free.
Seconds staged(Bytes size) {
  return kControl * 2 + kOverhead + size / kUp + kControl + kOverhead + size / kDown + kHost;
}

/// The time of the very first message.
Seconds first_message(const NamedOptions& options, Bytes size) {
  Seconds time{};
  run_ipc_pair({.options = options}, [&](const IpcEnd& end) {
    const View message(end.device(size));
    end.sleep_until(kStart);
    const Seconds ended = end.one_message(message);
    if (!end.sending()) time = ended - kStart;
  });
  return time;
}

TEST(CudaIpcTimes, AStagedMessageOfOneFragment) {
  EXPECT_NEAR(first_message({{"ipc", "0"}}, 100'000_B).microseconds(), staged(100'000_B).microseconds(), kTolerance);
}

/// The REQ goes before the header, and the answer, ACK, before the clear to send; the header arrives while the receiver
/// sends the ACK.
TEST(CudaIpcTimes, TheHandshakeCostsTheFirstMessageOneMoreControlMessage) {
  EXPECT_NEAR(first_message({}, 100'000_B).microseconds(), (staged(100'000_B) + kHost).microseconds(), kTolerance);
}

TEST(CudaIpcTimes, AnEagerMessageHasNoClearToSend) {
  const Seconds expected = kOverhead + 256_B / kUp + kControl + kOverhead + 256_B / kDown + kHost;
  EXPECT_NEAR(first_message({{"ipc", "0"}}, 256_B).microseconds(), expected.microseconds(), kTolerance);
}

TEST(CudaIpcTimes, AnEmptyMessageIsItsHeader) {
  EXPECT_NEAR(first_message({{"ipc", "0"}}, 0_B).microseconds(), kControl.microseconds(), kTolerance);
}

/// Copies are synchronous, so only the two processes overlap: each fragment costs the receiver, the slower one here,
/// its copy and the message that the fragment is free.
TEST(CudaIpcTimes, FragmentsArePacedByTheSlowerProcess) {
  constexpr Bytes kPayload = kIpcFragment - kIpcFragmentHeader;
  constexpr std::uint64_t kFragments = 8;
  const Seconds copy_in = kOverhead + kPayload / kDown + kHost;
  ASSERT_GT(copy_in, kOverhead + kPayload / kUp + kHost);
  const Seconds expected =
      kControl * 2 + kOverhead + kPayload / kUp + kControl + copy_in * static_cast<double>(kFragments);
  EXPECT_NEAR(first_message({{"ipc", "0"}}, kPayload * kFragments).microseconds(), expected.microseconds(), kTolerance);
}

// ---- which way ------------------------------------------------------------------------------------------------------

TEST(CudaIpcWays, TheFirstMessageIsStagedAndTheSecondGoesByIpc) {
  run_ipc_pair({}, [](const IpcEnd& end) {
    const View message(end.device(1_MiB));
    EXPECT_THAT(end.channel.path_taken(), HasSubstr("once the handshake is through"));
    end.one_message(message);
    EXPECT_THAT(end.channel.path_taken(), StartsWith("staged through shared pinned host memory"));
    end.one_message(message);
    EXPECT_THAT(end.channel.path_taken(), StartsWith("CUDA IPC"));
    EXPECT_EQ(counter(end.channel, "staged messages"), 1U);
    EXPECT_EQ(counter(end.channel, "IPC messages"), 1U);
    EXPECT_EQ(counter(end.channel, "REQ sent"), end.sending() ? 1U : 0U);
    EXPECT_EQ(counter(end.channel, "cache misses"), end.sending() ? 0U : 1U);
  });
}

/// The design's "large message RDMA": smaller ones stay staged although GET is on.
TEST(CudaIpcWays, SmallMessagesStayStagedBelowTheThreshold) {
  run_ipc_pair({.options = {{"rget_from", "512K"}}}, [](const IpcEnd& end) {
    end.shake_hands();
    end.one_message(View(end.device(512_KiB - 1_B)));
    EXPECT_THAT(end.channel.path_taken(), StartsWith("staged"));
    end.one_message(View(end.device(512_KiB)));
    EXPECT_THAT(end.channel.path_taken(), StartsWith("CUDA IPC"));
  });
}

/// The headers of a window leave before the ACK can come: all of it keeps the way that it started with.
TEST(CudaIpcWays, TheFirstWindowIsStagedAsAWhole) {
  run_ipc_pair({}, [](const IpcEnd& end) {
    const std::vector<View> window(3, View(end.device(300'000_B)));
    const auto exchange = [&] {
      return end.sending() ? end.channel.exchange(window, {}) : end.channel.exchange({}, window);
    };
    EXPECT_TRUE(exchange().ok());
    EXPECT_EQ(counter(end.channel, "staged messages"), 3U);
    EXPECT_TRUE(exchange().ok());
    EXPECT_EQ(counter(end.channel, "IPC messages"), 3U);
  });
}

TEST(CudaIpcWays, WithoutPeerAccessAllIsStagedAndTheReasonIsGiven) {
  run_ipc_pair({.peer_access = false}, [](const IpcEnd& end) {
    const View message(end.device(300'000_B));
    for (int i = 0; i < 3; ++i) end.one_message(message);
    EXPECT_EQ(counter(end.channel, "IPC messages"), 0U);
    EXPECT_THAT(end.channel.path_taken(), HasSubstr(end.rank.path_to(end.peer).peer_access.reason));
  });
}

TEST(CudaIpcWays, AWindowLargerThanTheRingOfEvents) {
  run_ipc_pair({}, [](const IpcEnd& end) {
    end.shake_hands();
    const Buffer buffer = end.device(500_KiB);
    std::vector<View> window;
    for (std::uint64_t i = 0; i < 500; ++i) window.emplace_back(buffer, 1_KiB * i, 1_KiB);
    end.rank.fill(View(buffer), end.sending() ? Payload{3} : kSentinel);
    EXPECT_TRUE((end.sending() ? end.channel.exchange(window, {}) : end.channel.exchange({}, window)).ok());
    EXPECT_TRUE(end.rank.check(View(buffer), Payload{3}).intact());
    EXPECT_EQ(end.channel.cache_counts().hits, end.sending() ? 0U : 499U);
  });
}

TEST(CudaIpcWays, ABoundedCacheClosesWhatItMayAndTheDataIsRight) {
  run_ipc_pair({.options = {{"cache", "1"}}}, [](const IpcEnd& end) {
    end.shake_hands();
    std::vector<View> window;
    for (int i = 0; i < 3; ++i) window.emplace_back(end.device(1_MiB));
    for (int round = 0; round < 2; ++round) {
      for (std::size_t i = 0; i < window.size(); ++i) {
        end.rank.fill(window[i], end.sending() ? Payload{10 + i} : kSentinel);
      }
      EXPECT_TRUE((end.sending() ? end.channel.exchange(window, {}) : end.channel.exchange({}, window)).ok());
      for (std::size_t i = 0; i < window.size(); ++i) EXPECT_TRUE(end.rank.check(window[i], Payload{10 + i}).intact());
      end.connect_ends();
    }
    // Three are in use at once; then all but one are closed.
    EXPECT_EQ(end.channel.cache_counts().evicted, end.sending() ? 0U : 5U);
  });
}

// ---- the handshake over a real FIFO ---------------------------------------------------------------------------------

using handshake::Fidelity;
using handshake::State;

struct Ends {
  State zero;
  State one;
  friend bool operator==(const Ends&, const Ends&) = default;
};
void PrintTo(const Ends& ends, std::ostream* out) { *out << to_string(ends.zero) << ", " << to_string(ends.one); }

class CudaIpcHandshake : public ::testing::TestWithParam<Fidelity> {
 protected:
  [[nodiscard]] static bool code() { return GetParam() == Fidelity::openmpi_4_1 || GetParam() == Fidelity::openmpi_5; }
  /// The states after `body`.
  static Ends after(IpcPair pair, const std::function<void(const IpcEnd&)>& body) {
    pair.options.emplace_back("fidelity", to_string(GetParam()));
    Ends ends{};
    run_ipc_pair(pair, [&](const IpcEnd& end) {
      body(end);
      (end.sending() ? ends.zero : ends.one) = end.channel.handshake().state();
    });
    return ends;
  }
};

TEST_P(CudaIpcHandshake, OneSideAsks) {
  const Ends ends = after({}, [](const IpcEnd& end) { end.one_message(View(end.device(1_MiB))); });
  EXPECT_EQ(ends, (code() ? Ends{State::acked, State::acked} : Ends{State::ok, State::acked}));
}

TEST_P(CudaIpcHandshake, BothSidesAskAtOnce) {
  const Ends ends = after({}, [](const IpcEnd& end) {
    const View out(end.device(1_MiB));
    const View in(end.device(1_MiB));
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(end.channel.exchange({&out, 1}, {&in, 1}).ok());
    EXPECT_EQ(end.channel.counts().ipc_messages, 2U);
  });
  EXPECT_EQ(ends, (code() ? Ends{State::acked, State::acked} : Ends{State::ok, State::ok}));
}

TEST_P(CudaIpcHandshake, WithoutAccessTheAskerWaitsForEverUnlessRefusalsAreSent) {
  const Ends ends = after({.peer_access = false}, [](const IpcEnd& end) {
    for (int i = 0; i < 3; ++i) end.one_message(View(end.device(1_MiB)));
  });
  EXPECT_EQ(ends.zero, GetParam() == Fidelity::repaired ? State::bad : State::sent);
  EXPECT_EQ(ends.one, State::bad);
}

/// Rank 1 has not used CUDA until it sends for the first time.
TEST_P(CudaIpcHandshake, ALatePeerAsksItself) {
  const Ends ends = after({.options_of_rank_1 = {{"start", "late"}}}, [](const IpcEnd& end) {
    const View ball(end.device(1_MiB));
    end.one_message(ball);
    EXPECT_TRUE((end.sending() ? end.channel.receive(ball) : end.channel.send(ball)).ok());
    end.connect_ends();
    const Outcome last = end.sending() ? end.channel.send(ball) : end.channel.receive(ball);
    EXPECT_TRUE(last.ok());
    if (GetParam() == Fidelity::openmpi_5) {
      EXPECT_EQ(counter(end.channel, "IPC messages"), 0U) << "smcuda was closed when MPI began";
      EXPECT_THAT(end.channel.path_taken(),
                  EndsWith(end.sending() ? "the handshake is SENT"
                                         : "CUDA was not in use when MPI began, and Open MPI 5 has closed smcuda"));
    } else {
      EXPECT_THAT(end.channel.path_taken(), StartsWith("CUDA IPC"));
    }
  });
  switch (GetParam()) {
    case Fidelity::design:
    case Fidelity::repaired:
      EXPECT_EQ(ends, (Ends{State::acked, State::ok})) << "rank 0 was sent NOTREADY";
      break;
    case Fidelity::openmpi_4_1:
      EXPECT_EQ(ends, (Ends{State::acked, State::acked}));
      break;
    case Fidelity::openmpi_5:
      EXPECT_EQ(ends, (Ends{State::sent, State::init})) << "nobody answers, for good";
      break;
  }
}

TEST_P(CudaIpcHandshake, WhoHasGivenUpDoesNotListen) {
  const Ends ends = after({.options_of_rank_1 = {{"start", "late"}}}, [](const IpcEnd& end) {
    const View ball(end.device(1_MiB));
    for (int i = 0; i < 7; ++i) end.one_message(ball);
    EXPECT_TRUE((end.sending() ? end.channel.receive(ball) : end.channel.send(ball)).ok());
    const bool one_try = GetParam() == Fidelity::openmpi_5;
    EXPECT_EQ(counter(end.channel, "REQ sent"), one_try ? (end.sending() ? 1U : 0U) : (end.sending() ? 5U : 1U));
  });
  switch (GetParam()) {
    case Fidelity::design:
    case Fidelity::openmpi_4_1:
      EXPECT_EQ(ends, (Ends{State::bad, State::sent}));
      break;
    case Fidelity::openmpi_5:
      EXPECT_EQ(ends, (Ends{State::sent, State::init})) << "nobody says NOTREADY";
      break;
    case Fidelity::repaired:
      EXPECT_EQ(ends, (Ends{State::bad, State::bad}));
      break;
  }
}

/// Both GPUs are number 0 of their rank, so they are taken for one.
TEST_P(CudaIpcHandshake, RanksThatSeeTheirOwnGpuAloneNeverAskForAccess) {
  const Ends ends = after({.options = {{"visible", "own"}}}, [](const IpcEnd& end) {
    end.shake_hands();
    end.one_message(View(end.device(1_MiB)));
    EXPECT_THAT(end.channel.path_taken(), StartsWith("CUDA IPC"));
  });
  EXPECT_EQ(ends, (code() ? Ends{State::acked, State::acked} : Ends{State::ok, State::acked}));
}

INSTANTIATE_TEST_SUITE_P(Of, CudaIpcHandshake, ::testing::ValuesIn(handshake::kFidelities),
                         [](const auto& param) { return test_name(to_string(param.param)); });

// ---- the order ------------------------------------------------------------------------------------------------------

/// What the two ranks of a pair did.
struct Traced {
  std::array<Trace, 2> traces{};
  std::vector<std::unique_ptr<TracingRank>> ranks{};
  Decorate decorate = [this](MeasuredRank& rank) -> MeasuredRank& {
    Trace& trace = traces[static_cast<std::size_t>(rank.id().value)];
    return *ranks.emplace_back(std::make_unique<TracingRank>(rank, trace));
  };
};

/// "Large message RDMA is enabled by setting a flag": first where the request came, then where the answer came.
TEST(CudaIpcTrace, EnablingGetIsAStateOfBothEnds) {
  Traced traced;
  run_ipc_pair(
      {}, [](const IpcEnd& end) { end.shake_hands(); }, traced.decorate);
  EXPECT_THAT(traced.traces[1].order(),
              HasSubstr("rank 1 | check access | check peer access to rank 0: granted\nrank 1 | enable GET | state\n"));
  EXPECT_THAT(traced.traces[0].order(), HasSubstr("rank 0 | enable GET | state\n"));
  EXPECT_THAT(traced.traces[0].order(), Not(HasSubstr("check access")));
}

TEST(CudaIpcTrace, AMessageByIpcInTheWordsOfTheScenario) {
  Traced traced;
  std::array<std::string, 2> orders;
  run_ipc_pair(
      {},
      [&](const IpcEnd& end) {
        const Trace& trace = traced.traces[end.sending() ? 0 : 1];
        const View message(end.device(100'000_B));
        end.shake_hands();
        end.sleep_until(kStart);
        const std::size_t before = trace.order().size();
        end.one_message(message);
        orders[end.sending() ? 0 : 1] = trace.order().substr(before);
      },
      traced.decorate);
  // The first thing received is the fragment of the first message, given back after that message was over.
  EXPECT_EQ(orders[0], R"(rank 0 | export | export memory device[0+100000]
rank 0 | send RGET header | send_control rank 1 128 B
rank 0 | receive | recv_control rank 1
rank 0 | send RGET header | send_control rank 1 128 B | ended
rank 0 | receive | recv_control rank 1 | ended
rank 0 | received fragment back | state
rank 0 | receive | recv_control rank 1
rank 0 | receive | recv_control rank 1 | ended
rank 0 | received FIN | state
)");
  EXPECT_EQ(orders[1], R"(rank 1 | receive | recv_control rank 0
rank 1 | receive | recv_control rank 0 | ended
rank 1 | received RGET header | state
rank 1 | look up | open memory of rank 0 device[0+100000]
rank 1 | pull | copy device[0+100000] -> device[0+100000] stream 2
rank 1 | pull | copy device[0+100000] -> device[0+100000] stream 2 | ended
rank 1 | send FIN | send_control rank 0 24 B
rank 1 | send FIN | send_control rank 0 24 B | ended
)");
}

}  // namespace
}  // namespace twinlink::model
