// The figures of the Keeneland page: their curves, and what is said where the page's order does not come out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "model/study/figures.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Host to host, copies from pageable and page-locked memory, explicit copies, GPUDirect v1, the library: in this
/// order.
TEST(Figures, TheFirstDrawsThePagesCurves) {
  std::vector<std::string> drawn;
  for (const FigureCurve& curve : keeneland_figures()[0].curves) {
    if (curve.of_the_page) drawn.push_back(curve.id);
  }
  EXPECT_THAT(drawn,
              ElementsAre("kfs-host", "kfs-copy-pageable", "kfs-copy-pinned", "kfs-gpu-gpu", "kfs-v1", "kfs-library"));
}

/// The page's second figure is GPUDirect v2 within a node.
TEST(Figures, TheSecondHasNothingBetweenNodes) {
  for (const FigureCurve& curve : keeneland_figures()[1].curves) EXPECT_EQ(curve.from.node, curve.to.node) << curve.id;
}

TEST(Figures, EveryCurveHasItsOwnFileAndSettingsThatItsProtocolKnows) {
  std::set<std::string> ids;
  for (const Figure& figure : keeneland_figures()) {
    for (const FigureCurve& curve : figure.curves) {
      EXPECT_TRUE(ids.insert(curve.id).second) << curve.id;
      EXPECT_EQ(curve.id.find(' '), std::string::npos) << "a file's name: " << curve.id;
      if (curve.copy) continue;
      EXPECT_NO_THROW(bench::make_settings(find_protocol(curve.protocol), curve.settings)) << curve.id;
    }
    for (const auto& [lower, upper] : figure.rising) {
      EXPECT_TRUE(ids.contains(lower)) << lower;
      EXPECT_TRUE(ids.contains(upper)) << upper;
    }
  }
}

bench::Series series(const std::string& label, const std::vector<double>& bandwidths) {
  bench::Series made{.label = label, .from = "0/0", .to = "1/0"};
  std::uint64_t size = 4;
  for (const double bandwidth : bandwidths) {
    made.points.push_back({.size = Bytes{size}, .bandwidth_MBps = bandwidth});
    size *= 2;
  }
  return made;
}

std::vector<DrawnCurve> drawn(const std::vector<double>& v1, const std::vector<double>& library) {
  static const Figure& kfs = keeneland_figures()[0];
  std::vector<DrawnCurve> all;
  for (const FigureCurve& curve : kfs.curves) {
    if (curve.id == "kfs-v1") all.push_back({&curve, series("v1", v1)});
    if (curve.id == "kfs-library") all.push_back({&curve, series("library", library)});
  }
  return all;
}

TEST(Figures, SayAtWhichSizesThePagesOrderDoesNotComeOut) {
  const Figure& kfs = keeneland_figures()[0];
  EXPECT_EQ(against_the_page(kfs, drawn({1, 2, 3}, {1, 2, 4})), "") << "equal is not below";
  EXPECT_EQ(against_the_page(kfs, drawn({1, 2, 3, 4, 5}, {0.5, 1, 4, 5, 4})),
            "  (2) is below (1), against the page, at 4 to 8, 64\n");
  EXPECT_THAT(figure_text(kfs, drawn({2, 3}, {1, 4}), "simulated"),
              AllOf(HasSubstr("Keeneland KFS (simulated)"), HasSubstr("against the page, at 4\n")));
}

TEST(Figures, SayWhyADeviceHasNoSuchCurve) {
  Path path{.same_node = true};
  path.device_mapping = path.peer_access = Answer::granted();
  const auto reason = [&path](const std::string& id) {
    for (const Figure& figure : keeneland_figures()) {
      for (const FigureCurve& curve : figure.curves) {
        if (curve.id == id) return why_not(curve, path);
      }
    }
    return std::string("no such curve");
  };
  EXPECT_EQ(reason("kids-peer"), "");
  EXPECT_EQ(reason("kfs-copy-pinned"), "") << "a copy needs one device";
  EXPECT_THAT(reason("kids-fallback-0-1"), HasSubstr("there is peer access"));
  EXPECT_THAT(reason("kfs-host"), HasSubstr("on one node"));
  path.peer_access = Answer::refused("different hubs");
  EXPECT_EQ(reason("kids-peer"), "different hubs");
  EXPECT_EQ(reason("kids-fallback-0-1"), "");
}

}  // namespace
}  // namespace twinlink::model
