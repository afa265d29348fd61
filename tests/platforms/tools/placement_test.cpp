// Where ranks are.
#include "platforms/tools/placement.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/reader/platform_reader.hpp"
#include "protocols/core/errors.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::ElementsAre;

Platform kids_platform() { return read_platform("platforms/keeneland-kids.yaml"); }

class PlacesInAFile : public ::testing::Test {
 protected:
  std::vector<Place> read(const std::string& text) {
    std::ofstream(file_) << text;
    return places_of_ranks(kids_platform(), file_.string());
  }
  ~PlacesInAFile() override { std::filesystem::remove(file_); }

  std::filesystem::path file_ =
      std::filesystem::path(::testing::TempDir()) /
      (std::string("twinlink-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST(Placement, PackedFillsNodeAfterNode) {
  std::vector<Place> places = places_of_ranks(kids_platform(), "packed");
  EXPECT_EQ(places.size(), 360U);
  places.resize(4);
  EXPECT_THAT(places, ElementsAre(Place{0, 0, {}}, Place{0, 1, {}}, Place{0, 2, {}}, Place{1, 0, {}}));
}

TEST(Placement, SpreadGivesEachNodeOneInTurn) {
  const std::vector<Place> places = places_of_ranks(kids_platform(), "spread");
  EXPECT_EQ(places.size(), 360U);
  EXPECT_EQ(places[1], (Place{1, 0, {}}));
  EXPECT_EQ(places[119], (Place{119, 0, {}}));
  EXPECT_EQ(places[120], (Place{0, 1, {}}));
}

TEST_F(PlacesInAFile, AreOnesLineByLine) {
  EXPECT_THAT(read("# rank by rank\n5/1\n\n  0/2  # the last GPU\n5/1\n"),
              ElementsAre(Place{5, 1, {}}, Place{0, 2, {}}, Place{5, 1, {}}));
}

TEST_F(PlacesInAFile, EachMistakeHasALine) {
  try {
    read("0/0\n\n# a comment\nfirst\n0/3\n");
    FAIL();
  } catch (const InputError& error) {
    const std::string name = file_.string();
    EXPECT_EQ(error.what(), name + ":4: error: 'first' is no device; expected NODE/GPU, such as 0/1\n" + name +
                                ":5: error: there is no device 0/3 on platform 'keeneland-kids': nodes are 0 to 119, "
                                "GPUs 0 to 2 (NODE/GPU)");
  }
}

TEST_F(PlacesInAFile, AreAtLeastOneAndOfManyMistakesNotAllAreSaid) {
  EXPECT_THROW(read("# none\n"), InputError);
  std::string lines;
  for (int i = 0; i < 201; ++i) lines += "0/3\n";
  const auto said = [&](const std::string& text) -> std::string {
    return said_by<InputError>([&] { return read(text); });
  };
  EXPECT_EQ(std::ranges::count(said(lines.substr(4 * 2)), '\n'), 198) << "199 mistakes";
  const std::string many = said(lines);
  EXPECT_EQ(std::ranges::count(many, '\n'), 200);
  EXPECT_TRUE(many.ends_with("\nand maybe more errors"));
}

TEST(Placement, TakesAsManyAsThereAreRanks) {
  EXPECT_THAT(places_of_ranks(kids_platform(), "packed", 2), ElementsAre(Place{0, 0, {}}, Place{0, 1, {}}));
  EXPECT_EQ(places_of_ranks(kids_platform(), "spread", 0).size(), 360U);
  EXPECT_EQ(places_of_ranks(kids_platform(), "spread", 360).back(), (Place{119, 2, {}}));
  const auto refusal = [](const std::string& how, int ranks) -> std::string {
    return said_by<Error>([&] { return places_of_ranks(kids_platform(), how, ranks); });
  };
  EXPECT_EQ(refusal("packed", 361), "--ranks 361: --place packed has places for 360");
  EXPECT_EQ(refusal("paked", 1), "--place paked: 'packed', 'spread' or a file that can be read");
}

}  // namespace
}  // namespace twinlink::platforms
