// `twinlink-validate calibrate` as a user runs it.
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "platforms/machine/platform_numbers.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "tests/validate/cli/validate_program.hpp"
#include "tests/validate/fixtures.hpp"
#include "validate/compare/join.hpp"
#include "validate/primitives/cost_fit.hpp"

namespace twinlink::validate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kH200 = TWINLINK_SOURCE_DIR "/platforms/h200-nvlink.yaml";

class CalibrateProgram : public test::ValidateProgram {
 protected:
  /// A measured file with one line of each size.
  void write_probes(const std::string& name, const std::string& line = "copy device-to-device") {
    auto probes = test::make_probes("measured", {{1, 7}, {1024, 7}, {1 << 20, 57}, {64 << 20, 3207}});
    for (bench::ProbeLine& probe : probes.findings.lines) {
      probe.name = line;
      probe.peer.clear();
    }
    write(name, probes);
  }
  test::Ended calibrate(const std::string& probes, const std::string& rest = "--out out.yaml") {
    return run("calibrate " + probes + " --base '" + kH200 + "' " + rest);
  }
};

TEST_F(CalibrateProgram, WritesAPlatformAndSaysWhatItDid) {
  write_probes("p.json");
  const auto ended = calibrate("p.json", "--out out.yaml --json report.json");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(read("report.json"),
              AllOf(HasSubstr("\"path\": \"driver.copies.device-to-device.rate\""), HasSubstr("\"geometric_mean\": ")));
  EXPECT_THAT(ended.out, AllOf(HasSubstr("Replaced"), HasSubstr("driver.copies.device-to-device.rate"),
                               HasSubstr("Stayed as in the base"), HasSubstr("p.json")));
  EXPECT_THAT(ended.err, IsEmpty());
  const platforms::Platform platform = platforms::read_platform(folder_.path() / "out.yaml");
  EXPECT_NEAR(platform.copies.at(platforms::CopyKind::device_to_device).rate.value().value.bytes_per_second(), 21e9,
              1e9);
  EXPECT_FALSE(exists("out.yaml.partial"));
}

TEST_F(CalibrateProgram, TheSameInputGivesTheSameBytes) {
  write_probes("p.json");
  ASSERT_EQ(calibrate("p.json", "--out a.yaml").code, 0);
  ASSERT_EQ(calibrate("p.json", "--out b.yaml").code, 0);
  EXPECT_EQ(read("a.yaml"), read("b.yaml"));
}

TEST_F(CalibrateProgram, BadInputEndsWithTwoAndWritesNothing) {
  write_probes("p.json");
  write("result.json", test::make_result("measured", "gpudirect-v2", {{4, 1}, {8, 2}}));
  write("simulated.json", test::make_probes("simulated", {{4, 1}}));
  write("zero.json", test::make_probes("measured", {{4, 0}}));
  write("twice.json", test::make_probes("measured", {{4, 1}, {4, 2}}));
  write("empty.json", test::make_probes("measured", {}));
  write_probes("useless.json", "release device");
  auto other = test::make_probes("measured", {{4, 1}});
  other.environment.set("ranks", {{{"place", "0/0"}, {"device", {{"name", "Tesla T4"}}}}});
  write("other.json", other);
  std::ofstream(folder_.path() / "broken.json") << "{";
  std::string text = test::read_file(kH200);
  text.erase(text.find("\n  runtime:"));
  std::ofstream(folder_.path() / "no-runtime.yaml") << text << "\n";

  const auto expect_refused = [&](const test::Ended& ended, const std::string& message) {
    EXPECT_EQ(ended.code, 2) << message;
    EXPECT_THAT(ended.err, HasSubstr(message));
    EXPECT_THAT(ended.out, IsEmpty()) << message;
    EXPECT_FALSE(exists("out.yaml")) << message;
  };
  expect_refused(calibrate("missing.json"), "missing.json");
  expect_refused(calibrate("broken.json"), "not JSON");
  expect_refused(calibrate("result.json"), "result.json: error: the result of a protocol");
  expect_refused(calibrate("p.json result.json"), "result.json: error: the result of a protocol");
  expect_refused(calibrate("p.json simulated.json"), "measured and simulated");
  expect_refused(calibrate("zero.json"), "must be positive");
  expect_refused(calibrate("twice.json"), "named twice");
  expect_refused(calibrate("empty.json"), "holds no measurement");
  expect_refused(calibrate("useless.json"), "tell no number");
  expect_refused(calibrate("other.json"), "'Tesla T4'");
  expect_refused(run("calibrate p.json --base no-runtime.yaml --out out.yaml"), "missing key 'runtime'");
  expect_refused(run("calibrate p.json --base missing.yaml --out out.yaml"), "missing.yaml");
  expect_refused(run("calibrate p.json --base p.json --out out.yaml"), "p.json");
  expect_refused(run("calibrate p.json --out out.yaml"), "--base");
  expect_refused(calibrate("p.json", ""), "--out");
  expect_refused(calibrate("", "--out out.yaml"), "probes");
}

