// Rules about messages whose bytes lie apart: every method of packing, every layout, over every protocol.
#include <array>
#include <memory>
#include <span>

#include "protocols/layout/packing.hpp"
#include "protocols/registry.hpp"
#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

constexpr PackMethod kMethods[] = {PackMethod::copies, PackMethod::rows, PackMethod::kernel};

/// The messages of one direction, one behind the other.
class Spread {
 public:
  Spread(MeasuredRank& rank, const Layout& layout, std::span<const Bytes> sizes)
      : rank_(rank), memory_(rank, Memory::device, room(layout, sizes)) {
    Bytes at{};
    for (const Bytes size : sizes) {
      const View message = memory_.slice(at, layout.extent(size));
      messages_.push_back(message);
      at += message.length;
      for (const LayoutBlock& block : layout.blocks(size)) {
        blocks_.push_back(message.slice(block.displacement, block.length));
      }
    }
    Bytes end{};
    for (const View& block : blocks_) {
      if (block.offset > end) gaps_.push_back(memory_.slice(end, block.offset - end));
      end = block.offset + block.length;
    }
  }

  [[nodiscard]] std::span<const View> messages() const { return messages_; }
  /// Block i holds pattern `first + i`, and the gaps hold `gap`.
  void fill(std::uint64_t first, Payload gap) const {
    for (const View& view : blocks_) rank_.fill(view, Payload{first++});
    for (const View& view : gaps_) rank_.fill(view, gap);
  }
  void expect(std::uint64_t first, Payload gap, const std::string& what) const {
    for (const View& view : blocks_) {
      const Verdict verdict = rank_.check(view, Payload{first++});
      ASSERT_TRUE(verdict.intact()) << what << ", block at " << view.offset.count() << ": " << to_string(verdict);
    }
    for (const View& view : gaps_) ASSERT_TRUE(rank_.check(view, gap).intact()) << what << ": a gap was written";
  }

 private:
  static Bytes room(const Layout& layout, std::span<const Bytes> sizes) {
    Bytes sum{};
    for (const Bytes size : sizes) sum += layout.extent(size);
    return sum;
  }

  MeasuredRank& rank_;
  Scratch memory_;
  std::vector<View> messages_;
  std::vector<View> blocks_;
  std::vector<View> gaps_;
};

/// Both ends send and receive messages of these sizes, twice over one connection.
void exchange(MeasuredRank& rank, RankId peer, const Protocol& protocol, const Packing& packing,
              std::span<const Bytes> sizes) {
  constexpr Payload kSendersGap{5};
  const std::string what = std::string(protocol.name()) + ", " + to_string(packing.layout) + " packed by " +
                           std::string(to_string(packing.method));
  const Spread outgoing(rank, packing.layout, sizes);
  const Spread incoming(rank, packing.layout, sizes);
  Bytes room{};
  for (const Bytes size : sizes) room += size + PackedBuffers::kAlignment;
  const PackedBuffers buffers(rank, protocol, packing, room, room);
  {
    const auto channel = twinlink::connect(rank, peer, protocol, protocol.defaults(), packing, buffers);
    for (const std::uint64_t round : {1U, 2U}) {
      const auto seed = [&](RankId of) { return 100'000 * round + 10'000 * static_cast<std::uint64_t>(of.value); };
      outgoing.fill(seed(rank.id()), kSendersGap);
      incoming.fill(9, kSentinel);
      const Outcome outcome = channel->exchange(outgoing.messages(), incoming.messages());
      EXPECT_TRUE(outcome.ok()) << what << ": " << outcome.reason;
      incoming.expect(seed(peer), kSentinel, what);
      outgoing.expect(seed(rank.id()), kSendersGap, what + ", at the sender");
    }
    EXPECT_NE(channel->path_taken().find("packed by"), std::string::npos);
  }
  meet(rank, peer);  // The peer's end may have had our buffers open until now.
}

TEST(Layouts, ArriveByEveryMethodAndLeaveTheGapsAlone) {
  on_every_connection([](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    constexpr Bytes kMessages[] = {4096_B};
    for (const PackMethod method : kMethods) {
      exchange(rank, peer, protocol, {Layout::vector(64_B, 96_B), method}, kMessages);
      exchange(rank, peer, protocol, {Layout::vector(64_B, 64_B), method}, kMessages);
      if (method == PackMethod::rows) continue;
      exchange(rank, peer, protocol, {Layout::indexed({{3_B, 17_B}, {40_B, 1_B}, {100_B, 33_B}}), method}, kMessages);
    }
  });
}

