// The simulated machine against closed forms. On an idle machine nothing is random and nothing is fitted, so the
// tolerance is that of the arithmetic: SimGrid's precision of 1 ps per event, far below the 0.1 % that is asked for.
#include "model/engine/simulation.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xbt/config.hpp>

#include "model/engine/flows/machine.hpp"
#include "model/engine/rank/sim_rank.hpp"
#include "protocols/core/options.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "tests/model/engine/one_message.hpp"
#include "tests/platforms/sample_platform.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers
using ::testing::HasSubstr;

using Body = std::function<void(MeasuredRank&)>;

Seconds run(std::vector<Place> places, const Body& body) { return simulate(sample_platform(), places, body); }

TEST(Simulation, SimGridHasTheSettingsThatSuitTheseMachines) {
  run({kLoneGpu}, [](Rank&) {
    using simgrid::config::get_value;
    EXPECT_EQ(get_value<std::string>("network/model"), "CM02");
    EXPECT_EQ(get_value<double>("network/TCP-gamma"), 0);
    EXPECT_FALSE(get_value<bool>("network/crosstraffic"));
    EXPECT_EQ(get_value<double>("surf/precision"), 1e-12);
    EXPECT_EQ(get_value<std::string>("network/optim"), "Lazy");
  });
}

TEST(Simulation, ACopyCostsOverheadThenLatencyThenFlow) {
  run({kLoneGpu}, [](Rank& rank) {
    const Buffer device = rank.allocate(Memory::device, 1_MiB);
    const Buffer pinned = rank.allocate(Memory::pinned, 1_MiB);
    for (const Bytes size : {0_B, 1_B, 4_KiB, 1_MiB}) {
      const Seconds start = rank.now();
      const Op op = rank.copy({device, {}, size}, {pinned, {}, size}, Stream{}, Engine::dma);
      EXPECT_NEAR((rank.now() - start).microseconds(), kHost.microseconds(), kTolerance_us);
      EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
      EXPECT_NEAR((rank.now() - start).microseconds(), (kHost + kLatency + size / kDown).microseconds(), kTolerance_us);
    }
  });
}

TEST(Simulation, APageableCopyOccupiesTheCpuToItsEnd) {
  run({kLoneGpu}, [](Rank& rank) {
    const Buffer device = rank.allocate(Memory::device, 1_MiB);
    const Buffer pageable = rank.allocate(Memory::pageable, 1_MiB);
    const Seconds start = rank.now();
    const Op op = rank.copy(View(pageable), View(device), Stream{}, Engine::dma);
    EXPECT_NEAR((rank.now() - start).microseconds(), (kHost + kLatency + 1_MiB / kUp).microseconds(), kTolerance_us);
    EXPECT_EQ(wait(rank, op, rank.now()), Status::delivered);
  });
}

TEST(Simulation, CopiesOfAStreamFollowEachOtherAndHideTheirLatency) {
  run({kLoneGpu}, [](Rank& rank) {
    const Buffer device = rank.allocate(Memory::device, 4_MiB);
    const Buffer pinned = rank.allocate(Memory::pinned, 4_MiB);
    const Seconds start = rank.now();
    std::vector<Op> ops;
    for (std::uint64_t i = 0; i < 4; ++i) {
      ops.push_back(rank.copy({device, 1_MiB * i, 1_MiB}, {pinned, 1_MiB * i, 1_MiB}, Stream{}, Engine::dma));
    }
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(wait(rank, ops[i], kLong), Status::delivered);
      const Seconds expected = kHost + kLatency + (1_MiB * (i + 1)) / kDown;
      EXPECT_NEAR((rank.now() - start).microseconds(), expected.microseconds(), kTolerance_us);
    }
  });
}

