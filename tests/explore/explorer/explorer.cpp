// The depth-first search through all interleavings. REDUCTION.md says why what it leaves out is not missed.
#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "tests/explore/explorer/job.hpp"
#include "tests/explore/explorer/visited.hpp"

namespace twinlink::explore {
namespace {

/// A choice that need not be tried, for it changes places with all that was done since it was tried elsewhere.
struct Sleeper {
  std::uint64_t id;
  int rank;
  Footprint footprint;
};

/// A state on the path from the start, and what is still to be tried from it.
struct Node {
  Key key{};
  std::optional<Job::Saved> saved{};
  std::vector<Choice> todo{};
  std::vector<Choice> rest{};  ///< of the other ranks: to be tried, too, unless `alone` is enough
  std::vector<Sleeper> sleep{};
  int alone = -1;  ///< a rank whose choices will do if none of them meets another rank's
  bool meets = false;
};

class Search {
 public:
  Search(const Scenario& scenario, const Limits& limits)
      : scenario_(scenario), limits_(limits), job_(scenario, Job::Use::explore) {}

  ExploreResult run() {
    {
      // What a library sets up at its first use must not lie on a heap that is put back.
      Job first(scenario_, Job::Use::run);
      walk_once(first);
    }
    job_.start();
    note_violations();
    enter({});
    while (!nodes_.empty() && result_.complete) advance();
    result_.states = limits_.merge ? visited_.size() : result_.steps + 1;
    return std::move(result_);
  }

 private:
  static void walk_once(Job& job) {
    job.start();
    std::vector<Choice> choices;
    for (int step = 0; step < 10'000; ++step) {
      choices.clear();
      for (int rank = 0; rank < static_cast<int>(job.machine().world.ranks.size()); ++rank) {
        job.machine().takes_of(rank, choices);
      }
      if (choices.empty()) return;
      job.step(choices.front());
    }
  }

  /// Tries the next choice of the last node, or leaves it.
  void advance() {
    Node& node = nodes_.back();
    if (node.todo.empty()) {
      if (node.alone >= 0 && node.meets) {
        node.alone = -1;
        node.todo = std::move(node.rest);
        node.rest.clear();
        std::ranges::reverse(node.todo);
        return;
      }
      if (limits_.merge && node.alone >= 0)
        visited_.find_or_insert(node.key).first->alone = static_cast<std::int16_t>(node.alone);
      nodes_.pop_back();
      if (!path_.empty()) path_.pop_back();
      return;
    }
    const Choice choice = node.todo.back();
    node.todo.pop_back();
    if (!here_) go_back(node);
    const Key before = limits_.compare_looks ? job_.key(Likeness::looks) : Key{};
    job_.step(choice);
    ++result_.steps;
    if (limits_.compare_looks) compare_looks(before, choice);
    path_.push_back(choice);
    const Footprint& footprint = job_.machine().footprint;
    node.meets = node.meets || !footprint.empty();
    std::vector<Sleeper> sleep;
    if (limits_.reduction == Reduction::full) {
      for (const Sleeper& sleeper : node.sleep) {
        if (sleeper.rank != choice.rank && !sleeper.footprint.meets(footprint)) sleep.push_back(sleeper);
      }
      node.sleep.push_back({choice.id(), choice.rank, footprint});
    }
    note_violations();
    if (!enter(std::move(sleep))) {
      path_.pop_back();
      here_ = false;
    }
  }

  void compare_looks(const Key& before, const Choice& choice) {
    const Key after = job_.key(Likeness::looks);
    const auto [known, is_new] = followers_.try_emplace({before, choice.id()}, after);
    if (!is_new && known->second != after) ++result_.ambiguous;
  }

  void go_back(const Node& node) {
    if (kFibersCanGoBack) {
      job_.restore(*node.saved);
    } else {
      job_.start();
      for (const Choice& choice : path_) job_.step(choice);
      job_.machine().violations.clear();
    }
  }

