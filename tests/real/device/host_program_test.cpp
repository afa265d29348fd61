// Programs of thread blocks on emulated devices: two ranks of one process, of which the test says who goes on.
#include "real/device/host_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace twinlink::real {
namespace {

using gpu::LineFormat;
using Words = std::vector<std::uint64_t>;

constexpr std::array kFormats{LineFormat::simple, LineFormat::ll, LineFormat::ll128};

std::byte* bytes(Words& words) { return static_cast<std::byte*>(static_cast<void*>(words.data())); }

/// A rank that sends so many words to the other one and receives so many.
struct End {
  End(gpu::Program of, std::size_t sends, std::size_t receives)
      : program(of), input(sends), output(receives), fifos(number_of_fifo_words(of)) {
    program.bytes = 8 * sends;
    program.received = 8 * receives;
    std::iota(input.begin(), input.end(), 1000 * (1 + static_cast<std::uint64_t>(program.rank)));
  }
  static std::size_t number_of_fifo_words(const gpu::Program& p) {
    return gpu::number(p.channels) * gpu::fifo_room(p) / 8;
  }
  /// The program runs from here on, `times` times.
  void begin(End& other, int times = 1) {
    const std::size_t channels = gpu::number(program.channels);
    DeviceLink link{.mine = bytes(fifos), .theirs = bytes(other.fifos), .sent = sent, .received = received};
    link.sent.resize(channels);
    link.received.resize(channels);
    for (std::int32_t channel = 0; channel < program.channels; ++channel) {
      link.sent_each.push_back(gpu::turns(gpu::channel_of(program, program.bytes, channel).length, program.slot));
      link.received_each.push_back(
          gpu::turns(gpu::channel_of(program, program.received, channel).length, program.slot));
    }
    running.emplace(DeviceProgram{
        .program = program, .input = bytes(input), .output = bytes(output), .links = {link}, .times = times});
  }
  /// Until it waits for the other one; true: it has ended.
  bool go_on() {
    bool ended = false;
    for (int turn = 0; turn < 50 && !ended; ++turn) ended = running->go_on();
    return ended;
  }
  [[nodiscard]] std::uint64_t counter(std::uint64_t at, std::size_t channel = 0) const {
    return fifos[(channel * gpu::fifo_room(program) + at) / 8];
  }

  gpu::Program program;
  Words input;
  Words output;
  Words fifos;
  Words sent{};
  Words received{};
  std::optional<HostProgram> running{};
};

gpu::Program exchange(LineFormat format, int rank, std::int32_t channels = 1) {
  return {.operation = gpu::Operation::exchange,
          .format = format,
          .rank = rank,
          .ranks = 2,
          .channels = channels,
          .slot = 64,
          .slots = 2};
}

/// So many words of `input` have come, and no others.
void expect_prefix(const Words& output, const Words& input, std::size_t words) {
  Words expected(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(words));
  expected.resize(output.size());
  EXPECT_EQ(output, expected);
}

/// What has no credit is not sent: the slots that the other one has not read stay as they are.
TEST(HostProgram, ASenderFillsTheSlotsThereAreAndWaits) {
  constexpr std::size_t kWords = 5 * 8 + 3;  // six slots
  for (const LineFormat format : kFormats) {
    End sender(exchange(format, 0), kWords, 0);
    End receiver(exchange(format, 1), 0, kWords);
    sender.begin(receiver);
    receiver.begin(sender);
    EXPECT_FALSE(receiver.go_on());
    expect_prefix(receiver.output, sender.input, 0);
    for (const std::size_t slots : {2U, 4U}) {
      EXPECT_FALSE(sender.go_on());
      EXPECT_FALSE(receiver.go_on());
      expect_prefix(receiver.output, sender.input, 8 * slots);
      EXPECT_EQ(sender.counter(gpu::kCreditAt), slots);
      EXPECT_EQ(receiver.counter(gpu::kTailAt), format == LineFormat::simple ? slots : 0);
    }
    EXPECT_TRUE(sender.go_on());
    EXPECT_TRUE(receiver.go_on());
    expect_prefix(receiver.output, sender.input, kWords);
  }
}

/// In channels of their own, which count from where they were left; lines of an earlier turn are not taken for new
/// ones.
TEST(HostProgram, MessagesPassBothWaysInEveryFormatAndGoOnWithTheirCounts) {
  for (const LineFormat format : kFormats) {
    for (const std::int32_t channels : {1, 3}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(format)) + " " + std::to_string(channels));
      End one(exchange(format, 0, channels), 50, 1000);
      End other(exchange(format, 1, channels), 1000, 50);
      for (int round = 0; round < 3; ++round) {
        std::ranges::fill(one.output, 0);
        std::ranges::fill(other.output, 0);
        for (std::uint64_t& word : one.input) ++word;
        one.begin(other);
        other.begin(one);
        bool ended = false;
        for (int turn = 0; turn < 1000 && !ended; ++turn) {
          const bool first = one.running->go_on();
          ended = other.running->go_on() && first;
        }
        ASSERT_TRUE(ended);
        EXPECT_EQ(one.output, other.input);
        EXPECT_EQ(other.output, one.input);
        one.sent.resize(gpu::number(channels));
        one.received.resize(gpu::number(channels));
        for (std::size_t c = 0; c < one.sent.size(); ++c) {
          const auto channel = static_cast<std::int32_t>(c);
          one.sent[c] += gpu::turns(gpu::channel_of(one.program, one.program.bytes, channel).length, 64);
          one.received[c] += gpu::turns(gpu::channel_of(one.program, one.program.received, channel).length, 64);
          EXPECT_EQ(one.counter(gpu::kCreditAt, c), one.sent[c]) << "slots that the other one has read";
          EXPECT_EQ(other.counter(gpu::kCreditAt, c), one.received[c]);
        }
        other.sent = one.received;
        other.received = one.sent;
      }
    }
  }
}