TEST(Simulation, DirectionsDoNotDisturbEachOtherButOneDirectionIsShared) {
  run({kLoneGpu}, [](Rank& rank) {
    const Buffer device = rank.allocate(Memory::device, 4_MiB);
    const Buffer pinned = rank.allocate(Memory::pinned, 4_MiB);
    const Seconds start = rank.now();
    const Op down = rank.copy({device, {}, 1_MiB}, {pinned, {}, 1_MiB}, Stream{0}, Engine::dma);
    const Op up = rank.copy({pinned, 2_MiB, 1_MiB}, {device, 2_MiB, 1_MiB}, Stream{1}, Engine::dma);
    EXPECT_EQ(wait(rank, up, kLong), Status::delivered);
    EXPECT_NEAR((rank.now() - start).microseconds(), (kHost * 2 + kLatency + 1_MiB / kUp).microseconds(),
                kTolerance_us);
    EXPECT_EQ(wait(rank, down, kLong), Status::delivered);
    EXPECT_NEAR((rank.now() - start).microseconds(), (kHost + kLatency + 1_MiB / kDown).microseconds(), kTolerance_us);
  });
}

/// Two GPUs of one hub copy at once. Each alone may run at kUp; together they get what the hub's link gives.
TEST(Simulation, GpusOfOneHubShareItsLinkEvenly) {
  Platform platform = sample_platform();
  constexpr Rate kNarrow{6e9};
  for (Link& link : platform.node.links) {
    if (link.name == "up1") link.forward.value = kNarrow;
  }
  const std::vector<Place> places{kFirstPeer, kSecondPeer};
  simulate(platform, places, [&](Rank& rank) {
    const Buffer device = rank.allocate(Memory::device, 8_MiB);
    const Buffer pinned = rank.allocate(Memory::pinned, 8_MiB);
    const Op op = rank.copy(View(pinned), View(device), Stream{}, Engine::dma);
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    const Seconds expected = kHost + kLatency + 8_MiB / Rate{kNarrow.bytes_per_second() / 2};
    EXPECT_NEAR(rank.now().microseconds(), expected.microseconds(), kTolerance_us);
  });
}

/// The link would carry both at once.
TEST(Simulation, CopiesOfOneKindShareTheEngineOfTheirGpu) {
  simulate(sample_platform(), std::vector<Place>{kFirstPeer}, [](Rank& rank) {
    const Buffer device = rank.allocate(Memory::device, 16_MiB);
    const Buffer pinned = rank.allocate(Memory::pinned, 16_MiB);
    const Op first = rank.copy(View(device, {}, 8_MiB), View(pinned, {}, 8_MiB), Stream{0}, Engine::dma);
    const Op second = rank.copy(View(device, 8_MiB, 8_MiB), View(pinned, 8_MiB, 8_MiB), Stream{1}, Engine::dma);
    EXPECT_EQ(wait(rank, first, kLong), Status::delivered);
    EXPECT_EQ(wait(rank, second, kLong), Status::delivered);
    EXPECT_NEAR(rank.now().microseconds(), (kHost + kLatency + 16_MiB / kDown).microseconds(), kTolerance_us);
  });
}

/// What shares a link shares it evenly however long the rest of its way is: latency does not weigh.
TEST(Simulation, SharingIsEvenWhateverTheLatencies) {
  Platform platform = sample_platform();
  platform.node.links.front().latency = Sourced<Seconds>{.value = 5.0_us};  // between the sockets
  for (Link& link : platform.node.links) {
    if (link.name == "up1") link.forward.value = Rate{6e9};
  }
  const std::vector<Place> places{kFirstPeer, kSecondPeer};
  simulate(platform, places, [&](Rank& rank) {
    const Buffer device = rank.allocate(Memory::device, 8_MiB);
    const bool far = rank.id().value == 1;
    const Buffer pinned = rank.allocate(Memory::pinned, 8_MiB, far ? Locality::far : Locality::near);
    const Op op = rank.copy(View(pinned), View(device), Stream{}, Engine::dma);
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    if (far) return;
    // Alone at 5 GB/s for the 5 us that the other waits longer, then half of 6 GB/s.
    const Bytes alone{static_cast<std::uint64_t>(5e-6 * 5e9)};
    const Seconds expected = kHost + kLatency + 5.0_us + (8_MiB - alone) / Rate{3e9};
    EXPECT_NEAR(rank.now().microseconds(), expected.microseconds(), kTolerance_us);
  });
}

