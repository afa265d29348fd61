// Curves of messages whose bytes lie apart: times, proofs, options, result files.
#include "protocols/bench/cli/layout_options.hpp"
#include "protocols/bench/cli/print.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <sstream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/registry.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/protocols/bench/samples.hpp"
#include "tests/support/said_by.hpp"
#include "tests/support/test_name.hpp"

namespace twinlink::bench {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;

Plan small_plan(const std::string& layout, PackMethod method, std::vector<Bytes> sizes = {1_KiB}) {
  return {.sizes = std::move(sizes),
          .window = 4,
          .small = {.warmup = 0, .iterations = 1},
          .large = {.warmup = 0, .iterations = 1},
          .settings = {.depth = 4},
          .facts = {.packing = {parse_layout(layout), method}}};
}

Series run(std::string_view protocol, const Plan& plan) {
  Series series;
  run_fake_world({}, [&](MeasuredRank& rank) {
    Series mine = measure(rank, find_protocol(protocol), plan);
    EXPECT_EQ(live_buffers(rank), 0U);
    if (rank.id() == plan.first) series = std::move(mine);
  });
  return series;
}

// ---- the driver -----------------------------------------------------------------------------------------------------

TEST(LayoutCurve, TimesPackingSendingAndUnpacking) {
  // The fake world's rules: every copy and message takes 1 us and 1 ns per byte.
  const double whole = 1 + 1e-3 * 1024;
  const double blocks = 16 * (1 + 1e-3 * 64);
  EXPECT_THAT(run("host", small_plan("vector:64,128", PackMethod::kernel)).points.at(0).time_us.median,
              DoubleNear(3 * whole, 1e-6));
  EXPECT_THAT(run("host", small_plan("vector:64,128", PackMethod::rows)).points.at(0).time_us.median,
              DoubleNear(3 * whole, 1e-6));
  EXPECT_THAT(run("host", small_plan("vector:64,128", PackMethod::copies)).points.at(0).time_us.median,
              DoubleNear(2 * blocks + whole, 1e-6));
}

TEST(LayoutCurve, SaysHowMessagesLayAndWerePacked) {
  const Series series = run("gpudirect-v2", small_plan("vector:64,128", PackMethod::rows));
  EXPECT_EQ(series.protocol, "gpudirect-v2");
  EXPECT_EQ(series.facts.packing, (Packing{Layout::vector(64_B, 128_B), PackMethod::rows}));
  EXPECT_EQ(series.points.at(0).path, "packed by 2-D copies into device memory, then peer copy by the copy engine");
  EXPECT_EQ(series.points.at(0).size, 1_KiB) << "gaps do not count";
  EXPECT_THAT(run("host", small_plan("vector:64,128", PackMethod::rows)).points.at(0).path,
              HasSubstr("into pinned memory"));
}

TEST(LayoutCurve, EveryProtocolPassesItsChecksInEveryPattern) {
  for (const Protocol* protocol : protocols_without_programs()) {
    for (const Pattern pattern : {Pattern::pingpong, Pattern::bandwidth, Pattern::bidirectional}) {
      for (const PackMethod method : {PackMethod::copies, PackMethod::kernel}) {
        Plan plan = small_plan("indexed:8+8,30+1,40+50", method, {1_B, 100_B, 1000_B});
        plan.pattern = pattern;
        EXPECT_NO_THROW(run(protocol->name(), plan)) << protocol->name();
      }
    }
  }
}

TEST(LayoutCurve, RefusesWhatCannotBePacked) {
  EXPECT_THROW(run("host", small_plan("indexed:0+8,10+4", PackMethod::rows)), UsageError);
  EXPECT_THROW(run("host", small_plan("vector:64,128", PackMethod::rows, {100_B})), UsageError);
  EXPECT_THROW(run("host", small_plan("vector:1,2", PackMethod::kernel, {2_MiB})), UsageError) << "too many blocks";
}

// ---- faults ---------------------------------------------------------------------------------------------------------

/// Spoils what is unpacked: the copies of blocks into device memory.
class SloppyRank final : public DecoratedRank {
 public:
  SloppyRank(MeasuredRank& inner, std::function<void(std::vector<Block>&)> spoil)
      : DecoratedRank(inner), spoil_(std::move(spoil)) {}
  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override {
    std::vector<Block> spoilt(blocks.begin(), blocks.end());
    if (to.buffer.memory == Memory::device) spoil_(spoilt);
    return DecoratedRank::start_copy(to, from, spoilt, stream, engine);
  }

