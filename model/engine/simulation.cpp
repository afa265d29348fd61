#include "model/engine/simulation.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <simgrid/s4u.hpp>

#include "model/engine/flows/machine.hpp"
#include "model/engine/rank/sim_rank.hpp"
#include "platforms/machine/degraded.hpp"
#include "platforms/topology/idle_faults.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace s4u = simgrid::s4u;
namespace {

/// Stack of each of SimGrid's own actors, which do next to nothing.
constexpr const char* kStackKiB = "64";

/// Which faults make a difference.
class FaultWatch {
 public:
  FaultWatch(const Platform& platform, const Machine& machine) : platform_(platform), machine_(machine) {}

  /// It comes now, before anything more is carried.
  void comes(const LaterFault& fault) {
    if (is_cable(fault.part)) {
      before_[&fault] = 0;
      return;
    }
    const auto until_now = machine_.carried(fault.part);
    before_[&fault] = !until_now || until_now->under_way ? -1 : until_now->bytes;
  }

  /// Those that have made none by now, which is the end. A text stands for several parts, of which one is enough.
  [[nodiscard]] std::vector<std::string> idle(std::span<const Place> places, Seconds end) const {
    std::map<std::string, std::string> why;
    std::set<std::string> effective;
    const auto note = [&](const std::string& text, bool crossed, const std::string& reason) {
      if (crossed) effective.insert(text);
      why.emplace(text, reason);
    };
    for (const SlowedPart& slowed : platform_.slowed_parts) {
      const bool crossed =
          is_cable(slowed.part) ? may_cross_cable(platform_, slowed.part, places) : carried_more(slowed.part, 0);
      note(slowed.text, crossed, "nothing has crossed it");
    }
    for (const LaterFault& fault : platform_.later_faults) {
      const auto found = before_.find(&fault);
      if (found == before_.end()) {
        note(fault.text, false, fmt::format("all had ended after {:.3f} us", end.microseconds()));
      } else {
        const bool crossed = is_cable(fault.part) ? may_cross_cable(platform_, fault.part, places)
                                                  : carried_more(fault.part, found->second);
        note(fault.text, crossed, "nothing has crossed it from then on");
      }
    }
    const auto uses_gpu = [&](const std::string& gpu) { return carried_more(gpu, 0); };
    std::vector<std::string> texts = idle_failures(platform_, places, uses_gpu);
    for (const auto& [text, reason] : why) {
      if (!effective.contains(text)) texts.push_back(fmt::format("{} makes no difference: {}", text, reason));
    }
    return texts;
  }

 private:
  [[nodiscard]] bool carried_more(const std::string& part, double bytes) const {
    const auto carried = machine_.carried(part);
    return !carried || carried->bytes > bytes;
  }

  const Platform& platform_;
  const Machine& machine_;
  std::map<const LaterFault*, double> before_;  ///< bytes that had crossed the part when it came
};

/// The one of this process, with our settings.
void start_simgrid(std::optional<s4u::Engine>& engine) {
  assert(!s4u::Engine::is_initialized() && "one simulation per process has SimGrid");
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
  engine.emplace(&count, arguments.data());
  for (const SimGridSetting& setting : simgrid_settings()) {
    s4u::Engine::set_config(setting.name + ":" + setting.value);
  }
  s4u::Engine::set_config(std::string("contexts/stack-size:") + kStackKiB);
}

}  // namespace

Seconds simulate(const Platform& platform, std::span<const Place> places,
                 const std::function<void(MeasuredRank&)>& body, const SimulationOptions& options) {
  const Topology topology(platform);
  const bool one_node = std::ranges::adjacent_find(places, std::not_equal_to(), &Place::node) == places.end();
  if (options.engine == SimulationOptions::Engine::exact && platform.fabric && has_detours(*platform.fabric) &&
      !one_node) {
    throw UsageError(
        "--engine exact: SimGrid shares links among flows whose ways are fixed, and packets of this fabric go round "
        "full ones, unless --set fabric.routing=d-mod-k");
  }
  std::optional<s4u::Engine> engine;
  if (options.engine == SimulationOptions::Engine::exact) start_simgrid(engine);
  EventLoop loop(engine ? &*engine : nullptr);
  Machine machine(loop.network(), topology, places, options.folding);
  SimWorld world(topology, machine, loop, places, options.observer, options.folding);
  world.programs.observer = options.on_block_step;
  if (options.on_flow) loop.network().observe(options.on_flow);
  if (options.link_use != nullptr) *options.link_use = [&] { return machine.link_use(); };

  // Deadlines of waits that have ended may lie behind it.
  Seconds end{};
  std::deque<SimRank> ranks;
  for (int place = 0; place < static_cast<int>(world.standing()); ++place) {
    const int number = options.folding == nullptr ? place : options.folding->standing().at(place);
    SimRank& rank = ranks.emplace_back(world, RankId{number});
    loop.scheduler().add([&body, &rank, &end] {
      body(rank);
      rank.finish();
      end = std::max(end, rank.now());
    });
  }
  FaultWatch fault_watch(platform, machine);
  Seconds faults_since{};
  std::vector<std::unique_ptr<Timer>> faults;
  for (const LaterFault& fault : platform.later_faults) {
    faults.push_back(std::make_unique<Timer>(loop.clock(), [&world, &machine, &options, &fault, &fault_watch] {
      fault_watch.comes(fault);
      if (options.faults_come != nullptr) options.faults_come->push_back(fault.text);
      is_cable(fault.part) ? machine.shrink_cable(cable_name(fault.part), fault.share)
                           : machine.shrink(fault.part, fault.share);
      for (SimRank* rank : world.ranks) rank->fail_what_is_cut();
    }));
  }
  const auto begin_faults = [&] {
    faults_since = loop.clock().now();
    for (std::size_t i = 0; i < faults.size(); ++i) faults[i]->set(faults_since + platform.later_faults[i].at);
  };
  if (options.faults_begin == nullptr)
    begin_faults();
  else
    *options.faults_begin = [&begin_faults, begun = false]() mutable {
      if (!std::exchange(begun, true)) begin_faults();
    };
  loop.run();
  if (options.idle_faults != nullptr) {
    *options.idle_faults = fault_watch.idle(places, end - faults_since);
    std::set<int> nodes;  // where each rank has one of its own, the option speaks of nobody
    for (const Place& place : places) nodes.insert(place.node);
    if (platform.within_node.copy_size && !world.copies_in_pieces && nodes.size() < places.size()) {
      options.idle_faults->emplace_back("--smp-copy-size makes no difference: no message was copied in pieces");
    }
  }
  return end;
}

}  // namespace twinlink::model
