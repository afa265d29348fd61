// Programs of thread blocks as numbers: shares cover all bytes, and what the CPU counts is what blocks pass on.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "protocols/core/errors.hpp"
#include "protocols/gpu/choice.hpp"
#include "protocols/gpu/run.hpp"
#include "protocols/gpu/slot_list.hpp"

namespace twinlink::gpu {
namespace {

constexpr std::array kRings{Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter,
                            Operation::broadcast, Operation::reduce};

/// A block that waits for nobody and counts.
class CountingBlock {
 public:
  CountingBlock(std::int32_t channel, const Program& p) : channel_(channel), stand_(usual_stand(p)), most_(p.slot) {}

  void play(std::int32_t role) { role_ = role; }
  [[nodiscard]] std::int32_t channel() const { return channel_; }
  [[nodiscard]] std::int32_t role() const { return role_; }
  [[nodiscard]] Stand stand() const { return stand_; }
  [[nodiscard]] static std::int32_t rank_at(std::int32_t place) { return place; }
  [[nodiscard]] static std::uint64_t sent(std::int32_t) { return 7; }
  [[nodiscard]] static std::uint64_t received(std::int32_t) { return 11; }
  bool await_credit(std::int32_t link, std::uint64_t step) {
    EXPECT_EQ(step, 7 + sends[link]);
    return true;
  }
  bool await_slot(std::int32_t link, std::uint64_t step) {
    EXPECT_EQ(step, 11 + receives[link]);
    return true;
  }
  bool barrier(bool good) { return good; }
  void fence() {}
  void signal(std::int32_t, std::uint64_t) {}
  void give_credit(std::int32_t, std::uint64_t) {}
  void clear(std::int32_t) {}
  static bool put(std::int32_t, std::uint64_t, std::uint64_t) { return true; }
  static std::uint64_t listed(std::int32_t) { return 0; }
  static void tell(std::int32_t, std::uint64_t, std::uint64_t) {}
  static std::uint64_t told(std::int32_t, std::uint64_t) { return 0; }
  bool move(const Move& move) {
    const bool has_slot = move.into != kNoLink || move.from != kNoLink;
    EXPECT_LE(has_slot ? move.bytes : 0, most_);
    if (move.into != kNoLink) ++sends[move.into];
    if (move.from != kNoLink) ++receives[move.from];
    if (move.out != Region::none) written += move.bytes;
    return true;
  }

  std::map<std::int32_t, std::uint64_t> sends{};
  std::map<std::int32_t, std::uint64_t> receives{};
  std::uint64_t written = 0;

 private:
  std::int32_t channel_;
  Stand stand_;
  std::int32_t role_ = 0;
  std::uint64_t most_;
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
  return list_slots(p, channel, usual_stand(p), {}, links);
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

// ---- choice ---------------------------------------------------------------------------------------------------------

LineFormat format_at(Bytes bytes, const Ground& ground = ground_of("NVIDIA H200", true)) {
  return choose(ground, Operation::all_reduce, bytes, 2, {}).format;
}

/// NCCL on two H200 takes LL to 512 KiB and Simple from 8 MiB on; between them its model and this one are near ties.
TEST(GpuChoice, TakesLlForSmallAndSimpleForLargeCollectives) {
  for (const Bytes bytes : {8_B, 4_KiB, 256_KiB}) EXPECT_EQ(format_at(bytes), LineFormat::ll) << bytes.count();
  for (const Bytes bytes : {16_MiB, 1_GiB}) EXPECT_EQ(format_at(bytes), LineFormat::simple) << bytes.count();
}

TEST(GpuChoice, OfCardsKnowsNoNvlinks) {
  for (const char* card : {"NVIDIA A100-PCIE-80GB", "NVIDIA H100 PCIe", "NVIDIA Tesla V100-PCIE-16GB"}) {
    for (std::uint64_t bytes = 8; bytes <= std::uint64_t{1} << 30U; bytes *= 2) {
      EXPECT_NE(format_at(Bytes{bytes}, ground_of(card, true)), LineFormat::ll128) << card << ", " << bytes;
    }
    EXPECT_EQ(format_at(2_MiB, ground_of(card, true)), LineFormat::simple) << card;
  }
}

TEST(GpuChoice, TakesLl128OnlyOverNvlink) {
  const Ground without = ground_of("NVIDIA H200", false);
  for (Bytes bytes = 8_B; bytes < 1_GiB; bytes = bytes * 2) EXPECT_NE(format_at(bytes, without), LineFormat::ll128);
}

TEST(GpuChoice, SaysWhy) {
  const Choice choice = choose(ground_of("NVIDIA H200", true), Operation::all_reduce, 8_B, 2, {});
  EXPECT_EQ(choice.why,
            "predicted us: ring ll 7.80, ring ll128 17.80, ring simple 15.20, tree ll 8.00, tree ll128 16.50, tree "
            "simple 16.40");
  EXPECT_EQ(choice.channels, 1);
}

TEST(GpuChoice, SmallMessagesHaveFewerChannels) {
  const Ground ground = ground_of("NVIDIA H100 80GB HBM3", true);
  const Fixed simple{.format = LineFormat::simple};
  EXPECT_EQ(choose(ground, Operation::all_reduce, 64_KiB, 2, simple).channels, 2);
  EXPECT_EQ(choose(ground, Operation::all_reduce, 1_GiB, 2, simple).channels, ground.channels);
  EXPECT_EQ(choose(ground, Operation::all_reduce, 8_B, 2, {.channels = 5}).channels, 5);
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

/// As nccl-tests of eight H100 show it: LL to 1 MiB, the switch from 2 MiB on (NVIDIA/nccl-tests issue 309).
TEST(GpuProgram, WhereASwitchAddsUpLargeSumsAreItsOwn) {
  Ground ground = ground_of("NVIDIA H100 80GB HBM3", true);
  const auto chosen = [&](Bytes bytes, int ranks) { return choose(ground, Operation::all_reduce, bytes, ranks, {}); };
  EXPECT_NE(chosen(16_MiB, 8).algorithm, Algorithm::nvls);
  ground.reduces = true;
  EXPECT_EQ(chosen(1_MiB, 8).format, LineFormat::ll);
  EXPECT_EQ(chosen(1_MiB, 8).algorithm, Algorithm::ring);
  for (const Bytes bytes : {2_MiB, 8_GiB}) {
    EXPECT_EQ(chosen(bytes, 8).algorithm, Algorithm::nvls);
    EXPECT_EQ(chosen(bytes, 8).channels, 16);
    EXPECT_NE(chosen(bytes, 2).algorithm, Algorithm::nvls) << "two GPUs have nothing of it";
  }
  EXPECT_EQ(choose(ground, Operation::all_gather, 8_GiB, 8, {}).algorithm, Algorithm::ring);
  EXPECT_EQ(choose(ground, Operation::all_reduce, 8_GiB, 8, {.format = LineFormat::ll}).algorithm, Algorithm::ring);
  ground.nodes = 2;
  EXPECT_NE(chosen(8_GiB, 16).algorithm, Algorithm::nvls);
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
