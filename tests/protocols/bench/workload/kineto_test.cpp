// Profiles of PyTorch: what is taken over, and what is wrong with a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "protocols/bench/results/files.hpp"
#include "protocols/bench/workload/recorded/kineto_file.hpp"
#include "protocols/core/errors.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::bench {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using workloads::goal::RankRecording;

const std::filesystem::path kFolder = std::filesystem::path(TWINLINK_SOURCE_DIR) / "tests/data/kineto";

TEST(Kineto, CollectivesSizesAndTimesAreTakenOver) {
  // In any order of the files.
  const Profiles profiles = read_profiles({kFolder / "rank1.json", kFolder / "rank0.json"});
  ASSERT_EQ(profiles.ranks.size(), 2U);
  EXPECT_THAT(profiles.notes, ElementsAre(HasSubstr("2 ranks, 6 collectives and messages, 6 kernels and copies")));
  for (int r = 0; r < 2; ++r) {
    const RankRecording& rank = profiles.ranks[static_cast<std::size_t>(r)];
    EXPECT_THAT(rank.file, HasSubstr("rank" + std::to_string(r)));
    ASSERT_EQ(rank.collectives.size(), 3U);
    EXPECT_EQ(rank.collectives[0].what, "all-reduce");
    EXPECT_EQ(rank.collectives[0].bytes, 262144U * 4);
    EXPECT_THAT(rank.collectives[0].ranks, ElementsAre(0, 1));
    EXPECT_EQ(rank.collectives[0].when.begin, 100'000) << "ns behind the rank's first kernel";
    EXPECT_EQ(rank.collectives[0].when.end, 300'000);
    EXPECT_EQ(rank.collectives[0].stream, 20);
    EXPECT_EQ(rank.collectives[1].what, "reduce-scatter") << "as the call says that has launched it";
    EXPECT_EQ(rank.collectives[1].bytes, 131072U * 2);
    EXPECT_EQ(rank.collectives[2].what, r == 0 ? "send" : "recv");
    EXPECT_EQ(rank.collectives[2].bytes, 2000U);
    EXPECT_THAT(rank.collectives[2].ranks, ElementsAre(1 - r));
    ASSERT_EQ(rank.kernels.size(), 3U) << "kernels and a copy";
    EXPECT_EQ(rank.kernels[2].when.end, 440'000);
  }
}

/// A profile of rank 0 of two with one collective, changed.
std::string with(const std::function<void(json& profile, json& args)>& change) {
  json profile = read_json_file(kFolder / "rank0.json");
  json events = json::array();
  for (const json& event : profile["traceEvents"]) {
    if (event.value("name", "").starts_with("ncclDevKernel_AllReduce")) events.push_back(event);
  }
  profile["traceEvents"] = events;
  change(profile, profile["traceEvents"][0]["args"]);
  const std::string file = ::testing::TempDir() + "twinlink-kineto.json";
  std::ofstream(file) << profile.dump();
  return file;
}
std::string refused(const std::vector<std::filesystem::path>& files) {
  return said_by<InputError>([&] { read_profiles(files); });
}
std::string refused_with(const std::function<void(json& profile, json& args)>& change) {
  return refused({with(change)});
}

RankRecording taken(const std::function<void(json& args)>& change) {
  return read_profiles({with([&](json&, json& args) { change(args); })}).ranks.at(0);
}

TEST(Kineto, SizesAreThoseOfTheWholeCollective) {
  const auto bytes = [](const char* name, int in, int out, const char* type = "Float") {
    const RankRecording rank = taken([&](json& args) {
      args["Collective name"] = name;
      args["In msg nelems"] = in;
      args["Out msg nelems"] = out;
      args["dtype"] = type;
    });
    return rank.collectives.at(0).bytes;
  };
  EXPECT_EQ(bytes("allreduce_coalesced", 10, 10), 40U);
  EXPECT_EQ(bytes("_allgather_base", 10, 20), 80U) << "of both ranks";
  EXPECT_EQ(bytes("allgather_into_tensor_coalesced", 10, 20, "Half"), 40U);
  EXPECT_EQ(bytes("reduce_scatter_tensor_coalesced", 20, 10, "Float8_e4m3fn"), 20U);
  EXPECT_EQ(bytes("_reduce_oop", 10, 10, "Double"), 80U);
  EXPECT_EQ(bytes("broadcast", 10, 10, "Bool"), 10U);
  EXPECT_EQ(bytes("all_to_all", 20, 20, "Long"), 160U);
  EXPECT_EQ(bytes("gather", 10, 20), 80U);
  EXPECT_EQ(bytes("scatter", 20, 10), 80U);
  EXPECT_EQ(bytes("barrier", 1, 1), 8U) << "an all-reduce of one element";
}

/// A call of the host, by `correlation` with what it launched.
json call(const char* name, double at, double duration, int correlation, int thread = 1) {
  return {{"ph", "X"},
          {"cat", "cuda_runtime"},
          {"name", name},
          {"ts", at},
          {"dur", duration},
          {"tid", thread},
          {"args", {{"correlation", correlation}}}};
}

TEST(Kineto, CallsSayWhenThingsWereLaunchedAndWhatTheHostWaitsFor) {
  const std::string file = with([](json& profile, json& args) {
    json& events = profile["traceEvents"];
    const double at = events[0]["ts"].get<double>();
    args["correlation"] = 7;
    json kernel = {{"ph", "X"},      {"cat", "kernel"}, {"name", "k"},
                   {"ts", at + 500}, {"dur", 9},        {"args", {{"stream", 3}, {"correlation", 8}}}};
    events.push_back(kernel);
    events.push_back(call("cudaLaunchKernel", at - 20, 5, 7));
    events.push_back(call("cudaStreamWaitEvent", at - 10, 1, 100));
    events.push_back(call("cudaStreamWaitEvent", at - 9, 1, 101, 2));  // of another thread
    events.push_back(call("cudaLaunchKernel", at - 5, 5, 8));
    events.push_back(call("cudaDeviceSynchronize", at + 1, 600, 102));
    events.push_back(call("cudaEventSynchronize", at - 21, 300, 103, 3));  // while the first thread launches
  });
  const RankRecording rank = read_profiles({file}).ranks.at(0);
  EXPECT_EQ(rank.collectives.at(0).launched, 1'000);
  EXPECT_EQ(rank.collectives.at(0).when.begin, 21'000);
  ASSERT_EQ(rank.kernels.size(), 1U);
  EXPECT_EQ(rank.kernels[0].launched, 16'000);
  EXPECT_EQ(rank.kernels[0].event_waits, 1);
  EXPECT_EQ(rank.kernels[0].stream, 3);
  ASSERT_EQ(rank.waits.size(), 1U);
  EXPECT_EQ(rank.waits[0].begin, 22'000);
  EXPECT_EQ(rank.waits[0].end, 622'000);
}

TEST(Kineto, KernelsOfRcclAreCollectivesToo) {
  const std::string file = with([](json& profile, json& args) {
    profile["traceEvents"][0]["name"] = "void rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)";
    args["Collective name"] = "_allgather_base";
    args["In msg nelems"] = 10;
    args["Out msg nelems"] = 20;
  });
  const RankRecording rank = read_profiles({file}).ranks.at(0);
  EXPECT_EQ(rank.collectives.at(0).what, "all-gather");
  EXPECT_EQ(rank.collectives.at(0).bytes, 80U);
  EXPECT_THAT(rank.kernels, ::testing::IsEmpty());
}

/// A batch says that messages went, and nothing else of them.
TEST(Kineto, BatchesOfMessagesAreRefusedWithWhatToDo) {
  const std::string why = refused_with([](json&, json& args) { args["Collective name"] = "coalesced"; });
  EXPECT_THAT(why, HasSubstr("'coalesced' is a batch of messages (batch_isend_irecv)"));
  EXPECT_THAT(why, HasSubstr("Profile with isend and irecv outside of a batch"));
}

TEST(Kineto, UnequalBlocksAreRows) {
  const RankRecording rank = taken([](json& args) {
    args["Collective name"] = "all_to_allv";
    args["In msg nelems"] = 40;
    args["Out msg nelems"] = 60;
    args["In split size"] = "[1, 3]";
    args["Out split size"] = json::array({2, 4});
  });
  EXPECT_THAT(rank.collectives.at(0).to, ElementsAre(40U, 120U));
  EXPECT_THAT(rank.collectives.at(0).from, ElementsAre(80U, 160U));
  const auto why = [](const char* in, int elements) {
    return refused_with([&](json&, json& args) {
      args["Collective name"] = "all_to_allv";
      args["In msg nelems"] = elements;
      args["In split size"] = in;
      args["Out split size"] = "[1, 1]";
    });
  };
  EXPECT_THAT(why("[1, 3]", 41), HasSubstr("blocks that do not make up its 41 elements"));
  EXPECT_THAT(why("[1, 3, 4]", 40), HasSubstr("does not say all of its blocks"));
  EXPECT_THAT(why("[1, ..., 4]", 40), HasSubstr("does not say all of its blocks"));
}

TEST(Kineto, LongGroupsAreLookedUp) {
  const auto cut = [](json& args) { args["Process Group Ranks"] = "[0, ..., 1]"; };
  EXPECT_THAT(taken(cut).collectives.at(0).ranks, ElementsAre(0, 1));
  EXPECT_THAT(refused_with([&](json& profile, json& args) {
                cut(args);
                profile["distributedInfo"].erase("pg_config");
              }),
              HasSubstr("which 2 ranks are of the process group '0' is said nowhere"));
}

TEST(Kineto, WhatIsWrongIsNamed) {
  const std::filesystem::path rank0 = kFolder / "rank0.json";
  EXPECT_THAT(refused({rank0, rank0}), HasSubstr("it is of rank 0, and so is"));
  EXPECT_THAT(refused({kFolder / "rank1.json"}), HasSubstr("it is of rank 1, and rank 0 has no file"));
  EXPECT_THAT(refused({"nowhere.json"}), HasSubstr("nowhere.json: error: cannot be read"));
  EXPECT_THAT(refused_with([](json& profile, json&) { profile = json::array(); }), HasSubstr("no list 'traceEvents'"));
  EXPECT_THAT(refused_with([](json& profile, json&) { profile["traceEvents"] = 7; }),
              HasSubstr("no list 'traceEvents'"));
  EXPECT_THAT(refused_with([](json& profile, json&) {
                profile["traceEvents"] = json::array({1, "x"});
              }),
              HasSubstr("no collective of NCCL"));
  EXPECT_THAT(refused_with([](json& profile, json&) { profile.erase("distributedInfo"); }), HasSubstr("no 'rank'"));
  EXPECT_THAT(refused_with([](json& profile, json&) { profile["traceEvents"][0].erase("dur"); }),
              AllOf(HasSubstr("ncclDevKernel_AllReduce"), HasSubstr("no number 'dur'")));
  for (const auto& [us, taken] : {std::pair{-1.0, false}, {0.0, true}, {1e12, true}, {1.1e12, false}}) {
    EXPECT_THAT(refused_with([&](json& profile, json&) { profile["traceEvents"][0]["dur"] = us; }),
                HasSubstr(taken ? "nothing was refused" : "out of range"));
  }
  EXPECT_THAT(refused_with([](json& profile, json&) { profile["traceEvents"][0]["cat"] = 5; }),
              HasSubstr("no profile of PyTorch"));
  EXPECT_THAT(refused_with([](json&, json& args) { args = json::object(); }), HasSubstr("no 'Collective name'"));
  EXPECT_THAT(refused_with([](json&, json& args) { args["Collective name"] = "unheard"; }),
              HasSubstr("'unheard' is no collective that is known"));
  EXPECT_THAT(refused_with([](json&, json& args) { args["dtype"] = "Complex"; }), HasSubstr("no type that is known"));
  EXPECT_THAT(refused_with([](json&, json& args) { args["In msg nelems"] = -4; }), HasSubstr("no 'In msg nelems'"));
  EXPECT_THAT(refused_with([](json&, json& args) { args["Process Group Ranks"] = "[0, 0]"; }),
              HasSubstr("a rank twice"));
  EXPECT_THAT(refused_with([](json&, json& args) { args["Collective name"] = "send"; }), HasSubstr("no 'Dst Rank'"));
  EXPECT_THAT(refused_with([](json&, json& args) {
                args["Collective name"] = "send";
                args["Dst Rank"] = 4294967297;
              }),
              HasSubstr("no so many ranks"));
  EXPECT_THAT(refused_with([](json&, json& args) {
                args["Group size"] = 1;
                args["Process Group Ranks"] = "[0]";
              }),
              HasSubstr("no collective of NCCL"));
  const std::string broken = ::testing::TempDir() + "twinlink-broken.json";
  std::ofstream(broken) << R"({"traceEvents": [)";
  EXPECT_THAT(refused({broken}), HasSubstr("not JSON"));
  std::ofstream(broken) << R"({"traceEvents": )" << std::string(100'000, '[');
  EXPECT_THAT(refused({broken}), HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace twinlink::bench
