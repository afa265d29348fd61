// Every broken file in tests/bad_platforms/ gives exactly the messages beside it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "platforms/reader/platform_reader.hpp"

namespace twinlink::platforms {
namespace {
namespace fs = std::filesystem;

const fs::path& folder() {
  static const fs::path path = fs::path(TWINLINK_SOURCE_DIR) / "tests/bad_platforms";
  return path;
}

/// The names of the files in the folder that end in `extension`, without it.
std::set<std::string> stems(const std::string& extension) {
  std::set<std::string> result;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() == extension) result.insert(entry.path().stem().string());
  }
  return result;
}

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string without(std::string text, const std::string& part) {
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos;) text.erase(at, part.size());
  return text;
}

/// What reading `file` says, with file names relative to the folder.
std::string findings(const fs::path& file) {
  try {
    read_platform(file);
  } catch (const InputError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_usage);
    return without(e.what(), folder().string() + "/") + "\n";
  }
  return "accepted";
}

class BadPlatform : public ::testing::TestWithParam<std::string> {};

TEST_P(BadPlatform, SaysWhatIsExpected) {
  const fs::path file = folder() / (GetParam() + ".yaml");
  EXPECT_EQ(findings(file), read(folder() / (GetParam() + ".expected")));
}

INSTANTIATE_TEST_SUITE_P(Files, BadPlatform, ::testing::ValuesIn(stems(".yaml")),
                         [](const auto& test) { return test.param; });

TEST(BadPlatforms, HaveAFileAndAnExpectationEach) {
  EXPECT_EQ(stems(".yaml"), stems(".expected"));
  EXPECT_GE(stems(".yaml").size(), 40U);
}

TEST(BadPlatforms, StartFromAGoodOne) { EXPECT_NO_THROW(read_platform(folder() / "parts/good.yaml")); }

TEST(BadPlatforms, IncludeMissingAndOutsizedFiles) {
  const fs::path missing = fs::path(::testing::TempDir()) / "no_such_platform.yaml";
  EXPECT_EQ(findings(missing), missing.string() + ": error: the file cannot be read: No such file or directory\n");
  EXPECT_EQ(findings("/dev/zero"), "/dev/zero: error: the file is not a regular file\n");

  const fs::path large = fs::path(::testing::TempDir()) / "large_platform.yaml";
  std::ofstream(large) << std::string(std::size_t{1} << 20, '#') << "\n";
  EXPECT_EQ(findings(large), large.string() + ": error: the file is larger than 1 MiB, so it is no platform\n");
  std::ofstream(large) << std::string(std::size_t{1} << 20, '#');
  EXPECT_EQ(findings(large), large.string() + ": error: the file is empty\n") << "1 MiB is not too much";
  for (const char c : {'\x01', '\x1f', '\x7f'}) {
    std::ofstream(large) << "name: a" << c << "\n";
    EXPECT_EQ(findings(large), large.string() + ": error: the file is a binary file, not YAML\n");
  }
  fs::remove(large);
}

TEST(BadPlatforms, CopiesOfAnchorsWithinAnchorsAreCounted) {
  const fs::path nested = fs::path(::testing::TempDir()) / "nested_anchors.yaml";
  std::string begin;
  for (int level = 0; level < 400; ++level) begin += "&a" + std::to_string(level) + " [";
  std::string text;
  for (char key = 'a'; key < 'f'; ++key) text += std::string(1, key) + ": " + begin + std::string(400, ']') + "\n";
  std::ofstream(nested) << text;
  EXPECT_THAT(findings(nested),
              ::testing::HasSubstr("more than 100000 values, its aliases, ranges and included files expanded"));
  fs::remove(nested);
}

/// Also where no copy is within another.
TEST(BadPlatforms, CopiesOfOneAnchorAreCounted) {
  const fs::path file = fs::path(::testing::TempDir()) / "many_aliases.yaml";
  std::string text = "a: &a [x";
  for (int i = 1; i < 1000; ++i) text += ", x";
  text += "]\nb: [";
  for (int i = 0; i < 120; ++i) text += "*a, ";
  std::ofstream(file) << text << "]\n";
  EXPECT_THAT(findings(file), ::testing::HasSubstr("more than 100000 values"));
}

TEST(BadPlatforms, TwoHundredFindingsAreSaidInTheirOrderAndTheRestCounted) {
  const fs::path file = fs::path(::testing::TempDir()) / "many_errors.yaml";
  const std::string good = "include: " + (folder() / "parts/good.yaml").string() + "\n";
  const auto expected = [&](int errors) {
    std::ofstream(file) << good << [&] {
      std::string text;
      for (int i = 0; i < errors; ++i) text += fmt::format("x{}: 1\n", i);
      return text;
    }();
    std::string all;
    for (int i = 0; i < std::min(errors, 200); ++i) {
      all += fmt::format(
          "{}:{}:1: error: unknown key 'x{}' in the platform; there is: schema, sources, name, description, "
          "software, gpu_types, nodes, kinds, fabric, driver, mpi, ccl\n",
          file.string(), i + 2, i);
    }
    return all;
  };
  const std::string all = expected(200);
  EXPECT_EQ(findings(file), all);
  EXPECT_EQ(expected(203), all);
  EXPECT_EQ(findings(file), all + "and 3 more errors\n");
}

}  // namespace
}  // namespace twinlink::platforms
