// Where packed messages, those of MPI_Bsend and staged pieces lie. That they arrive is in tests/contract.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "protocols/layout/packing.hpp"
#include "protocols/parts/sending.hpp"
#include "protocols/parts/staging_buffers.hpp"
#include "protocols/registry.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/explore/explorer/fake_world.hpp"

namespace twinlink {
namespace {

/// Notes where the packed side of each copy of blocks begins.
class NotesPlaces final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override {
    if (!blocks.empty()) places.push_back(id().value == 0 ? to.offset : from.offset);
    return DecoratedRank::start_copy(to, from, blocks, stream, engine);
  }

  std::vector<Bytes> places;
};

TEST(PackedMessages, BeginAtMultiplesOfTheirAlignment) {
  run_fake_world({}, [](MeasuredRank& plain) {
    NotesPlaces rank(plain);
    const bool sends = rank.id().value == 0;
    const Protocol& protocol = find_protocol("host");
    const Packing packing{Layout::vector(4_B, 8_B), PackMethod::kernel};
    const Bytes extent = packing.layout.extent(12_B);
    const PackedBuffers buffers(rank, protocol, packing, 1_KiB, 1_KiB);
    const Settings settings = protocol.defaults();
    const auto channel = connect(rank, RankId{sends ? 1 : 0}, protocol, settings, packing, buffers);
    const Buffer memory = rank.allocate(Memory::device, 300_B, Locality::near);
    const std::array window{View(memory, 0_B, extent), View(memory, 100_B, extent), View(memory, 200_B, extent)};
    const Outcome outcome = sends ? channel->exchange(window, {}) : channel->exchange({}, window);
    EXPECT_TRUE(outcome.ok()) << outcome.reason;
    EXPECT_FALSE(channel->connecting());
    const Bytes each = PackedBuffers::kAlignment;
    EXPECT_THAT(rank.places, testing::ElementsAre(0_B, each, each * 2));
  });
}

/// Notes how large each buffer is.
class NotesSizes final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Buffer allocate(Memory kind, Bytes size, Locality locality) override {
    sizes.push_back(size);
    return DecoratedRank::allocate(kind, size, locality);
  }

  std::vector<Bytes> sizes;
};

TEST(StagingMemory, GrowsWithWhatPassesAndNeverShrinks) {
  run_fake_world({.ranks = 1}, [](MeasuredRank& plain) {
    const auto live = [&] { return live_buffers(plain); };
    NotesSizes rank(plain);
    {
      StagingBuffers buffers(rank, Memory::pinned);
      const auto made_for = [&](const std::vector<Bytes>& lengths, std::size_t slots) {
        std::vector<View> pieces;
        for (const Bytes length : lengths) pieces.emplace_back(Buffer{}, 0_B, length);
        rank.sizes.clear();
        buffers.reserve(pieces, slots);
        return rank.sizes;
      };
      EXPECT_THAT(made_for({}, 2), testing::IsEmpty());
      EXPECT_THAT(made_for({10_B, 30_B, 20_B}, 2), testing::ElementsAre(30_B, 30_B));
      EXPECT_THAT(made_for({30_B}, 4), testing::IsEmpty());
      EXPECT_THAT(made_for({5_B, 5_B, 5_B}, 3), testing::ElementsAre(30_B, 30_B, 30_B));
      EXPECT_THAT(made_for({31_B}, 1), testing::ElementsAre(31_B, 31_B, 31_B));
      EXPECT_THAT(made_for({31_B, 31_B, 31_B, 31_B}, 3), testing::IsEmpty());
      EXPECT_EQ(live(), 3U);
      const View place = buffers.at({.bytes = {Buffer{}, 8_B, 7_B}, .slot = 2});
      EXPECT_EQ(place.offset, 0_B);
      EXPECT_EQ(place.length, 7_B);
      EXPECT_NE(place.buffer, buffers.at({.slot = 1}).buffer);
    }
    EXPECT_EQ(live(), 0U);
  });
}

TEST(AttachedMemory, HasRoomForAllMessagesOfAWindow) {
  run_fake_world({.ranks = 1}, [](MeasuredRank& rank) {
    const std::array window{View(rank.allocate(Memory::device, 100_B, Locality::near)),
                            View(rank.allocate(Memory::device, 300_B, Locality::near)),
                            View(rank.allocate(Memory::device, 200_B, Locality::near))};
    for (std::uint64_t i = 0; i < window.size(); ++i) rank.fill(window.at(i), Payload{i + 1});
    AttachedBuffer attached(rank, Seconds{1});
    for (const std::size_t messages : {1U, 3U, 2U}) {
      const Outcome outcome = attached.take(std::span(window).first(messages));
      ASSERT_TRUE(outcome.ok()) << outcome.reason;
      ASSERT_EQ(attached.messages().size(), messages);
      for (std::uint64_t i = 0; i < messages; ++i) {
        EXPECT_TRUE(rank.check(attached.messages()[i], Payload{i + 1}).intact()) << i << " of " << messages;
      }
    }
  });
}

}  // namespace
}  // namespace twinlink
