// What crossed which link in one iteration of a workload, and which links were busiest.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "model/engine/machine.hpp"

namespace twinlink::model {

/// One direction of a link, or what a part lets devices have, in one iteration.
struct LinkShare {
  std::string name{};      ///< as LinkUse has it
  double bytes = 0;        ///< that have begun to cross it
  double utilisation = 0;  ///< these over what it could have carried meanwhile
};

/// Listens to one simulated job.
class LinkMeter {
 public:
  explicit LinkMeter(int ranks) : ranks_(ranks) {}

  /// For SimulationOptions::link_use.
  std::function<std::vector<LinkUse>()> read{};
  /// For WorkloadPlan::on_round.
  void round(bool begins, Seconds now);
  /// In the last iteration, from the first rank's start to the last one's end; the busiest first.
  [[nodiscard]] std::vector<LinkShare> last_round() const;

 private:
  int ranks_;
  int begun_ = 0;
  int ended_ = 0;
  std::vector<LinkUse> before_{};
  std::vector<LinkUse> after_{};
  Seconds start_{};
  Seconds end_{};
};

/// The first of them; how many there are besides.
void print_links(const std::vector<LinkShare>& links, std::ostream& out);
nlohmann::json to_json(const std::vector<LinkShare>& links);

}  // namespace twinlink::model
