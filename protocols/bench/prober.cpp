#include "protocols/bench/prober.hpp"

#include <fmt/format.h>

#include "protocols/bench/check_error.hpp"

namespace twinlink::bench {

std::vector<double> Prober::sample(Bytes size, const std::function<void()>& round) {
  const Repeats& wanted = repeats(size);
  const std::vector<double> trial = time_rounds(rank_, wanted.warmup, round);
  return time_rounds(rank_, rounds_within(plan_.budget, trial, wanted.iterations), round);
}

std::vector<double> Prober::sample_with(RankId peer, bool leading, Bytes size, const std::function<void()>& round) {
  const Repeats& wanted = repeats(size);
  const std::vector<double> trial = time_rounds(rank_, wanted.warmup, round);
  const int rounds = agree(rank_, peer, leading, rounds_within(plan_.budget, trial, wanted.iterations), patience());
  meet(rank_, peer, patience());
  return time_rounds(rank_, rounds, round);
}

void Prober::record(const std::string& name, const std::string& peer, Bytes size, std::vector<double> times_us,
                    bool moves_bytes) {
  const std::string gpu = to_string(rank_.place(rank_.id()));
  std::vector<double> samples_us = plan_.keep_samples ? times_us : std::vector<double>{};
  const Statistics time_us = summarize(std::move(times_us));
  if (time_us.median <= 0) {
    if (free_of_charge_.insert(name).second) note(fmt::format("{}: no line for '{}': it takes no time", gpu, name));
    return;
  }
  const double bandwidth_MBps = moves_bytes ? static_cast<double>(size.count()) / time_us.median : 0;
  findings_.lines.push_back({name, gpu, peer, size, time_us, bandwidth_MBps, std::move(samples_us)});
}

void Prober::copy(View to, View from, Engine engine) {
  finish(rank_.copy(to, from, Stream{0}, engine), "copy", from.length);
}

void Prober::finish(Op op, std::string_view what, Bytes size) {
  const Status status = wait(rank_, op, rank_.now() + plan_.timeout);
  if (status != Status::delivered) fail(what, size, to_string(status));
}

void Prober::expect(View view, twinlink::Pattern pattern, std::string_view what) {
  const Verdict verdict = rank_.check(view, pattern);
  if (!verdict.intact()) fail(what, view.length, to_string(verdict));
}

void Prober::fail(std::string_view what, Bytes size, std::string_view reason) const {
  throw CheckError(fmt::format("rank {}: {}, {} B: {}", rank_.id().value, what, size.count(), reason));
}

}  // namespace twinlink::bench
