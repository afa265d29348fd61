#include "model/study/chart.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <set>
#include <sstream>

#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

const std::vector<Curve> kTwoCurves{{"rising", {{1_B, 0}, {32_B, 50}, {1_KiB, 100}}},
                                    {"flat", {{1_B, 20}, {1_KiB, 20}}}};

TEST(Chart, ShowsAxesCurvesAndLegend) {
  EXPECT_EQ(draw_chart(kTwoCurves, {.title = "Two curves", .columns = 52, .rows = 14}),
            "      MB/s  Two curves\n"
            "       100 +                                      .o\n"
            "           |                                  ....\n"
            "        80 +                              ....\n"
            "           |                          ....\n"
            "        60 +                      ....\n"
            "           |                  ..o.\n"
            "        40 +              ....\n"
            "           |          ....\n"
            "        20 +x......................................x\n"
            "           |  ....\n"
            "         0 +o.\n"
            "           +----------------------------------------\n"
            "            1       4       16     64      256    1K\n"
            "\n"
            "          o rising\n"
            "          x flat\n");
}

TEST(Chart, FitsIntoItsSize) {
  for (const int columns : {40, 100, 173}) {
    for (const int rows : {10, 30, 57}) {
      const std::vector<Curve> curve{{"wide", {{1_B, 1}, {Bytes{1ULL << 40U}, 54321.0}}}};
      const auto lines = lines_of(draw_chart(curve, {.columns = columns, .rows = rows}));
      ASSERT_EQ(lines.size(), static_cast<std::size_t>(rows) + 2);  // an empty line and a line of legend
      for (const std::string& line : lines) EXPECT_LE(line.size(), static_cast<std::size_t>(columns)) << line;
    }
  }
}

TEST(Chart, ScaleEndsAtARoundNumberNotFarAboveTheLargestValue) {
  const auto top_label = [](double largest) {
    const auto lines = lines_of(draw_chart(std::vector<Curve>{{"c", {{4_B, largest}}}}, {}));
    return lines.at(1).substr(0, lines.at(1).find(" +"));
  };
  EXPECT_THAT(top_label(6307), EndsWith(" 8000"));
  EXPECT_THAT(top_label(8001), EndsWith(" 10000"));
  EXPECT_THAT(top_label(10), EndsWith(" 10"));
  EXPECT_THAT(top_label(2.4), EndsWith(" 2.5"));
  EXPECT_THAT(top_label(0.26), EndsWith(" 0.4"));
}

TEST(Chart, GivesEveryCurveAMarkerOfItsOwn) {
  std::vector<Curve> curves;
  for (int i = 0; i < 8; ++i) curves.push_back({"curve " + std::to_string(i), {{1_B, 10.0 * i}, {4_B, 10.0 * i}}});
  std::set<char> markers;
  for (const std::string& line : lines_of(draw_chart(curves, {}))) {
    if (const auto at = line.find(" curve "); at != std::string::npos) markers.insert(line[at - 1]);
  }
  EXPECT_EQ(markers.size(), 8U);
}

TEST(Chart, LeavesOutWhatHasNoPlace) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Curve> curve{{"c", {{0_B, 5}, {1_B, nan}, {2_B, 0}, {4_B, 10}}}};
  const std::string chart = draw_chart(curve, {});
  EXPECT_EQ(std::ranges::count(chart, 'o'), 3) << "the points of 2 B and 4 B, and the legend\n" << chart;
}

TEST(Chart, DrawsASinglePoint) {
  EXPECT_THAT(draw_chart(std::vector<Curve>{{"one", {{4_B, 7}}}}, {}), HasSubstr("one"));
}

TEST(Chart, RefusesWhatCannotBeDrawn) {
  EXPECT_THROW(draw_chart({}, {}), UsageError);
  EXPECT_THROW(draw_chart(std::vector<Curve>{{"empty", {}}}, {}), UsageError);
  EXPECT_THROW(draw_chart(std::vector<Curve>{{"zero", {{4_B, 0}}}}, {}), UsageError);
  EXPECT_THROW(draw_chart(kTwoCurves, {.columns = 39}), UsageError);
  EXPECT_THROW(draw_chart(kTwoCurves, {.rows = 9}), UsageError);
}

}  // namespace
}  // namespace twinlink::model
