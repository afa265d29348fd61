#include "protocols/bench/probe/prober.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "protocols/bench/measure/check_error.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::bench {

namespace {

/// `round`, which tells nothing, as one that tells its time in microseconds.
std::function<double()> timed(Rank& rank, const std::function<void()>& round) {
  return [&rank, &round] { return time_round(rank, round); };
}

/// `count` rounds that tell their time themselves.
Rounds timed_rounds(int count, const std::function<double()>& timed) {
  Rounds rounds;
  for (int i = 0; i < count; ++i) rounds.times_us.push_back(timed());
  return rounds;
}

}  // namespace

Rounds Prober::sample(Bytes size, const std::function<void()>& round) {
  return sample_rounds(size, timed(rank_, round));
}

Rounds Prober::sample_with(RankId peer, bool leading, Bytes size, const std::function<void()>& round) {
  return sample_timed_with(peer, leading, size, timed(rank_, round));
}

Rounds Prober::sample_timed_with(RankId peer, bool leading, Bytes size, const std::function<double()>& timed) {
  const Repeats& wanted = repeats(size);
  const std::vector<double> trial = trial_rounds(rank_, wanted.warmup, [&] { timed(); });
  const int rounds = agree(rank_, peer, leading, rounds_within(plan_.budget, trial, wanted.iterations), patience());
  synchronize(rank_, peer, patience());
  return timed_rounds(rounds, timed);
}

Rounds Prober::sample_in(std::span<const RankId> group, Bytes size, const std::function<void()>& round) {
  return sample_timed_in(group, size, timed(rank_, round));
}

Rounds Prober::sample_timed_in(std::span<const RankId> group, Bytes size, const std::function<double()>& timed) {
  const Repeats& wanted = repeats(size);
  meet_in(rank_, group, patience());
  const std::vector<double> trial = trial_rounds(rank_, wanted.warmup, [&] { timed(); });
  const int rounds = agree_in(rank_, group, rounds_within(plan_.budget, trial, wanted.iterations), patience());
  return timed_rounds(rounds, timed);
}

Rounds Prober::sample_after(Bytes size, const std::function<void()>& prepare, const std::function<void()>& round) {
  return sample_rounds(size, [&] {
    prepare();
    return time_round(rank_, round);
  });
}

Rounds Prober::sample_start(std::string_view what, Bytes size, const std::function<Op()>& start) {
  return sample_rounds(size, [&] {
    const Op first = start();
    Op op;
    const double time_us = time_round(rank_, [&] { op = start(); });
    finish(first, what, size);
    finish(op, what, size);
    return time_us;
  });
}

Rounds Prober::sample_finish(std::string_view what, Bytes size, const std::function<Op()>& start,
                             const std::function<void()>& meanwhile) {
  return sample_rounds(size, [&] {
    const Op op = start();
    meanwhile();
    return time_round(rank_, [&] { finish(op, what, size); });
  });
}

Rounds Prober::sample_look(std::string_view what, Bytes size, const std::function<Op()>& start) {
  constexpr int kLooks = 8;
  constexpr Seconds kAtOnce{};
  return sample_rounds(size, [&] {
    const Op op = start();
    bool ended = false;
    const double looks_us = time_round(rank_, [&] {
      for (int i = 0; i < kLooks && !ended; ++i) ended = rank_.wait_any({&op, 1}, kAtOnce).has_value();
    });
    if (ended) return 0.0;
    // To find out that the deadline has passed, each of them has read the clock, as somebody who waits hardly ever
    // does.
    const double clocks_us = time_round(rank_, [&] {
      for (int i = 0; i < kLooks; ++i) rank_.now();
    });
    finish(op, what, size);
    return std::max(looks_us - clocks_us, 0.0) / kLooks;
  });
}

Rounds Prober::sample_rounds(Bytes size, const std::function<double()>& timed) {
  const Repeats& wanted = repeats(size);
  const auto whole = [&] { timed(); };
  const std::vector<double> trial = trial_rounds(rank_, wanted.warmup, whole);
  return timed_rounds(rounds_within(plan_.budget, trial, wanted.iterations), timed);
}

Rounds Prober::sample_queued(std::string_view what, Bytes size, const std::function<Op()>& start) {
  Rounds rounds = sample(size, [&] {
    std::array<Op, kQueuedCopies> ops{};
    for (Op& op : ops) op = start();
    for (const Op op : ops) finish(op, what, size);
  });
  return rounds /= kQueuedCopies;
}

