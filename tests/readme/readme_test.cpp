// What the texts show is what the programs print, and texts and folders keep their budgets.
#include "tests/readme/examples.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

namespace twinlink::readme {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kPrograms = "build/bin/";  ///< as the texts call them; the test's own are elsewhere

std::vector<fs::path> texts() {
  std::vector<fs::path> found{"README.md", "CONTRIBUTING.md"};
  for (const char* folder : {".github", "protocols", "model", "platforms", "real", "validate", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(TWINLINK_SOURCE_DIR) / folder)) {
      if (entry.path().extension() == ".md") found.push_back(fs::relative(entry.path(), TWINLINK_SOURCE_DIR));
    }
  }
  std::ranges::sort(found);  // folders list their files in any order
  return found;
}

/// `command` with the programs of this build.
std::string with_programs_of_this_build(std::string command) {
  for (std::size_t at = command.find(kPrograms); at != std::string::npos; at = command.find(kPrograms, at)) {
    command.replace(at, kPrograms.size(), TWINLINK_BIN_DIR "/");
    at += sizeof TWINLINK_BIN_DIR;
  }
  return command;
}

/// Are the programs that `command` calls built here?
bool can_run(const std::string& command) {
  for (const char* program : {"twinlink-sim", "twinlink-real", "twinlink-validate"}) {
    if (command.find(kPrograms + program) != std::string::npos && !fs::exists(fs::path(TWINLINK_BIN_DIR) / program)) {
      return false;
    }
  }
  return true;
}

struct Ended {
  int code = -1;
  std::string text{};  ///< standard output; errors are shown where the test runs
};

