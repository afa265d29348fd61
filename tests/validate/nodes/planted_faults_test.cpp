// A simulated fleet of 100 nodes with 5 % of noise, ten of which have something: each is found, by its part, and none
// of the others is accused.
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/validate/cli/validate_program.hpp"
#include "tests/validate/nodes/planted_fleet.hpp"

namespace twinlink::validate {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr double kNoise = 0.05;
constexpr std::size_t kNodes = 100;

struct PlantedFault {
  std::size_t node;
  std::string what;
  std::string options;    ///< of twinlink-sim
  std::string explained;  ///< in the words of the report
  std::set<std::string> gpus{};
};

const std::string kCopies = "gpu_types.h100-sxm.copies.";

std::vector<PlantedFault> faults() {
  const auto set = [](const std::string& number) { return " --set '" + number + "'"; };
  return {{3, "a cable at half rate", "--degrade hca0=50%", "at (4|5). % of its bandwidth; not told from", {}},
          {12, "a GPU in a slot of half the lanes", "--degrade pcie3=50%", "link 'pcie3' at (49|50|51) %", {"3"}},
          {21, "a GPU without one NVLink", "--degrade nvlink5=94.4%", "GPU 5|nvlink5", {"5"}},
          {30,
           "a far adapter",
           "--set nodes.gpus.gpu0.nic=hca7",
           "far adapter .hca[4-7]. and not of its own .hca0.|way between a GPU and its adapter",
           {"0"}},
          {39,
           "a slow host",
           set(kCopies + "pinned-to-device.overhead=2.15 us") + set(kCopies + "device-to-pinned.overhead=1.96 us") +
               set(kCopies + "peer.overhead=2.28 us") + set("driver.copies.kernel-push.overhead=4.7 us") +
               set("driver.runtime.completion=1.96 us"),
           "processors .of all sockets.",
           {}},
          {48, "a switch behind half the lanes", "--degrade uplink1=50%", "'uplink1' at (49|50|51) %", {}},
          {57, "memory that lacks modules", "--degrade numa0=20%", "memory 'numa0' at (19|20|21) %", {}},
          {66, "a slow link between sockets", "--degrade upi=15%", "'upi' at 1. %", {}},
          {75, "an NVSwitch of four gone", "--degrade nvswitch=75%", "'nvswitch' at 7. %", {}},
          {84, "no peer access", "--without p2p", "do not reach each other's memory", {}}};
}

class Planted : public test::ValidateProgram {
 protected:
  void simulate(const std::string& arguments, const std::string& file) {
    const test::Ended ended =
        run("env", "TWINLINK_PLATFORMS='" TWINLINK_SOURCE_DIR "/platforms' '" TWINLINK_SIM_PROGRAM "' " + arguments +
                       " --platform hgx-h100 -b 4K -e 64M -f 128 --json " + file);
    ASSERT_EQ(ended.code, 0) << ended.err;
  }
  void add_node(test::PlantedFleet& fleet, std::size_t node, const std::string& probes, const std::string& between) {
    fleet.add(node, bench::read_probes(folder_.path() / probes));
    fleet.add(node, bench::read_json(folder_.path() / between));
  }
};

TEST_F(Planted, TenFaultsAreFoundAndNoneIsInvented) {
  const std::string between = "run -p gpudirect-v3 --pattern bandwidth --from 0/0 --to 1/0 ";
  simulate("probe", "base.json");
  simulate(between, "base-between.json");
  test::PlantedFleet fleet(folder_.path() / "fleet", 44, kNoise);
  std::map<std::string, PlantedFault> planted;
  for (const PlantedFault& fault : faults()) {
    simulate("probe " + fault.options, "ill.json");
    simulate(between + fault.options, "ill-between.json");
    add_node(fleet, fault.node, "ill.json", "ill-between.json");
    planted.emplace(test::node_name(fault.node), fault);
  }
  for (std::size_t node = 0; node < kNodes; ++node) {
    if (!planted.contains(test::node_name(node))) add_node(fleet, node, "base.json", "base-between.json");
  }
  const test::Ended ended =
      run("env", "TWINLINK_PLATFORMS='" TWINLINK_SOURCE_DIR "/platforms' '" TWINLINK_VALIDATE_PROGRAM
                 "' fleet fleet --base hgx-h100 --json fleet.json");
  ASSERT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("Verdict: 10 of 100 nodes are slower."));
  EXPECT_THAT(ended.out, HasSubstr("in the middle as fast as the platform says"));
  const json result = json::parse(read("fleet.json"));
  std::size_t found = 0;
  for (const json& node : result["nodes"]) {
    const std::string name = node["node"];
    if (!planted.contains(name)) {
      EXPECT_EQ(node["state"], "alike") << name << ": " << node.dump();
      continue;
    }
    const PlantedFault& fault = planted.at(name);
    EXPECT_EQ(node["state"], "slower") << fault.what;
    EXPECT_THAT(node["explanation"].get<std::string>(), MatchesRegex(".*(" + fault.explained + ").*")) << fault.what;
    std::set<std::string> gpus;
    for (const json& gpu : node["gpus"]) {
      gpus.insert(gpu["index"]);
      EXPECT_THAT(gpu["uuid"].get<std::string>(), HasSubstr("GPU-")) << fault.what;
    }
    if (!fault.gpus.empty()) {
      EXPECT_EQ(gpus, fault.gpus) << fault.what;
    }
    ++found;
  }
  EXPECT_EQ(found, faults().size());
}

}  // namespace
}  // namespace twinlink::validate
