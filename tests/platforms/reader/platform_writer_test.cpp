#include "platforms/reader/platform_writer.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platforms/machine/platform_numbers.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/yaml_override.hpp"
#include "platforms/yaml/yaml_events.hpp"
#include "platforms/yaml/yaml_text.hpp"
#include "protocols/core/errors.hpp"
#include "tests/platforms/whole_platform.hpp"

namespace twinlink::platforms {
namespace {
namespace fs = std::filesystem;

using ::testing::HasSubstr;
using testing::kWhole;
using ::testing::Not;

const fs::path kPlatforms = fs::path(TWINLINK_SOURCE_DIR) / "platforms";

std::string content(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Platform read_text(const std::string& text) { return read_platform_text(text, "text.yaml"); }

TEST(PlatformWriter, WritesEveryKeyAsItWasRead) {
  const std::string heading = "Every key that a platform may have, as the writer writes it.";
  EXPECT_EQ(platform_text(read_platform(kWhole), {heading}), content(kWhole));
}

TEST(PlatformWriter, EveryPlatformComesBackAsItWas) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(kPlatforms)) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string text = platform_text(read_platform(entry.path()));
    EXPECT_EQ(platform_text(read_text(text)), text) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 30);
}

/// Each number has the path of an override; links beside each other have what is set so many times.
TEST(AllNumbers, NamesEachAsAnOverrideDoes) {
  const std::vector<NumberEntry> numbers = all_numbers(read_platform(kWhole));
  EXPECT_EQ(numbers.size(), 137U);
  for (const NumberEntry& entry : numbers) {
    if (entry.path.ends_with(']')) continue;
    const bool both = entry.path.starts_with("nodes.links.bus0.") && entry.unit == "B/s" &&
                      entry.path.find(".each_") == std::string::npos;
    const auto& [text, value] = entry.unit == "B"        ? std::pair("7 KiB", 7168.0)
                                : entry.unit == "s"      ? std::pair("7 s", 7.0)
                                : entry.unit == "1"      ? std::pair("700 %", 7.0)
                                : entry.unit == "FLOP/s" ? std::pair("7 TFLOP/s", 7e12)
                                                         : std::pair("7 GB/s", both ? 14e9 : 7e9);
    const std::vector<std::string> overrides{entry.path + "=" + text};
    const std::vector<NumberEntry> changed = all_numbers(read_platform(kWhole, overrides));
    ASSERT_EQ(changed.size(), numbers.size()) << entry.path;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(changed[i].path, numbers[i].path);
      if (numbers[i].path == entry.path) {
        EXPECT_DOUBLE_EQ(changed[i].value, value) << entry.path;
        EXPECT_EQ(changed[i].source, (Source{Quality::assumed, "--set on the command line"})) << entry.path;
      } else {
        EXPECT_EQ(changed[i].value, numbers[i].value) << numbers[i].path << " by " << entry.path;
        EXPECT_EQ(changed[i].source, numbers[i].source) << numbers[i].path << " by " << entry.path;
      }
    }
  }
}

YamlValue parse(const std::string& text) {
  Diagnostics diagnostics;
  YamlBudget budget;
  std::optional<YamlValue> tree = parse_yaml(text, std::make_shared<const std::string>(), budget, diagnostics);
  return tree.value();
}

