// What NCCL's recorders write: what is taken over, and what is wrong with a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "protocols/bench/workload/recorded/nccl_records.hpp"
#include "protocols/bench/workload/recorded/recorded_files.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/workloads/goal/recording.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::bench {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using workloads::goal::RankRecording;

std::string header(const std::string& id, int rank, int ranks, const std::string& host = "a",
                   const std::string& version = "v4.0") {
  return fmt::format(
      R"("header":{{"id":"{}","rank":{},"n_ranks":{},"nnodes":1}},"metadata":{{"inspector_output_format_version":"{}",)"
      R"("git_rev":"","rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":1,"hostname":"{}","pid":{}}})",
      id, rank, ranks, version, host, 100 + rank);
}
/// As Inspector writes it; with times where `begin` is one, us.
std::string collective(const std::string& what, int number, int bytes, int begin = -1, int end = 0) {
  std::string text =
      fmt::format(R"("coll_perf":{{"coll":"{}","coll_sn":{},"coll_msg_size_bytes":{},"coll_exec_time_us":5,)"
                  R"("coll_timing_source":"kernel_gpu","coll_algobw_gbs":1.0,"coll_busbw_gbs":1.0)",
                  what, number, bytes);
  if (begin >= 0) {
    text += fmt::format(
        R"(,"event_trace_ts":{{"coll_start_ts":1,"coll_stop_ts":2,"kernel_events":[{{"channel_id":0,)"
        R"("kernel_start_ts":{},"kernel_stop_ts":{},"kernel_record_ts":{}}},{{"channel_id":1,"kernel_start_ts":0,)"
        R"("kernel_stop_ts":0,"kernel_record_ts":0}}]}})",
        begin, end, end);
  }
  return text + "}";
}
std::string message(const std::string& what, int number, int peer, int bytes) {
  return fmt::format(
      R"("p2p_perf":{{"p2p":"{}","p2p_sn":{},"p2p_peer":{},"p2p_msg_size_bytes":{},"p2p_exec_time_us":5}})", what,
      number, peer, bytes);
}
std::string line(const std::string& head, const std::string& body) { return "{" + head + "," + body + "}\n"; }

