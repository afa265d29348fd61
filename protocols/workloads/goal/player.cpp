#include "protocols/workloads/goal/player.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

#include "protocols/core/errors.hpp"

namespace twinlink::workloads::goal {
namespace {

/// Protocols and additions have the first ones: kernels behind their copies would hold those up.
constexpr int kFirstStream = 3;

/// What ends a round.
class FailedRound : public Error {
 public:
  explicit FailedRound(Outcome outcome) : Error(outcome.reason), outcome_(std::move(outcome)) {}
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }

 private:
  Outcome outcome_;
};

}  // namespace

/// One time through the tasks.
class Player::Round {
 public:
  Round(Player& player, bool check, Seconds timeout)
      : player_(player),
        rank_(player.rank_),
        trace_(player.job_.trace_of(player.rank_.id().value)),
        check_(check),
        timeout_(timeout),
        start_(rank_.now()),
        states_(trace_.tasks.size()) {
    for (const Need& need : trace_.needs) ++states_[need.what].needs;
    for (int stream = kFirstStream; stream < kStreams; ++stream) free_streams_.push_back(Stream{stream});
    for (const Task& task : trace_.tasks) {
      if (task.kind == Task::Kind::calc) ++calcs_[task.cpu].left;
    }
  }

  Played play() {
    last_ = start_;
    for (std::uint32_t task = 0; task < states_.size(); ++task) {
      if (states_[task].needs == 0) ready_.push_back(task);
    }
    settle();
    std::vector<std::function<void()>> works;
    for (const Line& line : player_.lines_)
      works.emplace_back([this, &line] { line.sends ? send(line) : receive(line); });
    for (auto& [cpu, queue] : calcs_) works.emplace_back([this, &queue] { compute(queue); });
    Played played;
    try {
      rank_.run(works);
    } catch (const FailedRound& failed) {
      played.outcome = failed.outcome();
    }
    played.fault = fault_;
    played.ended = ended_ - start_;
    played.waited = waited_;
    return played;
  }

 private:
  struct State {
    std::uint32_t needs = 0;  ///< that are not fulfilled
    bool ready = false;
    bool begun = false;
    bool arrived = false;  ///< a message, perhaps before anybody asked for it
  };
  /// The calcs of a cpu.
  struct Queue {
    std::deque<std::uint32_t> ready{};
    std::size_t left = 0;
  };

  [[nodiscard]] std::string where(std::uint32_t task) const { return player_.job_.where(rank_.id().value, task); }

  // ---- tasks ------------------------------------------------------------------------------------------------------

  void fulfil(const std::vector<std::uint32_t>& waiting) {
    for (const std::uint32_t task : waiting) {
      if (--states_[task].needs == 0) ready_.push_back(task);
    }
  }
  void begin(std::uint32_t task) {
    states_[task].begun = true;
    fulfil(player_.after_start_[task]);
  }
  void end(std::uint32_t task) {
    ended_ = rank_.now();
    fulfil(player_.after_end_[task]);
  }
  /// What has become ready is begun, or told to whoever does it; what follows from that, too.
  void settle() {
    while (!ready_.empty()) {
      const std::uint32_t task = ready_.front();
      ready_.pop_front();
      states_[task].ready = true;
      const Task& what = trace_.tasks[task];
      if (what.kind == Task::Kind::calc) calcs_.at(what.cpu).ready.push_back(task);
      if (what.kind != Task::Kind::receive) continue;
      begin(task);
      if (states_[task].arrived) end(task);
    }
  }
  void begin_now(std::uint32_t task) {
    begin(task);
    settle();
  }
  void end_now(std::uint32_t task) {
    end(task);
    settle();
  }

  // ---- what this rank does, and when it does nothing ----------------------------------------------------------------

  void busy(int more) {
    const Seconds now = rank_.now();
    if (busy_ == 0) waited_ += now - last_;
    last_ = now;
    busy_ += more;
  }

  // ---- works ------------------------------------------------------------------------------------------------------

  void exchange(const Line& line, const Message& message, View view) {
    const std::span<const View> one{&view, 1};
    Outcome outcome = line.sends ? line.channel->exchange(one, {}) : line.channel->exchange({}, one);
    if (outcome.ok()) return;
    outcome.reason = where(message.task) + ": with rank " + std::to_string(message.peer) + ": " + outcome.reason;
    throw FailedRound(std::move(outcome));
  }

  void send(const Line& line) {
    for (const Message& message : line.messages) {
      rank_.wait_until([&] { return states_[message.task].ready; });
      const View view = line.room.slice(Bytes{}, message.size);
      if (check_) rank_.fill(view, message.content);
      busy(1);
      begin_now(message.task);
      exchange(line, message, view);
      busy(-1);
      end_now(message.task);
    }
  }

