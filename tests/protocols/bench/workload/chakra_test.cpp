// Execution traces of Chakra: the job that they become, and what is wrong with a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "protocols/bench/workload/recorded/chakra_job.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/workloads/goal/job.hpp"
#include "protocols/workloads/goal/trace.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::bench::chakra {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// The wire's format by hand: the reader has another hand's.
std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7U) bytes += static_cast<char>(number % 0x80 + 0x80);
  return bytes + static_cast<char>(number);
}
std::string number(unsigned field, std::uint64_t value) { return varint(field * 8) + varint(value); }
std::string bytes(unsigned field, const std::string& value) {
  return varint(field * 8 + 2) + varint(value.size()) + value;
}
std::string message(const std::string& content) { return varint(content.size()) + content; }
std::string metadata(const std::string& version = "0.0.4") { return message(bytes(1, version)); }

std::string from_pytorch() { return message(bytes(2, bytes(1, "schema") + bytes(29, "1.1.1-chakra.0.0.4"))); }

/// Fields of AttributeProto.
constexpr unsigned kInt32 = 7;
constexpr unsigned kInt64 = 9;
constexpr unsigned kUint64 = 13;
constexpr unsigned kSint32 = 15;
constexpr unsigned kBool = 27;
std::string attribute(const std::string& name, unsigned field, std::uint64_t value) {
  return bytes(10, bytes(1, name) + number(field, value));
}
std::string group(const std::string& name) { return bytes(10, bytes(1, "pg_name") + bytes(29, name)); }

enum NodeType : unsigned { kMetadata = 1, kLoad, kStore, kCompute, kSend, kReceive, kCollective };
std::string node(std::uint64_t id, unsigned type, const std::vector<std::uint64_t>& after, const std::string& rest) {
  std::string all = number(1, id) + bytes(2, "n" + std::to_string(id)) + number(3, type);
  std::string packed;
  for (const std::uint64_t each : after) packed += varint(each);
  if (!after.empty()) all += bytes(5, packed);
  return message(all + rest);
}
std::string compute(std::uint64_t id, std::uint64_t us, const std::vector<std::uint64_t>& after = {},
                    const std::string& rest = "") {
  return node(id, kCompute, after, number(7, us) + rest);
}
std::string collective(std::uint64_t id, std::uint64_t what, std::uint64_t size,
                       const std::vector<std::uint64_t>& after = {}, const std::string& rest = "") {
  return node(id, kCollective, after,
              attribute("comm_type", kInt64, what) + attribute("comm_size", kInt64, size) + rest);
}
std::string send(std::uint64_t id, std::uint64_t to, std::uint64_t size, const std::vector<std::uint64_t>& after = {}) {
  return node(
      id, kSend, after,
      attribute("comm_dst", kInt32, to) + attribute("comm_size", kUint64, size) + attribute("comm_tag", kInt32, 7));
}
std::string receive(std::uint64_t id, std::uint64_t from, std::uint64_t size) {
  return node(id, kReceive, {},
              attribute("comm_src", kSint32, from * 2) + attribute("comm_size", kInt64, size) +
                  attribute("comm_tag", kInt32, 7));
}