class NcclRecords : public ::testing::Test {
 protected:
  NcclRecords() : folder_(fs::path(::testing::TempDir()) / ("twinlink-records-" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~NcclRecords() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  [[nodiscard]] Profiles read() const { return read_recorded({folder_}).profiles; }
  [[nodiscard]] std::string job() const { return workloads::goal::goal_text(read().ranks, {}); }
  [[nodiscard]] std::string refusal() const {
    return said_by<InputError>([&] { static_cast<void>(read()); });
  }

  fs::path folder_;
};

TEST_F(NcclRecords, ANamelessOrderIsThatOfTheCommunicatorThatHasAll) {
  // The files' names, and hosts, say another order.
  write("1.log", line(header("0x1", 1, 2, "a"), collective("ReduceScatter", 0, 1000)));
  write("2.log", line(header("0x1", 0, 2, "b"), collective("ReduceScatter", 0, 1000)) +
                     line(header("0x2", 0, 1, "b"), collective("AllReduce", 0, 5)));
  const Profiles profiles = read();
  ASSERT_EQ(profiles.ranks.size(), 2U);
  EXPECT_THAT(profiles.ranks[0].file, HasSubstr("2.log"));
  ASSERT_EQ(profiles.ranks[0].collectives.size(), 1U) << "a group of one has nothing to say";
  EXPECT_EQ(profiles.ranks[0].collectives[0].what, "reduce-scatter");
  EXPECT_EQ(profiles.ranks[0].collectives[0].bytes, 2000U) << "all that is reduced: NCCL counts what one has of it";
  EXPECT_THAT(profiles.ranks[0].collectives[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(profiles.notes, ElementsAre(HasSubstr("2 ranks, 2 collectives and messages of 1 communicators"),
                                          HasSubstr("the files do not say when")));
}

TEST_F(NcclRecords, MarkersSayWhoseTheLinesBehindThemAre) {
  for (const int rank : {0, 1}) {
    write(std::to_string(rank),
          line(header("0x1", rank, 2, "a", "v4.3"), R"("dump_stats":{"coll_records":2,"coll_dropped_total":0})") + "{" +
              collective("AllReduce", 0, 64) + "}\n{\"proxy_trace\":{}}\n{" +
              message(rank == 0 ? "Send" : "Recv", 0, 1 - rank, 10) + "}\n");
  }
  EXPECT_EQ(job(),
            "num_ranks 2\ngroup 0 { 0-1 }\n"
            "\nrank 0 {\n  t1: all_reduce 64b in 0\n  t2: send 10b to 1 tag 0\n}\n"
            "\nrank 1 {\n  t1: all_reduce 64b in 0\n  t2: recv 10b from 0 tag 0\n}\n");
}

TEST_F(NcclRecords, WhatPassesBetweenIsComputing) {
  // The clocks of the two are an hour apart. The second ends its lines in another order.
  const auto times = [](const std::string& head, int clock) {
    return std::vector{line(head, collective("AllReduce", 0, 64, clock + 10, clock + 20)),
                       line(head, collective("AllReduce", 1, 32, clock + 45, clock + 50)),
                       line(head, collective("AllGather", 0, 16, clock + 47, clock + 60))};
  };
  const auto first = times(header("0x1", 0, 2), 0);
  const auto second = times(header("0x1", 1, 2), 1'000'000'000);
  write("0", first[0] + first[1] + first[2]);
  write("1", second[2] + second[0] + second[1]);
  constexpr const char* kTasks =
      "  t1: all_reduce 64b in 0\n"
      "  t2: calc 25000 cpu 1\n"
      "  t2 requires t1\n"
      "  t3: all_reduce 32b in 0\n"
      "  t3 requires t2\n"
      "  t4: calc 27000 cpu 2\n"
      "  t4 requires t1\n"
      "  t5: all_gather 32b in 0\n"
      "  t5 requires t4\n"
      "}\n";
  EXPECT_EQ(job(), std::string("num_ranks 2\ngroup 0 { 0-1 }\n\nrank 0 {\n") + kTasks + "\nrank 1 {\n" + kTasks);
}

TEST_F(NcclRecords, EndsWhereTheShortestEnds) {
  const auto lines = [](int rank, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text += line(header("0x1", rank, 2), collective("AllReduce", i, 64)) +
              line(header("0x1", rank, 2), message(rank == 0 ? "Send" : "Recv", i, 1 - rank, 10 + i));
    }
    return text;
  };
  write("0", lines(0, 3));
  write("1", lines(1, 2) + R"({"header":{"id":"0x1","ra)");
  const Profiles profiles = read();
  for (const RankRecording& rank : profiles.ranks) EXPECT_EQ(rank.collectives.size(), 4U);
  EXPECT_THAT(profiles.notes, Contains(HasSubstr("1: its last line is cut short")));
  EXPECT_THAT(profiles.notes, Contains("2 calls that not all ranks have are left out"));
}

/// Of an all-to-all the block that stays: no kernel moves it, and the host's times say nothing of it.
TEST_F(NcclRecords, WhatARankSendsToItselfIsLeftOut) {
  const auto timed = [](const std::string& what, int number, int peer, const std::string& source, int begin) {
    return fmt::format(
        R"("p2p_perf":{{"p2p":"{}","p2p_sn":{},"p2p_peer":{},"p2p_msg_size_bytes":64,"p2p_exec_time_us":1,)"
        R"("p2p_timing_source":"{}","p2p_call_ns":{},"p2p_begin_ns":{},"p2p_end_ns":{}}})",
        what, number, peer, source, begin, begin, begin + 1000);
  };
  for (int rank = 0; rank < 2; ++rank) {
    const std::string head = header("0x1", rank, 2);
    const std::string gpu = "kernel_gpu";
    const std::string host = "collective_cpu";
    write(fmt::format("gpu{}.jsonl", rank),
          line(head, timed("Send", 0, rank, host, 5000)) + line(head, timed("Recv", 1, rank, host, 5000)) +
              line(head, timed("Send", 2, 1 - rank, gpu, 7000)) + line(head, timed("Recv", 3, 1 - rank, gpu, 7000)));
  }
  const Profiles profiles = read();
  EXPECT_THAT(profiles.notes, Contains("4 ends of messages of ranks to themselves are left out"));
  EXPECT_THAT(profiles.notes, Not(Contains(HasSubstr("the host's times"))));
  EXPECT_EQ(profiles.ranks[0].collectives.size(), 2U);
}

TEST_F(NcclRecords, TwoCommunicatorsAreNumberedByHosts) {
  for (const int rank : {0, 1}) {
    for (const std::string host : {"a", "b"}) {
      write(host + std::to_string(rank), line(header(host, rank, 2, host), collective("Broadcast", 0, 8)));
    }
  }
  const Profiles profiles = read();
  ASSERT_EQ(profiles.ranks.size(), 4U);
  EXPECT_THAT(profiles.ranks[2].collectives.at(0).ranks, ElementsAre(2, 3));
  EXPECT_THAT(profiles.notes, Contains(HasSubstr("numbered by host and process")));
}

TEST_F(NcclRecords, AProcessMayHaveAllRanksOfACommunicator) {
  write("0", line(header("0x1", 0, 2), collective("AllReduce", 0, 8)) +
                 line(header("0x1", 1, 2), collective("AllReduce", 0, 8)));
  EXPECT_EQ(read().ranks.size(), 2U);
  write("1", line(header("0x1", 0, 2), collective("AllReduce", 1, 8)));
  EXPECT_THAT(refusal(), HasSubstr("rank 0 of communicator 0x1 is also in"));
  write("1", line(header("0x2", 0, 2), collective("AllReduce", 0, 8)) +
                 line(header("0x2", 1, 2), collective("AllReduce", 0, 8)) +
                 line(header("0x3", 0, 2), collective("AllReduce", 0, 8)));
  EXPECT_THAT(refusal(), HasSubstr("which of them are of one GPU is said nowhere"));
}

TEST_F(NcclRecords, WhatIsWrongIsSaid) {
  const std::string head = header("0x1", 0, 2);
  const std::string good = line(head, collective("AllReduce", 0, 8));
  const auto refused = [&](const std::string& text) {
    write("0", text);
    return refusal();
  };
  EXPECT_THAT(refused(good), HasSubstr("communicator 0x1 has 2 ranks, and nothing is there of its rank 1"));
  EXPECT_THAT(refused(good + "{\n" + good), HasSubstr("0:2: error: not JSON"));
  EXPECT_THAT(refused(line(header("0x1", 0, 2, "a", "v5.0"), collective("AllReduce", 0, 8))),
              HasSubstr("dumps of format v5.0 are not known here"));
  EXPECT_THAT(refused(line(header("0x1", 2, 2), collective("AllReduce", 0, 8))), HasSubstr("rank 2 of 2"));
  EXPECT_THAT(refused(line(head, collective("AllShuffle", 0, 8))), HasSubstr("'AllShuffle' is no collective"));
  EXPECT_THAT(refused(line(head, message("Send", 0, 7, 8))), HasSubstr("there is no rank 7"));
  EXPECT_THAT(refused(line(head, collective("AllReduce", 0, 8, 20, 10))), HasSubstr("ends before it begins"));
  EXPECT_THAT(refused(line(head, R"("coll_perf":{"coll":"AllReduce"})")), HasSubstr("coll_msg_size_bytes"));
  EXPECT_THAT(refused(line(head, R"("coll_perf":{"coll":3})")), HasSubstr("0:1: error: "));
  EXPECT_THAT(refused(good + line(header("0x1", 0, 3), collective("AllReduce", 0, 8))),
              HasSubstr("communicator 0x1 has 3 ranks, and elsewhere 2"));
  EXPECT_THAT(refused(line(header("0x1", 0, 1), collective("AllReduce", 0, 8))),
              HasSubstr("no call of NCCL that several ranks have"));
  write("1", line(header("0x1", 1, 2), R"("dump_stats":{"p2p_dropped_since_last_dump":3})"));
  EXPECT_THAT(refused(good), HasSubstr("3 messages of communicator 0x1 were lost"));
  write("1", "{}");
  EXPECT_THAT(refused(good), HasSubstr("profiles of PyTorch, and"));
}

}  // namespace
}  // namespace twinlink::bench
