// Pattern::copy: between a rank's device and its host memory.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "protocols/bench/measure/check_error.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/bench/measure/payload.hpp"
#include "protocols/bench/measure/sweep.hpp"
#include "protocols/bench/measure/warm_up.hpp"

namespace twinlink::bench {
namespace {

/// Copies between a rank's device and its host memory, out and back.
class CopyRun {
 public:
  CopyRun(MeasuredRank& rank, Memory kind, Locality locality, const Plan& plan)
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
    const std::vector<double> trial = trial_rounds(rank_, repeats.warmup, one_round);
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

  MeasuredRank& rank_;
  const Plan& plan_;
  std::string name_;
  ScopedBuffer device_;
  ScopedBuffer host_;
  std::optional<double> cpu_us_{};
  std::uint64_t verified_rounds_ = 0;
};

}  // namespace

Series measure_copy(MeasuredRank& rank, Memory kind, Locality locality, const Plan& plan) {
  check_plan(rank, plan, false);
  if (kind == Memory::device) throw UsageError("a copy curve is between the device and host memory");
  if (rank.id() != plan.first) return {};
  return CopyRun(rank, kind, locality, plan).run();
}

}  // namespace twinlink::bench