TEST(Simulation, AMessageCostsOverheadThenLatencyThenTheSlowestLink) {
  run({kLoneGpu, kOtherNode}, [](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer host = rank.allocate(Memory::pinned, 1_MiB);
    for (const Bytes size : {0_B, 1_B, kEager, kEager + 1_B, 1_MiB}) {
      const View view{host, {}, size};
      const Seconds start = rank.now();
      if (rank.id().value == 0) {
        EXPECT_EQ(wait(rank, rank.send(peer, tags::kData, view), kLong), Status::delivered);
        EXPECT_EQ(wait(rank, rank.receive(peer, tags::kData, view), kLong), Status::delivered);
        const Seconds one_way = (rank.now() - start) / 2;
        EXPECT_NEAR(one_way.microseconds(), (kHost + kLatency + size / kWire).microseconds(), kTolerance_us);
      } else {
        EXPECT_EQ(wait(rank, rank.receive(peer, tags::kData, view), kLong), Status::delivered);
        EXPECT_EQ(wait(rank, rank.send(peer, tags::kData, view), kLong), Status::delivered);
      }
    }
  });
}

TEST(Simulation, ALargeMessageWaitsForItsReceiveASmallOneDoesNot) {
  run({kLoneGpu, kOtherNode}, [](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer host = rank.allocate(Memory::pinned, 1_MiB);
    const Bytes large = 1_MiB;
    constexpr Seconds kLate = 100.0_us;
    if (rank.id().value == 0) {
      EXPECT_EQ(wait(rank, rank.send(peer, tags::kData, {host, {}, kEager}), kLong), Status::delivered);
      EXPECT_NEAR(rank.now().microseconds(), (kHost + kLatency + kEager / kWire).microseconds(), kTolerance_us);
      EXPECT_EQ(wait(rank, rank.send(peer, tags::kData, {host, {}, large}), kLong), Status::delivered);
      EXPECT_NEAR(rank.now().microseconds(), (kLate + kControl + large / kWire).microseconds(), kTolerance_us);
    } else {
      ControlMessage nothing;
      EXPECT_EQ(wait(rank, rank.recv_control(peer, tags::kFirstFree, nothing), kLate), Status::timed_out);
      EXPECT_EQ(wait(rank, rank.receive(peer, tags::kData, {host, {}, kEager}), rank.now()), Status::delivered);
      EXPECT_EQ(wait(rank, rank.receive(peer, tags::kData, {host, {}, large}), kLong), Status::delivered);
    }
  });
}

TEST(Simulation, MessagesToOnePeerFollowEachOther) {
  run({kLoneGpu, kOtherNode}, [](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer host = rank.allocate(Memory::pinned, 8_MiB);
    std::vector<Op> ops;
    for (std::uint64_t i = 0; i < 8; ++i) {
      const View view{host, 1_MiB * i, 1_MiB};
      ops.push_back(rank.id().value == 0 ? rank.send(peer, tags::kData, view) : rank.receive(peer, tags::kData, view));
    }
    for (std::size_t i = 0; i < ops.size(); ++i) {
      EXPECT_EQ(wait(rank, ops[i], kLong), Status::delivered);
      const Seconds expected = kHost + kLatency + (1_MiB * (i + 1)) / kWire;
      EXPECT_NEAR(rank.now().microseconds(), expected.microseconds(), kTolerance_us);
    }
  });
}

TEST(Simulation, ControlMessagesTakeTheirTime) {
  run({kLoneGpu, kOtherNode}, [](Rank& rank) {
    ControlMessage message(42);
    if (rank.id().value == 0) {
      EXPECT_EQ(wait(rank, rank.send_control(RankId{1}, tags::kReady, message), kLong), Status::delivered);
      EXPECT_NEAR(rank.now().microseconds(), kHost.microseconds(), kTolerance_us);
    } else {
      EXPECT_EQ(wait(rank, rank.recv_control(RankId{0}, tags::kReady, message), kLong), Status::delivered);
      EXPECT_NEAR(rank.now().microseconds(), kControl.microseconds(), kTolerance_us);
    }
  });
}

TEST(ClosedForm, Host) {
  EXPECT_NEAR(one_message("host", {kLoneGpu, kOtherNode}, 1_MiB, {}).microseconds(),
              (kLearning + kOverhead + 1_MiB / kWire).microseconds(), kTolerance_us);
}

