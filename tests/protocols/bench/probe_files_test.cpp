// Files of probes: JSON that reads back, CSV, and what is refused.
#include <gmock/gmock.h>

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "protocols/bench/cli/csv.hpp"
#include "protocols/bench/probe/probe.hpp"
#include "tests/protocols/bench/samples.hpp"

namespace twinlink::bench {
namespace {

using testing::HasSubstr;

TEST(ProbeFiles, ReadBackWhatWasWritten) {
  const ProbeFile read = probes_from_json(to_json(sample_probes()), "p.json");
  EXPECT_EQ(to_json(read), to_json(sample_probes()));
  EXPECT_EQ(read.world, "simulated");
  EXPECT_EQ(read.findings.notes.size(), 1U);
  ASSERT_EQ(read.findings.lines.size(), 2U);
  EXPECT_EQ(read.findings.lines[1].peer, "0/2");
  EXPECT_EQ(read.findings.lines[0].time_us, sample_probes().findings.lines[0].time_us);
}

std::string refusal_of_probes_after(const std::function<void(nlohmann::json&)>& spoil) {
  nlohmann::json json = to_json(sample_probes());
  spoil(json);
  try {
    probes_from_json(json, "p.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(ProbeFiles, KeepSamples) {
  ProbeFile probes = sample_probes();
  ProbeLine& line = probes.findings.lines[0];
  line.samples_us = {180.5, 179.25, 181};
  line.time_us.n = 3;
  EXPECT_EQ(probes_from_json(to_json(probes), "p.json").findings.lines[0].samples_us, line.samples_us);
}

TEST(ProbeFiles, ImportedOnesMayLackWhatTheToolDoesNotTell) {
  ProbeFile probes = sample_probes();
  probes.command.clear();
  probes.findings.lines[0].time_us = {.median = 180};
  EXPECT_THAT(to_csv(probes), HasSubstr(",1048576,,180,,,,,5825.422\n"));
  nlohmann::json json = to_json(probes);
  EXPECT_THROW(probes_from_json(json, "p.json"), InputError) << "not without saying where they come from";
  probes.environment = nlohmann::json{{"origin", {{"tool", "nvbandwidth"}}}};
  json = to_json(probes);
  EXPECT_FALSE(json.contains("command"));
  EXPECT_EQ(to_json(probes_from_json(json, "p.json")), json);
}

TEST(ProbeFiles, NameTheMemberThatIsWrong) {
  const nlohmann::json good = to_json(sample_probes());
  for (const auto& item : good.items()) {
    EXPECT_EQ(refusal_of_probes_after([&](nlohmann::json& json) { json.erase(item.key()); }),
              "p.json: error: member '" + item.key() + "' is missing");
  }
  for (const auto& item : good["lines"][1].items()) {
    if (item.key() == "unstable") continue;  // which earlier files do not have
    EXPECT_EQ(refusal_of_probes_after([&](nlohmann::json& json) { json["lines"][1].erase(item.key()); }),
              "p.json: error: member 'lines[1]." + item.key() + "' is missing");
  }
  EXPECT_EQ(refusal_of_probes_after([](nlohmann::json& json) { json["notes"][0] = 1; }),
            "p.json: error: member 'notes' holds something that is no text");
  EXPECT_EQ(refusal_of_probes_after([](nlohmann::json& json) { json["lines"][0]["speed"] = 1; }),
            "p.json: error: member 'lines[0].speed' is unknown");
}

}  // namespace
}  // namespace twinlink::bench
