// Ranks that are alike are simulated once: held against jobs in which each is, on random machines. And what is not
// alike is not taken for it.
//
// TWINLINK_JOBS=2000 tries as many, TWINLINK_SEED=7 begins elsewhere.
#include "model/study/jobs/alike.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/engine/flows/folding.hpp"
#include "model/engine/simulation.hpp"
#include "model/study/child_process.hpp"
#include "model/study/jobs/simulated_job.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/placement.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/bench/workload/turns.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/workloads/catalogue.hpp"
#include "tests/support/number_from.hpp"

namespace twinlink::model {
namespace {

using platforms::FabricRouting;
using platforms::FabricShape;

Platform machine(const std::string& name, int nodes, FabricShape shape, std::vector<int> size) {
  Platform platform = read_platform(TWINLINK_SOURCE_DIR "/platforms/" + name + ".yaml");
  platform.node.count = nodes;
  platform.fabric->shape = shape;
  platform.fabric->size = std::move(size);
  platform.fabric->radix = 0;
  platform.fabric->routing = FabricRouting::by_target;
  platform.fabric->oversubscription.clear();
  return platform;
}

SimulatedJob job_of(const std::string& workload, const std::string& algorithm, int ranks, Bytes size) {
  SimulatedJob job{.ranks = ranks, .alike_from = 2};
  job.workload.workload = workload;
  job.workload.algorithm = algorithm;
  job.workload.sweep.begin = job.workload.sweep.end = size;
  return job;
}

struct RandomJob {
  Platform platform{};
  SimulatedJob job{};
  std::string text{};
};

/// Links that have less, on a fabric that has them.
void add_fault(RandomJob& made, const std::string& cable, double share) {
  platforms::Fabric& fabric = *made.platform.fabric;
  for (const auto& fault : fabric.cables(cable, share, made.platform.most_nics())) fabric.add_fault(fault);
  made.text += " " + cable + fmt::format("={}", share);
}

/// Any; of regular jobs one of which the nodes may do the same.
std::pair<const workloads::Workload*, const workloads::Algorithm*> algorithm_of(bool regular, const auto& below) {
  static const std::set<std::string, std::less<>> kMayBeAlike{
      "all-reduce halving-doubling", "all-reduce ring",  "all-reduce hierarchical", "all-gather ring",
      "reduce-scatter ring",         "all-to-all bruck", "all-to-all pairwise",     "all-to-all direct",
      "barrier dissemination",       "shift direct",     "bisection direct",        "halo-2d direct"};
  const auto workloads = workloads::all_workloads();
  for (;;) {
    const workloads::Workload& workload = workloads[static_cast<std::size_t>(below(workloads.size()))];
    if (workload.name == "training-step") continue;
    const workloads::Algorithm& algorithm =
        workload.algorithms[static_cast<std::size_t>(below(workload.algorithms.size()))];
    if (!regular || kMayBeAlike.contains(fmt::format("{} {}", workload.name, algorithm.name))) {
      return {&workload, &algorithm};
    }
  }
}

/// One part of each node is unlike the others of its kind.
void make_uneven(RandomJob& made, const auto& below) {
  platforms::Node& node = made.platform.node;
  const auto one_of = [&](auto& parts) -> auto& { return parts[static_cast<std::size_t>(below(parts.size()))]; };
  platforms::Link& link = one_of(node.links);
  const int what = below(7);
  made.text += fmt::format(", uneven by {} of link {}", what, link.name);
  if (what == 0) link.each_write.emplace().value = Rate{3e9};
  if (what == 1) link.each_read.emplace().value = Rate{3e9};
  if (what == 2) link.latency.emplace().value = 3.0_us;
  if (what == 3) link.forward.value = link.backward.value = Rate{2e9};
  if (what == 4 && !node.nics.empty()) one_of(node.nics).gap.emplace().value = 4.0_us;
  if (what == 5 && !node.hubs.empty()) one_of(node.hubs).passing.forwards = platforms::Forwards::none;
  if (what == 6) one_of(node.memories).copy_rate.value = Rate{1e9};
}

/// A step of training instead, of few layers, by its all-reduces, with ranks of which some share tensors or are stages.
void make_training(RandomJob& made, const auto& below) {
  static const std::array<std::string, 3> kAlgorithms{"halving-doubling", "ring", "hierarchical"};
  bench::WorkloadOptions& options = made.job.workload;
  options.workload = "training-step";
  options.algorithm = kAlgorithms[static_cast<std::size_t>(below(kAlgorithms.size()))];
  options.training.layers = 4;
  options.training.bucket = 1_MiB;
  options.training.degrees.tensor = std::array{1, 2, 4, 8}[static_cast<std::size_t>(below(4))];
  options.training.degrees.pipeline = std::array{1, 1, 2}[static_cast<std::size_t>(below(3))];
  options.activations = 64_KiB;
  options.gradients = below(3) == 0 ? "sharded" : "all-reduce";
  options.sweep.begin = options.sweep.end = 2_MiB;
  made.job.ranks = std::min(made.job.ranks, 64);
  made.text += fmt::format(", a training step instead, {} x {} {} {}", options.algorithm,
                           options.training.degrees.tensor, options.training.degrees.pipeline, options.gradients);
}

/// Of every two, one has nothing in it that keeps nodes from being alike but its algorithm, its fabric's routing, and
/// where its leaves are even a last one with fewer nodes.
RandomJob random_job(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) { return static_cast<int>(random() % limit); };
  const bool regular = seed % 2 == 0;
  static const std::array<std::string, 10> kNames{"selene",     "keeneland-kids", "hgx-h100-64", "summit-256",
                                                  "perlmutter", "piz-daint",      "abci-v",      "gh200-slingshot",
                                                  "lassen",     "gb200-nvl72"};
  // GPUs of a node are alike on the first.
  const std::string& name = kNames[regular && below(3) == 0 ? 0 : static_cast<std::size_t>(below(kNames.size()))];
  const int nodes = std::array{1, 2, 3, 4, 6, 8, 8, 12, 16, 16, 32, 64}[static_cast<std::size_t>(below(12))];
  int leaf = std::array{1, 2, 4, 5, 6, 8, 12}[static_cast<std::size_t>(below(7))];
  while (regular && nodes % leaf != 0 && leaf % 2 != 0) --leaf;
  const int leaves = (nodes + leaf - 1) / leaf;
  static const std::array kShapes{FabricShape::one_switch, FabricShape::fat_tree, FabricShape::rails,
                                  FabricShape::fat_tree,   FabricShape::torus,    FabricShape::dragonfly};
  const FabricShape shape = kShapes[static_cast<std::size_t>(below(regular ? 4 : kShapes.size()))];
  std::vector<int> size;
  if (shape == FabricShape::torus) {
    size = {(nodes + 3) / 4, 4};
  } else if (shape == FabricShape::dragonfly) {
    size = {leaves + 1, 2, leaf};
  } else if (shape != FabricShape::one_switch) {
    size = leaves % 2 == 0 && below(2) == 0 ? std::vector{leaf, 2, leaves / 2} : std::vector{leaf, leaves};
  }
  RandomJob made{.platform = machine(name, nodes, shape, size)};
  platforms::Fabric& fabric = *made.platform.fabric;
  if (fabric.is_tree() && below(2) == 0) {
    fabric.routing = platforms::kFabricRoutings[static_cast<std::size_t>(below(platforms::kFabricRoutings.size()))];
  }
  if (fabric.is_tree() && below(3) == 0 && leaf % 2 == 0) fabric.oversubscription = {{2, 1}};
  made.platform.within_node.loopback = below(8) == 0;
  if (below(2) == 0) made.platform.network->host_adapters = 1;  // else ranks of a node may share adapters
  const auto [workload, drawn] = algorithm_of(regular, below);
  const workloads::Algorithm& algorithm = *drawn;
  const std::vector<Place> all = places_of_ranks(made.platform, "packed");
  int ranks = std::min(static_cast<int>(all.size()), 512);
  if (!regular && below(4) == 0) ranks = 2 + below(static_cast<std::uint64_t>(ranks - 1));
  // With each rank of a larger one a test would take minutes.
  constexpr std::size_t kMostMessages = 20'000;
  while (ranks > 16 && bench::messages_of(algorithm, {.ranks = ranks}, std::uint64_t{1} << 20U) > kMostMessages)
    ranks /= 2;
  // Nearly always a multiple of what ranks share out.
  const auto each = static_cast<std::uint64_t>(std::array{8, 64, 1024, 16384}[static_cast<std::size_t>(below(4))]);
  const Bytes bytes{each * static_cast<std::uint64_t>(ranks) + (!regular && below(8) == 0 ? 8U : 0U)};
  made.job = job_of(std::string(workload->name), std::string(algorithm.name), ranks, bytes);
  if (!regular && below(8) == 0) made.job.place = "spread";
  made.job.workload.sweep.iterations = 1 + below(2);
  made.job.workload.sweep.no_verify = below(3) == 0;
  static const std::array<std::string, 10> kProtocols{
      "", "", "host", "staging", "cuda-aware", "host", "gpudirect-v1", "gpudirect-v3", "cuda-ipc", "nccl"};
  // Those that are not named go wherever the ranks are.
  if (!regular || below(2) == 0)
    made.job.workload.protocol = kProtocols[static_cast<std::size_t>(below(kProtocols.size()))];
  if (made.job.workload.protocol == "cuda-ipc") {
    made.job.workload.between = "gpudirect-v3";
    static const std::array<std::string, 3> kFidelities{"design", "openmpi-4.1", "openmpi-5"};
    made.job.workload.settings.options = {{"fidelity", kFidelities[static_cast<std::size_t>(below(3))]}};
  }
  made.text = fmt::format("{} x {} {}{} on {} of {} nodes, fabric {} {} {}{}, {} over '{}'{}", algorithm.name, ranks,
                          workload->name, made.job.place == "spread" ? " spread" : "", name, nodes,
                          to_string(fabric.shape), fmt::join(size, "x"), to_string(fabric.routing),
                          made.platform.within_node.loopback ? " loopback" : "", bytes.count(),
                          made.job.workload.protocol, made.job.workload.sweep.no_verify ? " not verified" : "");
  if (!regular && fabric.is_tree() && leaves > 1 && below(5) == 0) add_fault(made, "leaf0-up0", 0.5 * below(2));
  if (regular && below(4) == 0) make_training(made, below);
  if (regular && below(4) == 0) make_uneven(made, below);
  return made;
}

/// The row, and how many ranks were simulated.
std::string ran(RandomJob made, int alike_from) {
  try {
    made.job.alike_from = alike_from;
    if (made.job.workload.protocol.empty()) {
      choose_protocols(made.job.workload, made.platform,
                       places_of_ranks(made.platform, made.job.place, made.job.ranks));
    }
    const ReadyJob ready = ready_job(made.platform, made.job);
    nlohmann::json row{{"simulated", ready.alike.folding ? ready.alike.folding->ranks() : made.job.ranks},
                       {"within", ready.alike.folding && ready.alike.folding->is_within()}};
    simulate(made.platform, ready.places,
             [&](MeasuredRank& rank) {
               for (const bench::WorkloadPoint& point : bench::measure_workload(rank, ready.plan).points) {
                 row.update({{"us", point.time_us.median},
                             {"most us", point.time_us.max},
                             {"fastest us", point.fastest_us},
                             {"slowest", point.slowest_rank},
                             {"steps", point.steps},
                             {"predicted us", point.predicted_us}});
               }
             },
             {.folding = ready.alike.folding.get()});
    return row.dump();
  } catch (const std::exception& error) {
    return std::string("error: ") + error.what();
  }
}

/// How many ranks stand for all, and why each is simulated.
std::pair<int, std::string> standing(const Platform& platform, SimulatedJob job) {
  job.workload.protocol = "gpudirect-v2";
  job.workload.between = "gpudirect-v3";
  const Alike alike = ready_job(platform, std::move(job)).alike;
  return {alike.folding ? alike.folding->ranks() : 0, alike.why_all};
}

/// Eight GPUs a node. D-mod-k takes the link up of the target's place: neighbours of a leaf can be exchanged where the
/// exchange of a leaf's links goes with it, and where leaves are turned round, all of a leaf stand for all.
TEST(Alike, NodesStandForAllThatTheyCanBeMovedTo) {
  using testing::Pair;
  const Platform one_switch = machine("selene", 8, FabricShape::one_switch, {});
  const Platform fours = machine("selene", 8, FabricShape::rails, {4, 2});
  const Platform fives = machine("selene", 10, FabricShape::rails, {5, 2});
  EXPECT_THAT(standing(one_switch, job_of("all-reduce", "hierarchical", 64, 1_MiB)), Pair(1, ""))
      << "whatever bit its partner's number differs in, GPUs of a node lie alike to that";
  EXPECT_THAT(standing(one_switch, job_of("all-reduce", "ring", 64, 1_MiB)), Pair(8, ""));
  EXPECT_THAT(standing(fours, job_of("all-reduce", "hierarchical", 64, 1_MiB)), Pair(1, ""));
  EXPECT_THAT(standing(fours, job_of("all-reduce", "ring", 64, 1_MiB)), Pair(8, ""))
      << "from rail 7 to rail 0 each node's message goes over the second level";
  EXPECT_THAT(standing(machine("selene", 8, FabricShape::fat_tree, {4, 2}), job_of("all-reduce", "ring", 64, 1_MiB)),
              Pair(32, ""));
  EXPECT_THAT(standing(fives, job_of("all-to-all", "pairwise", 80, Bytes{80 * 8})), Pair(40, ""));
  EXPECT_THAT(
      standing(machine("selene", 16, FabricShape::rails, {6, 3}), job_of("all-reduce", "hierarchical", 128, 1_MiB)),
      Pair(8, ""))
      << "the last leaf has four nodes, and neighbours can be exchanged";
  EXPECT_THAT(standing(machine("gb200-nvl72", 36, FabricShape::one_switch, {}),
                       job_of("all-reduce", "ring", 144, Bytes{144 * 8})),
              Pair(72, ""))
      << "nodes of a domain share what joins them";
  EXPECT_THAT(standing(one_switch, job_of("all-reduce", "ring", 8, 1_MiB)), Pair(4, ""))
      << "from GPU 3 and from GPU 7 messages cross to the other socket";
  EXPECT_THAT(standing(one_switch, job_of("all-gather", "direct", 8, 1_MiB)), Pair(1, ""));
  EXPECT_THAT(standing(machine("keeneland-kids", 4, FabricShape::one_switch, {}),
                       job_of("all-reduce", "hierarchical", 12, Bytes{12 * 8})),
              Pair(3, ""))
      << "GPUs without peers go by the driver's own way";
}

TEST(Alike, WhatDiffersIsSimulatedRankByRank) {
  using testing::HasSubstr;
  const SimulatedJob ring = job_of("all-reduce", "ring", 64, 1_MiB);
  const auto why = [](const Platform& platform, const SimulatedJob& job) {
    const auto [ranks, text] = standing(platform, job);
    EXPECT_EQ(ranks, 0) << text;
    return text;
  };
  const Platform one_switch = machine("selene", 8, FabricShape::one_switch, {});
  EXPECT_THAT(why(one_switch, job_of("broadcast", "tree", 64, 1_MiB)), HasSubstr("no two nodes do the same"));
  EXPECT_THAT(why(one_switch, job_of("all-reduce", "ring", 64, 1_MiB + 8_B)), HasSubstr("other lengths"));
  EXPECT_THAT(why(one_switch, job_of("all-reduce", "ring", 60, Bytes{60 * 8})), HasSubstr("fewer ranks"));
  EXPECT_THAT(why(one_switch, job_of("all-reduce", "", 64, 1_MiB)), HasSubstr("no --algorithm is named"));
  EXPECT_THAT(why(one_switch, job_of("broadcast", "tree", 8, 1_MiB)), HasSubstr("no two ranks do the same"));
  SimulatedJob spread = ring;
  spread.place = "spread";
  EXPECT_THAT(why(one_switch, spread), HasSubstr("one after the other"));
  SimulatedJob exact = ring;
  exact.simulation.engine = SimulationOptions::Engine::exact;
  EXPECT_THAT(why(one_switch, exact), HasSubstr("--engine exact"));
  // The last leaf of five has three nodes; a hash draws the ways; and of one leaf a link is slow.
  EXPECT_THAT(why(machine("selene", 8, FabricShape::rails, {5, 2}), ring), HasSubstr("other ways through the fabric"));
  RandomJob made{.platform = machine("selene", 8, FabricShape::rails, {4, 2})};
  made.platform.fabric->routing = FabricRouting::by_hash;
  EXPECT_THAT(why(made.platform, ring), HasSubstr("other ways through the fabric"));
  made.platform.fabric->routing = FabricRouting::by_target;
  add_fault(made, "leaf0-up0", 0.5);
  EXPECT_THAT(why(made.platform, ring), HasSubstr("other ways through the fabric"));
  Platform later = one_switch;
  later.later_faults.emplace_back();
  EXPECT_THAT(why(later, ring), HasSubstr("faults come"));
}

/// Round the circle of five nodes of which one stands for all, and of four by their bits; and so of ranks of a node.
TEST(Folding, WhoSendsIsWhoWouldSendToTheRankThatStandsForThePeer) {
  using Move = Folding::Move;
  const Folding shift({.all = 5, .count = 5}, {.all = 2}, {}, {});
  EXPECT_EQ(shift.ranks(), 2);
  EXPECT_EQ(shift.standing_for(RankId{7}), RankId{1});
  EXPECT_EQ(shift.seen_by(RankId{2}, RankId{1}), RankId{9}) << "to the next node, from the one before";
  EXPECT_EQ(shift.seen_by(RankId{1}, RankId{0}), RankId{0}) << "within the node as ever";
  const Folding bits({.move = Move::exclusive_or, .all = 4, .stride = 2, .count = 2}, {.all = 1}, {}, {});
  EXPECT_EQ(bits.seen_by(RankId{3}, RankId{0}), RankId{2});
  EXPECT_EQ(bits.seen_by(RankId{1}, RankId{0}), RankId{0});
  const Folding pairs({.move = Move::exclusive_or, .all = 6, .count = 2}, {.all = 2}, {}, {});
  EXPECT_EQ(pairs.ranks(), 6);
  EXPECT_EQ(pairs.standing_for(RankId{7}), RankId{5}) << "of nodes 2 and 3 the former";
  EXPECT_EQ(pairs.seen_by(RankId{7}, RankId{0}), RankId{2}) << "from node 0 to node 3, as from node 1 to node 2";
  const Folding one({.all = 3, .count = 3}, {.move = Move::exclusive_or, .all = 4, .count = 4}, {}, {});
  EXPECT_EQ(one.ranks(), 1);
  EXPECT_EQ(one.standing_for(RankId{11}), RankId{0});
  EXPECT_EQ(one.seen_by(RankId{3}, RankId{0}), RankId{3}) << "within the node, to the other end of an exchange";
  EXPECT_EQ(one.seen_by(RankId{5}, RankId{0}), RankId{9}) << "to the neighbour on the next node, from the one before";
  const Folding halves({.all = 3, .count = 3}, {.all = 4, .stride = 2, .count = 2}, {}, {});
  EXPECT_EQ(halves.ranks(), 2);
  EXPECT_EQ(halves.standing().at(1), 1);
  EXPECT_EQ(halves.standing_for(RankId{7}), RankId{1});
  EXPECT_EQ(halves.seen_by(RankId{2}, RankId{1}), RankId{3}) << "1 sends to 2 as 3 does to 0";
}

TEST(Alike, RandomJobsTakeWhatTheyTakeWithEachRank) {
  constexpr double kNineDigits = 1e-9;
  const std::uint64_t jobs = number_from("TWINLINK_JOBS", 30);
  const std::uint64_t first = number_from("TWINLINK_SEED", 1);
  std::vector<std::string> texts(2 * jobs);
  in_each_child_process(
      texts.size(),
      [&](std::size_t i) { return ran(random_job(first + i / 2), i % 2 == 0 ? 2 : std::numeric_limits<int>::max()); },
      2, [&](const ChildEnd& end) { texts[end.number] = end.get(); });
  std::size_t folded = 0;
  std::size_t within = 0;
  double worst = 0;
  for (std::size_t i = 0; i < texts.size(); i += 2) {
    const std::string what = fmt::format("{}: {}", first + i / 2, random_job(first + i / 2).text);
    if (texts[i].starts_with("error") || texts[i + 1].starts_with("error")) {
      EXPECT_EQ(texts[i], texts[i + 1]) << what;
      continue;
    }
    const auto some = nlohmann::json::parse(texts[i]);
    const auto all = nlohmann::json::parse(texts[i + 1]);
    if (some.at("simulated") == all.at("simulated")) continue;
    ++folded;
    if (some.at("within").get<bool>()) ++within;
    for (const char* const number : {"us", "most us", "fastest us", "predicted us", "slowest", "steps"}) {
      const double is = some.at(number).get<double>();
      const double should = all.at(number).get<double>();
      const double off = std::abs(is - should) / std::max(1.0, std::abs(should));
      worst = std::max(worst, off);
      EXPECT_LE(off, kNineDigits) << what << ": " << number << " " << is << ", with each rank " << should;
    }
  }
  std::cout << fmt::format("{} of {} jobs were folded, {} also within nodes; the worst is {:.1e} off\n", folded, jobs,
                           within, worst);
  EXPECT_GE(folded, jobs / 6);
  EXPECT_GE(within, jobs / 30);
}

}  // namespace
}  // namespace twinlink::model
