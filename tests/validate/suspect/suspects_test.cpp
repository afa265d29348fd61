// Machines with one part that is slow, told from the times of their copies, which are predicted in closed form.
#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "platforms/machine/degraded.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "protocols/core/errors.hpp"
#include "validate/primitives/primitive.hpp"
#include "validate/suspect/suspect_report.hpp"

namespace twinlink::validate {
namespace {

using model::Platform;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;
using enum Suspicion::Verdict;

constexpr double kTolerance = 0.1;

std::filesystem::path file_of(const std::string& name) {
  return std::filesystem::path(TWINLINK_SOURCE_DIR) / "platforms" / (name + ".yaml");
}
Platform platform_named(const std::string& name) { return model::read_platform(file_of(name)); }

Platform degraded(const std::string& name, const std::vector<std::pair<std::string, double>>& parts) {
  Platform platform = platform_named(name);
  for (const auto& [part, share] : parts) EXPECT_TRUE(model::degrade(platform, part, share, "a test")) << part;
  return platform;
}

/// The probes of copies on a machine; each time is off by up to `noise`, in either direction.
class CopyProbes {
 public:
  explicit CopyProbes(const Platform& machine, double noise = 0) : topology_(machine), noise_(noise) {
    set_.files.push_back({.file = "probes.json", .program = "twinlink-real 0.1.0"});
    const std::size_t gpus = machine.node.gpus.size();
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
      set_.files.front().devices[place(gpu)] = machine.type_of(gpu).model;
      for (const std::string kind :
           {"pinned-to-device", "device-to-pinned", "pageable-to-device", "device-to-pageable"}) {
        add("copy " + kind + " near", gpu);
        if (machine.node.memories.size() > 1) add("copy " + kind + " far", gpu);
      }
      add("copy device-to-device", gpu);
      add("copy host-to-host", gpu);
      for (std::size_t peer = 0; peer < gpus; ++peer) {
        if (peer == gpu) continue;
        const std::string how = topology_.peer_access(gpu, peer) ? " direct" : " staged";
        add("peer copy write" + how, gpu, place(peer));
        add("peer copy read" + how, gpu, place(peer));
      }
    }
  }

  [[nodiscard]] Suspicion held_against(const std::string& base, double tolerance = kTolerance) const {
    return find_suspects(set_, file_of(base), tolerance, false);
  }

 private:
  static std::string place(std::size_t gpu) { return "0/" + std::to_string(gpu); }

  void add(const std::string& name, std::size_t gpu, const std::string& peer = {}) {
    for (Bytes size = 1_KiB; size <= 64_MiB; size = size * 16) {
      bench::ProbeLine line{.name = name, .gpu = place(gpu), .peer = peer, .size = size};
      std::string reason;
      const auto primitive = find_primitive(line, topology_, reason);
      ASSERT_TRUE(primitive) << name << ": " << reason;
      const auto count = static_cast<double>(set_.probes.size());
      const double us =
          predict(*primitive, size, topology_).value().microseconds() * (1 + noise_ * std::sin(count * count));
      line.time_us = {.n = 9, .median = us, .min = us, .max = us, .p5 = us, .p95 = us};
      set_.probes.push_back({.line = line});
    }
  }

