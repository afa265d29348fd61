#include "protocols/bench/measure/driver.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/measure/ends.hpp"
#include "protocols/bench/measure/one_process.hpp"
#include "protocols/bench/measure/pair_group.hpp"
#include "protocols/bench/measure/payload.hpp"
#include "protocols/bench/measure/sweep.hpp"
#include "protocols/bench/measure/warm_up.hpp"
#include "protocols/core/text.hpp"

namespace twinlink::bench {
namespace {

/// One end of a measurement between two ranks.
class PairRun {
 public:
  PairRun(MeasuredRank& rank, const Protocol& protocol, const Plan& plan)
      : rank_(rank),
        protocol_(protocol),
        plan_(plan),
        leading_(rank.id() == plan.first),
        peer_(leading_ ? plan.second : plan.first),
        patience_(Patience::of_peer(plan.settings.timeout)),
        group_(rank_, plan) {
    Bytes memory{};
    Bytes packed{};
    for (const Bytes size : plan.sizes) {
      memory = std::max(memory, window_of(size).memory());
      packed = std::max(packed, Window(size, static_cast<int>(window_of(size).places())).memory());
    }
    // The same ones for all sizes: a protocol that maps the peer's memory does so once.
    const Memory kind = message_memory(protocol, plan, leading_);
    for (int buffer = 0; buffer < plan.facts.buffers; ++buffer) {
      if (sends()) out_.emplace_back(rank_, kind, memory);
      if (receives()) in_.emplace_back(rank_, kind, memory);
    }
    packed_.emplace(rank_, protocol, plan.facts.packing, sends() ? packed : Bytes{}, receives() ? packed : Bytes{});
  }

  Series run() {
    Series series{.label = std::string(protocol_.name()),
                  .protocol = std::string(protocol_.name()),
                  .preset = plan_.preset,
                  .pattern = plan_.pattern,
                  .settings = plan_.settings,
                  .facts = plan_.facts,
                  .window = window_size(),
                  .from = to_string(rank_.place(plan_.first)),
                  .to = to_string(rank_.place(plan_.second)),
                  .beside = other_pairs()};
    series.cold_us = cold_message();
    const double directions = plan_.pattern == Pattern::bidirectional ? 2 : 1;
    sweep(
        plan_, leading_, series, directions, [this](Bytes size) { return measure_size(size); },
        [this](Point& point) {
          point.path = channel_->path_taken();
          point.cpu_us = cpu_us_;
        });
    series.counters = all_counters();
    // The peer's end may have our buffers open until it is closed too.
    synchronize(rank_, peer_, patience_);
    channel_.reset();
    synchronize(rank_, peer_, patience_);
    return leading_ ? series : Series{};
  }

 private:
  [[nodiscard]] bool sends() const { return leading_ || plan_.pattern != Pattern::bandwidth; }
  [[nodiscard]] bool receives() const { return !leading_ || plan_.pattern != Pattern::bandwidth; }
  [[nodiscard]] int window_size() const { return plan_.pattern == Pattern::pingpong ? 1 : plan_.window; }
  [[nodiscard]] Window window_of(Bytes size) const { return {size, window_size(), plan_.facts.packing.layout}; }
  /// What one round's time is divided by to give the one-way time of one message.
  [[nodiscard]] double messages_in_turn(int window) const { return plan_.pattern == Pattern::pingpong ? 2 : window; }

  [[nodiscard]] std::vector<OtherPair> other_pairs() const {
    std::vector<OtherPair> pairs;
    for (const Companion& pair : plan_.beside) {
      pairs.push_back({.protocol = pair.protocol,
                       .settings = pair.settings,
                       .facts = pair.facts,
                       .from = to_string(rank_.place(pair.first)),
                       .to = to_string(rank_.place(pair.second))});
    }
    return pairs;
  }

  /// On the leader those of both ends, the peer's behind its own.
  [[nodiscard]] std::vector<Counter> all_counters() {
    std::vector<Counter> counters = channel_->counters();
    std::string lines;
    for (const Counter& counter : counters) lines += fmt::format("{} {}\n", counter.value, counter.name);
    const std::string theirs = text_of_peer(rank_, peer_, leading_, lines, patience_);
    for (const std::string_view line : split(theirs, '\n')) {
      const std::size_t blank = line.find(' ');
      if (blank == std::string_view::npos) continue;
      counters.push_back(
          {"peer: " + std::string(line.substr(blank + 1)), std::stoull(std::string(line.substr(0, blank)))});
    }
    return counters;
  }

