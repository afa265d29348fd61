#include "model/engine/simulation.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <exception>
#include <string>

#include <simgrid/s4u.hpp>

#include "model/engine/machine.hpp"
#include "model/engine/sim_rank.hpp"
#include "model/platform/degraded.hpp"

namespace twinlink::model {
namespace s4u = simgrid::s4u;
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr const char* kStackKiB = "1024";
#else
constexpr const char* kStackKiB = "256";
#endif

}  // namespace

Seconds simulate(const Platform& platform, std::span<const Place> places, const std::function<void(Rank&)>& body,
                 const SimulationOptions& options) {
  assert(!s4u::Engine::is_initialized() && "one simulation per process");
#if defined(__SANITIZE_ADDRESS__)
  // The sanitizer follows exceptions through threads, but not through SimGrid's hand-made stacks.
  s4u::Engine::set_config("contexts/factory:thread");
#endif
  // SimGrid takes its log settings from a command line only; without them it prints every setting.
  std::string program = "twinlink";
  std::string quiet = "--log=root.thres:critical";
  std::array<char*, 3> arguments{program.data(), quiet.data(), nullptr};
  int count = 2;
  s4u::Engine engine(&count, arguments.data());
  for (const SimGridSetting& setting : simgrid_settings()) {
    s4u::Engine::set_config(setting.name + ":" + setting.value);
  }
  s4u::Engine::set_config(std::string("contexts/stack-size:") + kStackKiB);

  const Topology topology(platform);
  Machine machine(engine, topology, places);
  Clock clock;
  SimWorld world{.topology = topology, .machine = machine, .clock = clock, .places = {places.begin(), places.end()}};
  for (Place& place : world.places) place.device = topology.type_of(topology.gpu_of(place)).model;
  world.observer = options.observer;
  world.ranks.resize(places.size(), nullptr);

  // The engine's clock may go on to the deadlines of waits that have ended long before.
  Seconds end{};
  const auto run_rank = [&](int number) {
    SimRank* rank = world.ranks[static_cast<std::size_t>(number)];
    try {
      body(*rank);
      rank->finish();
      end = std::max(end, rank->now());
    } catch (const simgrid::ForcefulKillException&) {
      throw;  // SimGrid ends the actor this way
    } catch (...) {
      world.abort();
    }
  };
  std::vector<std::unique_ptr<SimRank>> ranks;
  for (int number = 0; number < static_cast<int>(places.size()); ++number) {
    ranks.push_back(std::make_unique<SimRank>(world, RankId{number}));
    machine.network().add_actor("rank" + std::to_string(number), [&run_rank, number] { run_rank(number); });
  }
  std::vector<std::unique_ptr<Timer>> faults;
  for (const LaterFault& fault : platform.later_faults) {
    faults.push_back(std::make_unique<Timer>(clock, [&world, &machine, &topology, &fault] {
      if (world.aborting) return;
      try {
        for (const std::size_t link : links_of(topology.graph(), fault.part)) machine.shrink(link, fault.share);
        for (SimRank* rank : world.ranks) rank->fail_what_is_cut();
      } catch (...) {
        world.abort();
      }
    }));
    faults.back()->set(fault.at);
  }
  bool deadlock = false;
  s4u::Engine::on_deadlock_cb([&] {
    deadlock = true;
    world.aborting = true;
  });
  engine.run();
  if (world.failure) std::rethrow_exception(world.failure);
  if (deadlock) throw Error("deadlock: every rank that is left waits for another one, without a deadline");
  return end;
}

}  // namespace twinlink::model
