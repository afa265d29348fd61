// The simulated machine against closed forms. On an idle machine nothing is random and nothing is fitted, so the
// tolerance is that of the arithmetic: SimGrid's precision of 1 ps per event, far below the 0.1 % that is asked for.
#include "model/engine/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simgrid/s4u.hpp>
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
  const auto body = [](Rank&) {
    using simgrid::config::get_value;
    EXPECT_EQ(get_value<std::string>("network/model"), "CM02");
    EXPECT_EQ(get_value<double>("network/TCP-gamma"), 0);
    EXPECT_FALSE(get_value<bool>("network/crosstraffic"));
    EXPECT_EQ(get_value<double>("surf/precision"), 1e-12);
    EXPECT_EQ(get_value<std::string>("network/optim"), "Lazy");
  };
  simulate(sample_platform(), std::vector{kLoneGpu}, body, {.engine = SimulationOptions::Engine::exact});
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

void expect_message(const std::string& protocol, const Place& from, const Place& to, Seconds expected,
                    Bytes size = 1_MiB, const Settings& settings = {}) {
  expect_near(one_message(protocol, {from, to}, size, settings), expected);
}

TEST(ClosedForm, OfAMessageByEachWay) {
  const Seconds copies = 1_MiB / kUp + 1_MiB / kDown;
  expect_message("host", kLoneGpu, kOtherNode, kLearning + kOverhead + 1_MiB / kWire);
  expect_message("staging", kLoneGpu, kOtherNode, kLearning + kOverhead * 3 + 1_MiB / kWire + copies);
  expect_message("gpudirect-v1", kLoneGpu, kOtherNode, kOverhead * 3 + 1_MiB / kWire + copies);
  // The receiver's "ready", the copy, the sender's "delivered"; for the first time, so the buffer is exported and
  // opened. Between hubs the driver stages.
  const Seconds around = kPeersConnect + kExport + kControl + kOpen + kOverhead + kControl;
  expect_message("gpudirect-v2", kFirstPeer, kSecondPeer, around + 1_MiB / kPeer);
  expect_message("gpudirect-v2", kLoneGpu, kSecondPeer, around + 1_MiB / kStagedPeer);
}

