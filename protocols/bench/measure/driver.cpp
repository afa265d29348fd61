#include "protocols/bench/measure/driver.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/measure/pair_group.hpp"
#include "protocols/bench/measure/payload.hpp"

namespace twinlink::bench {
namespace {

/// Between exchanges a rank fills and compares buffers, which a short timeout for exchanges says nothing about.
constexpr Seconds kPatience{60.0};

void check_plan(const Rank& rank, const Plan& plan) {
  if (plan.sizes.empty() || !std::ranges::is_sorted(plan.sizes)) {
    throw UsageError("the message sizes must ascend, and there must be one");
  }
  if (plan.window < 1 || plan.window > kMaxWindow) {
    throw UsageError(fmt::format("a window of {} messages: 1 to {} are possible", plan.window, kMaxWindow));
  }
  check_repeats(plan.small);
  check_repeats(plan.large);
  check_passes(plan.passes);
  for (const RankId id : {plan.first, plan.second}) {
    if (id.value >= 0 && id.value < rank.ranks()) continue;
    if (plan.pattern == Pattern::copy && id == plan.second) continue;
    throw UsageError(fmt::format("there is no rank {} in a job of {}", id.value, rank.ranks()));
  }
}

const Repeats& repeats_of(const Plan& plan, Bytes size) { return size < plan.large_from ? plan.small : plan.large; }

Point make_point(const Plan& plan, Bytes size, double directions, Rounds one_way_us) {
  Point point{.size = size, .verified = plan.verify};
  if (plan.keep_samples) point.samples_us = one_way_us.times_us;
  point.time_us = summarize(std::move(one_way_us));
  if (point.time_us.median > 0) {
    point.bandwidth_MBps = directions * static_cast<double>(size.count()) / point.time_us.median;
  }
  return point;
}

/// What a rank's CPU has spent since this began.
class CpuTime {
 public:
  explicit CpuTime(const Rank& rank) : rank_(rank), start_(rank.cpu_time()) {}
  /// On each of `messages`, in microseconds.
  [[nodiscard]] std::optional<double> on_each(double messages) const {
    const auto end = rank_.cpu_time();
    return end && start_ ? std::optional((*end - *start_).microseconds() / messages) : std::nullopt;
  }

 private:
  const Rank& rank_;
  std::optional<Seconds> start_;
};

/// All sizes, once for every pass. `directions` go at the same time; `tell` adds what is known of the size just
/// measured. `telling`: as plan.first, which tells of every point.
void sweep(const Plan& plan, bool telling, Series& series, double directions,
           const std::function<Rounds(Bytes)>& measure_size, const std::function<void(Point&)>& tell) {
  std::vector<std::vector<Rounds>> one_way_us(plan.sizes.size());
  for (int pass = 1; pass <= plan.passes; ++pass) {
    for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
      one_way_us[i].push_back(measure_size(plan.sizes[i]));
      if (pass < plan.passes) continue;
      series.points.push_back(make_point(plan, plan.sizes[i], directions, merge_passes(one_way_us[i])));
      tell(series.points.back());
      if (telling && plan.on_point) plan.on_point(series);
    }
  }
}

/// One end of a measurement between two ranks.
class PairRun {
 public:
  PairRun(Rank& rank, const Protocol& protocol, const Plan& plan)
      : rank_(rank),
        protocol_(protocol),
        plan_(plan),
        leading_(rank.id() == plan.first),
        peer_(leading_ ? plan.second : plan.first),
        patience_{std::max(plan.settings.timeout, kPatience)},
        group_(rank, plan, patience_) {
    Bytes memory{};
    Bytes packed{};
    for (const Bytes size : plan.sizes) {
      memory = std::max(memory, window_of(size).memory());
      packed = std::max(packed, Window(size, static_cast<int>(window_of(size).places())).memory());
    }
    // One buffer for all sizes: a protocol that maps the peer's memory does so once.
    const Memory kind = message_memory(protocol, plan.packing);
    if (sends()) out_.emplace(rank, kind, memory);
    if (receives()) in_.emplace(rank, kind, memory);
    packed_.emplace(rank, protocol, plan.packing, sends() ? packed : Bytes{}, receives() ? packed : Bytes{});
  }

