// Golden traces: the order in which a protocol does things, held against a text that people have read.
//
// The platform's numbers move times, and times are not compared. A trace changes when a protocol changes, or when the
// simulated machine lets other things overlap. TWINLINK_UPDATE_GOLDEN=1 writes the new traces, to be read in the diff.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "model/engine/simulation.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "protocols/registry.hpp"
#include "protocols/trace/tracing_rank.hpp"
#include "tests/support/test_name.hpp"

namespace twinlink {
namespace {

constexpr Bytes kChunk = 64_KiB;
constexpr Bytes kMessage = 150'000_B;  // two whole chunks and a part of one
constexpr RankId kSender{0};
constexpr RankId kReceiver{1};

/// A path on which a protocol takes its own way.
struct Stage {
  std::string platform = "keeneland-kids.yaml";
  std::array<Place, 2> places{Place{.node = 0, .gpu = 1}, Place{.node = 0, .gpu = 2}};  // on one I/O hub
  Settings settings{.chunk = kChunk, .depth = 2};
};

/// A trace is of a protocol, or of its choice of an engine: "symmetric-put.blocks".
const Protocol& protocol_of(const std::string& name) { return find_protocol(name.substr(0, name.find('.'))); }

std::vector<std::string> names_of_traces() {
  std::vector<std::string> names = names_of_protocols();
  names.emplace_back("symmetric-put.blocks");
  return names;
}

Stage stage_of(const std::string& name) {
  const Protocol& protocol = protocol_of(name);
  Stage stage;
  if (name == "symmetric-put.blocks") {
    stage.platform = "hgx-h100.yaml";
    stage.places = {Place{.node = 0, .gpu = 0}, Place{.node = 0, .gpu = 1}};
    stage.settings.options = {{"engine", "blocks"}};
  }
  if (protocol.name() == "nccl") {
    stage.platform = "hgx-h100.yaml";
    stage.places = {Place{.node = 0, .gpu = 0}, Place{.node = 0, .gpu = 1}};
    stage.settings.options = {{"proto", "simple"}, {"channels", "1"}};
  }
  if (protocol.name() == "gpudirect-v3") {
    stage.platform = "keeneland-kfs-rdma.yaml";
    stage.places = {Place{.node = 0, .gpu = 0}, Place{.node = 1, .gpu = 0}};
    stage.settings.options["receive_limit"] = "1M";  // both regimes at once: the receiver is direct
  }
  return stage;
}

/// What both ranks do for one message in three chunks, of which two may be under way.
std::string trace_of(const std::string& name) {
  const Protocol& protocol = protocol_of(name);
  const Stage stage = stage_of(name);
  const auto file = std::filesystem::path(TWINLINK_PLATFORMS) / stage.platform;
  Trace trace;
  model::simulate(platforms::read_platform(file), stage.places, [&](MeasuredRank& rank) {
    TracingRank traced(rank, trace);
    const View message(rank.allocate(protocol.message_memory(), kMessage));
    const RankId peer = rank.id() == kSender ? kReceiver : kSender;
    const auto channel = protocol.connect(traced, peer, stage.settings);
    const Outcome outcome = rank.id() == kSender ? channel->send(message) : channel->receive(message);
    EXPECT_TRUE(outcome.ok()) << outcome.reason;
  });
  return trace.order();
}

std::string read(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class GoldenTrace : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTrace, IsAsBefore) {
  const std::filesystem::path file = std::filesystem::path(TWINLINK_GOLDEN) / (GetParam() + ".trace");
  const std::string trace = trace_of(GetParam());
  if (std::getenv("TWINLINK_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(file) << trace;
    GTEST_SKIP() << "wrote " << file;
  }
  ASSERT_TRUE(std::filesystem::exists(file)) << file << " is missing: TWINLINK_UPDATE_GOLDEN=1 writes it";
  EXPECT_EQ(trace, read(file));
}

INSTANTIATE_TEST_SUITE_P(Of, GoldenTrace, testing::ValuesIn(names_of_traces()),
                         [](const auto& param) { return test_name(param.param); });

TEST(GoldenTraces, EachBelongsToAProtocol) {
  for (const auto& entry : std::filesystem::directory_iterator(TWINLINK_GOLDEN)) {
    if (entry.path().extension() != ".trace") continue;
    EXPECT_NO_THROW(protocol_of(entry.path().stem().string())) << entry.path();
  }
}

}  // namespace
}  // namespace twinlink