Ended run(const fs::path& folder, const std::string& command) {
  const std::string line = "cd '" + folder.string() + "' && " + with_programs_of_this_build(command);
  std::FILE* output = popen(line.c_str(), "r");
  if (output == nullptr) return {};
  Ended ended;
  std::array<char, 4096> block{};
  for (std::size_t count = 1; count > 0;) {
    count = std::fread(block.data(), 1, block.size(), output);
    ended.text.append(block.data(), count);
  }
  const int status = pclose(output);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

/// A folder with the data that examples read, in which they may write.
class ReadmeExamples : public testing::TestWithParam<fs::path> {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    for (const char* part : {"platforms", "validate", "tests"}) {
      fs::create_directory_symlink(fs::path(TWINLINK_SOURCE_DIR) / part, folder_ / part);
    }
    setenv("TWINLINK_PLATFORMS", TWINLINK_SOURCE_DIR "/platforms", 1);
    // Where tests run there may be fewer cores than ranks, and no other user than root.
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_ = fs::path(testing::TempDir()) /
                     ("twinlink-readme-" + std::to_string(std::hash<std::string>{}(GetParam().string())));
};

TEST_P(ReadmeExamples, PrintWhatTheTextShows) {
  int left_out = 0;
  for (const Example& example : examples_of(fs::path(TWINLINK_SOURCE_DIR) / GetParam())) {
    SCOPED_TRACE(GetParam().string() + ":" + std::to_string(example.line) + ": " + example.command);
    if (!can_run(example.command)) {
      ++left_out;
      continue;
    }
    const Ended ended = run(folder_, example.command);
    EXPECT_EQ(ended.code, 0);
    const std::string difference = first_difference(example.expected, lines_of(ended.text));
    EXPECT_THAT(difference, IsEmpty()) << "printed was:\n" << ended.text;
  }
  if (left_out > 0) GTEST_SKIP() << left_out << " examples call programs that are not built here";
}

INSTANTIATE_TEST_SUITE_P(All, ReadmeExamples, testing::ValuesIn(texts()), [](const auto& text) {
  std::string name = fs::path(text.param).replace_extension().string();
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

/// README shows the first table of the page that validate/scripts/accuracy has written.
TEST(Accuracy, IsThatOfTheStoredResults) {
  std::ifstream page(fs::path(TWINLINK_SOURCE_DIR) / "validate" / "ACCURACY.md");
  std::vector<std::string> table;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("|")) {
      table.push_back(line);
    } else if (!table.empty()) {
      break;
    }
  }
  ASSERT_THAT(table, SizeIs(testing::Gt(2U)));
  std::ifstream readme(fs::path(TWINLINK_SOURCE_DIR) / "README.md");
  std::vector<std::string> lines;
  for (std::string line; std::getline(readme, line);) lines.push_back(line);
  EXPECT_NE(std::ranges::search(lines, table).begin(), lines.end()) << "the table in README.md is another";
}

TEST(Examples, ALineOfDotsStandsForAnyLines) {
  const std::vector<std::string> printed{"a", "b", "c", "d"};
  EXPECT_THAT(first_difference({"a", "...", "d"}, printed), IsEmpty());
  EXPECT_THAT(first_difference({"...", "b", "...", "d"}, printed), IsEmpty());
  EXPECT_THAT(first_difference({"a", "b", "c", "d", "..."}, printed), IsEmpty());
  EXPECT_EQ(first_difference({"a", "...", "e"}, printed), "nothing printed fits: e");
  EXPECT_EQ(first_difference({"a", "b", "x", "d"}, printed), "nothing printed fits: x");
  EXPECT_THAT(first_difference({"a", "b"}, printed), testing::Not(IsEmpty()));
  EXPECT_THAT(first_difference({"a", "b", "c", "d", "e"}, printed), testing::Not(IsEmpty()));
}

TEST(Examples, DotsWithinALineStandForAnyText) {
  EXPECT_THAT(first_difference({"size ... us ..."}, {"size 4 time 1 us and more"}), IsEmpty());
  EXPECT_THAT(first_difference({"size ... ms"}, {"size 4 us"}), testing::Not(IsEmpty()));
  EXPECT_THAT(first_difference({}, {"unexpected"}), testing::Not(IsEmpty()));
}

TEST(Examples, AreReadFromConsoleBlocksOnly) {
  const fs::path file = fs::path(testing::TempDir()) / "twinlink-examples.md";
  std::ofstream(file) << "```sh\n$ no\n```\n```console\n$ a \\\n  b\nout\n\n$ c\n```\n";
  const std::vector<Example> examples = examples_of(file);
  ASSERT_THAT(examples, SizeIs(2));
  EXPECT_EQ(examples[0].command, "a   b");
  EXPECT_THAT(examples[0].expected, testing::ElementsAre("out"));
  EXPECT_THAT(examples[1].expected, IsEmpty());
}

// ---- what texts name ------------------------------------------------------------------------------------------------

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// All that the first group of `pattern` finds in `text`.
std::vector<std::string> found_in(const std::string& text, const char* pattern) {
  const std::regex wanted(pattern);
  std::vector<std::string> found;
  for (auto match = std::sregex_iterator(text.begin(), text.end(), wanted); match != std::sregex_iterator(); ++match) {
    found.push_back((*match)[1]);
  }
  return found;
}

/// Files and folders to which a text links.
std::vector<std::string> links_of(const std::string& text) {
  std::vector<std::string> links = found_in(text, R"(\]\(([^)#\s]+)[^)]*\))");
  std::erase_if(links, [](const std::string& link) { return link.find("://") != std::string::npos; });
  return links;
}

TEST(Texts, LinkToWhatIsThere) {
  for (const fs::path& text : texts()) {
    const fs::path file = fs::path(TWINLINK_SOURCE_DIR) / text;
    for (const std::string& link : links_of(text_of(file))) {
      EXPECT_TRUE(fs::exists(file.parent_path() / link)) << text << " links to " << link;
    }
  }
}

/// A row of a table names functions in backticks, `move()`, and links to the files in which they stand.
TEST(Architecture, NamesFunctionsOfTheFilesBesideThem) {
  const fs::path page = fs::path(TWINLINK_SOURCE_DIR) / "protocols" / "ARCHITECTURE.md";
  std::ifstream in(page);
  int functions = 0;
  for (std::string row; std::getline(in, row);) {
    if (!row.starts_with("| `")) continue;
    std::string sources;
    for (const std::string& link : links_of(row)) sources += text_of(page.parent_path() / link);
    const std::string first_cell = row.substr(0, row.find(" | "));
    for (const std::string& name : found_in(first_cell, R"(`(\w+)\(\)`)")) {
      ++functions;
      EXPECT_TRUE(std::regex_search(sources, std::regex("\\b" + name + "\\("))) << name << "() in " << row;
    }
  }
  EXPECT_GT(functions, 40);
}

// ---- budgets --------------------------------------------------------------------------------------------------------

int count_lines(const fs::path& file) {
  std::ifstream in(file);
  int count = 0;
  for (std::string line; std::getline(in, line);) ++count;
  return count;
}

TEST(Texts, WrapAt120Characters) {
  for (const fs::path& text : texts()) {
    std::ifstream in(fs::path(TWINLINK_SOURCE_DIR) / text);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      const bool table = line.starts_with('|');
      const auto width =
          std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
      EXPECT_TRUE(table || width <= 120) << text << ':' << number;
    }
  }
}

TEST(Texts, NameEveryFolderInTheReadmeOfItsParent) {
  for (const char* top : {"protocols", "model", "platforms", "real", "validate", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(TWINLINK_SOURCE_DIR) / top)) {
      const fs::path readme = entry.path().parent_path() / "README.md";
      if (!entry.is_directory() || !fs::exists(readme)) continue;
      std::ifstream in(readme);
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      EXPECT_THAT(text, testing::HasSubstr(entry.path().filename().string() + "/")) << entry.path();
    }
  }
}

TEST(Budgets, FilesHaveOneIdeaAndFoldersAreSeenAtOnce) {
  std::map<std::string, int> files;
  for (const char* top : {"protocols", "model", "platforms", "real", "validate", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(TWINLINK_SOURCE_DIR) / top)) {
      const std::string ending = entry.path().extension().string();
      if (ending != ".cpp" && ending != ".hpp" && ending != ".cu") continue;
      EXPECT_LE(count_lines(entry.path()), 600) << entry.path() << ": are there two ideas in it?";
      ++files[entry.path().parent_path().string()];
    }
  }
  for (const auto& [folder, count] : files) EXPECT_LE(count, 32) << folder;
}

}  // namespace
}  // namespace twinlink::readme
