#include "protocols/bench/workload/measure_workload.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/measure/check_error.hpp"
#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/workload/array_job.hpp"
#include "protocols/bench/workload/array_memory.hpp"
#include "protocols/bench/workload/array_proof.hpp"
#include "protocols/bench/workload/times.hpp"
#include "protocols/workloads/arrays/transformer.hpp"

namespace twinlink::bench {
namespace {

using workloads::FftRun;
using workloads::Mover;
using workloads::ReshapePlan;
using workloads::ReshapeTimes;
using workloads::RowPacking;

/// Ranks without bytes tell so many rows apart: there may be thousands of such ranks.
constexpr std::uint64_t kMostToldRows = 4096;

std::uint64_t rows_of(const ReshapePlan& plan) {
  std::uint64_t rows = 0;
  for (const workloads::Share& share : plan.sends) rows += count_blocks(share.theirs, plan.from, share.piece);
  return rows;
}

/// What a direction of a job is called.
struct Direction {
  std::string name{};  ///< "slab-forward"; of a reshape empty
  bool forward = true;
};

/// In a larger job forward alone, where both are the same but for their order, and one way of packing: it takes long.
constexpr int kLargeJob = 512;

std::vector<Direction> directions_of(const ArrayJob& job, int ranks) {
  if (!job.fft) return {{}};
  const std::string name(to_string(job.decomposition));
  std::vector<Direction> all;
  if (job.kind != workloads::FftKind::c2r) all.push_back({name + "-forward", true});
  const bool both = job.kind == workloads::FftKind::c2c && ranks <= kLargeJob;
  if (both || job.kind == workloads::FftKind::c2r) all.push_back({name + "-backward", false});
  return all;
}

class ArrayRunner {
 public:
  ArrayRunner(MeasuredRank& rank, const WorkloadPlan& plan)
      : ready_(rank),
        rank_(ready_),
        plan_(plan),
        job_(*plan.array()),
        self_(rank.id().value),
        patience_(Patience::of_turn(plan.timeout)) {
    const workloads::ReshapeWish wish{.element = job_.element,
                                      .in_place = job_.in_place,
                                      .most_blocks = rank.has_bytes() ? UINT64_MAX : kMostToldRows};
    if (job_.fft) {
      fft_.emplace(rank_, *job_.fft, job_.parts, wish);
      steps_ = 2 * job_.fft->layouts().size() - 1;
    } else {
      reshape_ = plan_reshape(job_.before, job_.after, self_, wish);
      steps_ = 1;
    }
  }

  WorkloadSeries run() {
    WorkloadSeries series;
    if (self_ == 0) series = heading_of(rank_, plan_);
    open();
    for (const Direction& direction : directions_of(job_, rank_.ranks())) {
      const std::vector<RowPacking> possible = possible_packings();
      std::string why;
      std::vector<RowPacking> measured = possible;
      if (possible.size() > 1 && !job_.each_packing) measured = {fastest(direction, possible, why)};
      for (const RowPacking packing : measured) {
        WorkloadPoint point = measure_point(direction, packing);
        point.why = why;
        if (!told() && self_ == 0) {
          point.why += fmt::format("{}rows of a message are not told apart", why.empty() ? "" : "; ");
        }
        if (self_ != 0) continue;
        if (plan_.on_point) plan_.on_point(point);
        series.points.push_back(std::move(point));
      }
    }
    series.counters = connections_->counters();
    close();
    return self_ == 0 ? series : WorkloadSeries{};
  }

 private:
  // ---- buffers and connections --------------------------------------------------------------------------------------

  [[nodiscard]] std::vector<const ReshapePlan*> plans() const {
    if (reshape_) return {&*reshape_};
    return fft_->plans();
  }
  [[nodiscard]] bool told() const {
    return std::ranges::all_of(plans(), [](const ReshapePlan* plan) { return plan->rows_told; });
  }