 private:
  std::function<void(std::vector<Block>&)> spoil_;
};

std::string fault(const std::function<void(std::vector<Block>&)>& spoil) {
  return said_by<CheckError>([&] {
    run_fake_world({}, [&](MeasuredRank& rank) {
      SloppyRank sloppy(rank, spoil);
      measure(sloppy, find_protocol("host"), small_plan("vector:64,128", PackMethod::kernel));
    });
  });
}

TEST(LayoutVerification, FindsABlockThatWasLeftOut) {
  EXPECT_THAT(fault([](auto& blocks) { blocks.erase(blocks.begin() + 3); }),
              HasSubstr("host, 1024 B: dropped at byte 384 of message 0"));
}

TEST(LayoutVerification, FindsBlocksInEachOthersPlaces) {
  EXPECT_THAT(fault([](auto& blocks) { std::swap(blocks[1].from, blocks[2].from); }),
              HasSubstr("scrambled at byte 128 of message 0"));
}

TEST(LayoutVerification, FindsAWriteBetweenBlocks) {
  EXPECT_THAT(fault([](auto& blocks) { blocks[1].length += 1_B; }),
              HasSubstr("written at byte 192 of message 0, between its blocks"));
}

// ---- the command line -----------------------------------------------------------------------------------------------

Plan plan_of_layout(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--protocol", "host", "-b", "4", "-e", "4K"});
  std::ranges::reverse(arguments);  // as CLI11 wants them
  CLI::App app;
  RunOptions options;
  add_run_options(app, options);
  app.parse(arguments);
  return make_plan(options, simulated_repeats());
}

std::string refusal_of_layout(std::vector<std::string> arguments) {
  return said_by<std::exception>([&] { plan_of_layout(std::move(arguments)); });
}

TEST(LayoutOptions, ReachThePlan) {
  const Plan plan = plan_of_layout({"--layout", "vector:64,1K", "--pack", "2d"});
  EXPECT_EQ(plan.facts.packing.layout, Layout::vector(64_B, 1_KiB));
  EXPECT_EQ(plan.facts.packing.method, PackMethod::rows);
  EXPECT_EQ(plan_of_layout({"--layout", "vector:64,1K"}).facts.packing.method, PackMethod::kernel);
  EXPECT_FALSE(plan_of_layout({}).facts.packing.needed());
  EXPECT_FALSE(plan_of_layout({"--layout", "contiguous"}).facts.packing.needed());
}

TEST(LayoutOptions, RefusalsSayWhatIsAllowed) {
  EXPECT_THAT(refusal_of_layout({"--layout", "vector:0,8"}), HasSubstr("no bytes"));
  EXPECT_THAT(refusal_of_layout({"--layout", "vector:16,8"}), HasSubstr("overlap"));
  EXPECT_THAT(refusal_of_layout({"--layout", "indexed:0+8,7+1"}), HasSubstr("overlap"));
  EXPECT_THAT(refusal_of_layout({"--layout", "indexed:0+8,-9+1"}), HasSubstr("negative"));
  EXPECT_THAT(refusal_of_layout({"--layout", "vector:8,16", "--pack", "1d"}), HasSubstr("there are: copies 2d kernel"));
  EXPECT_THAT(refusal_of_layout({"--pack", "2d"}), HasSubstr("needs --layout"));
  EXPECT_THAT(refusal_of_layout({"--layout", "indexed:0+8,10+4", "--pack", "2d"}), HasSubstr("is no 2-D copy"));
  EXPECT_THAT(refusal_of_layout({"--layout", "vector:48,64", "--pack", "2d"}),
              HasSubstr("a message of 64 in the layout"));
  EXPECT_THAT(refusal_of_layout({"--layout", "indexed:@/no/such/list"}),
              HasSubstr("/no/such/list: error: cannot be read"));
}

TEST(LayoutOptions, ReadAListFromAFile) {
  const auto file = std::filesystem::temp_directory_path() / "twinlink_layout_test.list";
  write_file(file, "0+8, 16+4\n  32+2,\n\n40+1\n");
  EXPECT_EQ(to_string(read_layout("indexed:@" + file.string())), "indexed:0+8,16+4,32+2,40+1");
  write_file(file, "0+8 4+4");
  EXPECT_THAT(refusal_of_layout({"--layout", "indexed:@" + file.string()}),
              HasSubstr(file.string() + ": error: layout"));
  write_file(file, "");
  EXPECT_THAT(refusal_of_layout({"--layout", "indexed:@" + file.string()}), HasSubstr("no DISPLACEMENT+LENGTH"));
  std::filesystem::remove(file);
}

// ---- result files ---------------------------------------------------------------------------------------------------

TEST(LayoutResults, AreReadBackAndPrinted) {
  Result result = sample_result();
  result.series.facts.packing = {parse_layout("indexed:0+1,2+1,4+1,6+1,8+1"), PackMethod::kernel};
  const Result read = result_from_json(to_json(result), "r.json");
  EXPECT_EQ(read.series.facts.packing, result.series.facts.packing);
  std::ostringstream table;
  print_table(read, table);
  EXPECT_THAT(table.str(), HasSubstr(", layout=indexed:0+1,2+1,4+1,6+1,... (5 blocks), pack=kernel\n"));
}

TEST(LayoutResults, RefuseALayoutThatIsNone) {
  for (const auto& [name, value] : {std::pair{"layout", "vector:9,8"}, std::pair{"pack", "string"}}) {
    Result result = sample_result();
    result.series.settings.options = {{name, value}};
    EXPECT_THROW(result_from_json(to_json(result), "r.json"), InputError) << name;
  }
}

}  // namespace
}  // namespace twinlink::bench