TEST(ClosedForm, Staging) {
  const Seconds expected = kLearning + kOverhead * 3 + 1_MiB / kUp + 1_MiB / kWire + 1_MiB / kDown;
  EXPECT_NEAR(one_message("staging", {kLoneGpu, kOtherNode}, 1_MiB, {}).microseconds(), expected.microseconds(),
              kTolerance_us);
}

TEST(ClosedForm, GpuDirectV1Whole) {
  const Seconds expected = kOverhead * 3 + 1_MiB / kUp + 1_MiB / kWire + 1_MiB / kDown;
  EXPECT_NEAR(one_message("gpudirect-v1", {kLoneGpu, kOtherNode}, 1_MiB, {}).microseconds(), expected.microseconds(),
              kTolerance_us);
}

/// Hops of a pipeline whose slowest is the wire: every chunk crosses each hop once, and after the first the wire never
/// rests, for with this depth the next chunk has been copied out before the wire is free.
TEST(ClosedForm, GpuDirectV1Pipelined) {
  constexpr Bytes chunk = 256_KiB;
  constexpr std::uint64_t chunks = 32;
  const Seconds expected = kOverhead * 3 + chunk / kUp + (chunk * chunks) / kWire + chunk / kDown;
  EXPECT_NEAR(
      one_message("gpudirect-v1", {kLoneGpu, kOtherNode}, chunk * chunks, {.chunk = chunk, .depth = 4}).microseconds(),
      expected.microseconds(), kTolerance_us);
}

/// Two hops with two buffers, the textbook form: T = a + b + (n-1) max(a, b), with a and b the times of one chunk on
/// each hop. A chunk's buffer is free again when the second hop has taken it, so overheads cannot hide: they belong to
/// the hops. Here the second hop is the slower one, and its own overhead hides behind the flow before it.
TEST(ClosedForm, TwoPipelinedHopsWithDepthTwo) {
  constexpr Bytes chunk = 1_MiB;
  constexpr std::uint64_t chunks = 16;
  Seconds end{};
  run({kLoneGpu, kOtherNode}, [&](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    const Settings settings{.chunk = chunk, .depth = 2};
    if (rank.id().value == 0) {
      const Buffer device = rank.allocate(Memory::device, chunk * chunks);
      const auto channel = find_protocol("gpudirect-v1").connect(rank, peer, settings);
      EXPECT_TRUE(channel->send(View(device)).ok());
      end = rank.now();
    } else {
      const Buffer host = rank.allocate(Memory::pinned, chunk * chunks);
      const auto channel = find_protocol("host").connect(rank, peer, {.chunk = chunk, .depth = 2});
      EXPECT_TRUE(channel->receive(View(host)).ok());
    }
  });
  const Seconds a = chunk / kUp;
  const Seconds b = chunk / kWire;
  const Seconds expected = kOverhead * 2 + a + b * static_cast<double>(chunks);
  EXPECT_LT(a, b) << "the form above is for a slower second hop";
  EXPECT_NEAR(end.value(), expected.value(), expected.value() * 1e-3);
}

TEST(ClosedForm, GpuDirectV2WithinAHub) {
  // The receiver's "ready", the copy, the sender's "delivered"; for the first time, so the buffer is exported and
  // opened.
  const Seconds expected = kPeersConnect + kExport + kControl + kOpen + kOverhead + 1_MiB / kPeer + kControl;
  EXPECT_NEAR(one_message("gpudirect-v2", {kFirstPeer, kSecondPeer}, 1_MiB, {}).microseconds(), expected.microseconds(),
              kTolerance_us);
}

TEST(ClosedForm, GpuDirectV2FallsBackToTheDriversStagingBetweenHubs) {
  const Seconds expected = kPeersConnect + kExport + kControl + kOpen + kOverhead + 1_MiB / kStagedPeer + kControl;
  EXPECT_NEAR(one_message("gpudirect-v2", {kLoneGpu, kSecondPeer}, 1_MiB, {}).microseconds(), expected.microseconds(),
              kTolerance_us);
}