  void open() {
    ArraySizes sizes;
    std::set<RankId> peers;
    for (const ReshapePlan* plan : plans()) {
      sizes.add(*plan);
      for (const auto* shares : {&plan->sends, &plan->receives}) {
        for (const workloads::Share& share : *shares) {
          if (share.peer != self_) peers.insert(RankId{share.peer});
        }
      }
    }
    if (job_.in_place) sizes.first = sizes.second = std::max(sizes.first, sizes.second);
    memory_.emplace(rank_, plan_, sizes, job_.in_place, patience_);
    connections_.emplace(rank_, plan_.ways, memory_->heap());
    connections_->open(peers);
    mover_.emplace(rank_, *connections_, plan_.timeout);
    warm_up_.emplace(
        ready_, [this] { return connections_->connecting(); },
        [this](int mine) { return least_of_all(rank_, mine, patience_); });
  }
  void close() {
    meet_all(rank_, patience_);  // a peer's channel may have our buffers open
    connections_.reset();
    meet_all(rank_, patience_);
    memory_->close();
    memory_.reset();
  }

  // ---- rows ---------------------------------------------------------------------------------------------------------

  /// The same on all ranks.
  std::vector<RowPacking> possible_packings() {
    if (job_.packings.size() == 1) return job_.packings;
    std::uint64_t rows = 0;
    for (const ReshapePlan* plan : plans()) rows = std::max(rows, rows_of(*plan));
    const bool few = most_of_all(rank_, rows, patience_) <= workloads::kMostRows;
    if (!few || rank_.ranks() > kLargeJob) return {RowPacking::kernel};
    return job_.packings;
  }

  /// By the median of some rounds: a round that nothing disturbed, as the shortest one may be, does not come again.
  RowPacking fastest(const Direction& direction, const std::vector<RowPacking>& all, std::string& why) {
    constexpr int kTries = 7;
    std::optional<RowPacking> best;
    double least = std::numeric_limits<double>::infinity();
    for (const RowPacking packing : all) {
      (*warm_up_)(1, [&] { timed(direction, packing, false); });
      std::vector<double> tries;
      for (int i = 0; i < std::min(plan_.iterations, kTries); ++i) {
        tries.push_back(timed(direction, packing, false).microseconds());
      }
      // Numbers that are not negative are in the order of their bits.
      const auto mine = static_cast<float>(upper_median(std::move(tries)));
      const double us = std::bit_cast<float>(-least_of_all(rank_, -std::bit_cast<int>(mine), patience_));
      why += fmt::format("{}{} {:.2f}", why.empty() ? "tried us: " : ", ", to_string(packing), us);
      if (us < least) best = packing;
      least = std::min(us, least);
    }
    return *best;
  }

  // ---- rounds -------------------------------------------------------------------------------------------------------

  void run_once(const Direction& direction, RowPacking packing, workloads::FftTimes& times) {
    Outcome outcome;
    if (reshape_) {
      outcome = mover_->run(*reshape_, packing, memory_->of(0, 1), times.reshapes);
    } else {
      outcome = fft_->run(direction.forward, *mover_, packing, memory_->both(), plan_.timeout, times);
    }
    if (outcome.ok()) return;
    throw CheckError(fmt::format("rank {}: {} of {}: {}: {}", self_, job_.name, to_string(job_.global),
                                 to_string(outcome.status), outcome.reason));
  }

  Seconds timed(const Direction& direction, RowPacking packing, bool counts) {
    meet_all(rank_, patience_);
    const Seconds start = rank_.now();
    if (counts && plan_.on_round) plan_.on_round(true, rank_.id(), start);
    times_ = {};
    run_once(direction, packing, times_);
    const Seconds end = rank_.now();
    if (counts && plan_.on_round) plan_.on_round(false, rank_.id(), end);
    return end - start;
  }

