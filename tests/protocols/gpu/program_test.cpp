// Programs of thread blocks as numbers: shares cover all bytes, and what the CPU counts is what blocks pass on.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "protocols/core/errors.hpp"
#include "protocols/gpu/run.hpp"
#include "protocols/gpu/slot_list.hpp"
#include "protocols/gpu/work.hpp"

namespace twinlink::gpu {
namespace {

constexpr std::array kRings{Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter,
                            Operation::broadcast, Operation::reduce};

/// A block that waits for nobody and counts.
class CountingBlock {
 public:
  CountingBlock(std::int32_t channel, const Program& p)
      : channel_(channel), position_(usual_position(p)), most_(p.slot) {
    if (!is_tree(p)) return;
    position_.above = p.rank == 0 ? kNoLink : 0;
    position_.below[0] = 1;
    position_.below[1] = 2;
  }

  void play(std::int32_t role) { role_ = role; }
  [[nodiscard]] std::int32_t channel() const { return channel_; }
  [[nodiscard]] std::int32_t role() const { return role_; }
  [[nodiscard]] ChannelPosition position() const { return position_; }
  [[nodiscard]] static std::int32_t rank_at(std::int32_t place) { return place; }
  [[nodiscard]] static std::uint64_t sent(std::int32_t) { return 7; }
  [[nodiscard]] static std::uint64_t received(std::int32_t) { return 11; }
  bool await_credit(std::int32_t link, std::uint64_t step) {
    EXPECT_EQ(step, 7 + sends[link]);
    return goes_on();
  }
  bool await_slot(std::int32_t link, std::uint64_t step) {
    EXPECT_EQ(step, 11 + receives[link]);
    return goes_on();
  }
  bool barrier(bool good) { return met_ = good && goes_on(); }
  void fence() { fenced_ = met_; }
  void signal(std::int32_t, std::uint64_t) { EXPECT_TRUE(fenced_); }
  void give_credit(std::int32_t, std::uint64_t) { EXPECT_TRUE(met_) << "not all threads have read the slot"; }
  void clear(std::int32_t) {}
  bool put(std::int32_t, std::uint64_t, std::uint64_t) {
    met_ = fenced_ = false;
    return goes_on();
  }
  static std::uint64_t listed(std::int32_t) { return 0; }
  static void tell(std::int32_t, std::uint64_t, std::uint64_t) {}
  [[nodiscard]] std::uint64_t told(std::int32_t, std::uint64_t) const { return told_bytes; }
  bool move(const Move& move) {
    EXPECT_EQ(move.in_at % kElementBytes, 0U) << "elements are whole";
    EXPECT_EQ(move.out_at % kElementBytes, 0U);
    if (move.out != Region::none) end = std::max(end, move.out_at + move.bytes);
    const bool has_slot = move.into != kNoLink || move.from != kNoLink;
    EXPECT_LE(has_slot ? move.bytes + move.into_at + move.from_at : 0, most_);
    // Several parts of a slot.
    if (move.into != kNoLink && move.into_at == 0) ++sends[move.into];
    if (move.from != kNoLink && move.from_at == 0) ++receives[move.from];
    if (move.out != Region::none) written += move.bytes;
    return put(0, 0, 0);
  }

  std::map<std::int32_t, std::uint64_t> sends{};
  std::map<std::int32_t, std::uint64_t> receives{};
  std::uint64_t written = 0;
  std::uint64_t end = 0;         ///< of what was written
  std::uint64_t told_bytes = 0;  ///< what every peer says that its blocks to experts have
  int done = 0;                  ///< of what the host may give up
  int given_up_at = -1;          ///< the one at which it does

 private:
  bool goes_on() {
    EXPECT_TRUE(given_up_at < 0 || done <= given_up_at) << "it has been given up";
    return done++ != given_up_at;
  }

