#include "protocols/workloads/goal/lanes.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace twinlink::workloads::goal {
namespace {

/// Who waits for whom, by either.
class Needs {
 public:
  explicit Needs(const RankTrace& trace) : by_what_(trace.needs), by_on_(trace.needs) {
    std::ranges::sort(by_what_, {}, [](const Need& need) { return std::tuple(need.what, need.on, need.at_start); });
    std::ranges::sort(by_on_, {}, &Need::on);
  }
  /// Two tasks become ready at the same time, whatever takes how long.
  [[nodiscard]] bool alike(std::uint32_t a, std::uint32_t b) const {
    const auto of_a = std::ranges::equal_range(by_what_, a, {}, &Need::what);
    const auto of_b = std::ranges::equal_range(by_what_, b, {}, &Need::what);
    return std::ranges::equal(of_a, of_b, [](const Need& left, const Need& right) {
      return left.on == right.on && left.at_start == right.at_start;
    });
  }
  /// The tasks that wait for its end.
  [[nodiscard]] std::set<std::uint32_t> waiting_for(std::uint32_t task) const {
    std::set<std::uint32_t> all;
    for (const Need& need : std::ranges::equal_range(by_on_, task, {}, &Need::on)) {
      if (!need.at_start) all.insert(need.what);
    }
    return all;
  }

 private:
  std::vector<Need> by_what_;
  std::vector<Need> by_on_;
};

/// The messages of one pair and direction, as they follow each other.
class Pair {
 public:
  Pair(const Trace& trace, const Needs& of_sender, const Needs& of_receiver, std::size_t& windows)
      : trace_(trace), of_sender_(of_sender), of_receiver_(of_receiver), windows_(windows) {}

  void add(Planned& message) {
    if (!goes_with_window(message)) begin_window(message);
    message.lane = before_.lane;
    message.window = windows_;
    before_ = message;
    ++count_;
    bytes_ += Bytes{trace_.of(message.send).amount};
    sends_waited_for_.merge(of_sender_.waiting_for(message.send.task));
    receives_waited_for_.merge(of_receiver_.waiting_for(message.receive.task));
  }

 private:
  /// Messages that need not wait for each other take turns.
  void begin_window(const Planned& message) {
    before_.lane = side_by_side_[message.chain]++ % kLanes;
    ++windows_;
    count_ = 0;
    bytes_ = {};
    sends_waited_for_.clear();
    receives_waited_for_.clear();
  }

  [[nodiscard]] bool goes_with_window(const Planned& message) {
    if (count_ == 0 || count_ == kMostInWindow || message.chain != before_.chain) return false;
    if (bytes_ > kLargestWindow || !of_sender_.alike(message.send.task, before_.send.task)) return false;
    const Task& send = trace_.of(message.send);
    const Task& receive = trace_.of(message.receive);
    if (send.nic != trace_.of(before_.send).nic || receive.nic != trace_.of(before_.receive).nic) return false;
    // A recv that only waits for the one before it is over when its own message is there.
    receives_waited_for_.erase(message.receive.task);
    return std::ranges::includes(of_sender_.waiting_for(message.send.task), sends_waited_for_) &&
           std::ranges::includes(of_receiver_.waiting_for(message.receive.task), receives_waited_for_);
  }

  const Trace& trace_;
  const Needs& of_sender_;
  const Needs& of_receiver_;
  std::size_t& windows_;
  Planned before_{};
  std::size_t count_ = 0;  ///< in the window
  Bytes bytes_{};
  std::unordered_map<std::size_t, int> side_by_side_{};  ///< windows, by the length of the chain before them
  std::set<std::uint32_t> sends_waited_for_{};
  std::set<std::uint32_t> receives_waited_for_{};
};

}  // namespace

void assign_lanes(const Trace& trace, std::vector<Planned>& messages) {
  std::ranges::sort(messages, {}, [](const Planned& message) {
    return std::tuple(message.send.rank, message.receive.rank, message.order, message.after);
  });
  std::vector<Needs> needs;
  for (const RankTrace& rank : trace.ranks) needs.emplace_back(rank);
  const auto of = [&](int rank) -> const Needs& { return needs[static_cast<std::size_t>(rank)]; };
  std::size_t windows = 0;
  for (auto first = messages.begin(); first != messages.end();) {
    const auto [sender, receiver] = std::pair(first->send.rank, first->receive.rank);
    Pair pair(trace, of(sender), of(receiver), windows);
    for (; first != messages.end() && first->send.rank == sender && first->receive.rank == receiver; ++first) {
      pair.add(*first);
    }
  }
}

}  // namespace twinlink::workloads::goal
