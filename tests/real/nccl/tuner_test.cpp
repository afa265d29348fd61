// The tuner plugin: what a file of rules says, and what NCCL gets to hear of it by each interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "real/nccl/tuner/tuner_file.hpp"

namespace twinlink::tuner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kAllReduce = 4;
constexpr int kBroadcast = 0;

Rules rules_of(const std::string& text, std::size_t nodes = 1, std::size_t ranks = 8) {
  std::istringstream stream(text);
  return Rules(stream, nodes, ranks);
}

constexpr const char* kFile =
    "# a comment\n"
    "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n"
    "allreduce,1024,2048,tree,ll128,4,-1,8,1,0  # why\n"
    "\"broadcast\", 0 ,4294967295, ring ,simple,-1,1,-1\r\n"
    "allreduce,0,4294967295,nvls_tree,simple,-1,2,16,-1\n";

TEST(TunerFile, HasTheRulesOfAShape) {
  const Rules one = rules_of(kFile);
  EXPECT_THAT(one.faults(), IsEmpty());
  EXPECT_THAT(one.all(), ElementsAre(Rule{kAllReduce, 1024, 2048, 0, 1, 4, -1, 8, 1, 0, 3},
                                     Rule{kBroadcast, 0, SIZE_MAX, 1, 2, -1, 1, -1, -1, -1, 4}));
  const Rules two = rules_of(kFile, 2, 16);
  ASSERT_EQ(two.all().size(), 1U);
  EXPECT_EQ(two.all()[0].algorithm, 5);
  EXPECT_THAT(rules_of("").all(), IsEmpty());
}

TEST(TunerFile, TheFirstThatFitsIsTaken) {
  const Rules rules = rules_of(kFile);
  EXPECT_EQ(rules.find({kAllReduce, 1023}), nullptr);
  EXPECT_EQ(rules.find({kAllReduce, 1024})->line, 3);
  EXPECT_EQ(rules.find({kAllReduce, 2048})->line, 3);
  EXPECT_EQ(rules.find({kAllReduce, 2049}), nullptr);
  EXPECT_EQ(rules.find({kAllReduce, 2000, 2}), nullptr) << "of a group of two";
  EXPECT_EQ(rules.find({kAllReduce, 2000, 1, 1}), nullptr) << "of a registered buffer";
  EXPECT_EQ(rules.find({kBroadcast, std::size_t{1} << 40U})->line, 4);
}

TEST(TunerFile, LinesThatAreNoRuleAreSaidAndLeftOut) {
  const auto fault = [](const std::string& line) {
    const Rules rules = rules_of("\n" + line + "\n");
    EXPECT_THAT(rules.all(), IsEmpty()) << line;
    return rules.faults().empty() ? "" : rules.faults().front();
  };
  EXPECT_EQ(fault("allreduce,1,2,ring,ll,-1,1"), "line 2: 7 columns, of 8 to 10");
  EXPECT_EQ(fault("alltoall,1,2,ring,ll,-1,1,8"), "line 2: 'alltoall' in column 1");
  EXPECT_EQ(fault("allreduce,-1,2,ring,ll,-1,1,8"), "line 2: '-1' in column 2");
  EXPECT_EQ(fault("allreduce,3,2,ring,ll,-1,1,8"), "line 2: '2' in column 3");
  EXPECT_EQ(fault("allreduce,1,2K,ring,ll,-1,1,8"), "line 2: '2K' in column 3");
  EXPECT_EQ(fault("allreduce,1,2,rings,ll,-1,1,8"), "line 2: 'rings' in column 4");
  EXPECT_EQ(fault("allreduce,1,2,ring,LL,-1,1,8"), "line 2: 'LL' in column 5");
  EXPECT_EQ(fault("allreduce,1,2,ring,ll,0,1,8"), "line 2: '0' in column 6");
  EXPECT_EQ(fault("allreduce,1,2,ring,ll,-1,-2,8"), "line 2: '-2' in column 7");
  EXPECT_EQ(fault("allreduce,1,2,ring,ll,-1,1,99999999999"), "line 2: '99999999999' in column 8");
}

// ---- the library

std::vector<std::string> said;
void hear(int /*level*/, unsigned long /*parts*/, const char* /*file*/, int /*line*/, const char* format, ...) {
  std::array<char, 300> text{};
  std::va_list list;
  va_start(list, format);
  static_cast<void>(std::vsnprintf(text.data(), text.size(), format, list));
  va_end(list);
  said.emplace_back(text.data());
}

constexpr int kAlgorithms = 7;
constexpr int kFormats = 3;
using Table = std::array<float, static_cast<std::size_t>(kAlgorithms* kFormats)>;