class Chakra : public ::testing::Test {
 protected:
  Chakra() : folder_(fs::path(::testing::TempDir()) / ("twinlink-chakra-" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Chakra() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    files_.push_back(folder_ / name);
  }
  [[nodiscard]] ChakraJob job() const { return ChakraJob(files_); }
  [[nodiscard]] std::string text() const { return job().text({}); }
  /// Of a job of one rank that has this beside `metadata`.
  std::string refusal_of(const std::string& nodes, const std::string& begins = metadata()) {
    files_.clear();
    write("a.0.et", begins + nodes);
    return refusal();
  }
  [[nodiscard]] std::string refusal() const {
    return said_by<InputError>([&] { static_cast<void>(job()); });
  }

  fs::path folder_;
  std::vector<fs::path> files_{};
};

TEST_F(Chakra, NodesBecomeTasksInTheOrderOfTheirDependencies) {
  // Node 1 comes behind node 9 in the file, and what node 2 waits for has a higher id.
  const std::string same = compute(9, 5) + collective(1, 0, 4096, {9}, number(7, 30));
  write("a.0.et", metadata() + same + send(2, 1, 100, {9}));
  write("a.1.et", metadata("1.0.0") + same + receive(2, 0, 100));
  EXPECT_EQ(text(),
            "num_ranks 2\ngroup 0 { 0-1 }\n"
            "\nrank 0 {\n  t1: calc 5000\n  t2: all_reduce 4096b in 0\n  t2 requires t1\n"
            "  t3: send 100b to 1 tag 7\n  t3 requires t1\n}\n"
            "\nrank 1 {\n  t1: recv 100b from 0 tag 7\n  t2: calc 5000\n  t3: all_reduce 4096b in 0\n"
            "  t3 requires t2\n}\n");
  EXPECT_THAT(job().notes(), ElementsAre(HasSubstr("2 ranks, 4 collectives and messages, 2 nodes that compute"),
                                         HasSubstr("up to 1 us")));
  EXPECT_THAT(job().times(), ElementsAre("recorded: 30000 ns of all-reduce among ranks 0-1"));
}

TEST_F(Chakra, ItsLongestChainIsTheSumOfDurations) {
  // 40 us on a stream, 25 us beside it on another, and 100 us of the host behind both.
  const std::string beside = attribute("stream", kInt64, 20);
  const std::string host = attribute("is_cpu_op", kBool, 1) + attribute("tid", kInt64, 77);
  const std::string control =
      message(number(1, 4) + number(3, kCompute) + number(4, 1) + number(4, 2) + number(7, 100) + host);
  write("a.0.et", metadata() + compute(1, 40) + compute(2, 25, {}, beside) + control + compute(5, 0, {4, 1}));
  const workloads::goal::Job played(workloads::goal::read_trace(text(), "a.goal"));
  EXPECT_DOUBLE_EQ(played.longest_path().value(), 140e-6);
  EXPECT_THAT(text(), HasSubstr("calc 25000 cpu 1\n"));
  EXPECT_THAT(text(), HasSubstr("calc 100000 cpu 2\n  t3 requires t1\n  t3 requires t2\n"));
}

TEST_F(Chakra, SizesAreWhatARankGives) {
  std::string all;
  for (std::uint64_t what = 0; what < 10; ++what) {
    if (what != 4) all += collective(what + 1, what, 1000);
  }
  write("a.0.et", metadata() + all);
  write("a.1.et", metadata() + all);
  for (const std::string& line :
       std::vector<std::string>{"all_reduce 1000b", "reduce 1000b", "all_gather 2000b", "gather 2000b",
                                "broadcast 1000b", "all_to_all 1000b", "reduce_scatter 1000b", "barrier 8b"}) {
    EXPECT_THAT(text(), HasSubstr(": " + line + " in 0\n"));
  }
}

TEST_F(Chakra, GroupsAreThoseOfPyTorchOrOfAFile) {
  const std::string pytorch = R"(['[{"pg_name": "0", "ranks": []}, {"pg_name": "5", "ranks": [2, 0]}]'])";
  const std::string groups = node(1, kMetadata, {}, bytes(8, bytes(1, pytorch)));
  const auto in = [](const std::string& name) { return collective(2, 0, 64, {}, group(name)); };
  write("a.0.et", metadata() + groups + in("5"));
  write("a.1.et", metadata() + in("1"));
  write("a.2.et", metadata() + groups + in("5"));
  EXPECT_THAT(refusal(), HasSubstr("a.1.et: error: node 2 'n2': which ranks are of the group '1' is said nowhere"));
  write("groups.json", R"({"1": [1]})");
  EXPECT_THAT(text(), HasSubstr("group 0 { 0 2 }\n\nrank 0 {\n  t1: all_reduce 64b in 0\n}\n\nrank 1 {\n}\n"))
      << "a group of one has nothing to say";
  write("groups.json", R"({"1": [0, 2]})");
  files_.pop_back();
  EXPECT_THAT(refusal(), HasSubstr("rank 1 is not of its group"));
  write("groups.json", R"({"1": [1, 3]})");
  files_.pop_back();
  EXPECT_THAT(refusal(), HasSubstr("a rank without a file"));
  write("groups.json", R"([1])");
  files_.pop_back();
  EXPECT_THAT(refusal(), HasSubstr("no groups of ranks"));
}

TEST_F(Chakra, GroupsHaveOneNameAndTheSameCollectivesOnAllRanks) {
  write("groups.json", R"({"left": [0, 1], "right": [0, 1]})");
  write("a.0.et", metadata() + collective(1, 0, 64, {}, group("left")));
  write("a.1.et", metadata() + collective(1, 0, 64, {}, group("right")));
  EXPECT_THAT(refusal(), MatchesRegex(".*a.1.et: error: there are 0 collectives of the group of all-reduce.*, and in "
                                      ".*a.0.et 1, where its name is 'left'; this rank calls a group of the same ranks "
                                      "'right', and a group has one name on all of them"));
  files_.pop_back();
  write("a.1.et", metadata() + collective(1, 0, 32, {}, group("left")));
  EXPECT_THAT(refusal(), HasSubstr("a.1.et: error: the 1. collective of its group is all-reduce"));
  files_.pop_back();
  write("a.1.et", metadata() + compute(1, 5));
  EXPECT_THAT(refusal(), MatchesRegex(".*a.1.et: error: there are 0 collectives of the group of .*a.0.et 1"));
}

TEST_F(Chakra, EveryRankHasOneFileOfOneJob) {
  write("a.0.et", metadata() + collective(1, 0, 8));
  write("a.2.et", metadata() + collective(1, 0, 8));
  EXPECT_THAT(refusal(), HasSubstr("a.2.et: error: rank 1 has no file"));
  write("b.1.et", metadata());
  EXPECT_THAT(refusal(), HasSubstr("b.1.et: error: it is of another job than"));
  files_.pop_back();
  write("a.02.et", metadata());
  EXPECT_THAT(refusal(), HasSubstr("a.02.et: error: it is of the same rank as"));
  files_.pop_back();
  write("a.et", metadata());
  EXPECT_THAT(refusal(), HasSubstr("NAME.RANK.et"));
}

TEST_F(Chakra, WhatIsCutIsRefusedWhereverItIs) {
  const std::string whole = metadata() + collective(1, 0, 4096) + compute(2, 10, {1});
  int refused = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string said = refusal_of("", whole.substr(0, length));
    // Whole messages are a whole file.
    const bool at_end = length == metadata().size() || length == whole.size() - compute(2, 10, {1}).size();
    EXPECT_EQ(said == "nothing was refused", at_end) << length << ": " << said;
    if (!at_end) ++refused;
  }
  EXPECT_EQ(refused, static_cast<int>(whole.size()) - 2);
}