  /// Looks at the state that the job is in now, and makes it the last node if there is anything to try from it.
  bool enter(std::vector<Sleeper> sleep) {
    Node node;
    const Machine& machine = job_.machine();
    const int ranks = static_cast<int>(machine.world.ranks.size());
    std::vector<std::vector<Choice>> choices(static_cast<std::size_t>(ranks));
    bool any = false;
    for (int rank = 0; rank < ranks; ++rank) {
      auto& of_rank = choices[static_cast<std::size_t>(rank)];
      if (limits_.reduction == Reduction::full) {
        machine.takes_of(rank, of_rank);
      } else {
        machine.single_steps_of(rank, of_rank);
      }
      any = any || !of_rank.empty();
    }
    if (path_.size() > limits_.steps) {
      note("an execution of more than " + std::to_string(limits_.steps) + " steps", result_.violations, "");
      result_.complete = false;
      return false;
    }
    SleepIds ids;
    for (const Sleeper& sleeper : sleep) ids.push_back(sleeper.id);
    std::ranges::sort(ids);
    const std::vector<std::uint64_t>* only = nullptr;
    SleepIds wake;
    int alone_before = -1;
    if (limits_.merge) {
      node.key = job_.key(limits_.likeness);
      const auto [entry, is_new] = visited_.find_or_insert(node.key);
      if (visited_.size() > limits_.states) result_.complete = false;
      if (is_new) {
        entry->sleep = visited_.number_of(ids);
      } else {
        // Met before: what slept then, and does not sleep now, is still to be tried.
        const SleepIds& before = visited_.ids_of(entry->sleep);
        std::ranges::set_difference(before, ids, std::back_inserter(wake));
        if (wake.empty()) return false;
        SleepIds both;
        std::ranges::set_intersection(before, ids, std::back_inserter(both));
        entry->sleep = visited_.number_of(both);
        alone_before = entry->alone;
        std::erase_if(sleep, [&](const Sleeper& s) { return !std::ranges::binary_search(both, s.id); });
        only = &wake;
      }
    }
    if (!any) {
      if (only == nullptr) note_end();
      return false;
    }
    const auto sleeps = [&](const Choice& choice) {
      return only != nullptr ? !std::ranges::binary_search(*only, choice.id())
                             : std::ranges::binary_search(ids, choice.id());
    };
    if (only == nullptr) {
      node.alone = alone_of(choices, sleep);
    } else if (alone_before >= 0) {
      node.alone = alone_before;
    }
    for (int rank = 0; rank < ranks; ++rank) {
      if (only != nullptr && alone_before >= 0 && rank != alone_before) continue;
      auto& into = node.alone < 0 || node.alone == rank ? node.todo : node.rest;
      for (const Choice& choice : choices[static_cast<std::size_t>(rank)]) {
        if (!sleeps(choice)) into.push_back(choice);
      }
    }
    if (node.todo.empty() && node.alone < 0) return false;
    if (node.todo.empty() && node.rest.empty()) return false;
    std::ranges::reverse(node.todo);
    node.sleep = std::move(sleep);
    if (kFibersCanGoBack && node.todo.size() + node.rest.size() > 1) node.saved = job_.save();
    nodes_.push_back(std::move(node));
    here_ = true;
    return true;
  }

  /// A rank whose choices cannot be changed by others, where one is at hand.
  [[nodiscard]] int alone_of(const std::vector<std::vector<Choice>>& choices, const std::vector<Sleeper>& sleep) const {
    if (limits_.reduction == Reduction::none) return -1;
    int best = -1;
    for (int rank = 0; rank < static_cast<int>(choices.size()); ++rank) {
      const auto& own = choices[static_cast<std::size_t>(rank)];
      if (own.empty() || !job_.machine().decided(rank)) continue;
      const bool meets = std::ranges::any_of(
          sleep, [&](const Sleeper& sleeper) { return sleeper.rank == rank && !sleeper.footprint.empty(); });
      if (meets) continue;
      if (best < 0 || own.size() < choices[static_cast<std::size_t>(best)].size()) best = rank;
    }
    return best;
  }