  Series run() {
    Series series{.label = std::string(protocol_.name()),
                  .protocol = std::string(protocol_.name()),
                  .preset = plan_.preset,
                  .pattern = plan_.pattern,
                  .settings = stored_settings(plan_),
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
    series.counters = channel_->counters();
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
  [[nodiscard]] Window window_of(Bytes size) const { return {size, window_size(), plan_.packing.layout}; }
  /// What one round's time is divided by to give the one-way time of one message.
  [[nodiscard]] double messages_in_turn(int window) const { return plan_.pattern == Pattern::pingpong ? 2 : window; }

  [[nodiscard]] std::vector<OtherPair> other_pairs() const {
    std::vector<OtherPair> pairs;
    for (const Companion& pair : plan_.beside) {
      pairs.push_back({.protocol = pair.protocol,
                       .settings = pair.settings,
                       .from = to_string(rank_.place(pair.first)),
                       .to = to_string(rank_.place(pair.second))});
    }
    return pairs;
  }

  double cold_message() {
    const Window one(plan_.sizes.front(), 1, plan_.packing.layout);
    group_.synchronize();
    const double connect_us = time_round(
        rank_, [&] { channel_ = twinlink::connect(rank_, peer_, protocol_, plan_.settings, plan_.packing, *packed_); });
    const Messages message = messages_of(one);
    const double round_us = time_round(rank_, [&] { round(message, plan_.sizes.front()); });
    return connect_us + round_us / messages_in_turn(1);
  }

  Rounds measure_size(Bytes size) {
    const Window window = window_of(size);
    const Repeats& repeats = repeats_of(plan_, size);
    const Messages messages = messages_of(window);
    const auto one_round = [&] { round(messages, size); };
    if (plan_.verify) verified_round(window, size);
    if (!group_.alone()) group_.synchronize();  // rounds that are tried alone say nothing of those that follow
    const std::vector<double> trial = trial_rounds(rank_, repeats.warmup, plan_.budget, one_round);
    const int rounds = group_.agree(rounds_within(plan_.budget, trial, repeats.iterations));
    group_.synchronize();
    const CpuTime cpu(rank_);
    Rounds timed{.times_us = time_rounds(rank_, rounds, one_round)};
    // A round of a ping-pong sends and receives one message at this end, as the two ends of one do.
    cpu_us_ = cpu.on_each(static_cast<double>(rounds) * window_size());
    group_.outlast(rounds, one_round);
    if (plan_.verify) verified_round(window, size);
    timed /= messages_in_turn(window_size());
    return timed;
  }

  /// Of one round, made before it is timed.
  struct Messages {
    std::vector<View> outgoing{};
    std::vector<View> incoming{};
  };
  [[nodiscard]] Messages messages_of(const Window& window) const {
    return {out_ ? window.messages(out_->buffer()) : std::vector<View>{},
            in_ ? window.messages(in_->buffer()) : std::vector<View>{}};
  }

  void round(const Messages& messages, Bytes size) {
    const auto& [outgoing, incoming] = messages;
    if (plan_.pattern == Pattern::pingpong) {
      if (leading_) exchange(outgoing, {}, size);
      exchange({}, incoming, size);
      if (!leading_) exchange(outgoing, {}, size);
      return;
    }
    exchange(outgoing, incoming, size);
    answer(rank_, peer_, leading_, patience_);  // the other end has all messages of the window
  }

  void exchange(std::span<const View> outgoing, std::span<const View> incoming, Bytes size) {
    const Outcome outcome = channel_->exchange(outgoing, incoming);
    if (!outcome.ok()) fail(size, fmt::format("{}: {}", to_string(outcome.status), outcome.reason));
  }

  /// A round with contents that no round before it had.
  void verified_round(const Window& window, Bytes size) {
    ++verified_rounds_;
    if (out_) fill(rank_, window, out_->buffer(), seed(rank_.id()));
    if (in_) wipe(rank_, window, in_->buffer());
    synchronize(rank_, peer_, patience_);
    round(messages_of(window), size);
    if (!in_) return;
    if (const auto fault = check(rank_, window, in_->buffer(), seed(peer_))) fail(size, *fault);
  }

  [[nodiscard]] std::uint64_t seed(RankId sender) const {
    return verified_rounds_ * static_cast<std::uint64_t>(rank_.ranks()) + static_cast<std::uint64_t>(sender.value);
  }

  [[noreturn]] void fail(Bytes size, std::string_view what) const {
    throw CheckError(fmt::format("rank {}: {}, {} B: {}", rank_.id().value, protocol_.name(), size.count(), what));
  }

  Rank& rank_;
  const Protocol& protocol_;
  const Plan& plan_;
  bool leading_;
  RankId peer_;
  Patience patience_;
  PairGroup group_;
  std::optional<ScopedBuffer> out_;
  std::optional<ScopedBuffer> in_;
  std::optional<PackedBuffers> packed_;
  std::unique_ptr<Channel> channel_;
  std::optional<double> cpu_us_{};  ///< of the size just measured
  std::uint64_t verified_rounds_ = 0;
};

/// Copies between a rank's device and its host memory, out and back.
class CopyRun {
 public:
  CopyRun(Rank& rank, Memory kind, Locality locality, const Plan& plan)
      : rank_(rank),
        plan_(plan),
        name_(fmt::format("copy {} {}", to_string(kind), locality == Locality::near ? "near" : "far")),
        device_(rank, Memory::device, plan.sizes.back()),
        host_(rank, kind, plan.sizes.back(), locality) {}

  Series run() {
    Series series{.label = name_,
                  .protocol = name_,
                  .pattern = Pattern::copy,
                  .settings = plan_.settings,
                  .from = to_string(rank_.place(rank_.id())),
                  .to = "host"};
    series.cold_us = time_round(rank_, [&] { round(plan_.sizes.front()); }) / 2;
    sweep(
        plan_, true, series, 1, [this](Bytes size) { return measure_size(size); },
        [this](Point& point) {
          point.path = "device memory to host memory and back";
          point.cpu_us = cpu_us_;
        });
    return series;
  }

 private:
  Rounds measure_size(Bytes size) {
    const Repeats& repeats = repeats_of(plan_, size);
    const auto one_round = [&] { round(size); };
    if (plan_.verify) verified_round(size);
    const std::vector<double> trial = trial_rounds(rank_, repeats.warmup, plan_.budget, one_round);
    const int rounds = rounds_within(plan_.budget, trial, repeats.iterations);
    const CpuTime cpu(rank_);
    Rounds timed{.times_us = time_rounds(rank_, rounds, one_round)};
    cpu_us_ = cpu.on_each(2.0 * rounds);
    if (plan_.verify) verified_round(size);
    timed /= 2;
    return timed;
  }

  void round(Bytes size) {
    copy(host_.first(size), device_.first(size));
    copy(device_.first(size), host_.first(size));
  }

  void copy(View to, View from) {
    const Op op = rank_.copy(to, from, Stream{0}, Engine::dma);
    const Status status = wait(rank_, op, rank_.now() + plan_.settings.timeout);
    if (status != Status::delivered) fail(from.length, to_string(status));
  }

  void verified_round(Bytes size) {
    const twinlink::Payload pattern{++verified_rounds_};
    rank_.fill(device_.first(size), pattern);
    rank_.fill(host_.first(size), kSentinel);
    copy(host_.first(size), device_.first(size));
    expect(host_.first(size), pattern, "host memory");
    rank_.fill(device_.first(size), kSentinel);
    copy(device_.first(size), host_.first(size));
    expect(device_.first(size), pattern, "device memory");
  }

  void expect(View view, twinlink::Payload pattern, std::string_view where) {
    const Verdict verdict = rank_.check(view, pattern);
    if (!verdict.intact()) fail(view.length, fmt::format("{} of {}", to_string(verdict), where));
  }

  [[noreturn]] void fail(Bytes size, std::string_view what) const {
    throw CheckError(fmt::format("rank {}: {}, {} B: {}", rank_.id().value, name_, size.count(), what));
  }

  Rank& rank_;
  const Plan& plan_;
  std::string name_;
  ScopedBuffer device_;
  ScopedBuffer host_;
  std::optional<double> cpu_us_{};
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

Settings stored_settings(const Plan& plan) {
  Settings settings = plan.settings;
  if (!plan.packing.needed()) return settings;
  settings.options[std::string(kLayoutOption)] = to_string(plan.packing.layout);
  settings.options[std::string(kPackOption)] = to_string(plan.packing.method);
  return settings;
}

Series measure(Rank& rank, const Protocol& protocol, const Plan& plan) {
  check_plan(rank, plan);
  if (plan.pattern == Pattern::copy) throw UsageError("the pattern 'copy' has no peer, and so no protocol");
  if (plan.first == plan.second) throw UsageError("a message needs two different ranks");
  if (rank.id() != plan.first && rank.id() != plan.second) return {};
  check_settings(protocol, plan.settings);
  require_support(protocol, rank.path_to(rank.id() == plan.first ? plan.second : plan.first));
  for (const Bytes size : plan.sizes) check_packing(plan.packing, size);
  return PairRun(rank, protocol, plan).run();
}

Series measure_copy(Rank& rank, Memory kind, Locality locality, const Plan& plan) {
  check_plan(rank, plan);
  if (kind == Memory::device) throw UsageError("a copy curve is between the device and host memory");
  if (rank.id() != plan.first) return {};
  return CopyRun(rank, kind, locality, plan).run();
}

}  // namespace twinlink::bench
