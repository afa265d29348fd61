#include "model/engine/simulation.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <deque>
#include <memory>
#include <string>

#include <simgrid/s4u.hpp>

#include "model/engine/flows/machine.hpp"
#include "model/engine/rank/sim_rank.hpp"
#include "platforms/machine/degraded.hpp"

namespace twinlink::model {
namespace s4u = simgrid::s4u;
namespace {

/// Of SimGrid's own actors, which do next to nothing.
constexpr const char* kStackKiB = "64";

}  // namespace

Seconds simulate(const Platform& platform, std::span<const Place> places,
                 const std::function<void(MeasuredRank&)>& body, const SimulationOptions& options) {
  assert(!s4u::Engine::is_initialized() && "one simulation per process");
  // SimGrid takes its log settings from a command line only; without them it prints every setting.
  std::string program = "twinlink";
  std::string quiet = "--log=root.thres:critical";
#if defined(__SANITIZE_ADDRESS__)
  // The sanitizer follows exceptions through threads, but not through SimGrid's hand-made stacks.
  std::string factory = "--cfg=contexts/factory:thread";
  std::array<char*, 4> arguments{program.data(), quiet.data(), factory.data(), nullptr};
#else
  std::array<char*, 3> arguments{program.data(), quiet.data(), nullptr};
#endif
  int count = static_cast<int>(arguments.size()) - 1;
  s4u::Engine engine(&count, arguments.data());
  for (const SimGridSetting& setting : simgrid_settings()) {
    s4u::Engine::set_config(setting.name + ":" + setting.value);
  }
  s4u::Engine::set_config(std::string("contexts/stack-size:") + kStackKiB);

  const Topology topology(platform);
  EventLoop loop(engine, options.engine == SimulationOptions::Engine::exact);
  Machine machine(loop.network(), topology, places);
  SimWorld world(topology, machine, loop, places, options.observer);
  if (options.on_flow) loop.network().observe(options.on_flow);
  if (options.link_use != nullptr) *options.link_use = [&] { return machine.link_use(); };

  // Deadlines of waits that have ended may lie behind it.
  Seconds end{};
  std::deque<SimRank> ranks;
  for (int number = 0; number < static_cast<int>(places.size()); ++number) {
    SimRank& rank = ranks.emplace_back(world, RankId{number});
    loop.crew().add([&body, &rank, &end] {
      body(rank);
      rank.finish();
      end = std::max(end, rank.now());
    });
  }
  std::vector<std::unique_ptr<Timer>> faults;
  for (const LaterFault& fault : platform.later_faults) {
    faults.push_back(std::make_unique<Timer>(loop.clock(), [&world, &machine, &topology, &fault] {
      for (const std::size_t link : links_of(topology.graph(), fault.part)) machine.shrink(link, fault.share);
      for (SimRank* rank : world.ranks) rank->fail_what_is_cut();
    }));
    faults.back()->set(fault.at);
  }
  loop.run();
  return end;
}

}  // namespace twinlink::model
