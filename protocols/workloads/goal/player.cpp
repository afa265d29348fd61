#include "protocols/workloads/goal/player.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <utility>

#include "protocols/core/errors.hpp"
#include "protocols/workloads/goal/repetition.hpp"

namespace twinlink::workloads::goal {
namespace {

/// Stream of copies to itself. Protocols and additions have the first ones.
constexpr Stream kOwn{3};

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
    for (const Task& task : trace_.tasks) {
      if (task.kind == Task::Kind::calc && task.amount > 0) ++calcs_[task.cpu].left;
    }
    if (player.job_.left_out() == 0) return;
    begins_us_.resize(trace_.tasks.size());
    ends_us_.resize(trace_.tasks.size());
    for (std::uint32_t task = 0; task < trace_.tasks.size(); ++task) last_of_body_.at(trace_.tasks[task].body) = task;
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
    for (const Joined& joined : player_.joined_) works.emplace_back([this, &joined] { join(joined); });
    if (!player_.mine_.own.empty()) works.emplace_back([this] { copy_own(); });
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
    played.under_way = under_way();
    if (!ends_us_.empty()) add_left_out(played);
    return played;
  }

 private:
  struct State {
    std::uint32_t needs = 0;  ///< that are not fulfilled
    bool ready = false;
    bool begun = false;
    bool ended = false;    ///< a collective
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
    if (!begins_us_.empty()) begins_us_[task] = rank_.now().microseconds();
    fulfil(player_.after_start_[task]);
  }
  void end(std::uint32_t task) {
    ended_ = rank_.now();
    if (!ends_us_.empty()) note_end(task);
    fulfil(player_.after_end_[task]);
  }
  /// What has become ready is begun, or told to whoever does it; what follows from that, too.
  void settle() {
    while (!ready_.empty()) {
      const std::uint32_t task = ready_.front();
      ready_.pop_front();
      states_[task].ready = true;
      const Task& what = trace_.tasks[task];
      if (what.kind == Task::Kind::calc && what.amount > 0) {
        calcs_.at(what.cpu).ready.push_back(task);
      } else if (what.kind == Task::Kind::calc) {  // traces join others by it: it takes no cpu, so it waits for none
        begin(task);
        end(task);
      } else if (what.kind == Task::Kind::receive) {
        begin(task);
        if (states_[task].arrived) {
          ++messages_.all.calls;
          end(task);
        } else {
          use(messages_, 1);
        }
      }
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
    for (auto& [name, line] : uses_) {
      if (line.now == 0) continue;
      line.all.time += now - last_;
      if (computing_ == 0) line.all.exposed += now - last_;
    }
    last_ = now;
    busy_ += more;
  }
  struct Use {
    UnderWay all{};
    int now = 0;
  };
  /// So many more are under way, or less.
  void use(Use& line, int more) {
    busy(0);
    line.now += more;
    if (more > 0) line.all.calls += static_cast<std::size_t>(more);
  }

  [[nodiscard]] std::map<std::string, UnderWay> under_way() const {
    std::map<std::string, UnderWay> all;
    for (const auto& [name, line] : uses_) all[name] = line.all;
    return all;
  }

  // ---- bodies that are left out -----------------------------------------------------------------------------------

  void note_end(std::uint32_t task) {
    ends_us_[task] = ended_.microseconds();
    const std::size_t body = trace_.tasks[task].body;
    if (body < kFirstNoted || body >= kFirstNoted + noted_.size() || task != last_of_body_.at(body)) return;
    busy(0);
    noted_.at(body - kFirstNoted) = {waited_, under_way()};
  }

  /// What the last of the compared bodies has added, so often as bodies are left out; or no pace, where the one before
  /// has added something else.
  void add_left_out(Played& played) const {
    played.pace = pace_of(trace_, begins_us_, ends_us_);
    const auto bodies = static_cast<double>(player_.job_.left_out());
    const double period = (played.pace.shortest + played.pace.longest) / 2;
    const auto added = [&](auto of) {
      const double before = of(noted_[1]) - of(noted_[0]);
      const double last = of(noted_[2]) - of(noted_[1]);
      if (std::abs(last - before) > kSamePeriod * period) played.pace.longest = Pace::kNever;
      return last * bodies;
    };
    played.ended += Seconds{period * 1e-6} * bodies;
    played.waited += Seconds{added([](const Noted& noted) { return noted.waited.microseconds(); }) * 1e-6};
    for (auto& [name, one] : played.under_way) {
      const auto of = [&name = name](auto what) {
        return [&name, what](const Noted& noted) {
          const auto found = noted.under_way.find(name);
          return found == noted.under_way.end() ? 0 : what(found->second);
        };
      };
      one.calls += static_cast<std::size_t>(
          std::llround(added(of([](const UnderWay& line) { return static_cast<double>(line.calls); }))));
      one.time += Seconds{added(of([](const UnderWay& line) { return line.time.microseconds(); })) * 1e-6};
      one.exposed += Seconds{added(of([](const UnderWay& line) { return line.exposed.microseconds(); })) * 1e-6};
    }
  }

  // ---- works ------------------------------------------------------------------------------------------------------

  void exchange(const Line& line, std::span<const Message> window, std::span<const View> views) {
    line.rank->turn_to(window.front().turn);
    Outcome outcome = line.sends ? line.channel->exchange(views, {}) : line.channel->exchange({}, views);
    if (!outcome.ok()) fail(window.front(), std::move(outcome));
  }
  [[noreturn]] void fail(const Message& message, Outcome outcome) const {
    outcome.reason = where(message.task) + ": with rank " + std::to_string(message.peer) + ": " + outcome.reason;
    throw FailedRound(std::move(outcome));
  }
  static std::vector<View> views_of(std::span<const Message> window, const View& room) {
    std::vector<View> views;
    Bytes at{};
    for (const Message& message : window) {
      views.push_back(room.slice(at, message.size));
      at += room_for(message);
    }
    return views;
  }
  /// All of a window are ready at once.
  void await_ready(std::span<const Message> window) {
    rank_.wait_until([&] {
      return std::ranges::all_of(window, [&](const Message& message) { return states_[message.task].ready; });
    });
  }

  void send(const Line& line) {
    for (const auto& window : by_window(line.messages)) {
      await_ready(window);
      const std::vector<View> views = views_of(window, line.room);
      for (std::size_t i = 0; check_ && i < views.size(); ++i) rank_.fill(views[i], window[i].content);
      busy(1);
      use(messages_, static_cast<int>(window.size()));
      for (const Message& message : window) begin_now(message.task);
      exchange(line, window, views);
      busy(-1);
      use(messages_, -static_cast<int>(window.size()));
      for (const Message& message : window) end_now(message.task);
    }
  }

  /// Memory for it is there from the beginning, so that nobody who sends waits for a recv. Its end waits for both.
  void receive(const Line& line) {
    for (const auto& window : by_window(line.messages)) {
      const std::vector<View> views = views_of(window, line.room);
      for (std::size_t i = 0; check_ && i < views.size(); ++i) rank_.fill(views[i], kSentinel);
      exchange(line, window, views);
      for (std::size_t i = 0; check_ && i < views.size(); ++i) compare(window[i], views[i]);
      busy(0);
      for (const Message& message : window) arrive(message.task);
    }
  }
  void arrive(std::uint32_t task) {
    states_[task].arrived = true;
    if (!states_[task].begun) return;
    if (trace_.tasks[task].kind == Task::Kind::receive) use(messages_, -1);
    end_now(task);
  }

  void join(const Joined& joined) {
    for (const Collected& each : joined.collectives) {
      rank_.wait_until([&] {
        return states_[each.task].ready &&
               std::ranges::all_of(each.after, [&](std::uint32_t task) { return states_[task].ended; });
      });
      const Schedule& schedule = joined.schedules.at({each.how, each.elements});
      if (check_) prepare(rank_, schedule, *joined.buffers);
      Use& line =
          uses_[name_of(kCollectives.at(trace_.tasks[each.task].what), player_.job_.trace().groups[each.group])];
      busy(1);
      use(line, 1);
      begin_now(each.task);
      const Together& together = *schedule.steps.front().together;
      Outcome outcome = joined.members.all->run(together.what, joined.buffers->view(together.data));
      if (!outcome.ok()) {
        outcome.reason = where(each.task) + ": " + outcome.reason;
        throw FailedRound(std::move(outcome));
      }
      if (const auto wrong = check_ ? fault_in(rank_, schedule, *joined.buffers) : std::nullopt;
          wrong && fault_.empty()) {
        fault_ = where(each.task) + ": " + *wrong;
      }
      busy(-1);
      use(line, -1);
      states_[each.task].ended = true;
      end_now(each.task);
    }
  }

  /// Messages of a rank to itself are copies, one after the other.
  void copy_own() {
    for (const Message& message : player_.mine_.own) {
      await_ready({&message, 1});
      const View from = player_.own_from_.slice(Bytes{}, message.size);
      const View to = player_.own_to_.slice(Bytes{}, message.size);
      if (check_) rank_.fill(from, message.content);
      if (check_) rank_.fill(to, kSentinel);
      busy(1);
      begin_now(message.task);
      rank_.step("copy to itself");
      const Status status = wait(rank_, rank_.copy(to, from, kOwn, Engine::dma), rank_.now() + timeout_);
      if (status != Status::delivered) fail(message, {status, std::string(to_string(status))});
      if (check_) compare(message, to);
      busy(-1);
      end_now(message.task);
      arrive(message.taken);
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
      run_calc(task);
      end_now(task);
    }
  }

  void run_calc(std::uint32_t task) {
    const std::uint64_t nanoseconds = trace_.tasks[task].amount;
    busy(1);
    ++computing_;
    begin_now(task);
    const Seconds duration{static_cast<double>(nanoseconds) * 1e-9};
    rank_.step("calc");
    const Status status = wait(rank_, rank_.compute(duration, kOnHost), rank_.now() + duration + timeout_);
    if (status != Status::delivered) throw FailedRound({status, where(task) + ": on its own host"});
    busy(-1);
    --computing_;
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
  std::string fault_{};
  Seconds ended_{start_};
  int busy_ = 0;  ///< calcs and sends under way
  Seconds last_{};
  Seconds waited_{};
  int computing_ = 0;  ///< calcs under way
  std::map<std::string, Use> uses_{};
  Use& messages_ = uses_["messages"];

  /// At the end of the third body, the fourth and the fifth.
  struct Noted {
    Seconds waited{};
    std::map<std::string, UnderWay> under_way{};
  };
  static constexpr std::size_t kFirstNoted = 3;
  std::vector<double> begins_us_{};  ///< of each task; empty: nothing is left out
  std::vector<double> ends_us_{};
  std::array<std::uint32_t, kKeptBodies + 1> last_of_body_{};
  std::array<Noted, 3> noted_{};
};

Player::Player(ConcurrentRank& rank, const Ways& ways, const Job& job)
    : rank_(rank),
      job_(job),
      mine_(job.of(rank.id().value)),
      after_end_(job.trace_of(rank.id().value).tasks.size()),
      after_start_(after_end_.size()) {
  for (const Need& need : job.trace_of(rank.id().value).needs) {
    (need.at_start ? after_start_ : after_end_)[need.on].push_back(need.what);
  }
  require_streams(ways);
  join_groups(ways);
  if (mine_.memory() == Bytes{}) return;
  buffer_ = rank.allocate(ways.within->message_memory(), mine_.memory(), Locality::near);
  add_lines(mine_.sends, true);
  add_lines(mine_.receives, false);
  // What begins at one moment begins in the order of the file: in one of the peers all ranks would send to the first.
  std::ranges::stable_sort(lines_, {}, [](const Line& line) { return line.messages.front().task; });
  Bytes own{};
  for (const Message& message : mine_.own) own = std::max(own, room_for(message));
  own_from_ = take_room(own);
  own_to_ = take_room(own);
  std::vector<std::function<void()>> works;
  for (Line& line : lines_) {
    works.emplace_back(
        [&ways, &line] { line.channel = open_channel(*line.rank, ways, RankId{line.messages.front().peer}); });
  }
  if (!works.empty()) rank.run(works);
}

Player::~Player() {
  try {
    close();
    if (buffer_.id != 0) rank_.release(buffer_);
  } catch (const Error&) {
    return;  // an exception is passing that says why it is still in use
  }
}

/// Both ends give messages to the lower rank the channels behind those of the other direction.
void Player::add_lines(std::span<const Message> messages, bool sends) {
  static_assert(2 * kLanes <= kChannels);
  for (const auto& of_lane : by_lane(messages)) {
    const bool to_lower = sends == (RankId{of_lane.front().peer} < rank_.id());
    const int number = of_lane.front().lane + (to_lower ? kLanes : 0);
    lines_.push_back({of_lane, sends, take_room(room_for(of_lane)),
                      std::make_unique<NumberedChannel>(rank_, number, take_stream())});
  }
}

void Player::require_streams(const Ways& ways) const {
  constexpr std::size_t kPrograms = kStreams - kFirstOfPrograms;
  const std::size_t lanes = by_lane(mine_.sends).size() + by_lane(mine_.receives).size();
  const std::size_t groups = by_group(mine_.collectives).size();
  if (!ways.within->does_collectives() || lanes + groups <= kPrograms) return;
  throw UsageError("rank " + std::to_string(rank_.id().value) + " has " + std::to_string(lanes) +
                   " lanes to and from its peers, and collectives in " + std::to_string(groups) +
                   " groups: " + std::string(ways.within->name()) + " has streams for " + std::to_string(kPrograms) +
                   " of both, whose kernels would wait for each other");
}

/// All ranks open them in the order of the groups, so that none wait for each other.
void Player::join_groups(const Ways& ways) {
  for (const auto& of_group : by_group(mine_.collectives)) {
    Joined joined{.collectives = of_group};
    joined.rank = std::make_unique<NumberedChannel>(rank_, 2 * kLanes, take_stream());
    joined.members = join_circle(*joined.rank, ways, job_.trace().groups[of_group.front().group]);
    const GroupRank& self = *joined.members.self;
    std::uint64_t most = 0;
    for (const Collected& each : of_group) {
      const auto [place, is_new] = joined.schedules.try_emplace({each.how, each.elements});
      if (is_new) place->second = each.how->schedule({.ranks = self.ranks()}, self.id().value, each.elements);
      most = std::max(most, place->second.data);
    }
    joined.buffers = std::make_unique<Buffers>(rank_, Memory::device, most, 0);
    joined_.push_back(std::move(joined));
  }
}

Stream Player::take_stream() { return {kFirstOfPrograms + streams_++ % (kStreams - kFirstOfPrograms)}; }

View Player::take_room(Bytes room) {
  const View view(buffer_, used_, room);
  used_ += room;
  return view;
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