  // ---- findings -----------------------------------------------------------------------------------------------------

  void note_end() {
    ++result_.executions;
    ++result_.endings[job_.endings()];
    if (!job_.finished() && !job_.failed()) note(job_.waits(), result_.deadlocks, job_.waits());
  }

  void note_violations() {
    for (const std::string& violation : std::vector<std::string>(job_.machine().violations)) {
      note(violation, result_.violations, "");
    }
    job_.machine().violations.clear();
  }

  /// Adds a finding with its trace unless there is one like it.
  void note(const std::string& what, std::vector<Finding>& among, const std::string& last_lines) {
    if (std::ranges::find(among, what, &Finding::what) != among.end()) return;
    if (among.size() >= limits_.findings) return;
    Job narrator(scenario_, Job::Use::narrate);
    narrator.start();
    for (const Choice& choice : path_) narrator.step(choice);
    among.push_back({what, narrator.story() + (last_lines.empty() ? "" : narrator.waits())});
  }

  const Scenario& scenario_;
  Limits limits_;
  Job job_;
  Visited visited_;
  std::vector<Node> nodes_;
  std::vector<Choice> path_;                                ///< from the start to the last node
  bool here_ = false;                                       ///< the job is in the state of the last node
  std::map<std::pair<Key, std::uint64_t>, Key> followers_;  ///< for compare_looks
  ExploreResult result_;
};

}  // namespace

Path neighbours() {
  return {.same_node = true,
          .peer_access = Answer::granted(),
          .device_mapping = Answer::granted(),
          .one_sided = Answer::granted(),
          .device_memory_on_network = Answer::refused("the network of a node takes host memory only")};
}

Path apart() {
  return {.peer_access = Answer::refused("different nodes"),
          .device_mapping = Answer::refused("different nodes"),
          .one_sided = Answer::refused("different nodes"),
          .device_memory_on_network = Answer::granted()};
}

ExploreResult explore(const Scenario& scenario, const Limits& limits) { return Search(scenario, limits).run(); }

void run_once(const Scenario& scenario, Order order) {
  Job job(scenario, Job::Use::run);
  job.start();
  World& world = job.machine().world;
  const int ranks = static_cast<int>(world.ranks.size());
  int turn = 0;
  std::vector<Choice> choices;
  for (std::uint64_t step = 0; !job.finished(); ++step) {
    // In turn, so that a rank that only looks again and again keeps nobody from going on.
    choices.clear();
    for (int i = 0; i < ranks && choices.empty(); ++i) {
      job.machine().takes_of(turn = (turn + 1) % ranks, choices, order == Order::first);
    }
    if (!choices.empty()) {
      const std::size_t picked = order == Order::first  ? 0
                                 : order == Order::last ? choices.size() - 1
                                                        : (step * 2654435761U >> 8U) % choices.size();
      job.step(choices[picked]);
      continue;
    }
    RankState* next = nullptr;
    for (RankState& rank : world.ranks) {
      if (!rank.finished && (next == nullptr || rank.deadline < next->deadline)) next = &rank;
    }
    next->now = std::max(next->now, next->deadline);
  }
  if (job.exception()) std::rethrow_exception(job.exception());
}

std::string to_string(const ExploreResult& result) {
  std::string text = std::to_string(result.states) + " states, " + std::to_string(result.steps) + " steps, " +
                     std::to_string(result.executions) + " executions" + (result.complete ? "" : ", incomplete") + "\n";
  for (const auto& [ending, count] : result.endings)
    text += "ends " + std::to_string(count) + " times: " + ending + "\n";
  for (const Finding& finding : result.violations) text += "violation: " + finding.what + "\n" + finding.trace;
  for (const Finding& finding : result.deadlocks) text += "deadlock:\n" + finding.trace;
  return text;
}

}  // namespace twinlink::explore
