#include "platforms/yaml/yaml_text.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "platforms/reader/platform_reader.hpp"
#include "platforms/yaml/yaml_events.hpp"
#include "platforms/yaml/yaml_ranges.hpp"

namespace twinlink::platforms {
namespace {
namespace fs = std::filesystem;

using ::testing::AllOf;
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
  }
  EXPECT_GE(platforms, 30);
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

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Lines have up to 120 characters, and no word that would have fit stands in the next one.
TEST(YamlText, LongTextsAndCurvesFillTheirLines) {
  std::string text = "ab";
  for (int word = 1; word < 39; ++word) text += " ab";
  const auto written = [](const std::string& of) {
    YamlValue document(YamlValue::Kind::map, {});
    document.add("k", YamlValue(of));
    return to_yaml(document);
  };
  EXPECT_EQ(written(text + "c"), "k: " + text + "c\n") << "119 + 1 characters";
  EXPECT_EQ(written(text + "cd"), "k: >-\n  " + text + "cd\n");
  EXPECT_EQ(written(text + " ab"), "k: >-\n  " + text + "\n  ab\n");
  EXPECT_EQ(written("abcd" + text.substr(2) + " ab"), "k: >-\n  abcd" + text.substr(2) + "\n  ab\n") << "118 + 2";
  std::string points;
  for (int i = 0; i < 20; ++i) points += "[" + std::to_string(1 << i) + " B, 1.5 us], ";
  const std::vector<std::string> lines =
      lines_of(to_yaml(parse("latency: {value: [" + points + "[1 GiB, 2 us]], measured: probe}\n")));
  ASSERT_GE(lines.size(), 5U);
  EXPECT_EQ(lines.front(), "latency:");
  EXPECT_EQ(lines[1].substr(0, 22), "  value: [[1 B, 1.5 us");
  EXPECT_EQ(lines.back(), "  measured: probe");
  for (std::size_t i = 1; i + 2 < lines.size(); ++i) {
    EXPECT_LE(lines[i].size(), 120U);
    EXPECT_EQ(lines[i + 1].find_first_not_of(' '), 10U) << "below the first point";
    const std::size_t next =
        lines[i + 1].find("],") == std::string::npos ? lines[i + 1].size() - 10 : lines[i + 1].find("],") + 2 - 10;
    EXPECT_GT(lines[i].size() + 1 + next, 120U);
  }
}

TEST(YamlText, CommentsAboveAKeyAreTakenOverOnceAndUnlessItHasNoPlace) {
  const fs::path file = fs::path(::testing::TempDir()) / "commented.yaml";
  std::ofstream(file) << "# top\r\nschema: 2\r\n\nnodes:\n  # of both\n\n  # about a\n  # and more\n  a[0-1]: {x: 1}\n"
                      << "  b: {y: 2}  # behind\n# further left\n  c: 3\n";
  Diagnostics diagnostics;
  YamlValue document = load_yaml(file, diagnostics).value();
  EXPECT_EQ(to_yaml(document),
            "# top\nschema: 2\n\nnodes:\n  # about a\n  # and more\n  a0:\n    x: 1\n  a1:\n    x: 1\n"
            "  b:\n    y: 2\n  # further left\n  c: 3\n");
  for (auto& entry : document.find("nodes")->entries) entry.position = {};
  EXPECT_THAT(to_yaml(document), AllOf(HasSubstr("# top"), Not(HasSubstr("# about a"))));
}

/// What is below `nodes` of a document, its ranges expanded.
std::string expanded(const std::string& nodes, const std::string& before = "nodes: ") {
  Diagnostics diagnostics;
  YamlBudget budget;
  YamlValue document = parse(before + nodes);
  EXPECT_TRUE(expand_ranges(document, budget, diagnostics));
  diagnostics.throw_if_any();
  std::string text = to_yaml(document);
  for (char& c : text) c = c == '\n' ? '|' : c;
  return text;
}

TEST(YamlRanges, AreManyKeysAndDealTheirNumbersOut) {
  EXPECT_EQ(expanded("{'a[0-3]b': 'x[7-8]y'}"), "nodes:|  a0b: x7y|  a1b: x7y|  a2b: x8y|  a3b: x8y|");
  EXPECT_EQ(expanded("{'a[9-10]': {'b[0-1]': 'c[0-1]', d: ['e[3-4]', f]}}"),
            "nodes:|  a9:|    b0: c0|    b1: c0|    d: [e3, f]|  a10:|    b0: c1|    b1: c1|    d: [e4, f]|");
  EXPECT_EQ(expanded("{list: ['g0 g[1-3]', 'p q']}"), "nodes:|  list: [g0 g1, g0 g2, g0 g3, p q]|");
  EXPECT_EQ(expanded("{'a[0-1]': x}",
                     "kinds: {odd: {nodes: "
                     "{'k[0-1]': y}}}\nnodes: "),
            "kinds:|  odd:|    nodes:|      k0: y|      k1: y||nodes:|  a0: x|  a1: x|");
  EXPECT_EQ(expanded("{'a[0-1]': x}", "fabric: "), "fabric:|  \"a[0-1]\": x|") << "nowhere else";
  EXPECT_EQ(expanded("{n: {value: 'a[0-1]', measured: 'b[0-1]'}}"),
            "nodes: {n: {value: \"a[0-1]\", measured: \"b[0-1]\"}}|");
  for (const std::string name :
       {"a[3-1]", "a[1]", "a[x-2]", "a[1-x]", "a[-2]", "a[2-]", "]a[0-", "a[0-4096]", "a[1--2]"}) {
    EXPECT_EQ(expanded("{'" + name + "': x}"), "nodes:|  \"" + name + "\": x|") << "no range";
  }
  EXPECT_EQ(parse("{a: b}").keys(), std::vector<std::string>{"a"});
  YamlValue most = parse("nodes: {'a[1-4096]': x}");
  Diagnostics diagnostics;
  YamlBudget budget;
  EXPECT_TRUE(expand_ranges(most, budget, diagnostics));
  EXPECT_EQ(most.find("nodes")->entries.size(), 4096U);
  EXPECT_TRUE(budget.take(YamlBudget::kValues - 4096));
  EXPECT_FALSE(budget.take(1)) << "each entry is a value";
}

TEST(YamlBudget, EndsWithItsLastValue) {
  YamlBudget budget;
  EXPECT_FALSE(budget.take(YamlBudget::kValues + 1));
  EXPECT_TRUE(budget.take(YamlBudget::kValues - 1));
  EXPECT_TRUE(budget.take(1));
  EXPECT_TRUE(budget.take(0));
  EXPECT_FALSE(budget.take(1));
}

/// A value is one, a list or a map one more than what is in it; what an anchor keeps counts again, and so does each
/// use.
TEST(YamlBudget, IsSpentOnValuesAndTheirCopies) {
  const auto left = [](const std::string& text) {
    Diagnostics diagnostics;
    YamlBudget budget;
    EXPECT_TRUE(parse_yaml(text, nullptr, budget, diagnostics));
    std::size_t free = 0;
    while (budget.take(1)) ++free;
    return YamlBudget::kValues - free;
  };
  EXPECT_EQ(left("a"), 1U);
  EXPECT_EQ(left("[a, b]"), 3U);
  EXPECT_EQ(left("{a: b, c: [d]}"), 6U) << "keys are values";
  EXPECT_EQ(left("[&x [a, b], c]"), 5U + 3);
  EXPECT_EQ(left("[&x [a, b], *x, *x]"), 4U + 3 + 3 + 3);
  EXPECT_EQ(count_values(parse("{a: b, c: [d]}")), 4U);
}

TEST(PlatformReader, ReadsATextAndRefusesOne) {
  EXPECT_THROW(static_cast<void>(read_platform_text("schema: 1\n", "text")), InputError);
  EXPECT_THROW(static_cast<void>(read_platform_text("", "text")), InputError);
  EXPECT_THROW(static_cast<void>(read_platform_text("[1, 2", "text")), InputError);
}

}  // namespace
}  // namespace twinlink::platforms