  std::int32_t channel_;
  ChannelPosition position_;
  std::int32_t role_ = 0;
  std::uint64_t most_;
  bool met_ = false;
  bool fenced_ = false;
};

Program program_of(Operation operation, int ranks, int rank, int channels, std::uint64_t bytes) {
  return {.operation = operation,
          .format = LineFormat::simple,
          .rank = rank,
          .ranks = ranks,
          .root = operation == Operation::reduce ? 1 : 0,
          .channels = channels,
          .bytes = bytes,
          .slot = 64,
          .slots = 4};
}

/// The blocks of a channel, one for each role.
CountingBlock counted(const Program& p, std::int32_t channel) {
  CountingBlock block(channel, p);
  for (std::int32_t role = 0; role < blocks_of(p) / p.channels; ++role) {
    block.play(role);
    EXPECT_TRUE(run(block, p));
  }
  return block;
}

/// What the CPU lists: slots by link.
SlotList listed(const Program& p, std::int32_t channel, std::size_t links = 2) {
  return list_slots(p, channel, usual_position(p), {}, links);
}

/// Ranks, channels and bytes that do not fit each other.
template <class Body>
void for_each_size(const Body& body) {
  for (const int ranks : {2, 3, 5, 8}) {
    for (const int channels : {1, 2, 3, 24}) {
      for (const std::uint64_t elements : {1U, 2U, 9U, 64U, 127U, 1001U}) body(ranks, channels, elements * 8);
    }
  }
}

TEST(GpuProgram, SharesCoverAllBytesInOrder) {
  for (const std::uint64_t bytes : {0U, 1U, 15U, 16U, 17U, 1000U, 4096U}) {
    for (const std::uint64_t parts : {1U, 2U, 7U, 32U}) {
      std::uint64_t end = 0;
      for (std::uint64_t i = 0; i < parts; ++i) {
        const Share part = share(bytes, parts, i, kGrainBytes);
        EXPECT_EQ(part.begin, end);
        EXPECT_EQ(part.begin % kGrainBytes, 0U);
        end += part.length;
      }
      EXPECT_EQ(end, bytes);
    }
  }
}

TEST(GpuProgram, ARankSendsTheSlotsThatItsSuccessorReceives) {
  for_each_size([](int ranks, int channels, std::uint64_t bytes) {
    for (const Operation operation : kRings) {
      for (int rank = 0; rank < ranks; ++rank) {
        for (int channel = 0; channel < channels; ++channel) {
          const Program mine = program_of(operation, ranks, rank, channels, bytes);
          const Program next = program_of(operation, ranks, (rank + 1) % ranks, channels, bytes);
          ASSERT_EQ(listed(mine, channel).sent[kBehind], listed(next, channel).received[kBefore])
              << to_string(operation);
        }
      }
    }
  });
}

TEST(GpuProgram, TheCpuCountsWhatBlocksPassOn) {
  for_each_size([](int ranks, int channels, std::uint64_t bytes) {
    for (const Operation operation : kRings) {
      for (int rank = 0; rank < ranks; ++rank) {
        const Program p = program_of(operation, ranks, rank, channels, bytes);
        for (int channel = 0; channel < channels; ++channel) {
          CountingBlock block = counted(p, channel);
          ASSERT_EQ(block.sends[kBehind], listed(p, channel).sent[kBehind].size()) << to_string(operation);
          ASSERT_EQ(block.receives[kBefore], listed(p, channel).received[kBefore].size()) << to_string(operation);
        }
      }
    }
  });
}

/// Every byte that the operation promises is written once.
TEST(GpuProgram, BlocksWriteWhatIsPromised) {
  for_each_size([](int ranks, int channels, std::uint64_t bytes) {
    for (int rank = 0; rank < ranks; ++rank) {
      const std::uint64_t own = share(bytes, number(ranks), number(rank), kElementBytes).length;
      const std::map<Operation, std::uint64_t> promised{{Operation::all_reduce, bytes},
                                                        {Operation::all_gather, bytes - own},
                                                        {Operation::reduce_scatter, own},
                                                        {Operation::broadcast, rank == 0 ? 0 : bytes},
                                                        {Operation::reduce, rank == 1 ? bytes : 0},
                                                        {Operation::all_to_all, bytes * number(ranks)}};
      for (const auto& [operation, expected] : promised) {
        const bool blocks = operation == Operation::all_to_all;
        const Program p = program_of(operation, ranks, rank, channels, blocks ? bytes * number(ranks) : bytes);
        std::uint64_t written = 0;
        for (int channel = 0; channel < channels; ++channel) written += counted(p, channel).written;
        ASSERT_EQ(written, expected) << to_string(operation) << ", " << ranks << " ranks, rank " << rank << ", "
                                     << channels << " channels, " << bytes << " B";
      }
    }
  });
}

/// Whoever sends over a link in parallel trees, the rank there takes as many slots of the same bytes over its own, and
/// all parts but one come in.
TEST(GpuProgram, ParallelTreesMeetAndBringAllParts) {
  for_each_size([](int ranks, int channels, std::uint64_t bytes) {
    for (const Operation operation : {Operation::all_gather, Operation::reduce_scatter}) {
      const auto of = [&](int rank) {
        Program p = program_of(operation, ranks, rank, channels, bytes);
        p.algorithm = Algorithm::pat;
        return p;
      };
      const auto doublings = static_cast<std::size_t>(doublings_of(of(0)));
      ASSERT_GE(1 << doublings, ranks);
      std::uint64_t written = 0;
      std::uint64_t parts = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        parts += bytes - share(bytes, number(ranks), number(rank), kElementBytes).length;
        for (int channel = 0; channel < channels; ++channel) {
          const SlotList mine = listed(of(rank), channel, 2 * doublings);
          CountingBlock block = counted(of(rank), channel);
          written += block.written;
          for (std::size_t k = 0; k < doublings; ++k) {
            const bool gathers = operation == Operation::all_gather;
            const int there = (rank + (gathers ? 1 << k : ranks - (1 << k))) % ranks;
            const std::size_t out = gathers ? k : doublings + k;
            const std::size_t in = gathers ? doublings + k : k;
            ASSERT_EQ(mine.sent[out], listed(of(there), channel, 2 * doublings).received[in]) << ranks << ", " << rank;
            ASSERT_TRUE(mine.sent[in].empty() && mine.received[out].empty());
            ASSERT_EQ(block.sends[static_cast<std::int32_t>(out)], mine.sent[out].size());
          }
        }
      }
      ASSERT_EQ(written, parts) << to_string(operation) << " of " << ranks << ", " << bytes << " B";
    }
  });
}

TEST(GpuProgram, EachPairOfAnAllToAllPassesTheSameSlotsBothWays) {
  for (const int ranks : {2, 3, 6}) {
    const Program p = program_of(Operation::all_to_all, ranks, 1, 2, 8 * number(ranks) * 100);
    for (int channel = 0; channel < 2; ++channel) {
      const SlotList list = listed(p, channel, number(ranks) - 1);
      for (std::size_t link = 0; link < number(ranks) - 1; ++link) {
        EXPECT_EQ(list.sent[link], list.sent[0]);
        EXPECT_EQ(list.received[link], list.sent[0]);
        EXPECT_FALSE(list.sent[link].empty());
      }
    }
  }
}

/// Whoever sends a part of a message in a channel, its peer takes it there; of each message all parts are somewhere.
TEST(GpuProgram, PartsOfAnAllToAllMeetInTheirChannels) {
  for (const auto& [ranks, group, channels, parts] :
       {std::tuple{4, 0, 32, 8}, {16, 8, 16, 4}, {6, 2, 8, 2}, {24, 8, 4, 1}, {5, 1, 6, 4}, {3, 3, 2, 2}}) {
    const auto of = [&](int rank) {
      Program p = program_of(Operation::all_to_all, ranks, rank, channels, 8 * number(ranks) * 1000);
      p.group = group;
      p.parts = parts;
      return p;
    };
    std::map<std::pair<int, int>, std::uint64_t> sent;  // by the two ranks
    for (int channel = 0; channel < channels; ++channel) {
      for (int rank = 0; rank < ranks; ++rank) {
        const SlotList list = listed(of(rank), channel, number(ranks) - 1);
        for (int k = 1; k < ranks; ++k) {
          const int peer = (rank + k) % ranks;
          const SlotList theirs = listed(of(peer), channel, number(ranks) - 1);
          ASSERT_EQ(list.sent[number(k) - 1], theirs.received[number(ranks - k) - 1]) << rank << " to " << peer;
          for (const std::uint64_t bytes : list.sent[number(k) - 1]) sent[{rank, peer}] += bytes;
        }
      }
    }
    ASSERT_EQ(sent.size(), number(ranks) * (number(ranks) - 1));
    for (const auto& [pair, bytes] : sent) ASSERT_EQ(bytes, 8000U) << pair.first << " to " << pair.second;
  }
}

TEST(GpuProgram, MessagesGoBothWaysAtOnce) {
  Program p = program_of(Operation::exchange, 2, 0, 3, 1000);
  EXPECT_EQ(blocks_of(p), 3) << "one way";
  p.received = 77;
  EXPECT_EQ(blocks_of(p), 6) << "senders and receivers";
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  for (int channel = 0; channel < 3; ++channel) {
    const SlotList list = listed(p, channel, 1);
    for (const std::uint64_t bytes : list.sent[0]) sent += bytes;
    for (const std::uint64_t bytes : list.received[0]) received += bytes;
  }
  EXPECT_EQ(sent, 1000U);
  EXPECT_EQ(received, 77U);
}

/// Whatever peers say, nothing is read beyond a slot, or written beyond the output.
TEST(GpuProgram, BlocksOfPeersEndWhereTheSlotAndTheOutputDo) {
  for (const Operation operation : {Operation::dispatch, Operation::combine}) {
    for (const auto& [told, room, end] :
         {std::tuple{40, 1000, 80}, {1000, 1000, 128}, {1000, 100, 100}, {48, 64, 64}}) {
      Program p = program_of(operation, 3, 0, 1, 0);
      p.received = static_cast<std::uint64_t>(room);
      p.experts = 1;
      CountingBlock block(0, p);
      block.told_bytes = static_cast<std::uint64_t>(told);
      block.play(kReceives);
      EXPECT_TRUE(run(block, p));
      // One behind the other of a dispatch; its list gives all blocks of a combine the same place.
      const auto expected = operation == Operation::dispatch ? end : std::min({told, room, 64});
      EXPECT_EQ(block.end, static_cast<std::uint64_t>(expected)) << to_string(operation) << ", " << told;
    }
  }
}

TEST(GpuProgram, BlocksThatAreGivenUpDoNothingMore) {
  using enum Operation;
  for (const Operation operation : {exchange, echo, all_reduce, all_gather, reduce_scatter, broadcast, reduce,
                                    all_to_all, put, dispatch, combine}) {
    for (const auto& [algorithm, rank] : {std::pair{Algorithm::ring, 0},
                                          {Algorithm::ring, 1},
                                          {Algorithm::ring, 2},
                                          {Algorithm::tree, 0},
                                          {Algorithm::tree, 1},
                                          {Algorithm::tree, 2},
                                          {Algorithm::pat, 1}}) {
      Program p = program_of(operation, 3, rank, 1, operation == echo ? 48 : 240);
      p.algorithm = algorithm;
      p.received = 100;
      p.experts = 2;
      p.echoes = 2;
      for (std::int32_t role = 0; role < blocks_of(p); ++role) {
        CountingBlock whole(0, p);
        whole.play(role);
        EXPECT_TRUE(run(whole, p));
        for (int at = 0; at < whole.done; ++at) {
          CountingBlock block(0, p);
          block.given_up_at = at;
          block.play(role);
          EXPECT_FALSE(run(block, p)) << to_string(operation) << ", rank " << rank << ", at " << at;
        }
      }
    }
  }
}

TEST(GpuProgram, IsToldInWords) {
  const auto words = [](Operation operation, int channels, Algorithm algorithm = Algorithm::ring, int times = 1) {
    Work work{.program = program_of(operation, 3, 1, channels, 240)};
    work.program.algorithm = algorithm;
    work.program.received = 77;
    work.times = times;
    return describe(work);
  };
  EXPECT_EQ(words(Operation::exchange, 1), "exchange simple 240 B out, 77 B in, 1 channel");
  EXPECT_EQ(words(Operation::clear, 2), "clear simple, 2 channels");
  EXPECT_EQ(words(Operation::all_reduce, 2), "all-reduce simple rank 1 of 3, 240 B, 2 channels");
  EXPECT_EQ(words(Operation::all_reduce, 2, Algorithm::tree, 4),
            "all-reduce simple tree rank 1 of 3, 240 B, 2 channels, 4 times");
  EXPECT_EQ(words(Operation::all_reduce, 2, Algorithm::nvls), "all-reduce simple nvls rank 1 of 3, 240 B, 2 channels");
  EXPECT_EQ(words(Operation::all_gather, 2, Algorithm::tree), "all-gather simple rank 1 of 3, 240 B, 2 channels");
  EXPECT_EQ(describe(FifoSlot{.step = 5}), "simple slot 5 filled");
}

/// Rank 0 begins, and both send as often as they receive.
TEST(GpuProgram, AnEchoGoesThereAndBack) {
  for (const int rank : {0, 1}) {
    Program p = program_of(Operation::echo, 2, rank, 1, 24);
    p.echoes = 5;
    const CountingBlock block = counted(p, 0);
    EXPECT_EQ(block.sends.at(0), 5U);
    EXPECT_EQ(block.receives.at(0), 5U);
    EXPECT_EQ(block.written, 5U * 24);
    const SlotList slots = list_slots(p, 0, {}, {}, 1);
    EXPECT_EQ(slots.sent.front(), std::vector<std::uint64_t>(5, 24));
  }
}

/// What is exactly large enough is.
TEST(FifoSlot, FitsItsFifoAndItsSlot) {
  const Program p = program_of(Operation::exchange, 2, 0, 1, 64);
  Program none = p;
  none.slots = 0;
  const auto of = [](const Program& program, std::uint64_t room, std::uint64_t bytes) {
    return FifoSlot{.fifo = {Buffer{}, Bytes{}, Bytes{room}}, .program = program, .bytes = bytes};
  };
  const std::uint64_t room = fifo_room(p);
  EXPECT_NO_THROW(require_slot(of(p, room, p.slot)));
  for (const FifoSlot& wrong : {of(p, room - 1, 0), of(none, room, 0), of(p, room, p.slot + 1)}) {
    EXPECT_THROW(require_slot(wrong), UsageError);
  }
}

}  // namespace
}  // namespace twinlink::gpu