TEST_F(CalibrateProgram, TheBaseIsNotOverwritten) {
  write_probes("p.json");
  std::ofstream(folder_.path() / "base.yaml") << test::read_file(kH200);
  const auto ended = run("calibrate p.json --base base.yaml --out ./base.yaml");
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("would overwrite an input"));
  EXPECT_EQ(read("base.yaml"), test::read_file(kH200));
}

TEST_F(CalibrateProgram, NeitherAreTheProbesNorOneOutputByTheOther) {
  write_probes("p.json");
  const std::string probes = read("p.json");
  for (const std::string rest : {"--out p.json", "--out out.yaml --json ./p.json", "--out o.yaml --json ./o.yaml"}) {
    const auto ended = calibrate("p.json", rest);
    EXPECT_EQ(ended.code, 2) << rest;
    EXPECT_THAT(ended.err, ::testing::AnyOf(HasSubstr("would overwrite an input"), HasSubstr("the same file")));
    EXPECT_THAT(ended.out, IsEmpty()) << rest;
    EXPECT_EQ(read("p.json"), probes) << rest;
  }
}

TEST_F(CalibrateProgram, AFileThatCannotBeWrittenEndsWithOneAndKeepsTheOldOne) {
  write_probes("p.json");
  const auto ended = calibrate("p.json", "--out missing/out.yaml");
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("missing/out.yaml"));
  EXPECT_THAT(ended.out, HasSubstr("Replaced")) << "the work is not lost";

  std::filesystem::create_directory(folder_.path() / "folder.yaml");
  EXPECT_EQ(calibrate("p.json", "--out folder.yaml").code, 1);
  EXPECT_FALSE(exists("folder.yaml.partial"));
}

TEST_F(CalibrateProgram, HelpIsStandardOutput) {
  const auto ended = run("calibrate --help");
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("--base"), HasSubstr("--out"), HasSubstr("PROBES"), HasSubstr("refused")));
}

#ifdef TWINLINK_SIM_PROGRAM
/// What the last piece of a network's latency takes of what the bytes take over it; zero if it does not grow there.
double growth_at_the_end(const platforms::NetworkCosts& network) {
  const auto& knots = network.latency.value.knots();
  if (knots.size() < 2 || !network.rate) return 0;
  const auto& from = knots[knots.size() - 2];
  const auto& to = knots.back();
  return std::max(0.0, (to.cost - from.cost).value() / ((to.size - from.size) / network.rate->value).value());
}

/// The full circle: what a platform's simulated probes are calibrated to has the same simulated probes again.
class FullCircle : public CalibrateProgram, public ::testing::WithParamInterface<const char*> {
 protected:
  /// Rounds to warm up: the ranks begin the first one otherwise than those that follow on another, and the caches hold
  /// nothing of what it goes through.
  std::map<Key, double> probe(const std::string& platform, const std::string& file) {
    const auto ended =
        run(TWINLINK_SIM_PROGRAM, "probe --platform '" + platform + "' -i 2 -x 2 --no-verify --json " + file);
    EXPECT_EQ(ended.code, 0) << ended.err;
    std::map<Key, double> times;
    for (const bench::ProbeLine& line : bench::read_probes(folder_.path() / file).findings.lines) {
      times[{line.name, line.gpu, line.peer, line.size}] = line.time_us.median;
    }
    return times;
  }
  void expect_full_circle(const std::string& base);
  /// The same of a platform that is no file yet. What calibration makes of it.
  platforms::Platform expect_full_circle_of(const platforms::Platform& platform) {
    const auto base = folder_.path() / "base.yaml";
    std::ofstream(base) << platform_text(platform);
    expect_full_circle(base.string());
    return platforms::read_platform(folder_.path() / "out.yaml");
  }
  static std::string file() { return std::string(TWINLINK_SOURCE_DIR "/platforms/") + GetParam() + ".yaml"; }
};