/// As NCCL declares them.
struct Interface4 {
  const char* name;
  int (*init)(std::size_t, std::size_t, decltype(&hear), void**);
  int (*get)(void*, int, std::size_t, int, float**, int, int, int, int*);
  int (*destroy)(void*);
};
struct Interface3 {
  const char* name;
  int (*init)(std::size_t, std::size_t, decltype(&hear), void**);
  int (*get)(void*, int, std::size_t, int, float**, int, int, int*);
  int (*destroy)(void*);
};
struct Interface5 {
  const char* name;
  int (*init)(void**, std::uint64_t, std::size_t, std::size_t, decltype(&hear), void*, void*);
  int (*get)(void*, int, std::size_t, int, float**, int, int, int, int*);
  int (*finalize)(void*);
};

class TunerPlugin : public ::testing::Test {
 protected:
  TunerPlugin() : library_(::dlopen(TWINLINK_TUNER_PLUGIN, RTLD_NOW | RTLD_LOCAL)) {
    const std::string file = ::testing::TempDir() + "twinlink-tuner.csv";
    std::ofstream(file) << kFile << "a fault\n";
    ::setenv("NCCL_TUNER_CONFIG_FILE", file.c_str(), 1);
    table_.fill(10.0F);
  }
  template <class Interface>
  const Interface& interface(const char* name) {
    EXPECT_NE(library_, nullptr);
    const void* const found = ::dlsym(library_, name);
    EXPECT_NE(found, nullptr) << name;
    return *static_cast<const Interface*>(found);
  }
  float** table() { return reinterpret_cast<float**>(table_.data()); }
  [[nodiscard]] float cost(int algorithm, int format) const {
    return table_[static_cast<std::size_t>(algorithm * kFormats + format)];
  }

  void* library_;
  Table table_{};
  void* context_ = nullptr;
  int channels_ = 0;
};

TEST_F(TunerPlugin, MakesTheRulesChoiceTheCheapest) {
  const auto& tuner = interface<Interface4>("ncclTunerPlugin_v4");
  ASSERT_EQ(tuner.init(8, 1, &hear, &context_), 0);
  EXPECT_THAT(said,
              ElementsAre(HasSubstr("line 6: 1 columns, of 8 to 10"), HasSubstr("2 rules for 8 ranks on 1 nodes")));
  ASSERT_EQ(tuner.get(context_, kAllReduce, 1500, 1, table(), kAlgorithms, kFormats, 0, &channels_), 0);
  EXPECT_EQ(cost(0, 1), 0.0F);
  EXPECT_EQ(channels_, 4);
  EXPECT_EQ(std::ranges::count(table_, 10.0F), 20);
  EXPECT_THAT(said.back(), HasSubstr("line 3 is taken, for 1500 bytes"));
  const std::size_t lines = said.size();
  ASSERT_EQ(tuner.get(context_, kAllReduce, 1600, 1, table(), kAlgorithms, kFormats, 0, &channels_), 0);
  EXPECT_EQ(said.size(), lines) << "once for each rule";
  EXPECT_EQ(tuner.destroy(context_), 0);
}

TEST_F(TunerPlugin, LeavesOffWhatNcclHasSwitchedOff) {
  const auto& tuner = interface<Interface3>("ncclTunerPlugin_v3");
  ASSERT_EQ(tuner.init(8, 1, &hear, &context_), 0);
  table_.fill(-1.0F);
  ASSERT_EQ(tuner.get(context_, kBroadcast, 100, 1, table(), kAlgorithms, kFormats, &channels_), 0);
  EXPECT_EQ(std::ranges::count(table_, -1.0F), 21);
  EXPECT_EQ(channels_, 0);
  EXPECT_THAT(said.back(), HasSubstr("line 4 is off here"));
  table_.fill(10.0F);
  ASSERT_EQ(tuner.get(context_, kAllReduce, 1500, 1, table(), 0, 0, &channels_), 0);
  EXPECT_EQ(std::ranges::count(table_, 10.0F), 21) << "a table without such a row";
  EXPECT_EQ(tuner.destroy(context_), 0);
}

TEST_F(TunerPlugin, WithoutAFileNcclChooses) {
  ::setenv("NCCL_TUNER_CONFIG_FILE", "/nowhere/tuner.csv", 1);
  const auto& tuner = interface<Interface5>("ncclTunerPlugin_v5");
  ASSERT_EQ(tuner.init(&context_, 1, 8, 1, &hear, nullptr, nullptr), 0);
  EXPECT_THAT(said.back(), HasSubstr("cannot read /nowhere/tuner.csv"));
  ASSERT_EQ(tuner.get(context_, kAllReduce, 1500, 1, table(), kAlgorithms, kFormats, 0, &channels_), 0);
  EXPECT_EQ(std::ranges::count(table_, 10.0F), 21);
  EXPECT_EQ(tuner.finalize(context_), 0);
}

}  // namespace
}  // namespace twinlink::tuner
