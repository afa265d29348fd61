// Rules about copies that the calling CPU makes. Not of explored ranks: there nobody's CPU is busy, and such a copy may
// end as late as any other, which is more than a protocol has to cope with.
#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

constexpr Payload kCopiedContent{23};

TEST(CopyByTheCpu, HasEndedWhenItReturns) {
  on_every_rank([](Rank& rank) {
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

}  // namespace
}  // namespace twinlink::contract