TEST(HostProgram, RunsOfAGraphCountOnWithoutTheHost) {
  for (const LineFormat format : kFormats) {
    End one(exchange(format, 0), 20, 36);  // 3 slots and 5
    End other(exchange(format, 1), 36, 20);
    one.begin(other, 4);
    other.begin(one, 4);
    bool first = false;
    bool second = false;
    for (int turn = 0; turn < 1000 && !(first && second); ++turn) {
      if (!first) first = one.running->go_on();
      if (!second) second = other.running->go_on();
    }
    EXPECT_TRUE(first && second);
    EXPECT_EQ(one.output, other.input);
    EXPECT_EQ(other.output, one.input);
    EXPECT_EQ(one.counter(gpu::kCreditAt), 4 * 3U);
    EXPECT_EQ(other.counter(gpu::kCreditAt), 4 * 5U);
  }
}

TEST(HostProgram, WhatIsGivenUpEndsAtOnceAndRunsNoMore) {
  for (const int times : {1, 3}) {
    End sender(exchange(LineFormat::simple, 0), 100, 0);
    End receiver(exchange(LineFormat::simple, 1), 0, 100);
    sender.begin(receiver, times);
    receiver.begin(sender, times);
    EXPECT_FALSE(sender.go_on());
    EXPECT_FALSE(receiver.running->go_on());
    for (End* const end : {&sender, &receiver}) {
      end->running->give_up();
      EXPECT_TRUE(end->running->go_on());
    }
    expect_prefix(receiver.output, sender.input, 16);
    EXPECT_EQ(receiver.counter(gpu::kTailAt), 2U);
  }
}

/// Between waits others have their turn: a message that fits into its slots takes several.
TEST(HostProgram, MuchIsMovedInTurns) {
  gpu::Program program = exchange(LineFormat::simple, 0);
  program.slot = std::uint64_t{1} << 20U;
  const std::size_t words = program.slot / 8;
  End sender(program, words, 0);
  program.rank = 1;
  End receiver(program, 0, words);
  sender.begin(receiver);
  EXPECT_FALSE(sender.running->go_on());
  EXPECT_TRUE(sender.go_on());
}

TEST(HostProgram, ClearsWhatPeersWillFill) {
  for (const LineFormat format : kFormats) {
    gpu::Program program = exchange(format, 0);
    program.operation = gpu::Operation::clear;
    End end(program, 0, 0);
    std::ranges::fill(end.fifos, 7);
    end.begin(end);
    EXPECT_TRUE(end.running->go_on());
    // The slots of simple ones are told by their counters.
    Words expected(end.fifos.size());
    if (format == LineFormat::simple) std::fill(expected.begin() + gpu::kSlotsAt / 8, expected.end(), 7);
    EXPECT_EQ(end.fifos, expected);
  }
}

}  // namespace
}  // namespace twinlink::real
