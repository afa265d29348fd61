// Files of probes: JSON that reads back, CSV, what is refused, and the names of lines, which are printed from values.
#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "protocols/bench/cli/csv.hpp"
#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/probe/probed.hpp"
#include "tests/protocols/bench/samples.hpp"
#include "tests/support/said_by.hpp"

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
  return said_by<InputError>([&] { probes_from_json(json, "p.json"); });
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

// ---- names of lines ----

using enum Probed::What;
using How = Probed::How;
using Peer = Probed::Peer;

struct Named {
  Probed probed;
  std::string name;
};

/// As PROBES.md has them, and as the stored probe files do.
const std::vector<Named>& examples() {
  static const std::vector<Named> all{
      {{.to = Memory::shared_pinned, .far = true}, "copy device-to-shared-pinned far"},
      {{}, "copy device-to-device"},
      {{.from = Memory::pageable, .to = Memory::pageable, .gpus = 4}, "copy host-to-host of 4 GPUs"},
      {{.how = How::queued, .peer = Peer::write}, "queued peer copy write direct"},
      {{.how = How::start, .peer = Peer::write, .direct = false}, "start peer copy write staged"},
      {{.peer = Peer::read, .gpus = 8}, "peer copy read direct of 8 GPUs"},
      {{.engine = Engine::kernel, .peer = Peer::read}, "copy kernel-pull"},
      {{.engine = Engine::kernel, .from = Memory::pinned}, "copy kernel-from-pinned"},
      {{.how = How::queued, .engine = Engine::resident, .peer = Peer::write}, "queued copy resident-push"},
      {{.from = Memory::pageable, .cpu_written = true}, "copy pageable-to-device near cpu-written"},
      {{.how = How::both_ways, .from = Memory::pinned, .gpus = 2}, "copy pinned near both-ways of 2 GPUs"},
      {{.what = block, .engine = Engine::kernel, .to = Memory::pinned, .block_bytes = 64},
       "kernel-block device-to-pinned of 64 B"},
      {{.what = put_and_signal, .how = How::queued, .engine = Engine::kernel},
       "queued put and signal by kernel same-node"},
      {{.what = put_and_signal, .engine = Engine::resident}, "put and signal by resident kernel same-node"},
      {{.what = message, .from = Memory::pinned, .to = Memory::pinned, .same_node = false},
       "message pinned other-node"},
      {{.what = message, .how = How::both_ways, .from = Memory::pageable, .to = Memory::pageable},
       "message pageable same-node both-ways"},
      {{.what = message, .how = How::queued_both_ways, .from = Memory::pageable, .to = Memory::pageable},
       "queued message same-node both-ways"},
      {{.what = receive, .how = How::start, .from = Memory::pageable, .to = Memory::pageable},
       "start receive same-node"},
      {{.what = control, .how = How::queued_both_ways, .from = Memory::pageable, .to = Memory::pageable},
       "queued bare control message same-node both-ways"},
      {{.what = finish}, "finish ended copy"},
      {{.what = allocate, .from = Memory::shared_pinned}, "allocate shared-pinned"},
      {{.what = handle_open}, "handle open"}};
  return all;
}

TEST(Probed, IsPrintedAsTheFilesHaveItAndFoundAgain) {
  for (const auto& [probed, name] : examples()) {
    EXPECT_EQ(to_string(probed), name);
    const auto found = probed_by(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(*found, probed) << name;
  }
}

TEST(Probed, ANameThatNoProbeHasIsNone) {
  for (const char* name :
       {"", "copy", "look message same-node", "copy pinned-to-device near device-written",
        "engine-block device-to-pinned of 63 B", "copy host-to-host of 3 GPUs", "Copy kernel-pull"}) {
    EXPECT_FALSE(probed_by(name)) << name;
  }
}

}  // namespace
}  // namespace twinlink::bench