void FullCircle::expect_full_circle(const std::string& base) {
  const auto before = probe(base, "before.json");
  const auto ended = run("calibrate before.json --base '" + base + "' --out out.yaml");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto after = probe("out.yaml", "after.json");
  ASSERT_EQ(after.size(), before.size());
  // 14 sizes, and a point costs 2 ln 14: a single size may be off by so many tolerances before it gets one.
  const double unseen = kTolerance * std::sqrt(2 * std::log(14));
  // Where a latency grows with the largest messages, messages one by one do not tell it from a lower rate, and a window
  // of them, whose latencies hide behind each other, shows the difference.
  const platforms::Platform truth = platforms::read_platform(base);
  const platforms::NetworkCosts& within = truth.intra_node;
  const double in_windows = unseen + growth_at_the_end(within);
  // Whether a queue's newest copy has ended when it is asked for decides whether the CPU asks once more.
  const auto us = [](const auto& cost) { return cost ? cost->value.microseconds() : 0; };
  const double question_us = (us(truth.runtime.completion) + us(truth.runtime.failed_poll)) / bench::kQueuedCopies;
  double sum = 0;
  for (const auto& [key, time] : before) {
    const bool of_the_rate = key.name.starts_with("queued message same-node") && !within.is_eager(key.size);
    const double allowed = of_the_rate ? in_windows : unseen;
    const double error = std::log(after.at(key) / time);
    sum += std::abs(error);
    const bool by_a_question = key.name.starts_with("queued ") && key.name.find(" message") == std::string::npos &&
                               std::abs(after.at(key) - time) <= question_us + allowed * time;
    if (!by_a_question) {
      EXPECT_LE(std::abs(error), allowed) << to_string(key);
    }
  }
  EXPECT_LE(sum / static_cast<double>(before.size()), kTolerance);

  const std::map<std::string, std::string> rests{
      {"mpi.intra_node.send_completion", "queued message same-node both-ways"},
      {"driver.runtime.signal_gap", "queued put and signal same-node"},
      {"driver.runtime.kernel_signal_gap", "queued put and signal by kernel same-node"}};
  // A curve may have other points than the base's.
  const platforms::Platform platform = platforms::read_platform(folder_.path() / "out.yaml");
  std::map<std::string, double> numbers;
  for (const platforms::NumberEntry& entry : all_numbers(platform)) numbers[entry.path] = entry.value;
  for (const platforms::NumberEntry& entry : all_numbers(platforms::read_platform(base))) {
    if (entry.path.find(".latency") != std::string::npos || entry.path.find('[') != std::string::npos) continue;
    const double allowed = entry.path == "mpi.intra_node.rate" ? in_windows : unseen;
    // What a line leaves beside other numbers, bytes, signal and gap, bears the errors of these.
    const auto whole = rests.find(entry.path);
    const double least = whole == rests.end() ? 0 : before.at({whole->second, "0/0", "0/1", 1_B}) * 1e-6;
    EXPECT_NEAR(numbers.at(entry.path), entry.value, allowed * std::max(entry.value, least)) << entry.path;
  }
}

TEST_P(FullCircle, SimulatedProbesComeOutAsTheyWere) { expect_full_circle(file()); }

class ChangedPlatform : public FullCircle {};

/// Of a platform where it matters who wrote the source last.
TEST_P(ChangedPlatform, JustWrittenSourcesComeOutAsTheyWere) {
  platforms::Platform platform = platforms::read_platform(file());
  const auto curve = [](Seconds most) {
    return platforms::Sourced<platforms::Piecewise>{
        platforms::Piecewise({{16_KiB, Seconds{}}, {256_KiB, most / 4}, {1_MiB, most}}),
        {platforms::Quality::assumed, "a guess"}};
  };
  for (const auto& [kind, most] : {std::pair{platforms::CopyKind::pinned_to_device, 40.0_us},
                                   {platforms::CopyKind::pageable_to_device, 60.0_us}}) {
    for (platforms::GpuType& type : platform.gpu_types) {
      if (type.copies.contains(kind)) type.copies.at(kind).cpu_written = curve(most);
    }
    if (platform.copies.contains(kind)) platform.copies.at(kind).cpu_written = curve(most);
  }
  expect_full_circle_of(platform);
}

/// Of a platform where CPUs, and not their way, decide how long control messages take.
TEST_P(ChangedPlatform, ControlMessagesComeOutAsTheyWere) {
  platforms::Platform platform = platforms::read_platform(file());
  platform.intra_node.control_receive_overhead = {0.09_us, {platforms::Quality::assumed, "a guess"}};
  expect_full_circle_of(platform);
}

