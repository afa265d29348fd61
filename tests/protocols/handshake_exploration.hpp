// Two handshake machines and the two queues between them, through every order in which things may happen.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "protocols/cuda_ipc/ipc_handshake.hpp"

namespace twinlink::handshake {

/// What does not change during one exploration.
struct Scenario {
  Fidelity fidelity = Fidelity::design;
  bool peer_access = true;
  std::array<bool, 2> late{};  ///< this rank does not use CUDA at first, and may begin to at any time
  int sends = 7;               ///< each rank sends up to so many messages, of GPU or of host memory
};

/// Both ranks and what is under way between them. Rank 1 outranks rank 0.
struct Configuration {
  std::array<Endpoint, 2> ends;
  std::array<bool, 2> cuda_in_use;
  std::array<int, 2> sends_left;
  std::array<std::deque<HandshakeEvent>, 2> queue{};  ///< by receiver

  [[nodiscard]] bool quiet() const { return queue[0].empty() && queue[1].empty(); }
  auto operator<=>(const Configuration&) const = default;
};

/// One thing that happens, in words, and what it leads to.
struct Step {
  std::string words;
  Configuration to;
};

/// All that may happen next.
std::vector<Step> steps_from(const Configuration& from, const Scenario& scenario);

/// All that can be reached. An ending is a configuration in which nothing is under way: the ranks may send no more.
class Exploration {
 public:
  explicit Exploration(const Scenario& scenario);

  /// The states of ranks 0 and 1 in all endings.
  [[nodiscard]] std::set<std::pair<State, State>> endings() const;
  /// The same where one end has GET enabled and the other has not.
  [[nodiscard]] std::set<std::pair<State, State>> disagreements() const;
  /// The rows of the table that were used.
  [[nodiscard]] const std::set<const Row*>& rows_used() const { return rows_used_; }
  [[nodiscard]] std::size_t size() const { return parents_.size(); }

  /// The shortest story that ends in these states, one line per step; empty if there is none.
  [[nodiscard]] std::vector<std::string> story(State rank0, State rank1) const;
  /// Is there an ending with a rank in SENT from which more messages would lead that rank out of SENT?
  [[nodiscard]] bool somebody_stops_waiting() const;

 private:
  struct Origin {
    const Configuration* from;
    std::string words;
  };
  Scenario scenario_;
  std::map<Configuration, Origin> parents_;
  std::vector<const Configuration*> order_;  ///< breadth first
  std::set<const Row*> rows_used_;
};

/// "(SENT, BAD) (INIT, INIT)": sorted, for comparing with a text.
std::string to_text(const std::set<std::pair<State, State>>& endings);

}  // namespace twinlink::handshake
