#include "platforms/yaml/yaml_text.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <memory>
#include <string>

#include "platforms/machine/platform_numbers.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/yaml/yaml_events.hpp"

namespace twinlink::model {
namespace {
namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::Not;

YamlValue parse(const std::string& text) {
  Diagnostics diagnostics;
  YamlBudget budget;
  auto value = parse_yaml(text, std::make_shared<const std::string>("text.yaml"), budget, diagnostics);
  diagnostics.throw_if_any();
  return value.value();
}

/// The tree without its places, as a text that no two different trees share.
std::string shape(const YamlValue& value) {
  std::string text = std::to_string(static_cast<int>(value.kind)) + "'" + value.text + "'";
  for (const YamlValue& item : value.items) text += "[" + shape(item) + "]";
  for (const auto& entry : value.entries) text += "{'" + entry.key + "' " + shape(entry.value) + "}";
  return text;
}

TEST(YamlText, EveryPlatformIsReadBackAsItWas) {
  int platforms = 0;
  for (const auto& file : fs::directory_iterator(fs::path(TWINLINK_SOURCE_DIR) / "platforms")) {
    if (file.path().extension() != ".yaml") continue;
    ++platforms;
    Diagnostics diagnostics;
    const YamlValue document = load_yaml(file.path(), diagnostics).value();
    const std::string text = to_yaml(document);
    EXPECT_EQ(shape(parse(text)), shape(document)) << file.path();

    const auto numbers = all_numbers(read_platform(file.path()));
    const auto again = all_numbers(read_platform_text(text, "written"));
    ASSERT_EQ(again.size(), numbers.size()) << file.path();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_EQ(again[i].path, numbers[i].path);
      EXPECT_EQ(again[i].value, numbers[i].value) << numbers[i].path;
      EXPECT_EQ(again[i].source.text, numbers[i].source.text) << numbers[i].path;
    }
  }
  EXPECT_GE(platforms, 4);
}

TEST(YamlText, OddTextsSurvive) {
  YamlValue document(YamlValue::Kind::map, {});
  const auto add = [&](const std::string& key, const std::string& text) {
    document.entries.push_back({key, {}, YamlValue(YamlValue::Kind::scalar, {}, text)});
  };
  int count = 0;
  for (const char* text : {"",
                           " ",
                           "~",
                           "null",
                           "true",
                           "2.0",
                           "010",
                           "-",
                           "- a",
                           "a: b",
                           "a #b",
                           "#",
                           "\"quoted\"",
                           "it's",
                           "back\\slash",
                           "two\nlines",
                           "tab\there",
                           "[a, b]",
                           "{a}",
                           "&anchor",
                           "*alias",
                           "!tag",
                           "%",
                           "@",
                           "`",
                           "5 µs",
                           " ends with a space ",
                           "a  double space"}) {
    add("key " + std::to_string(++count), text);
  }
  add("a: difficult key", "x");
  const std::string words = "many words that do not fit into one line of a file, ";
  add("long", words + words + words + "and so are folded: at \"spaces\" # only");
  add("long and odd", words + words + words + " with two spaces");
  EXPECT_EQ(shape(parse(to_yaml(document))), shape(document));
}

TEST(YamlText, IsWrittenAsPeopleWriteIt) {
  const std::string text =
      "schema: 1\n"
      "name: small\n"
      "\n"
      "nodes:\n"
      "  hubs: [a, b]\n"
      "  links:\n"
      "    ab: {from: a, to: b, bandwidth: {value: 63 GB/s, datasheet: \"x, y\"}}\n"
      "\n"
      "costs:\n"
      "  peer:\n"
      "    overhead: {value: 2 us, assumed: split}\n"
      "    latency: {value: [[1 B, 4 us], [1 KiB, 5 us]], measured: probe}\n"
      "  staged_peers:\n"
      "    - from: a\n"
      "      overhead: {value: 2 us, assumed: split}\n"
      "      rate: {value: 3079 MB/s, measured: probe}\n";
  EXPECT_EQ(to_yaml(parse(text)), text);
}

TEST(YamlText, LongCurvesAreWrapped) {
  std::string points;
  for (int i = 0; i < 20; ++i) points += "[" + std::to_string(1 << i) + " B, 1.5 us], ";
  const std::string text = to_yaml(parse("latency: {value: [" + points + "[1 GiB, 2 us]], measured: probe}\n"));
  EXPECT_THAT(text, HasSubstr("],\n          ["));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 120U);
    at = end + 1;
  }
}

TEST(YamlText, CommentsAboveAKeyAreTakenOverUnlessItHasNoPlace) {
  Diagnostics diagnostics;
  const fs::path file = fs::path(TWINLINK_SOURCE_DIR) / "platforms/keeneland-kids.yaml";
  YamlValue document = load_yaml(file, diagnostics).value();
  constexpr const char* kComment = "  # That the adapter shares the hub with GPU 0 is likely";
  EXPECT_THAT(to_yaml(document), HasSubstr(kComment));
  for (auto& entry : document.find("nodes")->entries) entry.position = {};
  EXPECT_THAT(to_yaml(document), Not(HasSubstr(kComment)));
}

TEST(PlatformReader, ReadsATextAndRefusesOne) {
  EXPECT_THROW(static_cast<void>(read_platform_text("schema: 1\n", "text")), InputError);
  EXPECT_THROW(static_cast<void>(read_platform_text("", "text")), InputError);
  EXPECT_THROW(static_cast<void>(read_platform_text("[1, 2", "text")), InputError);
}

}  // namespace
}  // namespace twinlink::model