  WorkloadPoint measure_point(const Direction& direction, RowPacking packing) {
    std::map<std::string, std::vector<double>> mine;
    if (fft_ && rank_.has_bytes()) begin_with_input(direction);
    run_rounds(
        plan_, *warm_up_, [&] { verify(direction, packing); },
        [&](bool counts) {
          const Seconds time = timed(direction, packing, counts);
          if (!counts) return;
          mine["us"].push_back(time.microseconds());
          mine["transforms"].push_back(times_.transforms.microseconds());
          mine["packing"].push_back(times_.reshapes.packing.microseconds());
          mine["exchange"].push_back(times_.reshapes.exchange.microseconds());
        });
    Bytes sent{};
    Bytes held{};
    for (const ReshapePlan* plan : plans()) held = std::max(held, job_.element * plan->from.elements());
    if (reshape_) held = std::max(held, job_.element * reshape_->to.elements());
    sent = reshape_ ? reshape_->sent() : fft_->sent();
    nlohmann::json text(mine);
    text["sent"] = sent.count();
    text["held"] = held.count();
    std::map<std::string, Times> times;
    std::uint64_t most_sent = 0;
    std::uint64_t most_held = 0;
    for (const std::string& each : gather(rank_, to_text(text), patience_)) {
      const nlohmann::json of_rank = nlohmann::json::parse(each);
      for (const char* name : {"us", "transforms", "packing", "exchange"}) {
        times[name].by_rank.push_back(of_rank.at(name).get<std::vector<double>>());
      }
      most_sent = std::max(most_sent, of_rank.at("sent").get<std::uint64_t>());
      most_held = std::max(most_held, of_rank.at("held").get<std::uint64_t>());
    }
    WorkloadPoint point{.size = Bytes{most_held}, .steps = steps_, .verified = plan_.verify};
    point.algorithm = direction.name.empty() ? std::string(to_string(packing))
                                             : fmt::format("{}-{}", direction.name, to_string(packing));
    if (self_ != 0) return point;
    take_times(point, times.at("us"));
    const auto median = [&](const char* name) { return summarize(times.at(name).of(slowest)).median; };
    point.array = ArrayPart{
        .transforms_us = median("transforms"), .packing_us = median("packing"), .exchange_us = median("exchange")};
    const double us = point.time_us.median;
    if (us <= 0) return point;
    if (job_.fft) point.array->gflops = job_.fft->operations() / us * 1e-3;
    point.algorithm_MBps = static_cast<double>(most_held) / us;
    point.bus_MBps = static_cast<double>(most_sent) / us;
    return point;
  }

  // ---- proof --------------------------------------------------------------------------------------------------------

  void fail(const std::string& why) const {
    throw CheckError(fmt::format("rank {}: {} of {}: {}", self_, job_.name, to_string(job_.global), why));
  }

  void verify(const Direction& direction, RowPacking packing) {
    if (fft_ && rank_.has_bytes()) return verify_transform(direction, packing);
    // Numbers without bytes are moved, and not transformed: each reshape for itself.
    for (const ReshapePlan* plan : reshape_ ? plans() : fft_->plans(direction.forward)) {
      verify_reshape(*plan, packing);
    }
  }

  void verify_reshape(const ReshapePlan& plan, RowPacking packing) {
    const workloads::ReshapeMemory memory = memory_->of(0, 1);
    fill_array(rank_, fft_ ? job_.fft->complex() : job_.global, plan, memory.from, memory.to);
    meet_all(rank_, patience_);
    ReshapeTimes times;
    const Outcome outcome = mover_->run(plan, packing, memory, times);
    if (!outcome.ok()) fail(fmt::format("{}: {}", to_string(outcome.status), outcome.reason));
    const std::string fault = fault_in_array(rank_, fft_ ? job_.fft->complex() : job_.global, plan, memory.to);
    if (!fault.empty()) fail(fault);
  }

  [[nodiscard]] const workloads::Box& box_of(std::size_t layout) const {
    return job_.fft->layouts()[layout].boxes[static_cast<std::size_t>(self_)];
  }
  void write_numbers(std::size_t layout, const std::vector<Complex>& numbers) {
    if (numbers.empty()) return;
    const auto bytes = std::as_bytes(std::span(numbers));
    rank_.write(memory_->layout(layout).slice(Bytes{}, Bytes{bytes.size()}), bytes);
  }
  std::vector<Complex> read_numbers(std::size_t layout) {
    std::vector<Complex> numbers(box_of(layout).elements());
    const auto bytes = std::as_writable_bytes(std::span(numbers));
    if (!numbers.empty()) rank_.read(memory_->layout(layout).slice(Bytes{}, Bytes{bytes.size()}), bytes);
    return numbers;
  }
  /// So that rounds have numbers that do not become too large soon.
  void begin_with_input(const Direction& direction) {
    if (direction.forward) return write_numbers(0, input_of(*job_.fft, box_of(0)));
    const std::size_t last = job_.fft->layouts().size() - 1;
    std::vector<Complex> spectrum(box_of(last).elements());
    for (std::size_t i = 0; i < spectrum.size(); ++i) spectrum[i] = input_at(i, false);
    write_numbers(last, spectrum);
  }