void Prober::record_copy(Bytes size, const std::string& name, const Move& move, const Sampler& sampler) {
  record_copies_at(size, name, {&move, 1}, [&](std::span<const Move> moves) { return sampler(moves.front()); });
}

void Prober::record_copies(const std::string& name, const Move& move, const Sampler& sampler) {
  for (const Bytes size : plan_.sizes) record_copy(size, name, move, sampler);
}

void Prober::record_copies(const std::string& name, std::span<const Move> moves, const GroupSampler& sampler) {
  for (const Bytes size : plan_.sizes) record_copies_at(size, name, moves, sampler);
}

void Prober::record_copies_at(Bytes size, const std::string& name, std::span<const Move> moves,
                              const GroupSampler& sampler) {
  const twinlink::Payload pattern = fresh_pattern();
  if (!wants(name)) return;
  std::vector<Move> parts;
  for (const Move& move : moves) {
    parts.push_back(move.first(size));
    if (!plan_.verify) continue;
    rank_.fill(parts.back().from, pattern);
    rank_.fill(parts.back().to, kSentinel);
  }
  record(name, {}, size, sampler(parts), true);
  if (!plan_.verify) return;
  for (const Move& part : parts) expect(part.to, pattern, name);
}

void Prober::record_messages(const std::string& name, RankId peer, bool leading, const MessageMemory& memory,
                             int in_turn, const std::function<Rounds(Bytes size)>& sampler) {
  if (!wants(name)) return;
  std::uint64_t seed = 0;  // the same at both ends
  for (const Bytes size : plan_.sizes) {
    const twinlink::Payload leaders{++seed};
    const twinlink::Payload followers{++seed};
    if (plan_.verify) {
      rank_.fill(memory.source.first(size), leading ? leaders : followers);
      rank_.fill(memory.in.first(size), kSentinel);
    }
    Rounds rounds = sampler(size);
    rounds /= in_turn;
    if (plan_.verify) expect(memory.in.first(size), leading ? followers : leaders, name);
    if (leading) record(name, to_string(rank_.place(peer)), size, std::move(rounds), true);
  }
}

void Prober::record(const std::string& name, const std::string& peer, Bytes size, Rounds rounds, bool moves_bytes) {
  if (!wants(name)) return;
  part_.lines.push_back({.name = name,
                         .gpu = to_string(rank_.place(rank_.id())),
                         .peer = peer,
                         .size = size,
                         .moves_bytes = moves_bytes,
                         .rounds = std::move(rounds)});
}

void Prober::note(std::string text) {
  if (std::ranges::find(part_.notes, text) == part_.notes.end()) part_.notes.push_back(std::move(text));
}

void Prober::copy(View to, View from, Engine engine) {
  finish(rank_.copy(to, from, Stream{0}, engine), "copy", from.length);
}

void Prober::finish(Op op, std::string_view what, Bytes size) {
  const Status status = wait(rank_, op, rank_.now() + plan_.timeout);
  if (status != Status::delivered) fail(what, size, to_string(status));
}

void Prober::expect(View view, twinlink::Payload pattern, std::string_view what) {
  const Verdict verdict = rank_.check(view, pattern);
  if (!verdict.intact()) fail(what, view.length, to_string(verdict));
}

void Prober::fail(std::string_view what, Bytes size, std::string_view reason) const {
  throw CheckError(fmt::format("rank {}: {}, {} B: {}", rank_.id().value, what, size.count(), reason));
}

bool can(Prober& prober, const std::string& what, const std::function<void()>& attempt) {
  std::string reason;
  try {
    attempt();
    return true;
  } catch (const InputError& error) {  // a simulated platform that does not say what it costs
    reason = error.what();
  } catch (const UnavailableError& error) {
    reason = error.what();
  }
  prober.note(fmt::format("{}: no {}: {}", to_string(prober.rank().place(prober.rank().id())), what, reason));
  return false;
}

bool can_copy(Prober& prober, std::string_view words, Buffer to, Buffer from, Engine engine) {
  return can(prober, fmt::format("copies {}", words),
             [&] { prober.copy(View(to, Bytes{}, Bytes{1}), View(from, Bytes{}, Bytes{1}), engine); });
}

}  // namespace twinlink::bench
