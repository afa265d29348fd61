// Options that change nothing are said, and those of which it is said change nothing: every option with every command.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protocols/bench/results/files.hpp"
#include "tests/model/cli/sim_program.hpp"

namespace twinlink::model {
namespace {

struct Said {
  int code = 0;
  std::string notes{};
  nlohmann::json result{};  ///< what came out, without what was asked
};

/// What a result repeats of the command line, which names parts by the node that a fault sets apart, and what first
/// messages take, for more buffers are made ready for them and counted.
const std::set<std::string> kAsked{"command",
                                   "environment",
                                   "settings",
                                   "options",
                                   "chunk_bytes",
                                   "depth",
                                   "buffers",
                                   "preset",
                                   "path",
                                   "route",
                                   "path_taken",
                                   "protocols",
                                   "window",
                                   "within_node",
                                   "places",
                                   "protocol_between_nodes",
                                   "notes",
                                   "label",
                                   "n",
                                   "cold_us",
                                   "counters",
                                   "intra_node",
                                   "protocol_between_domains"};

void strip(nlohmann::json& value) {
  if (value.is_object()) {
    for (const std::string& name : kAsked) value.erase(name);
  }
  if (!value.is_structured()) return;
  for (auto& item : value) strip(item);
}

/// Sums of the same numbers in another order are the same.
bool same(const nlohmann::json& a, const nlohmann::json& b) {
  if (a.is_number_float() && b.is_number()) {
    const double x = a.get<double>();
    return std::abs(x - b.get<double>()) <= 1e-9 * std::abs(x);
  }
  if (!a.is_structured() || a.type() != b.type() || a.size() != b.size()) return a == b;
  if (a.is_array()) return std::equal(a.begin(), a.end(), b.begin(), same);
  return std::ranges::all_of(
      a.items(), [&](const auto& item) { return b.contains(item.key()) && same(item.value(), b.at(item.key())); });
}

Said run_apart(const std::string& arguments) {
  const std::string file = ::testing::TempDir() + "twinlink-idle.json";
  const Ended ended = run(arguments + " --json '" + file + "'");
  Said said{.code = ended.code, .notes = ended.text};
  if (said.code != 0) return said;
  said.result = bench::read_json_file(file);
  std::filesystem::remove(file);
  strip(said.result);
  return said;
}

/// What has no effect on simulated times by what it is, as its help says.
constexpr const char* kOptions[] = {"--intra-node smcuda",
                                    "--intra-node loopback",
                                    "--smp-copy-size 8K",
                                    "--depth 4",
                                    "--chunk 16K",
                                    "--chunk 16K --depth 4",
                                    "--buffers 3",
                                    "--window 4",
                                    "--pack kernel",
                                    "--place spread",
                                    "--between-nodes gpudirect-v3",
                                    "--between-domains gpudirect-v3",
                                    "--degrade 1/hca0=50%",
                                    "--without p2p",
                                    "--without rdma",
                                    "--between-nodes gpudirect-v1",
                                    "--between-nodes gpudirect-v1 --between-option buffers=own",
                                    "--experts 16",
                                    "--top 2",
                                    "--seed 3",
                                    "--skew 1",
                                    "--shares machine",
                                    "--graph 2",
                                    "--on cpu",
                                    "--layers 2",
                                    "--prefill 1"};

class IdleOptions : public ::testing::TestWithParam<std::string> {};

TEST_P(IdleOptions, AreSaidAndNoOthers) {
  const Said plain = run_apart(GetParam());
  ASSERT_EQ(plain.code, 0) << plain.notes;
  int tried = 0;
  for (const std::string option : kOptions) {
    const Said with = run_apart(GetParam() + " " + option);
    if (with.code != 0) continue;  // refused, or not of this command
    ++tried;
    const std::string name = option.substr(0, option.find(' '));
    bool told = false;
    for (const char* words : {" has no effect", " have no effect", " makes no difference"}) {
      for (std::size_t at = with.notes.find(words); at != std::string::npos; at = with.notes.find(words, at + 1)) {
        const std::size_t line = with.notes.rfind('\n', at) + 1;
        told = told || with.notes.substr(line, at - line).find(name) != std::string::npos;
      }
    }
    EXPECT_EQ(told, same(with.result, plain.result)) << option << "\n" << with.notes;
  }
  EXPECT_GE(tried, 4);
}

TEST(IdleOptionsOfSomePairs, AreSaid) {
  const std::string halo = "workload halo-2d --platform keeneland-kfs --ranks 6 -b 1M -e 1M -p gpudirect-v1 ";
  const std::string between = "gpudirect-v1 between the other ranks has options of its own, --between-option";
  for (const auto& [option, said] : {std::pair{"--chunk 64K", "--chunk is of -p only: "},
                                     {"--preset mvapich2-1.8 --depth 4", "--preset and --depth are of -p only: "},
                                     {"-o buffers=shared", "-o is of -p only: "}}) {
    EXPECT_NE(run(halo + "--between-nodes gpudirect-v1 " + option).text.find(said + between), std::string::npos)
        << option;
  }
  EXPECT_EQ(run(halo + "--chunk 64K").text.find("of -p only"), std::string::npos);
}

// Each command, each kind of way and each that has options of its own for every check; all of them now and then.
INSTANTIATE_TEST_SUITE_P(
    Few, IdleOptions,
    ::testing::Values("run --platform keeneland-kids --from 0/1 --to 0/2 -b 64K -e 64K -p host",
                      "run --platform keeneland-kids --from 0/1 --to 0/2 -b 64K -e 64K -p gpudirect-v1",
                      "run --platform keeneland-kids --from 0/1 --to 0/2 -b 64K -e 64K -p gpudirect-v2",
                      "run --platform keeneland-kids --from 0/1 --to 0/2 -b 64K -e 64K -p cuda-aware",
                      "run --platform keeneland-kids --from 0/1 --to 0/2 -b 64K -e 64K -p symmetric-put",
                      "run --platform dgx-a100 --from 0/0 --to 1/0 -b 64K -e 64K -p gpudirect-v3",
                      "explain --platform keeneland-kids --from 0/1 --to 0/2 -s 64K -p gpudirect-v2",
                      "workload shift --platform keeneland-kids --ranks 2 -b 64K -e 64K -p gpudirect-v1",
                      "workload shift --platform gb200-nvl72 --ranks 8 -b 64K -e 64K -p gpudirect-v2"));
INSTANTIATE_TEST_SUITE_P(
    Others, IdleOptions,
    ::testing::Values(
        "run --platform keeneland-kids --from 0/1 --to 0/2 -b 64K -e 64K -p staging",
        "run --platform keeneland-kids --from 0/1 --to 0/2 -b 64K -e 64K -p cuda-ipc",
        "run --platform keeneland-kids --from 0/1 --to 0/2 -b 64K -e 64K -p cuda-ipc -o cache=2",
        "run --platform dgx-a100 --from 0/0 --to 1/0 -b 64K -e 64K -p host",
        "run --platform dgx-a100 --from 0/0 --to 1/0 -b 64K -e 64K -p gpudirect-v1",
        "run --platform dgx-a100 --from 0/0 --to 1/0 -b 64K -e 64K -p staging --pattern bandwidth",
        "run --platform dgx-a100 --from 0/0 --to 1/0 -b 64K -e 64K -p cuda-aware",
        "explain --platform keeneland-kids --from 0/1 --to 0/2 -s 64K -p host",
        "explain --platform dgx-a100 --from 0/0 --to 1/0 -s 64K -p gpudirect-v1",
        "explain --platform dgx-a100 --from 0/0 --to 1/0 -s 64K -p gpudirect-v3",
        "workload shift --platform h200-nvlink -b 64K -e 64K -p gpudirect-v2",
        "workload shift --platform dgx-a100 --ranks 4 -b 64K -e 64K -p gpudirect-v2",
        "workload shift --platform dgx-a100 --ranks 4 -b 64K -e 64K -p gpudirect-v1",
        "run --platform keeneland-kids --from 0/1 --to 0/2 -b 256K -e 256K -p gpudirect-v1 -o buffers=shared",
        "run --platform keeneland-kids --pairs 0/0-0/1,0/2-1/0 -b 256K -e 256K -p gpudirect-v1",
        "run --platform keeneland-kids --set nodes.count=4 --all-pairs -b 256K -e 256K -p gpudirect-v1",
        "workload shift --platform keeneland-kids --ranks 2 -b 256K -e 256K -p host",
        "workload shift --platform keeneland-kfs --place spread --ranks 3 -b 1M -e 1M -p gpudirect-v1 "
        "--between-nodes gpudirect-v1",
        "workload barrier --platform dgx-a100 --ranks 4 -p gpudirect-v2",
        "workload dispatch --platform dgx-a100 --ranks 4 -b 1M -e 1M -p gpudirect-v2",
        "workload fft --platform dgx-a100 --ranks 4 -p gpudirect-v2 --global 64x64x32"));

}  // namespace
}  // namespace twinlink::model
