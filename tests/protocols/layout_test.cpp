#include "protocols/layout/layout.hpp"

#include <gmock/gmock.h>

#include "tests/support/said_by.hpp"

namespace twinlink {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Layout, ContiguousIsOneBlockWithoutGaps) {
  const Layout layout;
  EXPECT_TRUE(layout.contiguous());
  EXPECT_EQ(layout.extent(100_B), 100_B);
  EXPECT_EQ(layout.packed(100_B), 100_B);
  EXPECT_THAT(layout.blocks(100_B), ElementsAre(LayoutBlock{0_B, 100_B}));
}

TEST(Layout, TheCountOfAVectorFollowsFromTheSize) {
  const Layout layout = Layout::vector(8_B, 32_B);
  EXPECT_FALSE(layout.contiguous());
  EXPECT_EQ(layout.extent(24_B), 72_B) << "no gap after the last block";
  EXPECT_THAT(layout.blocks(24_B), ElementsAre(LayoutBlock{0_B, 8_B}, LayoutBlock{32_B, 8_B}, LayoutBlock{64_B, 8_B}));
}

TEST(Layout, ASizeThatDoesNotDivideCutsTheLastBlock) {
  const Layout layout = Layout::vector(8_B, 32_B);
  EXPECT_EQ(layout.extent(11_B), 35_B);
  EXPECT_THAT(layout.blocks(11_B), ElementsAre(LayoutBlock{0_B, 8_B}, LayoutBlock{32_B, 3_B}));
  EXPECT_THAT(layout.blocks(5_B), ElementsAre(LayoutBlock{0_B, 5_B}));
}

TEST(Layout, AListIsSortedAndRepeatedWhereItEnds) {
  const Layout layout = Layout::indexed({{10_B, 6_B}, {2_B, 4_B}});
  EXPECT_EQ(layout.extent(10_B), 16_B);
  EXPECT_EQ(layout.extent(13_B), 21_B);
  EXPECT_THAT(layout.blocks(17_B), ElementsAre(LayoutBlock{2_B, 4_B}, LayoutBlock{10_B, 6_B}, LayoutBlock{18_B, 4_B},
                                               LayoutBlock{26_B, 3_B}));
}

TEST(Layout, AnEmptyMessageHasNoBlocks) {
  for (const Layout& layout : {Layout(), Layout::vector(8_B, 32_B), Layout::indexed({{2_B, 4_B}})}) {
    EXPECT_EQ(layout.extent(0_B), 0_B);
    EXPECT_EQ(layout.packed(0_B), 0_B);
    EXPECT_TRUE(layout.blocks(0_B).empty());
  }
}

TEST(Layout, BlocksAddUpToTheMessageAndEndWhereItsExtentEnds) {
  for (const Layout& layout : {Layout::vector(8_B, 8_B), Layout::vector(7_B, 32_B), Layout::vector(1_B, 2_B),
                               Layout::indexed({{3_B, 2_B}, {5_B, 1_B}, {100_B, 50_B}})}) {
    for (Bytes size = 1_B; size <= 500_B; size += 1_B) {
      Bytes sum{};
      Bytes end{};
      for (const LayoutBlock& block : layout.blocks(size)) {
        EXPECT_GE(block.displacement, end) << to_string(layout);
        sum += block.length;
        end = block.displacement + block.length;
      }
      EXPECT_EQ(sum, size) << to_string(layout);
      EXPECT_EQ(layout.extent(size), end) << to_string(layout) << " of " << size.count();
      EXPECT_EQ(layout.packed(end), size) << to_string(layout);
    }
  }
}

TEST(Layout, RefusesBlocksThatMakeNoSense) {
  EXPECT_THROW(Layout::vector(0_B, 8_B), UsageError);
  EXPECT_THAT(said_by([] { Layout::vector(64_B, 32_B); }), HasSubstr("64 B that begin 32 B apart overlap"));
  EXPECT_THROW(Layout::vector(8_B, Bytes{1ULL << 62U}), UsageError);
  EXPECT_THROW(Layout::indexed({}), UsageError);
  EXPECT_THROW(Layout::indexed({{4_B, 0_B}}), UsageError);
  EXPECT_THAT(said_by([] { Layout::indexed({{8_B, 8_B}, {0_B, 9_B}}); }), HasSubstr("at 0 and at 8 overlap"));
  EXPECT_THROW(Layout::indexed({{Bytes{1ULL << 62U}, 8_B}}), UsageError);
  EXPECT_THROW(Layout::indexed(std::vector<LayoutBlock>(kMostListed + 1, {0_B, 1_B})), UsageError);
  EXPECT_NO_THROW(Layout::indexed({{0_B, 8_B}, {8_B, 8_B}})) << "blocks may touch";
}

TEST(Layout, RefusesMessagesBeyondAllMemory) {
  EXPECT_THAT(said_by([] { static_cast<void>(Layout::vector(1_B, 1_GiB).extent(Bytes{1ULL << 40U})); }),
              HasSubstr("larger than all memory"));
  EXPECT_THAT(said_by([] { static_cast<void>(Layout::vector(1_B, 2_B).blocks(Bytes{kMostBlocks + 1})); }),
              HasSubstr("more than 1048576 blocks"));
  EXPECT_EQ(Layout::vector(1_B, 2_B).blocks(Bytes{kMostBlocks}).size(), kMostBlocks);
}

TEST(LayoutText, ReadsBackWhatItSays) {
  for (const std::string text : {"contiguous", "vector:8,32", "vector:1K,1M", "indexed:2+4,10+6", "indexed:0+8"}) {
    const Layout layout = parse_layout(text);
    EXPECT_EQ(parse_layout(to_string(layout)), layout);
  }
  EXPECT_EQ(to_string(parse_layout("vector:1024,2048")), "vector:1K,2K");
  EXPECT_EQ(to_string(parse_layout("indexed:10+6,2+4")), "indexed:2+4,10+6");
}

TEST(LayoutText, IsShortForPeople) {
  EXPECT_EQ(describe(parse_layout("indexed:0+1,2+1,4+1,6+1")), "indexed:0+1,2+1,4+1,6+1");
  EXPECT_EQ(describe(parse_layout("indexed:0+1,2+1,4+1,6+1,8+1")), "indexed:0+1,2+1,4+1,6+1,... (5 blocks)");
}

TEST(LayoutText, RefusalsQuoteTheTextAndSayWhy) {
  const auto said = [](const std::string& text) { return said_by([&] { parse_layout(text); }); };
  EXPECT_THAT(said("vectr:8,16"), HasSubstr("'vectr:8,16': expected contiguous, vector:BLOCK,STRIDE or indexed:"));
  EXPECT_THAT(said("vector:8"), HasSubstr("'8' is no BLOCK,STRIDE"));
  EXPECT_THAT(said("vector:8,16,32"), HasSubstr("no BLOCK,STRIDE"));
  EXPECT_THAT(said("vector:-8,16"), HasSubstr("negative"));
  EXPECT_THAT(said("vector:0,16"), HasSubstr("no bytes"));
  EXPECT_THAT(said("indexed:"), HasSubstr("'' is no DISPLACEMENT+LENGTH"));
  EXPECT_THAT(said("indexed:0+8,-4+2"), HasSubstr("negative"));
  EXPECT_THAT(said("indexed:0+8,4"), HasSubstr("'4' is no DISPLACEMENT+LENGTH"));
  EXPECT_THAT(said("indexed:" + std::string(1000, '7')), HasSubstr("7...'"));
}

}  // namespace
}  // namespace twinlink
