// What a rank asks its device for, and when. Of the job's other ranks there are only their places here.
#include "real/rank/real_rank.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "protocols/gpu/work.hpp"
#include "tests/real/rank/device_mock.hpp"
#include "tests/real/rank/lonely_rank.hpp"

namespace twinlink::real {
namespace {

using ::testing::ElementsAre;
using ::testing::InSequence;
using ::testing::NiceMock;
using ::testing::Return;

class RealRankTest : public testing::Test, public LonelyRank {
 protected:
  RealRankTest() {
    ON_CALL(device, synchronize).WillByDefault([this](Stream) { synchronized(); });
  }
  /// Then all copies have ended.
  void synchronized() { ON_CALL(device, ended).WillByDefault(Return(true)); }
  /// What has ended by now.
  std::optional<Completion> look(Op op) { return rank.wait_any({&op, 1}, Seconds{}); }
};

/// A copy that has ended costs a question to the driver; those between the oldest and the newest cost none.
TEST_F(RealRankTest, OfTheCopiesOfAStreamTheOldestAndTheNewestAreAskedFor) {
  std::uint64_t last = 0;
  std::set<std::uint64_t> over;
  std::vector<std::string> calls;
  ON_CALL(device, copy).WillByDefault([&](auto&&...) { return Event{++last}; });
  ON_CALL(device, ended).WillByDefault([&](Event event) {
    calls.push_back(fmt::format("ended {}", event.id));
    return over.contains(event.id);
  });
  ON_CALL(device, forget).WillByDefault([&](Event event) { calls.push_back(fmt::format("forget {}", event.id)); });
  const View view(rank.allocate(Memory::device, 64_B));
  std::vector<Op> ops;
  for (int i = 0; i < 5; ++i) ops.push_back(rank.copy(view, view, Stream{2}, Engine::dma));
  EXPECT_FALSE(look(ops[0]));
  EXPECT_THAT(calls, ElementsAre("ended 1"));
  calls.clear();
  over = {1};
  EXPECT_FALSE(look(ops[1]));
  EXPECT_THAT(calls, ElementsAre("ended 1", "ended 5", "ended 2"));
  calls.clear();
  over = {1, 2, 3, 4, 5};
  EXPECT_TRUE(look(ops[3]));
  EXPECT_THAT(calls, ElementsAre("ended 2", "ended 5", "forget 3", "forget 4"));
  calls.clear();
  for (const std::size_t i : {4U, 0U, 1U, 2U}) EXPECT_TRUE(look(ops[i])) << i;
  EXPECT_TRUE(calls.empty());
  // A single one behind them is asked for by itself.
  const Op next = rank.copy(view, view, Stream{2}, Engine::dma);
  over.insert(6);
  EXPECT_TRUE(look(next));
  EXPECT_THAT(calls, ElementsAre("ended 6"));
}

/// Memory of a peer that this rank maps, though its device does not reach it.
TEST_F(RealRankTest, KernelsLeaveMemoryOfDevicesWithoutPeerAccessAlone) {
  const RankId peer{rank.id().value == 0 ? 1 : 0};
  HostRuntime its_device("here", 7, HostPeers::all);
  Exports its_exports;
  exports.attach(peer, its_exports.token());
  RealMemory its_memory(peer, its_device, its_exports, numa);
  const IpcHandle handle = its_memory.export_memory(its_memory.allocate(Memory::device, 64_B, Locality::near));
  for (const bool reached : {false, true}) {
    Path& path = neighbours.ranks[static_cast<std::size_t>(peer.value)].path;
    path.device_mapping = Answer::granted();
    path.peer_access = reached ? Answer::granted() : Answer::refused("no peer access");
    const View theirs(rank.open_memory(peer, handle));
    const View own(rank.allocate(Memory::device, 64_B));
    EXPECT_NO_THROW(rank.abandon(rank.copy(own, theirs, Stream{0}, Engine::dma)));
    for (const auto& [to, from, engine] :
         {std::tuple(theirs, own, Engine::kernel), {own, theirs, Engine::kernel}, {theirs, own, Engine::resident}}) {
      if (reached) {
        EXPECT_NO_THROW(rank.abandon(rank.copy(to, from, Stream{0}, engine)));
      } else {
        EXPECT_THROW(rank.copy(to, from, Stream{0}, engine), UsageError);
      }
    }
    EXPECT_THROW(rank.copy(own, theirs, Stream{0}, Engine::resident), UsageError) << "it only writes";
    rank.close_memory(theirs.buffer);
  }
}

TEST_F(RealRankTest, OnlyStreamsThatThereAreTakeWork) {
  const View view(rank.allocate(Memory::device, 64_B));
  EXPECT_CALL(device, enqueue).Times(0);
  EXPECT_CALL(device, compute).Times(0);
  for (const Stream stream : {Stream{-2}, Stream{kStreams}}) {
    EXPECT_THROW(lonely.enqueue(view, stream, 1, "", [](std::byte*, void*) {}), UsageError);
    EXPECT_THROW(lonely.enqueue(view, view, stream, [](std::byte*, std::byte*, void*) {}), UsageError);
    EXPECT_THROW(rank.compute(1.0_us, stream), UsageError);
  }
}

/// A second is what peers may take for control messages that are left, where there are any.
TEST_F(RealRankTest, AnIdleRankEndsAtOnce) {
  const Seconds busy = rank.cpu_time().value();
  { const RealRank idle(*mpi, device, neighbours, numa, memory, signals, life, nullptr, RealRank::Clock::now()); }
  EXPECT_LT(rank.cpu_time().value() - busy, Seconds{0.05});
}

TEST_F(RealRankTest, AnOperationIsNoLaterOneOfItsPlace) {
  const Op old = rank.compute(Seconds{}, kOnHost);
  EXPECT_TRUE(look(old));
  const Op next = rank.compute(Seconds{1000}, kOnHost);
  EXPECT_NE(old, next);
  EXPECT_THROW(static_cast<void>(look(old)), UsageError);
  EXPECT_THROW(rank.abandon(old), UsageError);
  EXPECT_FALSE(look(next));
  rank.abandon(next);
  EXPECT_THROW(rank.abandon(next), UsageError);
}

/// Pieces of 4 MiB pass through the host; with each of them whoever watches must see this rank live.
TEST_F(RealRankTest, WhoFillsOrReadsMuchMemoryLivesWithEveryPiece) {
  LifeSigns::Clock::time_point now{std::chrono::hours(1)};
  LifeSigns watcher([&] { return now; });
  watcher.attach(rank.id(), life.token());
  std::vector<double> silences;
  std::vector<std::uint64_t> pieces;
  ON_CALL(device, copy_now).WillByDefault([&](std::byte* to, const std::byte* from, Bytes size) {
    device.memory.copy_now(to, from, size);
    now += std::chrono::seconds(1);
    silences.push_back(watcher.silence_of(rank.id()).value());
    pieces.push_back(size.count());
  });
  const auto expect_life = [&](const auto& work, std::vector<std::uint64_t> expected) {
    static_cast<void>(watcher.silence_of(rank.id()));
    silences.clear();
    pieces.clear();
    work();
    EXPECT_EQ(pieces, expected);
    EXPECT_EQ(silences, std::vector<double>(expected.size()));
  };
  const View view(rank.allocate(Memory::device, 9_MiB));
  const std::vector<std::uint64_t> all{(4_MiB).count(), (4_MiB).count(), (1_MiB).count()};
  std::vector<std::byte> bytes(100);
  expect_life([&] { rank.fill(view, Payload{7}); }, all);
  expect_life([&] { EXPECT_TRUE(rank.check(view, Payload{7}).intact()); }, all);
  expect_life([&] { rank.write(view.slice(5_MiB, 100_B), bytes); }, {100});
  expect_life([&] { rank.read(view.slice(5_MiB, 100_B), bytes); }, {100});
  expect_life([&] { EXPECT_FALSE(rank.check(view, Payload{7}).intact()); }, {(4_MiB).count(), (4_MiB).count()});
  static_cast<void>(watcher.silence_of(rank.id()));
  now += std::chrono::seconds(1);
  rank.abandon(rank.compute(Seconds{1000}, kOnHost));
  EXPECT_EQ(watcher.silence_of(rank.id()), Seconds{1}) << "starting work is no sign of life";
  const Op done = rank.compute(Seconds{}, kOnHost);
  EXPECT_TRUE(look(done));
  EXPECT_EQ(watcher.silence_of(rank.id()), Seconds{});
}

TEST_F(RealRankTest, BytesAreWrittenAndReadByWholeViewsOfEveryMemory) {
  EXPECT_TRUE(rank.has_bytes());
  for (const Memory kind : {Memory::device, Memory::pageable}) {
    const View view(rank.allocate(kind, 8_B));
    std::array<std::byte, 8> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i + 1);
    rank.write(view, bytes);
    std::array<std::byte, 3> some{};
    rank.read(view.slice(2_B, 3_B), some);
    EXPECT_THAT(some, ElementsAre(std::byte{3}, std::byte{4}, std::byte{5}));
    for (const Bytes other : {2_B, 4_B}) {
      EXPECT_THROW(rank.write(view.slice(0_B, other), some), UsageError);
      EXPECT_THROW(rank.read(view.slice(0_B, other), some), UsageError);
    }
  }
}

TEST_F(RealRankTest, WhatIsAbandonedIsGivenUpOnTheDevice) {
  const Buffer fifos = rank.allocate(Memory::device, 4_KiB);
  const std::uint64_t none = 0;
  const gpu::Link link{
      .mine = View(fifos), .theirs = View(fifos), .carried = true, .sent = {&none, 1}, .received = {&none, 1}};
  const gpu::Work work{.program = {.operation = gpu::Operation::exchange, .slot = 64, .slots = 2}, .links = {&link, 1}};
  {
    const InSequence order;
    EXPECT_CALL(device, give_up_programs(Stream{3}));
    EXPECT_CALL(device, synchronize(Stream{3}));
    EXPECT_CALL(device, synchronize(Stream{4}));
  }
  const Op program = rank.launch(work, Stream{3});
  EXPECT_THROW(rank.release(fifos), UsageError);
  rank.abandon(program);
  rank.abandon(rank.copy(View(fifos), View(fifos), Stream{4}, Engine::dma));
  EXPECT_NO_THROW(rank.release(fifos));
}

/// The second of two slots, in their second turn.
class SlotsOfPrograms : public RealRankTest {
 protected:
  static constexpr std::uint64_t kStep = 3;

