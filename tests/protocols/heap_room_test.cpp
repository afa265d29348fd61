// Room on a heap: the first place that fits, whatever was taken and given back before.
#include "protocols/heap/heap_room.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "protocols/heap/symmetric_heap.hpp"

namespace twinlink {
namespace {

/// The same, byte by byte.
class ByBytes {
 public:
  explicit ByBytes(std::size_t size) : taken_(size) {}

  std::optional<Bytes> take(std::size_t size, std::size_t alignment) {
    for (std::size_t at = 0; at + size <= taken_.size(); at += alignment) {
      if (run_from(at) < size) continue;
      set(at, size, true);
      return Bytes{at};
    }
    return std::nullopt;
  }
  void give_back(std::size_t at, std::size_t size) { set(at, size, false); }
  [[nodiscard]] Bytes used() const { return Bytes{static_cast<std::uint64_t>(std::ranges::count(taken_, true))}; }
  [[nodiscard]] Bytes longest() const {
    std::size_t longest = 0;
    for (std::size_t at = 0; at < taken_.size(); ++at) longest = std::max(longest, run_from(at));
    return Bytes{longest};
  }

 private:
  [[nodiscard]] std::size_t run_from(std::size_t at) const {
    std::size_t length = 0;
    while (at + length < taken_.size() && !taken_[at + length]) ++length;
    return length;
  }
  void set(std::size_t at, std::size_t size, bool taken) {
    for (std::size_t i = at; i < at + size; ++i) taken_[i] = taken;
  }

  std::vector<bool> taken_;
};

TEST(HeapRoom, GivesTheFirstPlaceThatFits) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::minstd_rand random(seed);
    constexpr std::size_t kSize = 96;
    HeapRoom room(Bytes{kSize});
    ByBytes bytes(kSize);
    std::map<Bytes, std::size_t> blocks;
    for (int turn = 0; turn < 60; ++turn) {
      if (blocks.empty() || random() % 3 != 0) {
        const std::size_t size = 1 + random() % 24;
        const std::size_t alignment = std::size_t{1} << random() % 5;
        const auto expected = bytes.take(size, alignment);
        ASSERT_EQ(room.take(Bytes{size}, Bytes{alignment}), expected) << seed << ", turn " << turn;
        if (expected) blocks[*expected] = size;
      } else {
        const auto gone = std::next(blocks.begin(), static_cast<std::ptrdiff_t>(random() % blocks.size()));
        EXPECT_TRUE(room.give_back(gone->first));
        EXPECT_FALSE(room.give_back(gone->first)) << "once";
        bytes.give_back(gone->first.count(), gone->second);
        blocks.erase(gone);
      }
      ASSERT_EQ(room.used(), bytes.used());
      ASSERT_EQ(room.longest(), bytes.longest());
    }
  }
}

TEST(HeapStreams, AreOthersForEightPeers) {
  for (int peer = 0; peer < 20; ++peer) EXPECT_EQ(SymmetricHeap::stream_of(RankId{peer}).index, 4 + peer % 8);
}

}  // namespace
}  // namespace twinlink
