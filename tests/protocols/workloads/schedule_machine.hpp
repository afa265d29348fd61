// Runs the schedules of all ranks against each other, without a machine.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "protocols/core/payload.hpp"
#include "protocols/workloads/catalogue.hpp"

namespace twinlink::workloads {

class Machine {
 public:
  Machine(const Algorithm& algorithm, const Shape& shape, std::uint64_t elements)
      : Machine([&](int rank) { return algorithm.schedule(shape, rank, elements); }, shape.ranks) {}
  Machine(const std::function<Schedule(int rank)>& schedule_of, int ranks) : ranks_(ranks) {
    for (int r = 0; r < ranks; ++r) {
      Schedule schedule = schedule_of(r);
      State state{.data = Elements(schedule.data, kUntouched), .scratch = Elements(schedule.scratch, kUntouched)};
      for (const Mark& mark : schedule.before) write(state, mark);
      states_.push_back(std::move(state));
      schedules_.push_back(std::move(schedule));
    }
  }

  /// Each rank goes on until it waits; nobody goes on any more when all wait.
  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int r = 0; r < ranks_; ++r) {
        for (const int list : {0, 1}) {
          while (step_of(r, list)) moved = true;
        }
      }
    }
  }

  [[nodiscard]] bool all_ended() const {
    for (std::size_t r = 0; r < states_.size(); ++r) {
      if (states_[r].lists[0].step < schedules_[r].steps.size()) return false;
      if (states_[r].lists[1].step < schedules_[r].beside.size()) return false;
    }
    return wire_empty();
  }

  [[nodiscard]] bool as_promised(int rank) {
    State expected = states_[static_cast<std::size_t>(rank)];
    const Schedule& schedule = schedules_[static_cast<std::size_t>(rank)];
    for (const Mark& mark : schedule.after) write(expected, mark);
    return expected.data == states_[static_cast<std::size_t>(rank)].data && !schedule.after.empty();
  }

  /// How many steps had contents to be compared, all of which are as they should be.
  [[nodiscard]] int compared() const { return compared_; }

 private:
  using Elements = std::vector<std::uint64_t>;
  static constexpr std::uint64_t kUntouched = 0;

  struct Progress {
    std::size_t step = 0;
    bool sent = false;
  };
  struct State {
    Elements data{};
    Elements scratch{};
    std::array<Progress, 2> lists{};
  };

  static Elements::iterator at(State& state, const Slice& slice) {
    Elements& all = slice.where == Where::data ? state.data : state.scratch;
    if (slice.begin + slice.length > all.size()) throw std::out_of_range("a slice beyond its buffer");
    return all.begin() + static_cast<std::ptrdiff_t>(slice.begin);
  }
  static void write(State& state, const Mark& mark) {
    auto to = at(state, mark.slice);
    EXPECT_LT(mark.value, std::uint64_t{1} << 63U) << "of a content that adds up";
    for (std::uint64_t i = 0; i < mark.slice.length; ++i) *to++ = summable_element(summable(mark.value), i);
  }
  [[nodiscard]] bool wire_empty() const {
    for (const auto& [ends, messages] : wire_) {
      if (!messages.empty()) return false;
    }
    return true;
  }

  /// False where the list of the rank has ended, or waits for a message or for the other list.
  bool step_of(int rank, int list) {
    State& state = states_[static_cast<std::size_t>(rank)];
    const Schedule& schedule = schedules_[static_cast<std::size_t>(rank)];
    const std::vector<Step>& steps = list == 0 ? schedule.steps : schedule.beside;
    Progress& progress = state.lists[static_cast<std::size_t>(list)];
    if (progress.step == steps.size()) return false;
    const Step& step = steps[progress.step];
    if (step.after > state.lists[static_cast<std::size_t>(1 - list)].step) return false;
    if (!progress.sent) {
      for (const Mark& mark : step.fresh) write(state, mark);
      for (const Transfer& t : step.transfers) {
        EXPECT_NE(t.peer, rank);
        if (t.send.length == 0) continue;
        const auto from = at(state, t.send);
        wire_[{rank, t.peer, list}].emplace_back(from, from + static_cast<std::ptrdiff_t>(t.send.length));
      }
      progress.sent = true;
    }
    for (const Transfer& t : step.transfers) {
      if (t.receive.length > 0 && wire_[{t.peer, rank, list}].empty()) return false;
    }
    for (const Transfer& t : step.transfers) {
      if (t.receive.length == 0) continue;
      auto& messages = wire_[{t.peer, rank, list}];
      EXPECT_EQ(messages.front().size(), t.receive.length) << "from " << t.peer << " to " << rank;
      std::ranges::copy(messages.front(), at(state, t.receive));
      messages.pop_front();
    }
    for (const Local& local : step.locals) {
      EXPECT_EQ(local.to.length, local.from.length);
      auto to = at(state, local.to);
      auto from = at(state, local.from);
      for (std::uint64_t i = 0; i < local.to.length; ++i, ++to, ++from) {
        *to = local.kind == Local::Kind::add ? *to + *from : *from;
      }
    }
    compare(state, step, rank);
    ++progress.step;
    progress.sent = false;
    return true;
  }
  void compare(State& state, const Step& step, int rank) {
    if (step.expected.empty()) return;
    State expected = state;
    for (const Mark& mark : step.expected) write(expected, mark);
    EXPECT_EQ(expected.data, state.data) << "rank " << rank;
    ++compared_;
  }

  int ranks_;
  int compared_ = 0;
  std::vector<State> states_;
  std::vector<Schedule> schedules_;
  /// From, to, and which list of steps: peers of one list are not those of the other.
  std::map<std::tuple<int, int, int>, std::deque<Elements>> wire_;
};

/// A channel's exchange moves both ways at once: the other end's must be its mirror, one after the other.
inline void expect_mirrored(const Algorithm& algorithm, const Shape& shape, std::uint64_t elements) {
  using Sizes = std::pair<std::uint64_t, std::uint64_t>;
  std::map<std::pair<int, int>, std::vector<Sizes>> exchanges;
  for (int r = 0; r < shape.ranks; ++r) {
    for (const Step& step : algorithm.schedule(shape, r, elements).steps) {
      std::set<int> peers;
      int before = -1;
      for (const Transfer& t : step.transfers) {
        const bool goes_on = std::exchange(before, t.peer) == t.peer;
        EXPECT_TRUE(peers.insert(t.peer).second || goes_on) << "two exchanges on one channel at once";
        if (t.send.length + t.receive.length > 0) exchanges[{r, t.peer}].push_back({t.send.length, t.receive.length});
      }
    }
  }
  for (const auto& [ends, mine] : exchanges) {
    std::vector<Sizes> mirrored;
    for (const auto& [sent, received] : exchanges[{ends.second, ends.first}]) mirrored.push_back({received, sent});
    EXPECT_EQ(mine, mirrored) << algorithm.name << " of " << shape.ranks << " ranks: " << ends.first << " and "
                              << ends.second;
  }
}

}  // namespace twinlink::workloads
