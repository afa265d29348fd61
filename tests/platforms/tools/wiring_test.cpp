// What check warns of: links that nothing crosses, links beside others, ways that only the order of the file tells
// apart.
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/wiring.hpp"
#include "platforms/topology/topology.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class Wiring : public ::testing::Test {
 protected:
  void join(const std::string& name, const std::string& from, const std::string& to, double gigabytes = 7.31) {
    const Sourced<Rate> rate{.value = Rate{gigabytes * 1e9}};
    platform_.node.links.push_back({.name = name, .from = from, .to = to, .forward = rate, .backward = rate});
  }
  void add_hub(const std::string& name) { platform_.node.hubs.push_back({.name = name}); }
  [[nodiscard]] std::vector<std::string> warnings() const { return wiring_warnings(platform_); }

  Platform platform_ = read_platform("platforms/keeneland-kids.yaml");
};

TEST_F(Wiring, OfAMachineAsItShouldBeSaysNothing) { EXPECT_THAT(warnings(), IsEmpty()); }

TEST_F(Wiring, LinksThatNothingCrossesAreOneLine) {
  for (const std::string number : {"0", "1", "2"}) {
    add_hub("spare" + number);
    join("to-spare" + number, "ioh0", "spare" + number);
  }
  EXPECT_THAT(warnings(), ElementsAre("no way of a copy, message or peer crosses to-spare[0-2]"));
}

TEST_F(Wiring, ALinkBesideOneThatIsUsedIsACount) {
  join("qpi2", "numa1", "numa0", 11.4);
  join("qpi3", "numa0", "numa1", 11.4);
  EXPECT_THAT(warnings(), ElementsAre("no way takes qpi[2-3], beside 'qpi' between 'numa0' and 'numa1': one link with "
                                      "'count: 3' shares traffic over all"));
}

TEST_F(Wiring, ANarrowerOneIsNoCount) {
  join("old-qpi", "numa0", "numa1", 5);
  EXPECT_THAT(warnings(),
              ElementsAre("no way takes old-qpi, beside 'qpi' between 'numa0' and 'numa1', which is wider"));
}

TEST_F(Wiring, TheFirstLinkHasOthersBesideItToo) {
  const Link first = platform_.node.links.front();
  join("twin", first.from, first.to, first.forward.value.bytes_per_second() / 1e9);
  EXPECT_THAT(warnings(), ElementsAre("no way takes twin, beside '" + first.name + "' between '" + first.from +
                                      "' and '" + first.to + "': one link with 'count: 2' shares traffic over all"));
}

/// As the two lie, and not as the file has them.
TEST_F(Wiring, WidthsAreComparedDirectionByDirection) {
  Link& qpi = *std::ranges::find(platform_.node.links, "qpi", &Link::name);
  qpi.backward.value = Rate{12e9};
  join("turned", "numa1", "numa0", 11.4);
  platform_.node.links.back().forward.value = Rate{12e9};
  EXPECT_THAT(warnings(), ElementsAre("no way takes turned, beside 'qpi' between 'numa0' and 'numa1': one link with "
                                      "'count: 2' shares traffic over all"));
  for (const auto& [there, back] : {std::pair(11.4e9, 11.4e9), {12e9, 11e9}}) {
    platform_.node.links.back().forward.value = Rate{there};
    platform_.node.links.back().backward.value = Rate{back};
    EXPECT_THAT(warnings(),
                ElementsAre("no way takes turned, beside 'qpi' between 'numa0' and 'numa1', which is wider"));
  }
}

TEST_F(Wiring, OfAnotherKindOfNodesSaysWhich) {
  platform_.kinds.push_back({.name = "odd", .node = platform_.node});
  std::swap(platform_.node, platform_.kinds[0].node);
  platform_.node.hubs.push_back({.name = "spare"});
  join("to-spare", "ioh0", "spare");
  std::swap(platform_.node, platform_.kinds[0].node);
  EXPECT_THAT(warnings(), ElementsAre("nodes of kind 'odd': no way of a copy, message or peer crosses to-spare"));
}

/// PCIe is narrower than both, so that copies take the first, and messages the wider.
TEST_F(Wiring, AWiderOneThatCopiesDoNotNeedIsAChoice) {
  join("upi", "numa0", "numa1", 20);
  EXPECT_THAT(warnings(),
              UnorderedElementsAre(HasSubstr("2 ways between GPUs and memories divide at 'numa1' by qpi, upi"),
                                   HasSubstr("1 way between GPUs and memories divides at 'numa0' by qpi, upi"),
                                   HasSubstr("2 ways between GPUs and adapters divide at 'numa1' by qpi, upi")));
}