  model::Topology topology_;
  double noise_;
  ProbeSet set_{};
};

struct Sick {
  std::string platform;
  std::string part;
  double share;
};

class SickMachine : public ::testing::TestWithParam<Sick> {};

TEST_P(SickMachine, HasItsPartNamed) {
  const auto& [platform, part, share] = GetParam();
  for (const double noise : {0.0, 0.04}) {
    const Suspicion found = CopyProbes(degraded(platform, {{part, share}}), noise).held_against(platform);
    ASSERT_EQ(found.verdict, one_part) << noise;
    const Suspect& first = found.suspects.front();
    EXPECT_EQ(first.part, part) << noise;
    EXPECT_NEAR(first.share, share, noise == 0 ? 1e-4 : 0.03) << noise;
    EXPECT_EQ(first.left_slow, 0U);
    EXPECT_LT(first.errors.geometric_mean, found.errors.geometric_mean);
    EXPECT_FALSE(found.slow.empty());
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
                                           Sick{"dgx-a100", "nvswitch", 0.25}),   // half of half
                         [](const auto& tested) {
                           std::string name = tested.param.platform + "_" + tested.param.part;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Suspects, AHealthyMachineIsAsFastAsItsPlatform) {
  for (const std::string name : {"piz-daint", "keeneland-kids", "dgx-a100", "h200-nvlink"}) {
    EXPECT_EQ(CopyProbes(platform_named(name)).held_against(name).verdict, as_fast) << name;
    const Suspicion found = CopyProbes(platform_named(name), 0.05).held_against(name);
    EXPECT_EQ(found.verdict, as_fast) << name;
    EXPECT_THAT(found.slow, IsEmpty()) << name;
  }
}

TEST(Suspects, AFasterMachineIsHealthy) {
  Platform fast = platform_named("piz-daint");
  for (model::GpuType& type : fast.gpu_types) {
    for (auto& [kind, cost] : type.copies) cost.latency.value = {};
  }
  const Suspicion found = CopyProbes(fast).held_against("piz-daint");
  EXPECT_EQ(found.verdict, as_fast);
  EXPECT_GT(found.errors.bias, 0.1);
}

TEST(Suspects, TheMeasuredH200IsHealthy) {
  const std::vector<std::filesystem::path> files{std::filesystem::path(TWINLINK_VALIDATE_DATA) /
                                                 "h200-nvlink-probes.json"};
  const Suspicion found = find_suspects(read_probe_set(files), file_of("h200-nvlink"), kTolerance, false);
  EXPECT_EQ(found.verdict, as_fast);
}

TEST(Suspects, OfALackWithinTheToleranceNothingIsSaid) {
  const CopyProbes probes(degraded("workstation", {{"pcie1", 0.85}}));
  EXPECT_EQ(probes.held_against("workstation", 0.2).verdict, as_fast);
  EXPECT_EQ(probes.held_against("workstation", 0.05).verdict, one_part);
}

/// All GPUs load host memory slowly and store there at full speed, which no link does.
TEST(Suspects, WhatNoPartExplainsIsSaid) {
  Platform machine = platform_named("dgx-a100");
  for (model::GpuType& type : machine.gpu_types) {
    model::Cost& cost = type.copies.at(model::CopyKind::pinned_to_device);
    cost.rate.emplace(model::Sourced<Rate>{.value = Rate{2e9}});
  }
  const Suspicion found = CopyProbes(machine).held_against("dgx-a100");
  EXPECT_EQ(found.verdict, unexplained);
  EXPECT_THAT(to_text(suspect_report(found)), HasSubstr("Verdict: no part explains it: "));
}

TEST(Suspects, OfTwoSickPartsTheWorseIsNamedAndTheOtherLeft) {
  const Suspicion found =
      CopyProbes(degraded("dgx-a100", {{"pcie1", 0.25}, {"nvlink6", 0.5}})).held_against("dgx-a100");
  ASSERT_EQ(found.verdict, one_part);
  EXPECT_GT(found.suspects.front().left_slow, 0U);
  EXPECT_THAT(to_text(suspect_report(found)), HasSubstr(" copies that stay slower"));
}

TEST(Suspects, PartsThatTheProbesDoNotTellApartAreNamed) {
  const Suspicion found = CopyProbes(degraded("piz-daint", {{"pcie0", 0.5}})).held_against("piz-daint");
  EXPECT_THAT(found.suspects.front().alike, Contains("socket0=50%"));
  EXPECT_THAT(to_text(suspect_report(found)),
              AllOf(HasSubstr("Verdict: link 'pcie0' at 50 % of its bandwidth explains it; the probes do not tell it "
                              "from "),
                    HasSubstr("socket0=50%")));
  const nlohmann::json json = to_json(found);
  EXPECT_EQ(json.at("verdict"), "one part");
  EXPECT_NEAR(json.at("suspects").at(0).at("share").get<double>(), 0.5, 1e-4);
}

TEST(Suspects, ProbesOfAnotherMachineAreRefused) {
  EXPECT_THAT([] { static_cast<void>(CopyProbes(platform_named("workstation")).held_against("dgx-a100")); },
              ThrowsMessage<InputError>(HasSubstr("probes.json: error: probes of a 'NVIDIA RTX 6000 Ada Generation', "
                                                  "but GPU 0 of the base is a 'NVIDIA A100-SXM4-80GB'")));
}

}  // namespace
}  // namespace twinlink::validate