TEST_P(ChangedPlatform, EndsOfCopiesComeOutAsTheyWere) {
  platforms::Platform platform = platforms::read_platform(file());
  platform.runtime.completion = {1.1_us, {platforms::Quality::assumed, "a guess"}};
  const platforms::Platform found = expect_full_circle_of(platform);
  EXPECT_THAT(found.runtime.completion->source.text, HasSubstr("finish ended copy"));
}

/// Of a platform whose caches do not hold all messages of the probes.
TEST_P(ChangedPlatform, CachesComeOutAsTheyWere) {
  platforms::Platform platform = platforms::read_platform(file());
  const platforms::Source guess{platforms::Quality::assumed, "a guess"};
  // In the middle of what the probes leave open, 64 MiB to 128 MiB, on a logarithmic scale.
  for (platforms::HostMemory& memory : platform.node.memories) memory.cache = {91_MiB, guess};
  if (!platform.intra_node.rate) platform.intra_node.rate = {Rate{4e9}, guess};
  platform.intra_node.uncached = {Rate{platform.intra_node.rate->value.bytes_per_second() / 2}, guess};
  expect_full_circle_of(platform);
}

/// Of programs of thread blocks: what a platform says of them comes back to one that says something else.
TEST_F(CalibrateProgram, WhatThreadBlocksDoComesOutAsItWas) {
  const auto guess = [](auto value) { return platforms::Sourced{value, {platforms::Quality::assumed, "a guess"}}; };
  const auto with = [&](double factor) {
    platforms::Platform platform = platforms::read_platform(kH200);
    platform.gpu_types.front().blocks = platforms::BlockCosts{.rate = guess(Rate{15e9 * factor}),
                                                              .ll_rate = guess(Rate{10e9 * factor}),
                                                              .ll128_rate = guess(Rate{12e9 * factor}),
                                                              .ll = guess(0.9_us * factor),
                                                              .ll128 = guess(1.4_us * factor),
                                                              .simple = guess(2.2_us * factor),
                                                              .start = guess(4.5_us * factor),
                                                              .graph_start = guess(6.5_us * factor),
                                                              .next = guess(1.7_us * factor)};
    platform.runtime.program_launch = guess(4.1_us * factor);
    platform.runtime.graph_launch = guess(5.3_us * factor);
    return platform;
  };
  const platforms::Platform truth = with(1);
  std::ofstream(folder_.path() / "truth.yaml") << platform_text(truth);
  std::ofstream(folder_.path() / "base.yaml") << platform_text(with(1.7));
  for (const std::string only : {"program", "hop ", " blocks"}) {
    const auto ended = run(TWINLINK_SIM_PROGRAM,
                           "probe --platform truth.yaml -i 2 -x 1 --only '" + only + "' --json 'of " + only + ".json'");
    ASSERT_EQ(ended.code, 0) << ended.err;
  }
  const auto ended =
      run("calibrate 'of program.json' 'of hop .json' 'of  blocks.json' --base base.yaml --out out.yaml");
  ASSERT_EQ(ended.code, 0) << ended.err;
  std::map<std::string, double> found;
  for (const auto& entry : all_numbers(platforms::read_platform(folder_.path() / "out.yaml"))) {
    found[entry.path] = entry.value;
  }
  // A hop beside it has the bytes of a line, at a rate that the base had otherwise: a few nanoseconds.
  std::size_t compared = 0;
  for (const auto& entry : all_numbers(truth)) {
    if (entry.path.find(".blocks.") == std::string::npos && entry.path.find("_launch") == std::string::npos) continue;
    EXPECT_NEAR(found.at(entry.path) / entry.value, 1, 5e-3) << entry.path;
    ++compared;
  }
  EXPECT_EQ(compared, 11U);
}

std::string name_of(const ::testing::TestParamInfo<const char*>& tested) {
  return std::string(tested.param).substr(0, 4);
}
INSTANTIATE_TEST_SUITE_P(Platforms, FullCircle, ::testing::Values("keeneland-kids", "h200-nvlink"), name_of);
INSTANTIATE_TEST_SUITE_P(Platforms, ChangedPlatform, ::testing::Values("h200-nvlink"), name_of);
INSTANTIATE_TEST_SUITE_P(Others, ChangedPlatform, ::testing::Values("keeneland-kids"), name_of);
#endif

}  // namespace
}  // namespace twinlink::validate