/// Hops of a pipeline whose slowest is the wire: every chunk crosses each hop once, and after the first the wire never
/// rests, for with this depth the next chunk has been copied out before the wire is free.
TEST(ClosedForm, OfAPipeline) {
  constexpr Bytes kChunk = 256_KiB;
  expect_message("gpudirect-v1", kLoneGpu, kOtherNode,
                 kOverhead * 3 + kChunk / kUp + (kChunk * 32) / kWire + kChunk / kDown, kChunk * 32,
                 {.chunk = kChunk, .depth = 4});
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

/// Page-locking is paid for by its bytes, of memory that is opened too.
TEST(Simulation, MemoryCostsWhatThePlatformSays) {
  constexpr Seconds kPinned = 3.0_us;
  constexpr Seconds kAllocated = 7.0_us;
  Platform platform = sample_platform();
  platform.runtime.pin_base.value = kPinned;
  platform.runtime.pin_per_gib.value = 1024.0_us;
  platform.runtime.allocate_device.value = kAllocated;
  simulate(platform, std::vector{kFirstPeer, kSecondPeer}, [&](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    auto costs = [&, before = rank.now()](Seconds expected) mutable {
      EXPECT_NEAR((rank.now() - std::exchange(before, rank.now())).microseconds(), expected.microseconds(),
                  kTolerance_us);
    };
    rank.allocate(Memory::pageable, 32_MiB);
    costs(Seconds{});
    rank.allocate(Memory::pinned, 32_MiB);
    costs(kPinned + 32.0_us);
    const Buffer shared = rank.allocate(Memory::shared_pinned, 16_MiB);
    costs(kPinned + 16.0_us);
    const Buffer device = rank.allocate(Memory::device, 16_MiB);
    costs(kAllocated);
    ControlMessage handles[] = {ControlMessage(rank.export_memory(shared)), {}};
    costs(Seconds{});
    handles[1] = ControlMessage(rank.export_memory(device));
    costs(kExport);
    for (ControlMessage& handle : handles) {
      const Op sent = rank.send_control(peer, tags::kReady, handle);
      finish(rank, rank.recv_control(peer, tags::kReady, handle), kLong);
      finish(rank, sent, kLong);
    }
    costs(kControl * 2);
    const Buffer host = rank.open_memory(peer, handles[0].as<IpcHandle>());
    costs(kPinned + 16.0_us);
    const Buffer opened = rank.open_memory(peer, handles[1].as<IpcHandle>());
    costs(kOpen);
    rank.close_memory(host);
    costs(Seconds{});
    rank.close_memory(opened);
    costs(kClose);
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

/// Whatever limits says where it is, which way its bytes go, and how many these were.
TEST(Simulation, LinksHaveNames) {
  Platform platform = sample_platform_with_rdma();
  platform.intra_node.copied_by = CopiedBy::both;
  platform.fallback->both_ways = made_up(Ratio{0.9});
  for (HostMemory& memory : platform.node.memories) memory.bandwidth = made_up(Rate{30e9});
  Link& up = *std::ranges::find(platform.node.links, "up0", &Link::name);
  up.total = up.dma_read = made_up(Rate{7e9});
  std::function<std::vector<LinkUse>()> read;
  std::vector<std::string> names;
  constexpr double kMiB = 1 << 20;
  const auto body = [&](MeasuredRank& rank) {
    const int id = rank.id().value;
    const View host(rank.allocate(Memory::pinned, 1_MiB));
    const View device(rank.allocate(Memory::device, 2_MiB));
    const Settings settings{.depth = 1, .timeout = kLong};
    if (id == 0) {
      finish(rank, rank.send(RankId{1}, tags::kData, host), kLong);
      EXPECT_TRUE(find_protocol("gpudirect-v3").connect(rank, RankId{2}, settings)->send(device).ok());
    } else if (id == 1) {
      finish(rank, rank.receive(RankId{0}, tags::kData, host), kLong);
    } else {
      EXPECT_TRUE(find_protocol("gpudirect-v3").connect(rank, RankId{0}, settings)->receive(device).ok());
    }
    if (id == 2) return;
    {
      const auto channel = find_protocol("gpudirect-v2").connect(rank, RankId{1 - id}, settings);
      EXPECT_TRUE((id == 0 ? channel->send(device) : channel->receive(device)).ok());
    }
    // The receiver's buffer must outlive the sender's channel.
    ControlMessage done;
    if (id == 0) return finish(rank, rank.send_control(RankId{1}, tags::kFirstFree, done), kLong);
    finish(rank, rank.recv_control(RankId{0}, tags::kFirstFree, done), kLong);
    for (const LinkUse& use : read()) {
      if (!use.name.starts_with("node 1")) {
        names.push_back(use.name + " " + std::to_string(std::lround(use.carried / kMiB)));
      }
    }
  };
  simulate(platform, std::vector<Place>{kLoneGpu, kSecondPeer, kOtherNode}, body, {.link_use = &read});
  EXPECT_THAT(names,
              ::testing::ElementsAre("node 0 sockets forward 3", "node 0 up0 forward 4", "node 0 up0 backward 2",
                                     "node 0 up0 both ways 6", "node 0 up0 read by devices 2", "node 0 up1 backward 2",
                                     "node 0 bus0 forward 4", "node 0 bus2 backward 2", "node 0 nic backward 2",
                                     "node 0 nic0 out 2", "node 0 memory0 read 5", "node 0 memory0 written 4",
                                     "node 0 memory1 written 1", "node 0 gpu0 device-to-pinned 2",
                                     "node 0 driver between gpu0 and gpu2 2", "CPU of rank 0 1", "CPU of rank 1 1"));
}

TEST(Simulation, FlowsInSimGridUseTheSameActorsAgain) {
  const auto body = [](Rank& rank) {
    const View device(rank.allocate(Memory::device, 1_MiB));
    const View pinned(rank.allocate(Memory::pinned, 1_MiB));
    for (int i = 0; i < 20; ++i) finish(rank, rank.copy(device, pinned, Stream{}, Engine::dma), kLong);
    EXPECT_LE(simgrid::s4u::Engine::get_instance()->get_actor_count(), 4U);
  };
  simulate(sample_platform(), std::vector{kLoneGpu}, body, {.engine = SimulationOptions::Engine::exact});
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

/// Of a copy of blocks, and of no other of its blocks.
class TornBlock : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Simulation, TornBlock, ::testing::Values(0U, 1U, 2U));

TEST_P(TornBlock, IsTheOneWhoseSourceWasWritten) {
  run({kLoneGpu}, [](MeasuredRank& rank) {
    constexpr Bytes kBlock = 1_MiB;
    const Buffer device = rank.allocate(Memory::device, kBlock * 3);
    const Buffer pinned = rank.allocate(Memory::pinned, kBlock * 5);
    std::vector<Block> blocks;
    for (std::uint64_t i = 0; i < 3; ++i) {
      blocks.push_back({.to = kBlock * i, .from = kBlock * 2 * i, .length = kBlock});
      rank.fill({pinned, kBlock * 2 * i, kBlock}, Payload{i + 1});
    }
    const Op op = rank.copy_blocks(View(device), View(pinned), blocks, Stream{}, Engine::dma);
    EXPECT_FALSE(rank.wait_any({&op, 1}, rank.now() + kLatency + kEngineBlock * 3 + 1.0_us)) << "its bytes flow";
    rank.fill({pinned, kBlock * 2 * GetParam(), 1_B}, Payload{9});
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    for (std::uint64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(rank.check({device, kBlock * i, kBlock}, Payload{i + 1}).intact(), i != GetParam()) << i;
    }
  });
}

/// The last one to come lets all go: in the time that it takes rank 2, which has to tell both others by the network.
class Meeting : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Simulation, Meeting, ::testing::Values(0, 1, 2));

TEST_P(Meeting, EndsForAllAtOnceWhoeverIsTheLast) {
  constexpr Seconds kLate = 50.0_us;
  Platform platform = sample_platform();
  platform.intra_node.control.value = kControl / 2;
  simulate(platform, std::vector{kFirstPeer, kSecondPeer, kOtherNode}, [&](MeasuredRank& rank) {
    for (int round = 1; round <= 2; ++round) {
      if (rank.id().value == GetParam()) finish(rank, rank.compute(kLate, kOnHost), kLong);
      finish(rank, rank.meet().value(), kLong);
      EXPECT_NEAR(rank.now().microseconds(), ((kLate + kControl * 2) * round).microseconds(), kTolerance_us);
    }
  });
}

}  // namespace
}  // namespace twinlink::model