TEST_F(Chakra, OtherSchemasAreRefusedByName) {
  EXPECT_THAT(refusal_of("", message("")), HasSubstr("does not say its schema"));
  EXPECT_THAT(refusal_of("", metadata("0.0.3")), HasSubstr("its schema is '0.0.3'; 0.0.4 and 1.0.0 are understood"));
  EXPECT_THAT(refusal_of("", compute(1, 5)), HasSubstr("begins with a node"));
  EXPECT_EQ(refusal_of(compute(1, 5), from_pytorch()), "nothing was refused");
  EXPECT_THAT(refusal_of("", std::string(200, '{')), HasSubstr("no trace of Chakra"));
}

TEST_F(Chakra, WhatCannotBePlayedIsRefusedWithItsNode) {
  EXPECT_THAT(refusal_of(compute(1, 5) + compute(1, 6)), HasSubstr("node 1 'n1': there is another node of this id"));
  EXPECT_THAT(refusal_of(compute(1, 5, {4})), HasSubstr("node 1 'n1': it waits for node 4, which is not there"));
  EXPECT_THAT(refusal_of(compute(1, 5, {2}) + compute(2, 5, {1})), HasSubstr("node 1 'n1': it waits for itself, or"));
  EXPECT_THAT(refusal_of(compute(1, 5, {1})), HasSubstr("it waits for itself"));
  EXPECT_THAT(refusal_of(node(1, 0, {}, "")), HasSubstr("node 1 'n1': INVALID_NODE"));
  EXPECT_THAT(refusal_of(node(1, 8, {}, "")), HasSubstr("type 8, which is none of the schema's"));
  EXPECT_THAT(refusal_of(node(1, kLoad, {}, "")), HasSubstr("a node of memory without a duration"));
  EXPECT_EQ(refusal_of(node(1, kStore, {}, number(7, 3)) + compute(2, 1)), "nothing was refused");
  EXPECT_THAT(refusal_of(send(1, 1, 5)), HasSubstr("its other end is rank 1: there are files of 1 ranks"));
  EXPECT_THAT(refusal_of(node(1, kSend, {}, attribute("comm_size", kInt64, 5))), HasSubstr("it has no 'comm_dst'"));
  EXPECT_THAT(refusal_of(collective(1, 4, 5)), HasSubstr("its 'comm_type' 4 is none that is played"));
  EXPECT_THAT(refusal_of(collective(1, 10, 5)), HasSubstr("its 'comm_type' 10 is none that is played"));
  EXPECT_THAT(refusal_of(node(1, kCollective, {}, "")), HasSubstr("it has no 'comm_type'"));
  EXPECT_THAT(refusal_of(collective(1, 0, ~0ULL)), HasSubstr("'comm_size' of node 1 'n1' is no whole number"));
  const std::string dimensions = bytes(10, bytes(1, "involved_dim") + bytes(28, bytes(1, {"\1\0", 2})));
  EXPECT_THAT(refusal_of(collective(1, 0, 5, {}, dimensions)), HasSubstr("'involved_dim' leaves dimensions out"));
}

