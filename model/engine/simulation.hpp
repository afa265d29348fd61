// simulate(): a job of ranks on a simulated machine, from start to end. The only door to the engine; commands use it
// through simulate_to() (model/cli/commands.hpp), and several simulations take a child process each
// (model/study/child_process.hpp).
//
//   const Platform platform = read_platform("keeneland-kids");
//   const std::vector<Place> places{{.node = 0, .gpu = 0}, {.node = 1, .gpu = 0}};
//   Seconds took{};
//   simulate(platform, places, [&](MeasuredRank& rank) {
//     const auto channel = protocol.connect(rank, RankId{1 - rank.id().value}, settings);
//     ... send on one, receive on the other ...
//     took = rank.now();       // ranks take turns: what they share needs no lock
//   });
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/core/measured_rank.hpp"
#include "protocols/trace/op_report.hpp"

namespace twinlink::model {

class Folding;
struct FlowRecord;
struct LinkUse;

/// How to simulate, and what to watch meanwhile. Pointers are the caller's and must live until simulate() returns.
struct SimulationOptions {
  /// Who says how links are shared: our own MaxMinFlows (`automatic`), or SimGrid (`exact`), which takes longer and is
  /// there to check the former.
  enum class Engine { automatic, exact };
  Engine engine = Engine::automatic;
  /// Which ranks stand for all: `body` runs on these alone. Null: each for itself. Not with later faults, with `exact`,
  /// nor where ways go round full links. Outlives the simulation.
  const Folding* folding = nullptr;
  /// Told of every operation when it ends; may be empty.
  OpObserver observer{};
  /// Told of every step of a program's thread blocks when it ends; may be empty.
  BlockObserver on_block_step{};
  /// Told of every flow when it ends; may be empty.
  std::function<void(const FlowRecord&)> on_flow{};
  /// Gets the faults of the command line that have made no difference, each with its reason, and the ways within a
  /// node; may be null.
  std::vector<std::string>* idle_faults = nullptr;
  /// Set before any rank begins, where later faults do not count from there: to be called when their time begins. Later
  /// calls do nothing. May be null.
  std::function<void()>* faults_begin = nullptr;
  /// Gets the later faults that have come, as their user has said them, as soon as they have; may be null.
  std::vector<std::string>* faults_come = nullptr;
  /// Set before any rank begins, and works until simulate() returns: Machine::link_use() at the present time.
  std::function<std::vector<LinkUse>()>* link_use = nullptr;
};

/// Runs `body` once per place, or per rank that stands for others, all in simulated parallel, and returns the simulated
/// time at the end. The first exception of any rank ends all ranks and is rethrown. Ranks that wait for each other for
/// ever are an Error. With SimGrid's flows once per process, for its engine cannot be started a second time.
Seconds simulate(const Platform& platform, std::span<const Place> places,
                 const std::function<void(MeasuredRank&)>& body, const SimulationOptions& options = {});

}  // namespace twinlink::model
