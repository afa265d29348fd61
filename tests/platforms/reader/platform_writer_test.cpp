#include "platforms/reader/platform_writer.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "platforms/machine/platform_numbers.hpp"
#include "platforms/reader/platform_reader.hpp"

namespace twinlink::model {
namespace {
namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::Not;

Platform read_text(const std::string& text) {
  const fs::path file = fs::path(::testing::TempDir()) /
                        (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".yaml");
  std::ofstream(file) << text;
  Platform platform = read_platform(file);
  fs::remove(file);
  return platform;
}

void expect_same(const Platform& a, const Platform& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.description, b.description);
  EXPECT_EQ(a.node.count, b.node.count);
  ASSERT_EQ(a.node.hubs.size(), b.node.hubs.size());
  for (std::size_t i = 0; i < a.node.hubs.size(); ++i) {
    EXPECT_EQ(a.node.hubs[i].name, b.node.hubs[i].name);
    EXPECT_EQ(a.node.hubs[i].passing.forwards, b.node.hubs[i].passing.forwards);
  }
  EXPECT_EQ(a.node.peers, b.node.peers);
  ASSERT_EQ(a.node.gpus.size(), b.node.gpus.size());
  for (std::size_t i = 0; i < a.node.gpus.size(); ++i) {
    EXPECT_EQ(a.node.gpus[i].type, b.node.gpus[i].type);
    EXPECT_EQ(a.type_of(i).model, b.type_of(i).model);
    EXPECT_EQ(a.type_of(i).capability_major, b.type_of(i).capability_major);
    EXPECT_EQ(a.type_of(i).unified_addressing, b.type_of(i).unified_addressing);
    EXPECT_EQ(a.node.gpus[i].memory_near, b.node.gpus[i].memory_near);
    EXPECT_EQ(a.node.gpus[i].nic, b.node.gpus[i].nic);
  }
  EXPECT_EQ(a.fabric && a.fabric->rdma ? a.fabric->rdma->hypothetical : "",
            b.fabric && b.fabric->rdma ? b.fabric->rdma->hypothetical : "");
  EXPECT_EQ(a.intra_node.copied_by, b.intra_node.copied_by);
  const auto before = all_numbers(a);
  const auto after = all_numbers(b);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].path, after[i].path);
    EXPECT_NEAR(before[i].value, after[i].value, 1e-11 * before[i].value) << before[i].path;
    EXPECT_EQ(before[i].source.quality, after[i].source.quality) << before[i].path;
    EXPECT_EQ(before[i].source.text, after[i].source.text) << before[i].path;
  }
}

TEST(PlatformWriter, EveryPlatformComesBackAsItWas) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(TWINLINK_SOURCE_DIR) / "platforms")) {
    if (entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(entry.path().string());
    const Platform platform = read_platform(entry.path());
    expect_same(platform, read_text(platform_text(platform)));
    ++files;
  }
  EXPECT_GE(files, 4);
}

TEST(PlatformWriter, WritesWhatAPlatformNeedNotHave) {
  Platform platform = read_platform(fs::path(TWINLINK_SOURCE_DIR) / "platforms/h200-nvlink.yaml");
  const Source guess{Quality::assumed, "a guess for a test"};
  platform.copies[CopyKind::resident_push] = {.overhead = {1.0_us, guess},
                                              .latency = {Piecewise{}, guess},
                                              .gap = Sourced<Piecewise>{Piecewise(2.0_us), guess}};
  platform.runtime.completion = Sourced<Seconds>{1.5_us, guess};
  platform.runtime.kernel_signal = Sourced<Piecewise>{Piecewise(1.7_us), guess};
  platform.intra_node.rate = Sourced<Rate>{Rate{5e9}, guess};
  platform.intra_node.uncached = Sourced<Rate>{Rate{3e9}, guess};
  platform.node.memories.front().cache = Sourced<Bytes>{100_MiB, guess};
  const Sourced<Piecewise> curve{Piecewise({{4_KiB, Seconds{}}, {64_KiB, 2.0_us}, {1_MiB, 20.5_us}}), guess};
  platform.copies[CopyKind::pinned_to_device].cpu_written = curve;
  for (const CopiedBy who : kCopiedBy) {
    platform.intra_node.copied_by = who;
    platform.intra_node.fragment.reset();
    if (who != CopiedBy::none) platform.intra_node.fragment = Sourced<Bytes>{16_KiB, guess};
    expect_same(platform, read_text(platform_text(platform)));
  }
}

TEST(PlatformWriter, WritesTextsThatYamlWouldMisread) {
  Platform platform = read_platform(fs::path(TWINLINK_SOURCE_DIR) / "platforms/h200-nvlink.yaml");
  platform.description = "a \"quoted\" back\\slash: # no comment\n\x01 end";
  platform.gpu_types[0].memory.source.text = "word";
  platform.runtime.signal = Sourced<Seconds>{Seconds{2.5e-10}, {Quality::assumed, "a quarter of a nanosecond"}};
  const Platform back = read_text(platform_text(platform, {"a heading", "", "of three lines"}));
  EXPECT_EQ(back.description, "a \"quoted\" back\\slash: # no comment   end");
  EXPECT_EQ(back.gpu_types[0].memory.source.text, "word");
  EXPECT_EQ(back.runtime.signal->value, Seconds{2.5e-10});
}

TEST(PlatformWriter, NamesWhatIsSaidTwiceAndNothingElse) {
  Platform platform = read_platform(fs::path(TWINLINK_SOURCE_DIR) / "platforms/h200-nvlink.yaml");
  platform.gpu_types[0].memory.source.text = "said of one number";
  const std::string text = platform_text(platform, {"made up"});
  EXPECT_EQ(text.rfind("# made up\nschema: 2\n", 0), 0U);
  EXPECT_THAT(text, HasSubstr("datasheet: said of one number}"));
  EXPECT_THAT(text, Not(HasSubstr(": said of one number\n")));
  EXPECT_THAT(text, HasSubstr("\n  source1: "));
}

}  // namespace
}  // namespace twinlink::model