  /// Forward and back again.
  void verify_transform(const Direction& direction, RowPacking packing) {
    const workloads::FftPlan& plan = *job_.fft;
    const std::size_t last = plan.layouts().size() - 1;
    const std::vector<Complex> input = input_of(plan, box_of(0));
    write_numbers(0, input);
    meet_all(rank_, patience_);
    workloads::FftTimes times;
    run_once({.forward = true}, packing, times);
    const std::vector<Complex> spectrum = read_numbers(last);
    const auto all = static_cast<double>(plan.global().box().elements());
    // Rounding errors grow with the logarithm; these leave them a factor of hundreds.
    constexpr double kTolerance = 1e-12;
    if (plan.global().box().elements() <= kMostDirect) {
      const double error = direct_error(plan, box_of(last), spectrum);
      if (!(error <= kTolerance * std::sqrt(all) * std::log2(all + 1))) {
        fail(fmt::format("its numbers differ from the sum that defines them by up to {:.3g}", error));
      }
    }
    check_power(input_power(plan, box_of(0), input), spectrum_power(plan, box_of(last), spectrum), all);
    run_once({.forward = false}, packing, times);
    const double error = return_error(plan, box_of(0), read_numbers(0));
    if (!(error <= kTolerance * std::log2(all + 1))) {
      fail(fmt::format("what came back differs from what was transformed by up to {:.3g}", error));
    }
    begin_with_input(direction);
  }

  /// Parseval: of all ranks together.
  void check_power(double input, double spectrum, double all) {
    double inputs = 0;
    double spectra = 0;
    for (const std::string& text : gather(rank_, to_text(nlohmann::json{input, spectrum}), patience_)) {
      const nlohmann::json of_rank = nlohmann::json::parse(text);
      inputs += of_rank.at(0).get<double>();
      spectra += of_rank.at(1).get<double>();
    }
    if (self_ != 0) return;
    constexpr double kTolerance = 1e-11;
    if (std::abs(spectra / all - inputs) <= kTolerance * inputs) return;
    fail(fmt::format("the squares of the spectrum add up to {:.15g}, and by Parseval's theorem to {:.15g}", spectra,
                     inputs * all));
  }

  SetUpRank ready_;
  ConcurrentRank rank_;
  const WorkloadPlan& plan_;
  const ArrayJob& job_;
  int self_;
  Patience patience_;
  std::optional<ReshapePlan> reshape_;
  std::optional<FftRun> fft_;
  std::optional<ArrayMemory> memory_;
  std::optional<workloads::Connections> connections_;
  std::optional<Mover> mover_;
  std::optional<WarmUp> warm_up_;
  workloads::FftTimes times_{};
  std::size_t steps_ = 0;
};

}  // namespace

void require_array(const Rank& rank, const WorkloadPlan& plan) {
  const ArrayJob& job = *plan.array();
  if (rank.ranks() < 2) throw UsageError("a workload needs two ranks at least");
  for (const Protocol* protocol : {plan.ways.within, plan.ways.between, plan.ways.between_domains}) {
    if (protocol == nullptr || protocol->message_memory() == Memory::device) continue;
    throw UsageError(
        fmt::format("{}: arrays lie on GPUs, and {} has its messages in host memory", job.name, protocol->name()));
  }
  // Of a large job the plans of all ranks take long to make: who has whom as a peer follows from these.
  std::set<RankId> peers;
  const auto self = static_cast<std::size_t>(rank.id().value);
  const auto add = [&](const workloads::Distribution& one, const workloads::Distribution& other) {
    for (std::size_t r = 0; r < one.boxes.size(); ++r) {
      if (r != self && !intersection(one.boxes[self], other.boxes[r]).empty())
        peers.insert(RankId{static_cast<int>(r)});
    }
  };
  if (job.fft) {
    const auto& layouts = job.fft->layouts();
    for (std::size_t i = 0; i + 1 < layouts.size(); ++i) add(layouts[i], layouts[i + 1]);
  } else {
    add(job.before, job.after);
    add(job.after, job.before);
  }
  const std::string why = workloads::refusal(rank, plan.ways, peers);
  if (!why.empty()) throw UsageError(why);
  const auto* const measured = dynamic_cast<const MeasuredRank*>(&rank);
  if (!job.fft || measured == nullptr) return;
  if (const Answer can = measured->transforms(); !can) throw UnavailableError("fft: " + can.reason);
}

WorkloadSeries measure_array(MeasuredRank& rank, const WorkloadPlan& plan) {
  require_array(rank, plan);
  return ArrayRunner(rank, plan).run();
}

}  // namespace twinlink::bench
