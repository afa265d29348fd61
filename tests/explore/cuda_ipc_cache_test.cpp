// A cuda-ipc connection that keeps one of the peer's buffers open, while two are sent from in turn.
#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "protocols/core/tags.hpp"
#include "tests/explore/bodies.hpp"
#include "tests/explore/cuda_ipc_jobs.hpp"
#include "tests/explore/expectations.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::explore {
namespace {

using testing::Key;
using testing::UnorderedElementsAre;

/// "1 hits, 3 misses, 2 evicted".
std::string lookups(const CudaIpcChannel& channel) {
  const CacheCounts& counts = channel.cache_counts();
  return std::to_string(counts.hits) + " hits, " + std::to_string(counts.misses) + " misses, " +
         std::to_string(counts.evicted) + " evicted" + (counts.invalid == 0 ? "" : ", INVALID");
}

class ExploredCache : public testing::TestWithParam<Eviction> {
 protected:
  [[nodiscard]] static IpcJob job_of(const std::vector<Sends>& exchanges) {
    return {.exchanges = exchanges, .buffers = 2, .cache = 1, .eviction = GetParam(), .ending = lookups};
  }
  static std::map<std::string, std::uint64_t> endings_of(const std::vector<Sends>& exchanges,
                                                         const Limits& limits = {.likeness = Likeness::looks}) {
    return clean_exploration_of(scenario_of(job_of(exchanges)), limits).endings;
  }
};

// The first message is staged. Of those after it, each one finds the other buffer in the only place.
TEST_P(ExploredCache, OpensTheBufferAgainForEachMessageThatComesAlone) {
  EXPECT_THAT(endings_of(times(5, {{1, 0}})),
              UnorderedElementsAre(Key("0 hits, 0 misses, 0 evicted | 0 hits, 4 misses, 3 evicted")));
  EXPECT_THAT(endings_of(times(4, {{1, 1}})),
              UnorderedElementsAre(Key("0 hits, 3 misses, 2 evicted | 0 hits, 3 misses, 2 evicted")));
}

// What is read in the same exchange keeps its buffer open, so how many lookups hit depends on how many RGET headers are
// received before the first copies end. Never is the cache emptied of what is in use: that would be found.
TEST_P(ExploredCache, HitsWhatIsStillInUse) {
  EXPECT_THAT(endings_of({{1, 0}, {4, 0}}),
              UnorderedElementsAre(Key("0 hits, 0 misses, 0 evicted | 0 hits, 4 misses, 3 evicted"),
                                   Key("0 hits, 0 misses, 0 evicted | 1 hits, 3 misses, 2 evicted"),
                                   Key("0 hits, 0 misses, 0 evicted | 2 hits, 2 misses, 1 evicted")));
}

TEST_P(ExploredCache, HitsWhatIsStillInUseBothWays) {
  if (!kFibersCanGoBack) GTEST_SKIP() << "too many states where each step back costs an execution";
  EXPECT_THAT(endings_of({{1, 1}, {3, 3}}),
              UnorderedElementsAre(Key("0 hits, 3 misses, 2 evicted | 0 hits, 3 misses, 2 evicted"),
                                   Key("0 hits, 3 misses, 2 evicted | 1 hits, 2 misses, 1 evicted"),
                                   Key("1 hits, 2 misses, 1 evicted | 0 hits, 3 misses, 2 evicted"),
                                   Key("1 hits, 2 misses, 1 evicted | 1 hits, 2 misses, 1 evicted")));
}

TEST_P(ExploredCache, GoesOnAlikeWhereItLooksAlike) {
  endings_of({{1, 0}, {1, 0}, {1, 0}}, {.likeness = Likeness::bytes, .compare_looks = true});
}

INSTANTIATE_TEST_SUITE_P(Of, ExploredCache, testing::Values(Eviction::lru, Eviction::openmpi),
                         [](const auto& param) { return param.param == Eviction::lru ? "lru" : "openmpi"; });

// ---- a buffer that is released while the connection goes on ---------------------------------------------------------

/// The sender releases a buffer when another one has been read: a cache of one entry has closed the first one by then.
/// The next buffer gets its address, and another content.
Scenario replaces_a_buffer(std::size_t cache) {
  const auto options = [cache] {
    CudaIpcOptions chosen{.cache = cache, .eager = Bytes{}};
    chosen.payload = kSize;
    return chosen;
  };
  const auto synchronize = [](Rank& rank, RankId peer) {
    ControlMessage received;
    const Op sent = rank.send_control(peer, tags::kFirstFree, ControlMessage());
    finish(rank, rank.recv_control(peer, tags::kFirstFree, received), kLong);
    finish(rank, sent, kLong);
  };
  const Body sender = [=](MeasuredRank& rank, Witness& witness) {
    View first(rank.allocate(Memory::device, kSize));
    const View second(rank.allocate(Memory::device, kSize));
    {
      CudaIpcChannel channel(rank, RankId{1}, options(), kLong);
      int number = 0;
      const auto send = [&](const View& view) {
        rank.fill(view, content(0, number++));
        witness.require(channel.send(view).ok(), "a message was not sent");
      };
      send(first);  // staged: the handshake
      send(first);
      send(second);
      const std::uint64_t address = rank.export_memory(first.buffer).address;
      rank.step("replace the buffer");
      rank.release(first.buffer);
      first = View(rank.allocate(Memory::device, kSize));
      witness.require(rank.export_memory(first.buffer).address == address, "the address does not come again");
      send(first);
    }
    synchronize(rank, RankId{1});
    rank.release(first.buffer);
    rank.release(second.buffer);
  };
  const Body receiver = [=](MeasuredRank& rank, Witness& witness) {
    const View message(rank.allocate(Memory::device, kSize));
    {
      CudaIpcChannel channel(rank, RankId{0}, options(), kLong);
      for (int number = 0; number < 4; ++number) {
        rank.fill(message, kSentinel);
        witness.require(channel.receive(message).ok(), "a message was not received");
        witness.require(rank.check(message, content(0, number)).intact(), "a message is not what was sent");
      }
      witness.ending(lookups(channel));
    }
    synchronize(rank, RankId{0});
    rank.release(message.buffer);
  };
  return {.bodies = {sender, receiver}};
}

TEST(ReplacedBuffer, IsClosedByACacheOfOneEntryOnceAnotherOneWasRead) {
  const ExploreResult result = clean_exploration_of(replaces_a_buffer(1));
  EXPECT_THAT(result.endings, UnorderedElementsAre(Key("- | 0 hits, 3 misses, 2 evicted")));
}

TEST(ReplacedBuffer, IsStillOpenWhereTheCacheHasNoLimit) {
  const ExploreResult result = explore(replaces_a_buffer(0), {.likeness = Likeness::looks});
  EXPECT_THAT(finding_with(result, "cannot be released: a peer has it open").trace,
              testing::HasSubstr("rank 0 | replace the buffer | VIOLATION"));
}

}  // namespace
}  // namespace twinlink::explore