TEST(Layouts, ArriveWhereTheLastBlockIsCutShort) {
  on_every_connection([](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    constexpr Bytes kMessages[] = {777_B};
    constexpr Bytes kOneRow[] = {5_B};
    for (const PackMethod method : kMethods) {
      if (method != PackMethod::rows) exchange(rank, peer, protocol, {Layout::vector(50_B, 60_B), method}, kMessages);
      exchange(rank, peer, protocol, {Layout::vector(50_B, 60_B), method}, kOneRow);
    }
  });
}

TEST(Layouts, ArriveInWindowsOfUnequalMessages) {
  on_every_connection([](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    constexpr Bytes kMessages[] = {640_B, 0_B, 64_B, 6400_B, 640_B};
    for (const PackMethod method : kMethods) {
      exchange(rank, peer, protocol, {Layout::vector(64_B, 1000_B), method}, kMessages);
    }
  });
}

TEST(Layouts, MessagesThatShareTheirMemoryShareTheirPackedPlace) {
  on_every_connection([](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    constexpr Bytes kSize[] = {640_B};
    const Packing packing{Layout::vector(64_B, 100_B), PackMethod::kernel};
    const Spread outgoing(rank, packing.layout, kSize);
    const Spread incoming(rank, packing.layout, kSize);
    const PackedBuffers buffers(rank, protocol, packing, kSize[0], kSize[0]);
    {
      const auto channel = twinlink::connect(rank, peer, protocol, protocol.defaults(), packing, buffers);
      outgoing.fill(300, Payload{5});
      incoming.fill(9, kSentinel);
      const std::vector<View> out(3, outgoing.messages()[0]);
      const std::vector<View> in(3, incoming.messages()[0]);
      const Outcome outcome = channel->exchange(out, in);
      EXPECT_TRUE(outcome.ok()) << protocol.name() << ": " << outcome.reason;
      incoming.expect(300, kSentinel, std::string(protocol.name()));
    }
    meet(rank, peer);
  });
}

/// A send or a receive of `length` bytes at `offset` of a buffer of `kind`.
struct Attempt {
  Memory kind = Memory::device;
  Bytes size{};  ///< of the buffer
  Bytes offset{};
  Bytes length{};
  bool sends = true;
};

/// Each attempt has a connection of its own, whose other end has nothing to do: after a failure a channel refuses
/// everything.
void expect_refused(const Packing& packing, std::span<const Attempt> attempts) {
  on_every_pair([&](MeasuredRank& rank, RankId peer) {
    const Protocol& protocol = find_protocol("staging");
    const PackedBuffers buffers(rank, protocol, packing, 1000_B, 1000_B);
    for (const Attempt& attempt : attempts) {
      const Scratch buffer(rank, attempt.kind, attempt.size);
      const View message(buffer.buffer(), attempt.offset, attempt.length);
      const auto channel = twinlink::connect(rank, peer, protocol, protocol.defaults(), packing, buffers);
      EXPECT_THROW(static_cast<void>(attempt.sends ? channel->send(message) : channel->receive(message)), UsageError);
    }
    meet(rank, peer);
  });
}

TEST(Layouts, MessagesThatMakeNoSenseAreRefusedBeforeAnythingMoves) {
  constexpr std::array kAttempts{Attempt{.size = 1000_B, .length = 1001_B},
                                 Attempt{.size = 1000_B, .offset = 900_B, .length = 101_B, .sends = false},
                                 Attempt{.size = 100'000_B, .length = 100'000_B},  // more than the packed buffer
                                 Attempt{.kind = Memory::pinned, .size = 1000_B, .length = 1000_B}};
  expect_refused({Layout::vector(50_B, 60_B), PackMethod::kernel}, kAttempts);
}

TEST(Layouts, WhatIsNo2DCopyIsRefusedBeforeAnythingMoves) {
  constexpr std::array kAttempts{Attempt{.size = 1000_B, .length = 1000_B},
                                 Attempt{.size = 1000_B, .length = 25_B, .sends = false}};
  expect_refused({Layout::indexed({{0_B, 10_B}, {20_B, 5_B}}), PackMethod::rows}, kAttempts);
}

}  // namespace
}  // namespace twinlink::contract