/// The way of gpu1 and that of gpu2 to either memory.
TEST_F(Wiring, EquallyGoodWaysAreOneLineForThePartWhereTheyDivide) {
  add_hub("plx");
  join("plx-gpu1", "gpu1", "plx");
  join("plx-gpu2", "gpu2", "plx");
  join("plx-qpi", "plx", "numa1", 11.4);
  const std::string at_gpu1 =
      "2 ways between GPUs and memories divide at 'gpu1' by gpu1-pcie, plx-gpu1, equally short "
      "and wide: the order of the links decides; such as gpu1 -> ioh1 -> numa1 -> numa0, or gpu1 "
      "-> plx -> numa1 -> numa0";
  EXPECT_THAT(warnings(),
              UnorderedElementsAre("no way of a copy, message or peer crosses plx-gpu[1-2], plx-qpi", at_gpu1,
                                   HasSubstr("2 ways between GPUs and memories divide at 'gpu2'"),
                                   HasSubstr("1 way between GPUs and adapters divides at 'gpu1'"),
                                   HasSubstr("1 way between GPUs and adapters divides at 'gpu2'"),
                                   AllOf(HasSubstr("1 way between GPUs divides at 'gpu1' by gpu1-pcie, plx-gpu1"),
                                         HasSubstr("such as gpu1 -> ioh1 -> gpu2, or gpu1 -> plx -> gpu2"))));
}

TEST_F(Wiring, TheWiderWayIsNotAmbiguous) {
  add_hub("plx");
  join("plx-gpu1", "gpu1", "plx", 14);
  join("plx-qpi", "plx", "numa1", 11.4);
  for (const std::string& warning : warnings()) EXPECT_THAT(warning, ::testing::Not(HasSubstr("GPUs and memories")));
}

// A core of these Westmeres copies 4.54 GB/s, and one side of each of its copies may stay in the caches.
TEST_F(Wiring, NoMessageIsFasterThanTheCopiesThatMakeIt) {
  platform_.intra_node.copied_by = CopiedBy::both;
  platform_.intra_node.rate->value = Rate{9.08e9};
  EXPECT_THAT(warnings(), IsEmpty());
  platform_.intra_node.rate->value = Rate{9.09e9};
  EXPECT_THAT(warnings(),
              ElementsAre(HasSubstr("mpi.intra_node.rate: 9090.0 MB/s is more than CPUs copy, 9080.0 MB/s")));
  platform_.intra_node.copied_by = CopiedBy::none;
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST(WiringOfShippedPlatforms, IsAsItShouldBe) {
  for (const auto& entry : std::filesystem::directory_iterator("platforms")) {
    if (entry.path().extension() != ".yaml") continue;
    EXPECT_THAT(wiring_warnings(read_platform(entry.path())), IsEmpty()) << entry.path();
  }
}

/// Where none is named, protocols take the rule of Keeneland's MVAPICH2.
TEST(ShippedPlatforms, NameTheLibraryOfEachMachine) {
  for (const auto& entry : std::filesystem::directory_iterator("platforms")) {
    if (entry.path().extension() != ".yaml") continue;
    const bool keeneland = entry.path().stem().string().starts_with("keeneland");
    EXPECT_EQ(read_platform(entry.path()).library.empty(), keeneland) << entry.path();
  }
}

TEST(InRanges, JoinsNumbersInARow) {
  EXPECT_EQ(in_ranges({"gpu0-pcie", "gpu1-pcie", "gpu2-pcie", "qpi", "a3", "a5", "b6"}),
            "gpu[0-2]-pcie, qpi, a3, a5, b6");
  EXPECT_EQ(in_ranges({"nvlink01", "nvlink02", "x9", "x10"}), "nvlink01, nvlink02, x[9-10]");
  EXPECT_EQ(in_ranges({"x999998", "x999999", "x1000000", "x1000001"}), "x[999998-999999], x1000000, x1000001");
  EXPECT_EQ(in_ranges({"x2", "x1", "x0", "y1", "y2z"}), "x2, x1, x0, y1, y2z") << "upward, and alike behind it";
  EXPECT_EQ(in_ranges({}), "");
}

}  // namespace
}  // namespace twinlink::platforms