  /// Memory for it is there from the beginning, so that nobody who sends waits for a recv. Its end waits for both.
  void receive(const Line& line) {
    for (const Message& message : line.messages) {
      const View view = line.room.slice(Bytes{}, message.size);
      if (check_) rank_.fill(view, kSentinel);
      exchange(line, message, view);
      if (check_) compare(message, view);
      busy(0);
      states_[message.task].arrived = true;
      if (states_[message.task].begun) end_now(message.task);
    }
  }

  void compare(const Message& message, View view) {
    const Verdict verdict = rank_.check(view, message.content);
    if (verdict.intact() || !fault_.empty()) return;
    fault_ = where(message.task) + ": from rank " + std::to_string(message.peer) + ": " + to_string(verdict);
  }

  void compute(Queue& queue) {
    for (std::size_t left = queue.left; left > 0; --left) {
      rank_.wait_until([&] { return !queue.ready.empty(); });
      const std::uint32_t task = queue.ready.front();
      queue.ready.pop_front();
      run_kernel(task);
      end_now(task);
    }
  }

  void run_kernel(std::uint32_t task) {
    const std::uint64_t nanoseconds = trace_.tasks[task].amount;
    if (nanoseconds == 0) return begin_now(task);  // traces join others by it
    rank_.wait_until([&] { return !free_streams_.empty(); });
    const Stream stream = free_streams_.front();
    free_streams_.pop_front();
    busy(1);
    begin_now(task);
    const Seconds duration{static_cast<double>(nanoseconds) * 1e-9};
    rank_.step("calc");
    const Status status = wait(rank_, rank_.compute(duration, stream), rank_.now() + duration + timeout_);
    if (status != Status::delivered) throw FailedRound({status, where(task) + ": on its own device"});
    busy(-1);
    free_streams_.push_back(stream);
  }

  Player& player_;
  ConcurrentRank& rank_;
  const RankTrace& trace_;
  bool check_;
  Seconds timeout_;
  Seconds start_;
  std::vector<State> states_;
  std::deque<std::uint32_t> ready_{};
  std::map<int, Queue> calcs_{};  ///< by cpu
  std::deque<Stream> free_streams_{};
  std::string fault_{};
  Seconds ended_{start_};
  int busy_ = 0;  ///< kernels and sends under way
  Seconds last_{};
  Seconds waited_{};
};

Player::Player(ConcurrentRank& rank, const Ways& ways, const Job& job)
    : rank_(rank),
      second_(rank),
      job_(job),
      mine_(job.of(rank.id().value)),
      after_end_(job.trace_of(rank.id().value).tasks.size()),
      after_start_(after_end_.size()) {
  for (const Need& need : job.trace_of(rank.id().value).needs) {
    (need.at_start ? after_start_ : after_end_)[need.on].push_back(need.what);
  }
  if (mine_.memory() == Bytes{}) return;
  buffer_ = rank.allocate(ways.within->message_memory(), mine_.memory(), Locality::near);
  add_lines(mine_.sends, true);
  add_lines(mine_.receives, false);
  std::vector<std::function<void()>> works;
  for (Line& line : lines_) {
    works.emplace_back([this, &ways, &line] {
      const RankId peer{line.messages.front().peer};
      // Both ends give the second channel to messages to the lower rank.
      const bool is_second = line.sends == (peer < rank_.id());
      line.channel = open_channel(is_second ? static_cast<Rank&>(second_) : rank_, ways, peer);
    });
  }
  rank.run(works);
}

Player::~Player() {
  if (buffer_.id == 0) return;
  try {
    lines_.clear();
    rank_.release(buffer_);
  } catch (const Error&) {
    return;  // an exception is passing that says why it is still in use
  }
}

void Player::add_lines(std::span<const Message> messages, bool sends) {
  for (const auto& of_peer : by_peer(messages)) {
    const Bytes room = room_for(of_peer);
    lines_.push_back({of_peer, sends, View(buffer_, used_, room)});
    used_ += room;
  }
}

Played Player::play(bool check, Seconds timeout) { return Round(*this, check, timeout).play(); }

bool Player::connecting() const {
  return std::ranges::any_of(lines_, [](const Line& line) { return line.channel->connecting(); });
}

std::map<std::string, std::uint64_t> Player::counters() const {
  std::map<std::string, std::uint64_t> all;
  for (const Line& line : lines_) {
    for (const Counter& counter : line.channel->counters()) all[counter.name] += counter.value;
  }
  return all;
}

}  // namespace twinlink::workloads::goal