/// What a platform may leave out, an override gives it.
TEST(AllNumbers, AreAddedByAnOverrideWhereAPlatformNeedNotHaveThem) {
  const YamlValue whole = parse(content(kWhole));
  int refused = 0;
  for (const NumberEntry& entry : all_numbers(read_platform(kWhole))) {
    YamlValue tree = whole;
    const std::string path = entry.path.substr(0, entry.path.find('['));
    YamlValue* part = &tree;
    std::size_t begin = 0;
    for (std::size_t dot = 0; (dot = path.find('.', begin)) != std::string::npos; begin = dot + 1) {
      part = part->find(path.substr(begin, dot - begin));
    }
    const std::string key = path.substr(begin);
    if (key == "forward" || key == "backward") continue;  // `bandwidth` may stand for these two
    ASSERT_EQ(std::erase_if(part->entries, [&](const auto& each) { return each.key == key; }), 1U) << path;
    std::string wrong;
    try {
      static_cast<void>(read_text(to_yaml(tree)));
    } catch (const InputError& error) {
      wrong = error.what();
    }
    const bool is_needed = wrong.find("missing key '" + key + "'") != std::string::npos;
    try {
      apply_override(tree, path + "=1 x");
      EXPECT_EQ(part->find(key)->find("value")->text, "1 x") << path;
    } catch (const UsageError& error) {
      EXPECT_TRUE(is_needed) << path << ": " << error.what();
      EXPECT_THAT(error.what(), HasSubstr("there is no '" + key + "' in '" + path.substr(0, begin - 1) + "'"));
      ++refused;
    }
  }
  EXPECT_EQ(refused, 31) << "what no part may leave out";
}

TEST(PlatformWriter, LeavesOutWhatIsAsEver) {
  Platform platform = read_platform(kPlatforms / "h200-nvlink.yaml");
  const Source guess{Quality::assumed, "a guess for a test"};
  platform.node.memories.front().cache = Sourced<Bytes>{100_MiB, guess};
  for (const CopiedBy who : kCopiedBy) {
    platform.intra_node.copied_by = who;
    platform.intra_node.fragment.reset();
    if (who != CopiedBy::none) platform.intra_node.fragment = Sourced<Bytes>{16_KiB, guess};
    const std::string text = platform_text(platform);
    EXPECT_EQ(text.find("copied_by: ") == std::string::npos, who == CopiedBy::none);
    EXPECT_EQ(read_text(text).intra_node.copied_by, who);
  }
  const std::string text = platform_text(platform);
  for (const char* never : {"domain", "host_buffers", "peers", "kinds", "seed", "kernel_patch", "in_flight: 0"}) {
    EXPECT_THAT(text, Not(HasSubstr(std::string("\n  ") + never))) << never;
  }
}

TEST(PlatformWriter, WritesTextsThatYamlWouldMisread) {
  Platform platform = read_platform(kPlatforms / "h200-nvlink.yaml");
  platform.description = "a \"quoted\" back\\slash: # no comment\n\x01\x7f end";
  platform.gpu_types[0].memory.source.text = "word";
  platform.runtime.signal = Sourced<Seconds>{Seconds{2.5e-10}, {Quality::assumed, "a quarter of a nanosecond"}};
  const Platform back = read_text(platform_text(platform, {"a heading", "", "of three lines"}));
  EXPECT_EQ(back.description, "a \"quoted\" back\\slash: # no comment    end");
  EXPECT_EQ(back.gpu_types[0].memory.source.text, "word");
  EXPECT_EQ(back.runtime.signal->value, Seconds{2.5e-10});
}

TEST(PlatformWriter, NamesWhatIsSaidTwiceAndNothingElse) {
  Platform platform = read_platform(kPlatforms / "h200-nvlink.yaml");
  platform.gpu_types[0].memory.source.text = "said of one number";
  platform.runtime.ipc_open.source.text = platform.runtime.ipc_close.source.text = "said of two numbers";
  const std::string text = platform_text(platform, {"made up"});
  EXPECT_EQ(text.rfind("# made up\nschema: 2\n", 0), 0U);
  EXPECT_THAT(text, HasSubstr("datasheet: said of one number}"));
  EXPECT_THAT(text, Not(HasSubstr(": said of one number\n")));
  EXPECT_THAT(text, HasSubstr(": said of two numbers\n"));
  EXPECT_THAT(text, Not(HasSubstr(": said of two numbers}")));
}

}  // namespace
}  // namespace twinlink::platforms