  double cold_message() {
    const Window one(plan_.sizes.front(), 1, plan_.facts.packing.layout);
    const Settings settings = settings_of_end(protocol_, plan_, leading_);
    group_.synchronize();
    const double connect_us = time_round(
        rank_, [&] { channel_ = twinlink::connect(rank_, peer_, protocol_, settings, plan_.facts.packing, *packed_); });
    const Messages message = messages_of(one, 0);
    const double round_us = time_round(rank_, [&] { round(message, plan_.sizes.front()); });
    return connect_us + (round_us - computing_us()) / messages_in_turn(1);
  }

  Rounds measure_size(Bytes size) {
    const Window window = window_of(size);
    const Repeats& repeats = repeats_of(plan_, size);
    std::vector<Messages> messages;
    for (std::size_t buffer = 0; buffer < buffers(); ++buffer) messages.push_back(messages_of(window, buffer));
    std::size_t turn = 0;
    const auto one_round = [&] { round(messages[turn++ % messages.size()], size); };
    if (plan_.verify) verified_rounds(window, size);
    if (!group_.alone()) group_.synchronize();  // rounds that are tried alone say nothing of those that follow
    // Each buffer has its turn before it counts, and as many turns as the others.
    const int least = repeats.warmup + (plan_.facts.buffers > 1 ? plan_.facts.buffers : 0);
    const std::vector<double> trial = warm_up_(least, one_round);
    const int wanted = group_.agree(rounds_within(plan_.budget, trial, repeats.iterations));
    const int rounds = (wanted + plan_.facts.buffers - 1) / plan_.facts.buffers * plan_.facts.buffers;
    group_.synchronize();
    const CpuTime cpu(rank_);
    Rounds timed{.times_us = time_rounds(rank_, rounds, one_round)};
    // A round of a ping-pong sends and receives one message at this end, as the two ends of one do.
    cpu_us_ = cpu.on_each(static_cast<double>(rounds) * window_size());
    if (plan_.on_round) watched_round(one_round);
    group_.outlast(rounds, one_round);
    if (plan_.verify) verified_rounds(window, size);
    for (double& time_us : timed.times_us) time_us -= computing_us();
    timed /= messages_in_turn(window_size());
    return timed;
  }

  void watched_round(const std::function<void()>& one_round) {
    const bool first = rank_.id() == plan_.first;
    if (first) plan_.on_round(true, rank_.id(), rank_.now());
    one_round();
    if (first) plan_.on_round(false, rank_.id(), rank_.now());
  }

  /// Messages of one round, made before it is timed.
  struct Messages {
    std::vector<View> outgoing{};
    std::vector<View> incoming{};
  };
  [[nodiscard]] Messages messages_of(const Window& window, std::size_t buffer) const {
    return {sends() ? window.messages(out_[buffer].buffer()) : std::vector<View>{},
            receives() ? window.messages(in_[buffer].buffer()) : std::vector<View>{}};
  }
  [[nodiscard]] std::size_t buffers() const { return static_cast<std::size_t>(plan_.facts.buffers); }

  void round(const Messages& messages, Bytes size) {
    const auto& [outgoing, incoming] = messages;
    if (plan_.pattern == Pattern::pingpong) {
      if (leading_) exchange(outgoing, {}, size);
      exchange({}, incoming, size);
      compute();
      if (!leading_) exchange(outgoing, {}, size);
      return;
    }
    exchange(outgoing, incoming, size);
    if (receives()) compute();
    answer(rank_, peer_, leading_, patience_);  // the other end has all messages of the window
  }

  /// What the computing of one round takes: in turn of a ping-pong, at the same time otherwise.
  [[nodiscard]] double computing_us() const {
    return plan_.facts.compute.microseconds() * (plan_.pattern == Pattern::pingpong ? 2 : 1);
  }