  gpu::FifoSlot slot(gpu::LineFormat format, gpu::FifoSlot::Event event, Bytes bytes) {
    gpu::FifoSlot made{.fifo = View(rank.allocate(Memory::device, 4_KiB)),
                       .program = {.format = format, .slot = 240, .slots = 2},
                       .step = kStep,
                       .bytes = bytes.count(),
                       .event = event};
    const std::vector<std::byte> zeros((4_KiB).count());
    rank.write(made.fifo, zeros);
    return made;
  }
  void write(const gpu::FifoSlot& of, std::uint64_t at, std::uint64_t value) {
    rank.write(of.fifo.slice(Bytes{at}, 8_B), std::as_bytes(std::span(&value, 1)));
  }
  std::uint64_t word(const gpu::FifoSlot& of, std::uint64_t at) {
    std::uint64_t value = 0;
    rank.read(of.fifo.slice(Bytes{at}, 8_B), std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  /// It is awaited until all of `words` hold `flag`, whichever comes last, and `early` is no such flag.
  void expect_awaits(const gpu::FifoSlot& awaited, const std::vector<std::uint64_t>& words, std::uint64_t flag,
                     std::uint64_t early) {
    for (const std::uint64_t last : words) {
      for (const std::uint64_t at : words) write(awaited, at, at == last ? early : flag);
      const Op op = rank.await_slot(awaited);
      EXPECT_FALSE(look(op)) << last;
      EXPECT_FALSE(look(op)) << last;
      write(awaited, last, flag);
      EXPECT_TRUE(look(op)) << last;
    }
  }
};

TEST_F(SlotsOfPrograms, AreThereWhenAllTheirLinesAre) {
  using gpu::LineFormat;
  constexpr auto kFilled = gpu::FifoSlot::Event::filled;
  const gpu::FifoSlot ll = slot(LineFormat::ll, kFilled, 20_B);
  const std::uint64_t second = gpu::kSlotsAt + gpu::slot_room(ll.program);
  expect_awaits(ll, {second, second + 8, second + 16, second + 24, second + 32, second + 40}, (kStep + 1) << 32U | 77,
                (kStep - 1) << 32U | 77);
  const gpu::FifoSlot ll128 = slot(LineFormat::ll128, kFilled, 121_B);
  const std::uint64_t line = gpu::kSlotsAt + gpu::slot_room(ll128.program) + gpu::kLl128Data;
  expect_awaits(ll128, {line, line + gpu::kLl128Line}, kStep + 1, kStep - 1);
  expect_awaits(slot(LineFormat::simple, kFilled, 20_B), {gpu::kTailAt}, kStep + 1, kStep);
  expect_awaits(slot(LineFormat::simple, kFilled, 20_B), {gpu::kTailAt}, kStep + 2, kStep);
  for (const LineFormat format : {LineFormat::simple, LineFormat::ll, LineFormat::ll128}) {
    expect_awaits(slot(format, gpu::FifoSlot::Event::read, 20_B), {gpu::kCreditAt}, kStep + 1, kStep);
  }
}

TEST_F(SlotsOfPrograms, AreToldByACounterUnlessLinesTellThem) {
  for (const auto format : {gpu::LineFormat::simple, gpu::LineFormat::ll, gpu::LineFormat::ll128}) {
    for (const auto event : {gpu::FifoSlot::Event::filled, gpu::FifoSlot::Event::read}) {
      const bool filled = event == gpu::FifoSlot::Event::filled;
      const gpu::FifoSlot told = slot(format, event, 20_B);
      rank.raise_slot(told);
      EXPECT_EQ(word(told, gpu::kTailAt), filled && format == gpu::LineFormat::simple ? kStep + 1 : 0);
      EXPECT_EQ(word(told, gpu::kCreditAt), filled ? 0 : kStep + 1);
    }
  }
}

TEST_F(SlotsOfPrograms, InDeviceMemoryThatTheCpuDoesNotReachAreRefused) {
  ON_CALL(device, host_addressable).WillByDefault(Return(false));
  const gpu::FifoSlot far = slot(gpu::LineFormat::simple, gpu::FifoSlot::Event::filled, 20_B);
  EXPECT_THROW(static_cast<void>(rank.await_slot(far)), UnavailableError);
  EXPECT_THROW(rank.raise_slot(far), UnavailableError);
}

}  // namespace
}  // namespace twinlink::real
