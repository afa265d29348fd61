// Every text of the corpus, former findings among them, is accepted or refused by its reader.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fuzz/targets.hpp"

namespace twinlink::fuzz {
namespace {

namespace fs = std::filesystem;

const fs::path& corpus() {
  static const fs::path folder = fs::path(TWINLINK_SOURCE_DIR) / "tests/fuzz/corpus";
  return folder;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::string content(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> names_of_targets() {
  std::vector<std::string> names;
  for (const Target& target : all_targets()) names.emplace_back(target.name);
  return names;
}

class Corpus : public ::testing::TestWithParam<std::string> {};

/// One text at least gets through, so that the rest of the reader is reached.
TEST_P(Corpus, IsAcceptedOrRefused) {
  const Target& target = find_target(GetParam());
  int accepted = 0;
  for (const std::string& name : names_in(corpus() / GetParam())) {
    SCOPED_TRACE(name);
    EXPECT_NO_THROW(accepted += accepts(target, content(corpus() / GetParam() / name)) ? 1 : 0);
  }
  EXPECT_GE(accepted, 1);
}

INSTANTIATE_TEST_SUITE_P(Targets, Corpus, ::testing::ValuesIn(names_of_targets()), [](const auto& test) {
  std::string name = test.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(CorpusFolders, AreThereForEachTarget) {
  EXPECT_THAT(names_in(corpus()), ::testing::IsSupersetOf(names_of_targets()));
}

TEST(Targets, ReportABrokenPromise) {
  constexpr Target kBroken{"broken", [](const std::string&) { promise_same("a", "b", "written and read again"); }};
  EXPECT_THROW(accepts(kBroken, ""), BrokenPromise);
}

}  // namespace
}  // namespace twinlink::fuzz