TEST_F(Chakra, ControlNamesCallersInFilesFromPyTorch) {
  // The call of a collective, by somebody who is not in the file, and by what waits for it.
  const std::string host = attribute("is_cpu_op", kBool, 1);
  const std::string nodes =
      compute(1, 5, {}, number(4, 2)) + node(2, kCollective, {1}, number(4, 77) + number(7, 9) + host);
  EXPECT_EQ(refusal_of(nodes, from_pytorch()), "nothing was refused");
  EXPECT_THAT(text(), HasSubstr("t1: calc 5000\n  t2: calc 9000 cpu 1\n  t2 requires t1\n}"));
  EXPECT_THAT(refusal_of(nodes), HasSubstr("node 2 'n2': it waits for node 77, which is not there"));
}

TEST_F(Chakra, ComputingThatSaysNoDurationIsRefused) {
  EXPECT_THAT(refusal_of(compute(1, 0) + compute(2, 0) + collective(3, 0, 8)),
              HasSubstr("none of the job's 2 computing nodes has a duration"));
  EXPECT_THAT(refusal_of(compute(1, 5) + compute(2, 0, {}, attribute("num_ops", kInt64, 500))),
              HasSubstr("node 2 'n2': it has 500 operations and no duration"));
  EXPECT_EQ(refusal_of(compute(1, 5) + compute(2, 0)), "nothing was refused") << "less than a microsecond";
}

}  // namespace
}  // namespace twinlink::bench::chakra
