// Rules about ranks that run at the same time, and whose CPUs are busy. Explored ranks take turns; there a copy by the
// CPU may end as late as any other, which is more than a protocol has to cope with.
#include <utility>
#include <vector>

#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

constexpr Payload kCopiedContent{23};
constexpr Payload kSent{24};
constexpr int kMany = 5000;

TEST(CopyByTheCpu, HasEndedWhenItReturns) {
  on_every_rank([](MeasuredRank& rank) {
    for (const auto& [source, target] :
         {std::pair(Memory::device, Memory::pageable), std::pair(Memory::pageable, Memory::device),
          std::pair(Memory::pinned, Memory::pageable), std::pair(Memory::pageable, Memory::shared_pinned)}) {
      const Scratch from(rank, source, 300'000_B);
      const Scratch to(rank, target, 300'000_B);
      rank.fill(from.view(), kCopiedContent);
      rank.fill(to.view(), kSentinel);
      const Op op = rank.copy(to.view(), from.view(), Stream{1}, Engine::dma);
      EXPECT_TRUE(rank.check(to.view(), kCopiedContent).intact()) << to_string(source) << " to " << to_string(target);
      finish(rank, op);
    }
  });
}

/// Many more than have room on their way, while the peer takes them one by one.
TEST(ManyControlMessages, StayInOrderWhileTheirReceiverMakesRoom) {
  on_every_pair([](Rank& rank, RankId peer) {
    if (first(rank, peer)) {
      std::vector<Op> ops;
      for (int i = 0; i < kMany; ++i) ops.push_back(rank.send_control(peer, tag(0), ControlMessage(i)));
      for (const Op op : ops) finish(rank, op);
    } else {
      int wrong = 0;
      for (int i = 0; i < kMany; ++i) wrong += recv_control_now(rank, peer, tag(0)).as<int>() == i ? 0 : 1;
      EXPECT_EQ(wrong, 0);
    }
    meet(rank, peer);
  });
}

TEST(ASendThatWasGivenUp, ArrivesWholeThoughItsBufferIsReleased) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    const Scratch into(rank, Memory::pinned, 8_MiB);
    if (first(rank, peer)) {
      const Buffer from = rank.allocate(Memory::pinned, 8_MiB);
      rank.fill(View(from), kSent);
      rank.abandon(rank.send(peer, tag(0), View(from)));
      rank.release(from);
      const Scratch next(rank, Memory::pinned, 8_MiB);  // perhaps where that was
      rank.fill(next.view(), kSentinel);
      meet(rank, peer);
      static_cast<void>(recv_control_now(rank, peer, tag(1)));
    } else {
      meet(rank, peer);
      finish(rank, rank.receive(peer, tag(0), into.view()));
      EXPECT_TRUE(rank.check(into.view(), kSent).intact());
      send_control_now(rank, peer, tag(1));
    }
    meet(rank, peer);
  });
}

}  // namespace
}  // namespace twinlink::contract
