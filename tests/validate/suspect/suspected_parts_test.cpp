// Parts beside links, and what is whole and used otherwise, are told from each other.
#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/validate/suspect/machine_probes.hpp"

namespace twinlink::validate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using enum Suspicion::Verdict;

/// A GPU's memory is in no graph. Its small sizes are as fast as ever, and do not hide the large ones.
TEST(SuspectedParts, AGpusMemoryIsAPart) {
  MachineProbes probes(platform_named("h100-pcie-bridge"), 0, 2);
  for (const char* name : {"copy device-to-device", "copy kernel-local"}) {
    probes.let_bytes_take(name, "0/1", 820.0 / 500);
  }
  const Suspicion found = probes.held_against("h100-pcie-bridge");
  ASSERT_EQ(found.verdict, one_part) << to_text(suspect_report(found));
  EXPECT_THAT(in_words(found.suspects.front()),
              ::testing::MatchesRegex("memory of GPU 'gpu1' at 6[0-4] % of its bandwidth"));
  for (const SlowCurve& curve : found.slow) EXPECT_EQ(curve.band, Band::large) << curve.name;
}

/// Both ways through one link are slow, or else a copy engine is.
TEST(SuspectedParts, ACopyEngineIsToldFromALink) {
  MachineProbes probes(platform_named("piz-daint"));
  for (const char* kind : {"copy pinned-to-device near"}) probes.let_bytes_take(kind, "0/0", 2);
  const Suspicion found = probes.held_against("piz-daint");
  ASSERT_EQ(found.verdict, one_part) << to_text(suspect_report(found));
  EXPECT_EQ(found.suspects.front().kind, "inbound copy engine of");
  const auto link = std::ranges::find(found.suspects, "pcie0", &Suspect::part);
  ASSERT_NE(link, found.suspects.end());
  EXPECT_THAT(link->contradicted_by, Not(IsEmpty())) << "what is read crosses it at full rate";
}

/// Peers below a switch that go up to the root and back slow no link.
TEST(SuspectedParts, PeersThatGoByTheRootAreNoSlowLink) {
  Platform machine = platform_named("a100-pcie-switch");
  for (int pair = 0; pair < 4; ++pair) {
    const std::string plx = fmt::format("plx{}", pair);
    machine.node.ways.push_back({.name = fmt::format("acs{}", pair),
                                 .from = fmt::format("gpu{}", 2 * pair),
                                 .to = fmt::format("gpu{}", 2 * pair + 1),
                                 .via = {plx, fmt::format("socket{}", pair / 2), plx}});
  }
  const Suspicion found = MachineProbes(machine).held_against("a100-pcie-switch", 0.03);
  ASSERT_EQ(found.verdict, one_part) << to_text(suspect_report(found));
  EXPECT_FALSE(found.suspects.front().has_share());
  EXPECT_THAT(in_words(found.suspects.front()), HasSubstr("go by the root of PCIe"));
  EXPECT_THAT(to_text(suspect_report(found)), HasSubstr("as ACS makes them: that explains it"));
}

TEST(SuspectedParts, ANodeBoundToAnotherMemoryIsNamed) {
  Platform machine = platform_named("keeneland-kids");
  for (platforms::Gpu& gpu : machine.node.gpus) {
    if (gpu.memory_near == "numa0") gpu.memory_near = "numa1";
  }
  const Suspicion found = MachineProbes(machine).held_against("keeneland-kids", 0.03);
  ASSERT_EQ(found.verdict, one_part) << to_text(suspect_report(found));
  EXPECT_THAT(in_words(found.suspects.front()), HasSubstr("host buffers of GPU 0 lie in 'numa1'"));
}

TEST(SuspectedParts, OfTwoSickPartsTheWorseIsNamedAndTheOtherLeft) {
  const Suspicion found =
      MachineProbes(degraded("dgx-a100", {{"pcie1", 0.25}, {"nvlink6", 0.5}})).held_against("dgx-a100");
  ASSERT_EQ(found.verdict, one_part);
  EXPECT_GT(found.suspects.front().left_slow, 0U);
  EXPECT_THAT(to_text(suspect_report(found)), HasSubstr(" curves that stay slower"));
}

TEST(SuspectedParts, PartsThatTheProbesDoNotTellApartAreNamed) {
  const Suspicion found = MachineProbes(degraded("dgx-a100", {{"hca-pcie0", 0.25}}), 0, 2).held_against("dgx-a100");
  EXPECT_THAT(found.suspects.front().alike, IsSupersetOf({"hca0=29%", "fabric=29%"}));
  EXPECT_THAT(to_text(suspect_report(found)),
              AllOf(HasSubstr("Verdict: link 'hca-pcie0' at 25 % of its bandwidth explains it; the probes do not tell "
                              "it from "),
                    HasSubstr("hca0=29%")));
  const nlohmann::json json = to_json(found);
  EXPECT_EQ(json.at("verdict"), "one part");
  EXPECT_NEAR(json.at("suspects").at(0).at("share").get<double>(), 0.25, 1e-4);
}

}  // namespace
}  // namespace twinlink::validate
