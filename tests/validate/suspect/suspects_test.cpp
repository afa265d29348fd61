// Machines with something that is slow, told from the times of their probes, which are predicted in closed form.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "protocols/core/errors.hpp"
#include "tests/validate/golden.hpp"
#include "tests/validate/suspect/machine_probes.hpp"
#include "validate/primitives/primitive.hpp"
#include "validate/suspect/suspect_report.hpp"

namespace twinlink::validate {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using enum Suspicion::Verdict;

ProbeSet measured_on_h200() {
  const std::vector<std::filesystem::path> files{std::filesystem::path(TWINLINK_VALIDATE_DATA) /
                                                 "h200-nvlink-probes.json"};
  return read_probe_set(files);
}

std::vector<std::string> shipped_platforms() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(file_of("").parent_path())) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

struct Sick {
  std::string platform;
  std::string part;
  double share;
};

class SickMachine : public ::testing::TestWithParam<Sick> {};

TEST_P(SickMachine, HasItsPartNamed) {
  const auto& [platform, part, share] = GetParam();
  for (const double noise : {0.0, 0.04}) {
    const Suspicion found = MachineProbes(degraded(platform, {{part, share}}), noise).held_against(platform);
    ASSERT_EQ(found.verdict, one_part) << noise;
    const Suspect& first = found.suspects.front();
    EXPECT_EQ(first.part, part) << noise;
    EXPECT_NEAR(first.share, share, noise == 0 ? 1e-4 : 0.03) << noise;
    EXPECT_EQ(first.left_slow, 0U);
    EXPECT_LT(first.errors.geometric_mean, found.errors.geometric_mean);
    EXPECT_FALSE(found.slow.empty());
    // Every curve is judged once, and the slow ones come by how slow they are.
    std::size_t curves = 0;
    std::size_t slow = 0;
    for (const Judged& judged : found.judged) {
      curves += judged.curves;
      slow += judged.slow;
      EXPECT_LE(judged.slow > 0 ? judged.allowed : 0, judged.slowest) << judged.plural;
    }
    EXPECT_EQ(curves, found.curves);
    EXPECT_EQ(slow, found.slow.size());
    EXPECT_TRUE(std::ranges::is_sorted(found.slow, std::ranges::greater{}, &SlowCurve::slower));
    for (const SlowCurve& curve : found.slow) EXPECT_GT(curve.slower, kTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, SickMachine,
                         ::testing::Values(Sick{"piz-daint", "pcie0", 0.5},       // the only GPU, behind x8
                                           Sick{"workstation", "pcie1", 0.5},     // one of two
                                           Sick{"keeneland-kids", "qpi", 0.5},    // between the sockets
                                           Sick{"keeneland-kids", "ioh1", 0.3},   // a hub with two GPUs
                                           Sick{"keeneland-kids", "numa0", 0.4},  // a memory
                                           Sick{"dgx-a100", "nvlink5", 0.5},      // six of twelve lanes
                                           Sick{"dgx-a100", "uplink2", 0.5},      // a switch behind x8
                                           Sick{"dgx-a100", "nvswitch", 0.25},    // half of half
                                           Sick{"dgx-a100", "hca-pcie0", 0.25},   // an adapter behind x4
                                           Sick{"keeneland-kids", "hca0-pcie", 0.5}),
                         [](const auto& tested) {
                           std::string name = tested.param.platform + "_" + tested.param.part;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

/// Each way, and both ways together, which here is less.
TEST(Suspects, TheFabricIsAPartAsWell) {
  Platform base = platform_named("keeneland-kids");
  base.fabric->duplex.value().value = Rate{1.5e9};
  const test::ScratchFolder folder;
  const auto file = folder.write("base.yaml", platform_text(base));
  Platform machine = base;
  machine.fabric->duplex->value = Rate{0.6e9};
  machine.fabric->link.value = Rate{0.4 * base.fabric->link.value.bytes_per_second()};
  const Suspicion found = MachineProbes(machine).held_against_file(file);
  ASSERT_EQ(found.verdict, one_part);
  const auto fabric = std::ranges::find(found.suspects, "fabric", &Suspect::part);
  ASSERT_NE(fabric, found.suspects.end());
  EXPECT_EQ(fabric->kind, "fabric");
  EXPECT_NEAR(fabric->share, 0.4, 1e-3);
  EXPECT_NEAR(fabric->explained, 1, 1e-3);
}

TEST(Suspects, AHealthyMachineIsAsFastAsItsPlatform) {
  for (const std::string name : {"piz-daint", "keeneland-kids", "dgx-a100", "h200-nvlink"}) {
    EXPECT_EQ(MachineProbes(platform_named(name)).held_against(name).verdict, as_fast) << name;
    const Suspicion found = MachineProbes(platform_named(name), 0.05).held_against(name);
    EXPECT_EQ(found.verdict, as_fast) << name;
    EXPECT_THAT(found.slow, IsEmpty()) << name;
  }
}

/// Noise raises no alarm; what is slow by more is found through it.
TEST(Suspects, EveryShippedMachineIsToldFromOneWithSlowMessages) {
  const std::vector<std::string> names = shipped_platforms();
  ASSERT_GE(names.size(), 30U);
  for (const std::string& name : names) {
    MachineProbes probes(platform_named(name), 0.05, 2);
    const Suspicion healthy = probes.held_against(name);
    EXPECT_EQ(healthy.verdict, as_fast) << name << "\n" << to_text(suspect_report(healthy));
    const Suspicion sick = probes.slow_down("message", 10).held_against(name);
    EXPECT_NE(sick.verdict, as_fast) << name;
    for (const SlowCurve& curve : sick.slow) EXPECT_THAT(curve.name, HasSubstr("message")) << name;
  }
}

TEST(Suspects, EveryKindOfProbeCounts) {
  const ProbeSet probes = measured_on_h200();
  const Suspicion healthy = find_suspects(probes, file_of("h200-nvlink"), kTolerance, false);
  std::set<std::string> names;
  for (const Probe& probe : probes.probes) names.insert(probe.line.name);
  std::size_t counted = 0;
  for (const std::string& name : names) {
    const auto has = [&](const Unjudged& unjudged) {
      return std::ranges::find(unjudged.what, name) != unjudged.what.end();
    };
    const bool partly = name == "queued message same-node both-ways";  // the small ones are looked at
    if (!partly && std::ranges::any_of(healthy.unjudged, has)) continue;
    ProbeSet slow = probes;
    for (Probe& probe : slow.probes) {
      if (probe.line.name == name) probe.line.time_us.median *= 3;
    }
    const Suspicion found = find_suspects(slow, file_of("h200-nvlink"), kTolerance, false);
    EXPECT_NE(found.verdict, as_fast) << name;
    EXPECT_THAT(to_text(suspect_report(found)), HasSubstr(name));
    ++counted;
  }
  EXPECT_GE(counted, 60U);
}

/// They are the errors that the model has on the machine that it was calibrated on.
TEST(Suspects, WithinTheModelsOwnErrorsTheMeasuredH200IsHealthyAtAnyTolerance) {
  for (const double tolerance : {0.0, 0.01, 0.05}) {
    const Suspicion found = find_suspects(measured_on_h200(), file_of("h200-nvlink"), tolerance, false);
    EXPECT_THAT(found.slow, IsEmpty()) << tolerance;
  }
  // And they are no larger than needed, but for those of windows, of which a simulation needs as much.
  const Platform machine = platform_named("h200-nvlink");
  const platforms::Topology topology(machine);
  const ProbeSet probes = measured_on_h200();
  std::map<std::tuple<std::string, std::string, std::string, Band>, std::vector<double>> slower;
  std::map<std::tuple<std::string, std::string, std::string, Band>, Primitive> kinds;
  for (const Probe& probe : probes.probes) {
    std::string reason;
    const auto primitive = find_primitive(probe.line, topology, reason);
    const auto time = primitive ? predict(*primitive, probe.line.size, topology) : std::nullopt;
    if (!time || !(*time > Seconds{})) continue;
    const std::tuple place(probe.line.name, probe.line.gpu, probe.line.peer, band_of(probe.line.size));
    slower[place].push_back(std::max(0.0, std::log(probe.line.time_us.median / time->microseconds())));
    kinds.emplace(place, *primitive);
  }
  std::map<std::pair<double, Band>, double> most;  // by own error
  for (const auto& [place, each] : slower) {
    const auto band = std::get<3>(place);
    const double error = facts_of(kinds.at(place).kind).own_errors.at(static_cast<std::size_t>(band));
    const double mean = std::expm1(std::accumulate(each.begin(), each.end(), 0.0) / static_cast<double>(each.size()));
    EXPECT_LE(mean, error) << std::get<0>(place);
    double& worst = most[{error, band}];
    worst = std::max(worst, mean);
  }
  for (const auto& [place, worst] : most) {
    if (place.first != facts_of(Primitive::Kind::gap).own_errors.at(static_cast<std::size_t>(place.second))) {
      EXPECT_GE(worst, place.first - 0.02) << to_string(place.second);
    }
  }
}

/// A slow day is not hidden by a good one: each file is judged by itself.
TEST(Suspects, TheCurvesOfTwoFilesAreNotOne) {
  const Platform platform = platform_named("keeneland-kids");
  const Suspicion alone = MachineProbes(platform).held_against("keeneland-kids");
  ASSERT_EQ(alone.verdict, as_fast);
  for (const bool slow_first : {false, true}) {
    MachineProbes good(platform);
    MachineProbes bad(platform);
    bad.slow_down("copy pinned-to-device", 1.15);
    const Suspicion both = slow_first ? bad.add_file(good).held_against("keeneland-kids")
                                      : good.add_file(bad).held_against("keeneland-kids");
    EXPECT_EQ(both.curves, 2 * alone.curves);
    ASSERT_EQ(both.origins.size(), 2U);
    EXPECT_EQ(both.origins[1].file, "other.json");
    EXPECT_FALSE(both.slow.empty()) << "15 % in one file, which both together would make 7 %";
  }
}

TEST(Suspects, WhatIsNotLookedAtIsNamed) {
  const Suspicion found = MachineProbes(platform_named("dgx-a100"), 0, 2).held_against("dgx-a100");
  const auto named = [&](const std::string& why) {
    const auto entry = std::ranges::find(found.unjudged, why, &Unjudged::why);
    return entry == found.unjudged.end() ? std::vector<std::string>{} : entry->what;
  };
  EXPECT_THAT(named("no probe is of it"), ElementsAre("gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7"));
  EXPECT_THAT(named("no copy and no message depends on it"), AllOf(Contains("nvlink2"), Contains("hca-pcie7")));
  EXPECT_THAT(named("no copy and no message depends on it"), Not(Contains("hca-pcie0")));
  std::size_t all = 0;
  for (const Unjudged& unjudged : found.unjudged) all += unjudged.what.size();
  EXPECT_THAT(to_text(suspect_report(found)),
              HasSubstr(" It says nothing of " + std::to_string(all) + " kinds of probes"));
  EXPECT_EQ(to_json(found).at("not_judged").size(), found.unjudged.size());
}

/// A link that nothing fills may lack a part of its bandwidth, and nobody is slower. That is said, and it is true.
TEST(Suspects, ALackThatNothingProbedWouldShowIsNamed) {
  const std::string why = "so little of its bandwidth would not be seen yet";
  const auto named = [&](double share) {
    const Suspicion found = MachineProbes(degraded("dgx1-v100", {{"qpi", share}})).held_against("dgx1-v100");
    EXPECT_EQ(found.verdict == as_fast, share > 0.3) << share;
    const auto entry = std::ranges::find(found.unjudged, why, &Unjudged::why);
    return entry == found.unjudged.end() ? std::vector<std::string>{} : entry->what;
  };
  EXPECT_THAT(named(1), Contains("qpi=28%"));
  EXPECT_THAT(named(0.4), Contains("qpi=28%"));
  named(0.25);
}

/// A link that the largest copies fill is seen as soon as these take longer by the tolerance, whatever that is.
TEST(Suspects, WhatLargeCopiesFillIsSeenSoonEnough) {
  for (const double tolerance : {0.05, 0.3, 0.5}) {
    const Suspicion found = MachineProbes(platform_named("piz-daint")).held_against("piz-daint", tolerance);
    for (const Unjudged& unjudged : found.unjudged) {
      if (unjudged.why.starts_with("so little")) {
        EXPECT_THAT(unjudged.what, ::testing::Each(::testing::ContainsRegex("^(ring0|hca)")))
            << "memory and the fabric are not filled";
      }
    }
  }
}

// --- Noise -----------------------------------------------------------------------------------------------------------

/// All lines scatter by a fifth: a curve of five sizes may be slower by what chance does to one of all curves.
TEST(Suspects, ACurveIsAllowedWhatChanceDoesToOneOfThem) {
  const std::string name = "dgx-a100";
  for (const double share : {1.0, 0.25}) {
    const Platform machine = degraded(name, {{"pcie1", share}});
    const std::size_t curves = MachineProbes(machine, 0, 2).held_against(name).curves;
    // Two sizes in each of the small and the large band, and one in the middle.
    const double chance = chance_of_one_sided(2 * 0.2 * 0.2, 2, farthest_of(kBands * curves));
    ASSERT_GT(chance, 0.12) << "the own error of handles";
    for (const double times : {0.99, 1.01}) {
      MachineProbes probes(machine, 0, 2);
      const Suspicion found = probes.scatter(0.2).slow_down("handle export", 1 + times * chance).held_against(name);
      const auto judged = std::ranges::find(found.judged, "handles", &Judged::plural);
      const std::size_t gpus = 2;  // each has such a curve
      EXPECT_EQ(judged->slow, times > 1 ? gpus : 0) << share;
      EXPECT_NEAR(judged->slowest, times * chance, 1e-9);
      EXPECT_NEAR(judged->widest, chance_of_one_sided(0.2 * 0.2, 1, farthest_of(kBands * curves)), 1e-9);
      EXPECT_NEAR(judged->allowed, chance, 1e-9);
      if (share < 1) {
        ASSERT_EQ(found.verdict, one_part);
        EXPECT_EQ(found.suspects.front().left_slow, times > 1 ? gpus : 0);
      }
    }
  }
}

/// What a part explains is the share of the squared errors that is gone, less what noise makes of both, unless they are
/// no more than noise may be.
TEST(Suspects, NoiseCountsInNeitherError) {
  const std::string name = "piz-daint";
  const Platform base = platform_named(name);
  const Platform slow = degraded(name, {{"pcie0", 0.7}});
  const platforms::Topology sick(slow);
  for (const double deviation : {0.0, 0.06, 0.1, 0.13, 0.2, 0.3}) {
    ProbeSet set;
    set.files.push_back({.file = "p.json"});
    const auto each_line = [&](const auto& visit) {
      for (const char* copy : {"copy pinned-to-device near", "copy device-to-pinned near"}) {
        for (Bytes size = 1_KiB; size <= 64_MiB; size = size * 4) visit(copy, size);
      }
    };
    const auto predicted = [](const std::string& copy, Bytes size, const platforms::Topology& machine) {
      std::string reason;
      const auto primitive = find_primitive({.name = copy, .gpu = "0/0", .size = size}, machine, reason);
      return predict(primitive.value(), size, machine).value().microseconds();
    };
    each_line([&](const char* copy, Bytes size) {
      bench::ProbeLine line{.name = copy, .gpu = "0/0", .size = size};
      line.time_us.median = predicted(copy, size, sick) * (set.probes.size() % 2 == 0 ? 1.16 : 0.86);
      say_scatter(line, deviation);
      set.probes.push_back({.line = line});
    });
    const Suspicion found = find_suspects(set, file_of(name), kTolerance, false);
    const auto suspect = std::ranges::find(found.suspects, "pcie0", &Suspect::part);
    ASSERT_NE(suspect, found.suspects.end()) << deviation;
    const platforms::Platform found_platform = degraded(name, {{"pcie0", suspect->share}});
    const platforms::Topology well(base);
    const platforms::Topology ill(found_platform);
    // Lines that the part makes no longer tell nothing of it.
    const auto squares = [&](const platforms::Topology& machine, bool all) {
      double sum = 0;
      double count = 0;
      for (const Probe& probe : set.probes) {
        const auto time = [&](const platforms::Topology& of) {
          return predicted(probe.line.name, probe.line.size, of);
        };
        if (!all && std::log(time(ill) / time(well)) < 0.01) continue;
        sum += std::pow(std::log(time(machine) / probe.line.time_us.median), 2);
        ++count;
      }
      return std::pair(sum, count);
    };
    const auto [before, n] = squares(well, false);
    const double after = squares(ill, false).first;
    EXPECT_LT(n, static_cast<double>(set.probes.size()));
    const double noisy = n * deviation * deviation;
    const double explained = before <= noisy * (1 + 3 * std::sqrt(2 / n))
                                 ? 1 - after / before
                                 : 1 - std::max(0.0, after - noisy) / (before - noisy);
    EXPECT_NEAR(suspect->explained, explained, 1e-9) << deviation;
    const double least = squares(ill, true).first;
    EXPECT_NEAR(suspect->least, least, 1e-9);
    EXPECT_EQ(suspect->curves, 2U);
    // No share of the part has less.
    for (const double share : {0.5, 0.6, 0.65, 0.75, 0.8, 0.9}) {
      const platforms::Platform other = degraded(name, {{"pcie0", share}});
      EXPECT_GE(squares(platforms::Topology(other), true).first, least - 1e-9) << share;
    }
  }
}

TEST(Suspects, PeersOfAnotherNodeOfTheDomainAreNotTheGpuItself) {
  const Platform machine = platform_named("gb200-nvl72");
  const platforms::Topology topology(machine);
  std::string reason;
  const auto primitive =
      find_primitive({.name = "peer copy write direct", .gpu = "0/1", .peer = "1/1"}, topology, reason);
  ASSERT_TRUE(primitive) << reason;
  EXPECT_EQ(primitive->from.location.index, 1U);
  EXPECT_EQ(primitive->to.location.index, 5U);
}

TEST(Suspects, AFasterMachineIsHealthy) {
  Platform fast = platform_named("piz-daint");
  for (platforms::GpuType& type : fast.gpu_types) {
    for (auto& [kind, cost] : type.copies) cost.latency.value = {};
  }
  const Suspicion found = MachineProbes(fast).held_against("piz-daint");
  EXPECT_EQ(found.verdict, as_fast);
  EXPECT_GT(found.errors.bias, 0.1);
}

/// As a node whose link to the processor nobody told of: what is held against it tells nothing of it.
TEST(Suspects, AMachineThatHasTwiceAsMuchIsAnotherOne) {
  Platform fast = platform_named("piz-daint");
  for (platforms::Link& link : fast.node.links) {
    for (Rate* rate : {&link.forward.value, &link.backward.value}) *rate = Rate{rate->bytes_per_second() * 3};
  }
  for (platforms::GpuType& type : fast.gpu_types) {
    for (auto& [kind, cost] : type.copies) cost.rate.reset();
  }
  const Suspicion found = MachineProbes(fast).held_against("piz-daint");
  EXPECT_EQ(found.verdict, too_fast);
  EXPECT_THAT(to_text(suspect_report(found)), HasSubstr("Verdict: the platform says less than this machine has"));
}

TEST(Suspects, TheMeasuredH200IsHealthy) {
  EXPECT_EQ(find_suspects(measured_on_h200(), file_of("h200-nvlink"), kTolerance, false).verdict, as_fast);
}

TEST(Suspects, OfALackWithinTheToleranceNothingIsSaid) {
  const MachineProbes probes(degraded("workstation", {{"pcie1", 0.85}}));
  EXPECT_EQ(probes.held_against("workstation", 0.2).verdict, as_fast);
  EXPECT_EQ(probes.held_against("workstation", 0.05).verdict, one_part);
}

/// All GPUs load host memory slowly and store there at full speed, which no link does.
TEST(Suspects, WhatNoPartExplainsIsSaid) {
  Platform machine = platform_named("dgx-a100");
  for (platforms::GpuType& type : machine.gpu_types) {
    platforms::Cost& cost = type.copies.at(platforms::CopyKind::pinned_to_device);
    cost.rate.emplace(platforms::Sourced<Rate>{.value = Rate{2e9}});
  }
  const Suspicion found = MachineProbes(machine).held_against("dgx-a100");
  EXPECT_EQ(found.verdict, unexplained);
  EXPECT_THAT(to_text(suspect_report(found)), HasSubstr("Verdict: no part explains it: "));
}

/// Of all that a report may have to say.
TEST(SuspectReport, IsAsItWas) {
  Suspicion found{.base = "mine.yaml", .tolerance = 0.1, .curves = 9};
  found.origins = {{.file = "a.json", .date = "2026-11-21", .program = "twinlink-real 0.1.0", .machine = "2 x H200"},
                   {.file = "b.json", .program = "other 7"}};
  found.errors = {.n = 20, .geometric_mean = 0.2, .bias = -0.15, .max = 0.5};
  found.judged = {{.plural = "copies", .curves = 6, .slow = 6, .slowest = 0.9, .allowed = 0.1, .widest = 0.215},
                  {.plural = "handles", .curves = 3, .slow = 1, .slowest = 0.3, .allowed = 0.12, .widest = 0.12},
                  {.plural = "signals", .curves = 1, .slowest = 0.05, .allowed = 0.1}};
  found.unjudged = {{{"x", "y"}, "no reason"}, {{"1", "2", "3", "4", "5", "6", "7", "8"}, "many"}};
  for (int i = 0; i < 7; ++i)
    found.slow.push_back({fmt::format("copy {}", i), "0/0 to 0/1", "copies", Band::large, 0.9 - 0.1 * i});
  const Suspect suspect{.part = "pcie1",
                        .kind = "link",
                        .of_what = "bandwidth",
                        .degradable = true,
                        .share = 0.497,
                        .curves = 4,
                        .explained = 0.97,
                        .errors = {.n = 20, .geometric_mean = 0.01, .bias = 0.005, .max = 0.04},
                        .left_slow = 1,
                        .alike = {"hub1=50%", "numa0=48%"}};
  found.suspects.assign(6, suspect);
  found.notes = {"a note"};
  std::string text;
  for (const Suspicion::Verdict verdict : {one_part, unexplained, as_fast}) {
    found.verdict = verdict;
    const nlohmann::json json = to_json(found);
    text += to_text(suspect_report(found)) + "\n";
    text += (verdict == one_part ? json.dump(1) : json.at("verdict").dump()) + "\n\n";
    found.suspects.resize(1);
    found.suspects.front().alike.clear();
    found.suspects.front().left_slow = 0;
    found.notes.clear();
    found.slow.resize(1);
    if (verdict == unexplained) found.unjudged.clear();
  }
  found.verdict = one_part;
  text += to_text(suspect_report(found));
  test::expect_golden("suspicion.txt", text);
}

TEST(Suspects, ProbesOfAnotherMachineAreRefused) {
  EXPECT_THAT([] { static_cast<void>(MachineProbes(platform_named("workstation")).held_against("dgx-a100")); },
              ThrowsMessage<InputError>(HasSubstr("probes.json: error: probes of a 'NVIDIA RTX 6000 Ada Generation', "
                                                  "but GPU 0 of the base is a 'NVIDIA A100-SXM4-80GB'")));
  const Suspicion forced = find_suspects(measured_on_h200(), file_of("workstation"), 0.25, true);
  EXPECT_THAT(forced.notes, Contains(HasSubstr("--force: ")));
  EXPECT_EQ(forced.base, file_of("workstation").string());
  EXPECT_EQ(forced.tolerance, 0.25);
}

}  // namespace
}  // namespace twinlink::validate
