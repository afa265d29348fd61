// Probes that were ended go on where they were.
#include "protocols/bench/probe/probe_parts.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "protocols/core/errors.hpp"
#include "tests/protocols/bench/probe_world.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::bench {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class PartsOfProbes : public testing::Test {
 protected:
  PartsOfProbes() { fs::create_directories(folder_); }
  ~PartsOfProbes() override { fs::remove_all(folder_); }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("twinlink-parts-" + std::to_string(::getpid()));
  const fs::path file_ = folder_ / "probes.json.parts";
};

nlohmann::json as_json(const ProbeFindings& findings) { return to_json(ProbeFile{.findings = findings}); }

/// Whatever part the first run came to: the same lines, of which those that are known are not measured again.
TEST_F(PartsOfProbes, MakeTheSameFindingsInTwoRuns) {
  FakeWorldOptions world;
  world.ranks = 3;
  ProbePlan plan = small_plan();
  plan.passes = 2;
  std::vector<std::string> parts;
  plan.on_part = [&](const std::string& part) { parts.push_back(part); };
  const nlohmann::json whole = as_json(probe_world(world, plan));
  ASSERT_GT(parts.size(), 10U);
  const std::vector<std::string> all = parts;
  for (const std::size_t known : {std::size_t{1}, all.size() / 2, all.size()}) {
    plan.done.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(known));
    parts.clear();
    const ProbeFindings findings = probe_world(world, plan);
    EXPECT_EQ(parts.size(), all.size() - known);
    const nlohmann::json two_runs = as_json(findings);
    ASSERT_EQ(two_runs.at("lines").size(), whole.at("lines").size());
    for (std::size_t i = 0; i < whole.at("lines").size(); ++i) {
      for (const char* member : {"name", "gpu", "peer", "bytes"}) {
        EXPECT_EQ(two_runs.at("lines")[i].at(member), whole.at("lines")[i].at(member));
      }
    }
    EXPECT_EQ(two_runs.at("notes"), whole.at("notes"));
  }
}

TEST_F(PartsOfProbes, AreKeptInAFile) {
  const nlohmann::json ours{{"sizes", {1, 2}}};
  EXPECT_THAT(said_by<UsageError>([&] { ProbeJournal(file_, ours, true); }), HasSubstr("--resume: there is no "));
  {
    ProbeJournal journal(file_, ours, false);
    journal.append("[1]");
    journal.append("[2]");
  }
  EXPECT_THAT(said_by<UsageError>([&] { ProbeJournal(file_, ours, false); }), HasSubstr("--resume goes on"));
  EXPECT_THAT(said_by<UsageError>([&] {
                ProbeJournal(file_, {{"sizes", {1}}}, true);
              }),
              HasSubstr("is of other probes"));
  std::ofstream(file_, std::ios::app) << "[3, 4";  // killed while it was written
  {
    ProbeJournal journal(file_, ours, true);
    EXPECT_EQ(journal.done(), (std::vector<std::string>{"[1]", "[2]"}));
    journal.append("[5]");
  }
  const ProbeJournal journal(file_, ours, true);
  EXPECT_EQ(journal.done(), (std::vector<std::string>{"[1]", "[2]", "[5]"}));
  journal.remove();
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(PartsOfProbes, OfAnotherMakeAreRefused) {
  const auto refusal = [](const nlohmann::json& json) { return said_by<InputError>([&] { read_part(json, "f"); }); };
  EXPECT_THAT(refusal({{"notes", nlohmann::json::array()}}), HasSubstr("lines"));
  nlohmann::json line{{"name", "a"},      {"gpu", "0/0"},        {"peer", ""},
                      {"bytes", 1},       {"moves_bytes", true}, {"times_us", nlohmann::json::array()},
                      {"unstable", false}};
  EXPECT_THAT(refusal({{"notes", nlohmann::json::array()}, {"lines", {line}}}), HasSubstr("without times"));
  line["times_us"] = {"1"};
  EXPECT_THAT(refusal({{"notes", nlohmann::json::array()}, {"lines", {line}}}), HasSubstr("is no time"));
}

}  // namespace
}  // namespace twinlink::bench