  void compute() {
    if (plan_.facts.compute == Seconds{}) return;
    rank_.step("compute");
    const Status status = wait(rank_, rank_.compute(plan_.facts.compute, Stream{0}), rank_.now() + patience_.longest);
    if (status != Status::delivered) fail(Bytes{}, fmt::format("computing: {}", to_string(status)));
  }

  void exchange(std::span<const View> outgoing, std::span<const View> incoming, Bytes size) {
    const Outcome outcome = channel_->exchange(outgoing, incoming);
    if (outcome.ok()) return;
    throw NotDelivered(at_size(size, fmt::format("{}: {}", to_string(outcome.status), outcome.reason)));
  }

  void verified_rounds(const Window& window, Bytes size) {
    for (std::size_t buffer = 0; buffer < buffers(); ++buffer) verified_round(window, size, buffer);
  }

  /// A round with contents that no round before it had.
  void verified_round(const Window& window, Bytes size, std::size_t buffer) {
    ++verified_rounds_;
    if (sends()) fill(rank_, window, out_[buffer].buffer(), seed(rank_.id()));
    if (receives()) wipe(rank_, window, in_[buffer].buffer());
    synchronize(rank_, peer_, patience_);
    round(messages_of(window, buffer), size);
    if (!receives()) return;
    if (const auto fault = check(rank_, window, in_[buffer].buffer(), seed(peer_))) fail(size, *fault);
  }

  [[nodiscard]] std::uint64_t seed(RankId sender) const {
    return verified_rounds_ * static_cast<std::uint64_t>(rank_.ranks()) + static_cast<std::uint64_t>(sender.value);
  }

  [[noreturn]] void fail(Bytes size, std::string_view what) const { throw CheckError(at_size(size, what)); }
  [[nodiscard]] std::string at_size(Bytes size, std::string_view what) const {
    return fmt::format("rank {}: {}, {} B: {}", rank_.id().value, protocol_.name(), size.count(), what);
  }

  SetUpRank rank_;
  const Protocol& protocol_;
  const Plan& plan_;
  bool leading_;
  RankId peer_;
  Patience patience_;
  PairGroup group_;
  std::deque<ScopedBuffer> out_;  ///< plan_.facts.buffers of them, where this end sends
  std::deque<ScopedBuffer> in_;
  std::optional<PackedBuffers> packed_;
  std::unique_ptr<Channel> channel_;
  WarmUp warm_up_{
      rank_, [this] { return channel_->connecting(); },
      [this](int mine) { return agree_in(rank_, leader_first(rank_.id(), peer_, leading_), mine, patience_); }};
  std::optional<double> cpu_us_{};  ///< of the size just measured
  std::uint64_t verified_rounds_ = 0;
};

}  // namespace

std::vector<Bytes> size_sweep(Bytes begin, Bytes end, int factor) {
  if (factor < 2) throw UsageError(fmt::format("the sizes grow by a factor of {}: at least 2 is needed", factor));
  if (begin == Bytes{}) throw UsageError("the smallest message size is 1 B");
  if (begin > end) {
    throw UsageError(fmt::format("the sizes begin at {} and end at {}: the end must not be smaller", format_size(begin),
                                 format_size(end)));
  }
  std::vector<Bytes> sizes;
  const auto step = static_cast<std::uint64_t>(factor);
  for (std::uint64_t size = begin.count();; size *= step) {
    sizes.emplace_back(size);
    if (size > end.count() / step) return sizes;
  }
}

Series measure(MeasuredRank& rank, const Protocol& protocol, const Plan& plan) {
  if (plan.pattern == Pattern::copy) throw UsageError("the pattern 'copy' has no peer, and so no protocol");
  check_plan(rank, plan, true);
  if (plan.facts.one_process) return measure_in_one_process(rank, protocol, plan);
  check_ends(protocol, plan);
  if (rank.id() != plan.first && rank.id() != plan.second) return {};
  check_settings(protocol, plan.settings);
  require_support(protocol, rank.path_to(rank.id() == plan.first ? plan.second : plan.first));
  for (const Bytes size : plan.sizes) check_packing(plan.facts.packing, size);
  return PairRun(rank, protocol, plan).run();
}

}  // namespace twinlink::bench