TEST(Simulation, ARefusalEndsTheReceiverEvenIfItOvertakesAnEarlierAnswer) {
  run({kFirstPeer, kSecondPeer}, [](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer buffer = rank.allocate(Memory::device, 2_MiB);
    const auto channel = find_protocol("gpudirect-v2").connect(rank, peer, {.depth = 2, .timeout = kLong});
    const bool sending = rank.id().value == 0;
    const std::vector<View> messages{{buffer, {}, 1_MiB}, {buffer, 1_MiB, sending ? 1_MiB : 4_B}};
    const Outcome outcome = sending ? channel->exchange(messages, {}) : channel->exchange({}, messages);
    EXPECT_EQ(outcome.status, Status::wrong_size) << outcome.reason;
    EXPECT_LT(rank.now(), kLong) << "not by the deadline";
  });
}

TEST(Simulation, DeviceMemoryEnds) {
  run({kLoneGpu}, [](Rank& rank) {
    const Buffer most = rank.allocate(Memory::device, 5_GiB);
    EXPECT_THROW(rank.allocate(Memory::device, 2_GiB), UsageError) << "the sample GPU has 6 GiB";
    rank.release(most);
    rank.release(rank.allocate(Memory::device, 6_GiB));
  });
}

TEST(Simulation, AFailingRankEndsAllAndItsErrorComesOut) {
  try {
    run({kLoneGpu, kOtherNode}, [](Rank& rank) {
      if (rank.id().value == 1) throw UsageError("planted");
      ControlMessage message;
      finish(rank, rank.recv_control(RankId{1}, tags::kReady, message), kLong);
      FAIL() << "rank 0 should have been ended";
    });
    FAIL() << "the error was lost";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "planted");
  }
}

/// The observer is told of a copy when its bytes are there, which is in no rank's code.
TEST(Simulation, AnErrorOutsideOfTheRanksCodeEndsAllRanksToo) {
  const auto fail = [](const OpReport& report) {
    if (report.verb == "copy") throw UsageError("planted");
  };
  const auto body = [](Rank& rank) {
    const Buffer device = rank.allocate(Memory::device, 1_MiB);
    const Buffer pinned = rank.allocate(Memory::pinned, 1_MiB);
    if (rank.id().value == 0) rank.copy(View(device), View(pinned), Stream{}, Engine::dma);
    ControlMessage message;
    finish(rank, rank.recv_control(RankId{1 - rank.id().value}, tags::kReady, message), kLong);
    FAIL() << "all ranks should have been ended";
  };
  try {
    simulate(sample_platform(), std::vector{kLoneGpu, kOtherNode}, body, {.observer = fail});
    FAIL() << "the error was lost";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "planted");
  }
}

TEST(Simulation, RanksThatWaitForEverAreADeadlock) {
  const auto wait_for_ever = [](Rank& rank) {
    ControlMessage message;
    const Op op = rank.recv_control(RankId{1 - rank.id().value}, tags::kReady, message);
    rank.wait_any({&op, 1}, Seconds{std::numeric_limits<double>::infinity()});
  };
  EXPECT_THROW(run({kLoneGpu, kOtherNode}, wait_for_ever), Error);
}

TEST(Simulation, WritingASourceBeforeItsOperationHasEndedTearsTheMessage) {
  run({kLoneGpu, kOtherNode}, [](MeasuredRank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer host = rank.allocate(Memory::pageable, 1_MiB);
    if (rank.id().value == 0) {
      rank.fill(View(host), Payload{1});
      const Op op = rank.send(peer, tags::kData, View(host));
      rank.fill({host, 4_KiB, 1_B}, Payload{2});
      EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    } else {
      EXPECT_EQ(wait(rank, rank.receive(peer, tags::kData, View(host)), kLong), Status::delivered);
      EXPECT_FALSE(rank.check(View(host), Payload{1}).intact());
    }
  });
}

TEST(Simulation, RunsTwiceAlike) {
  // One engine per process: the second run is a child's.
  const auto once = [] {
    return one_message("gpudirect-v1", {kLoneGpu, kOtherNode}, 3_MiB, {.chunk = 64_KiB, .depth = 3});
  };
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  if (fork() == 0) {
    const double value = once().value();
    const bool sent = write(channel[1], &value, sizeof value) == sizeof value;
    _exit(sent ? 0 : 1);
  }
  double other = 0;
  ASSERT_EQ(read(channel[0], &other, sizeof other), static_cast<ssize_t>(sizeof other));
  EXPECT_EQ(once().value(), other) << "to the last bit";
}

}  // namespace
}  // namespace twinlink::model
