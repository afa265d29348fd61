// All nodes of a fleet judged: against each other, and against what the platform says.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/nodes/equals.hpp"
#include "validate/nodes/explanation.hpp"
#include "validate/nodes/node_files.hpp"

namespace twinlink::validate {

struct FleetPlan {
  EqualsPlan equals{};           ///< its patterns are those of `base`, unless it has some
  std::filesystem::path base{};  ///< empty: nobody says how fast a node should be
  std::size_t explained = 20;    ///< so many of the worst nodes are looked into
  bool force = false;            ///< probes of another model than the base's are no error
  std::size_t max_age = 14;      ///< days; a node whose newest result is so much older than the fleet's is silent
  /// By node in FleetFiles: what has become slower since when; empty: nothing, or there is no history.
  std::vector<std::string> became{};
};

/// The slowest kind of probes, held against the platform.
struct AgainstPlatform {
  std::size_t slow = 0;    ///< curves that are slower than allowed
  std::size_t alone = 0;   ///< of these, for which there are no equals: the fleet as a whole answers for the others
  std::size_t curves = 0;  ///< that were held against it
  double slowest = 0;      ///< 0.5: takes half as long again
  std::string what{};      ///< the curve, with its GPUs' places
  std::vector<std::string> places{};
};

struct FleetRow {
  enum class State {
    alike,       ///< no figure is slower than chance allows
    slower,      ///< than its equals, or than the platform though its equals are not
    was_faster,  ///< it is as its equals, and slower than it was
    incomplete,  ///< it lacks what its equals have, and is not slower in the rest
    silent,      ///< its newest result is too old to say what it is like today
    unjudged,    ///< there is nothing to hold it against
    unread       ///< it has no result
  };
  std::size_t node = 0;  ///< in FleetFiles and Equals
  State state = State::alike;
  std::optional<int> age{};  ///< days from its newest result to that of the fleet; empty: no file tells a date
  double worst = 0;          ///< by how much it is slower than its equals, or than the platform
  std::string what{};        ///< of `worst`
  std::optional<AgainstPlatform> platform{};
  Explanation explanation{};
};

/// The worst first.
std::string_view to_string(FleetRow::State state);

struct Fleet {
  FleetFiles files{};
  FleetPlan plan{};
  Equals equals{};
  std::vector<FleetRow> rows{};           ///< the worst first
  std::vector<std::string> remarks{};     ///< of the fleet
  std::vector<std::string> as_a_whole{};  ///< of each kind of probes: the middle of all nodes against the platform
  bool slow_as_a_whole = false;
  std::size_t unexplained = 0;  ///< slow nodes beyond plan.explained

  [[nodiscard]] std::size_t count(FleetRow::State state) const;
  /// What the history says of that node; empty: nothing.
  [[nodiscard]] const std::string& became(std::size_t node) const;
};

/// Reads nothing but the platform. An InputError for probes of another machine than `plan.base`, unless plan.force.
Fleet judge_fleet(FleetFiles files, const FleetPlan& plan);

}  // namespace twinlink::validate
