#include "tests/explore/explorer/job.hpp"

#include <algorithm>

namespace twinlink::explore {

/// A rank and its fiber.
struct Job::Seat {
  Seat(Job& job, int id, bool own_heap)
      : fiber([&job, id] { job.run_body(id); }, own_heap), rank(job.machine_, id, fiber) {}

  Fiber fiber;
  ExploreRank rank;
  std::shared_ptr<const FiberImage> image{};  ///< null since the fiber ran
  std::optional<Key> hash{};                  ///< likewise
};

Job::Job(const Scenario& scenario, Use use) : scenario_(scenario), use_(use), machine_(scenario) {
  for (int rank = 0; rank < static_cast<int>(scenario.bodies.size()); ++rank) {
    seats_.push_back(std::make_unique<Seat>(*this, rank, use != Use::run));
    seats_.back()->rank.keep_words = use == Use::narrate;
  }
}

Job::~Job() = default;

void Job::run_body(int rank) {
  Seat& seat = *seats_[static_cast<std::size_t>(rank)];
  std::string failure;
  try {
    const Body& body = scenario_.bodies[static_cast<std::size_t>(rank)];
    if (use_ == Use::narrate) {
      TracingRank traced(seat.rank, *trace_);
      body(traced, seat.rank);
    } else {
      body(seat.rank, seat.rank);
    }
  } catch (const std::exception& error) {
    failure = error.what();
    if (use_ == Use::run && !exception_) exception_ = std::current_exception();
  }
  const ActiveArena ordinary(nullptr);
  RankState& state = machine_.world.ranks[static_cast<std::size_t>(rank)];
  state.finished = true;
  state.waits_for = nullptr;
  state.watched = nullptr;
  state.waits_for_count = 0;
  state.failure = std::string(failure.begin(), failure.end());
  if (!failure.empty()) machine_.violation("rank " + std::to_string(rank) + " threw: " + state.failure);
}

void Job::go_on(int rank) {
  Seat& seat = *seats_[static_cast<std::size_t>(rank)];
  seat.image.reset();
  seat.hash.reset();
  const std::size_t before = machine_.violations.size();
  seat.fiber.resume();
  if (use_ != Use::narrate) return;
  for (std::size_t i = before; i < machine_.violations.size(); ++i) {
    const std::string where = seat.rank.words.empty() ? "" : seat.rank.words + " | ";
    remarks_.emplace_back(trace_->order().size(), "rank " + std::to_string(rank) + " | " + where + "VIOLATION " +
                                                      machine_.violations[i] + "\n");
  }
}

void Job::start() {
  trace_.reset();
  remarks_.clear();
  if (use_ == Use::narrate) trace_ = std::make_unique<Trace>();
  machine_.world = Machine(scenario_).world;
  machine_.violations.clear();
  machine_.footprint.clear();
  for (const auto& seat : seats_) {
    seat->fiber.restart();
    seat->rank.words.clear();
  }
  for (int rank = 0; rank < static_cast<int>(seats_.size()); ++rank) go_on(rank);
}

void Job::step(const Choice& choice) {
  machine_.footprint.clear();
  machine_.violations.clear();
  const auto answer = machine_.commit(choice);
  Seat& seat = *seats_[static_cast<std::size_t>(choice.rank)];
  if (choice.kind == Choice::Kind::end) {
    // A recv_control may have written its message into the fiber.
    seat.image.reset();
    seat.hash.reset();
    return;
  }
  seat.rank.answer = answer;
  go_on(choice.rank);
}

Job::Saved Job::save() {
  Saved saved{machine_.world, {}};
  saved.fibers.reserve(seats_.size());
  for (const auto& seat : seats_) {
    if (!seat->image) {
      auto image = std::make_shared<FiberImage>();
      seat->fiber.save(*image);
      seat->image = std::move(image);
    }
    saved.fibers.push_back(seat->image);
  }
  return saved;
}

void Job::restore(const Saved& saved) {
  machine_.world = saved.world;
  for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
    Seat& seat = *seats_[rank];
    if (seat.image == saved.fibers[rank]) continue;
    seat.fiber.restore(*saved.fibers[rank]);
    seat.image = saved.fibers[rank];
    seat.hash.reset();
  }
}

Key Job::key(Likeness likeness) {
  Hash all;
  add_to(all, machine_.world);
  if (likeness == Likeness::looks) {
    for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
      const RankState& state = machine_.world.ranks[rank];
      all.add(seats_[rank]->fiber.depth(), state.watched != nullptr ? (*state.watched)() : 0);
    }
    return all.key();
  }
  for (const auto& seat : seats_) {
    if (!seat->hash) {
      Hash one;
      seat->fiber.hash(one);
      seat->hash = one.key();
    }
    all.add(seat->hash->high, seat->hash->low);
  }
  return all.key();
}

bool Job::finished() const { return std::ranges::all_of(machine_.world.ranks, &RankState::finished); }

bool Job::failed() const {
  return std::ranges::any_of(machine_.world.ranks, [](const RankState& rank) { return !rank.failure.empty(); });
}

std::string Job::endings() const {
  std::string text;
  for (const RankState& rank : machine_.world.ranks) {
    if (!text.empty()) text += " | ";
    if (!rank.failure.empty()) {
      text += "threw: " + rank.failure;
    } else if (!rank.finished) {
      text += "waits for ever";
    } else {
      text += rank.ending.empty() ? "-" : rank.ending;
    }
  }
  return text;
}

std::string Job::waits() const {
  std::string text;
  for (int rank = 0; rank < static_cast<int>(seats_.size()); ++rank) {
    if (machine_.world.ranks[static_cast<std::size_t>(rank)].finished) continue;
    const std::string& words = seats_[static_cast<std::size_t>(rank)]->rank.words;
    text += "rank " + std::to_string(rank) + " | " + (words.empty() ? "" : words + " | ") + "WAITS FOR EVER for " +
            machine_.waits(rank) + "\n";
  }
  return text;
}

std::string Job::story() const {
  std::string text = trace_->order();
  for (auto remark = remarks_.rbegin(); remark != remarks_.rend(); ++remark) text.insert(remark->first, remark->second);
  return text;
}

}  // namespace twinlink::explore
