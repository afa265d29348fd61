#include "model/study/referee.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "protocols/bench/workload/turns.hpp"
#include "protocols/core/protocol.hpp"
#include "protocols/registry.hpp"
#include "protocols/workloads/catalogue.hpp"

namespace twinlink::model {
namespace {

using workloads::Algorithm;

/// What an algorithm that is made of messages sends. Nothing for one that has too many of them to list.
std::optional<Demand> demand_of_messages(const Algorithm& algorithm, const workloads::Shape& shape, Bytes size) {
  constexpr std::size_t kMost = 1'000'000;
  const std::uint64_t elements = workloads::elements_of(size);
  if (algorithm.together || bench::messages_of(algorithm, shape, elements) > kMost) return std::nullopt;
  std::vector<Demand::Message> messages;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    algorithm.schedule(shape, rank, elements).for_each_step([&](const workloads::Step& step) {
      for (const workloads::Transfer& transfer : step.transfers) {
        messages.push_back({rank, transfer.peer, workloads::bytes_of(transfer.send.length)});
      }
    });
  }
  return Demand::of_messages(shape.ranks, std::move(messages));
}

std::optional<Demand> demand_of(const bench::WorkloadPlan& plan, const bench::WorkloadPoint& point, int ranks) {
  const bench::Scheduled* const work = plan.scheduled();
  if (work == nullptr || work->training) return std::nullopt;
  if (auto demand = Demand::of_collective(work->workload->name, ranks, point.size)) return demand;
  const auto named = std::ranges::find(work->workload->algorithms, point.algorithm, &Algorithm::name);
  if (named == work->workload->algorithms.end() || !plan.shape) return std::nullopt;
  return demand_of_messages(*named, *plan.shape, point.size);
}

/// Are all messages in device memory from end to end?
bool on_gpus(const workloads::Ways& ways) {
  return std::ranges::all_of(std::array{ways.within, ways.between, ways.between_domains}, [](const Protocol* protocol) {
    return protocol == nullptr || protocol->message_memory() == Memory::device;
  });
}

bool on_gpus(const bench::Series& series) { return find_protocol(series.protocol).message_memory() == Memory::device; }

constexpr double kRounding = 1e-6;  // of sums of times, each of which has a grain

void require_not_below(const Bound& bound, double time_us, const std::string& what, Bytes size) {
  const double least_us = bound.time.microseconds();
  if (time_us >= least_us * (1 - kRounding)) return;
  throw std::logic_error(fmt::format("{} of {} takes {:.3f} us, and what must cross {} needs {:.3f} us", what,
                                     format_size(size), time_us, bound.of, least_us));
}

}  // namespace

Referee::Referee(const Platform& platform, std::vector<Place> places)
    : topology_(platform), places_(std::move(places)) {}

Bound Referee::bound_of(const bench::WorkloadPlan& plan, const bench::WorkloadPoint& point) const {
  const auto demand = demand_of(plan, point, static_cast<int>(places_.size()));
  return demand ? least_time(topology_, places_, *demand, on_gpus(plan.ways)) : Bound{};
}

void Referee::judge(const bench::WorkloadPlan& plan, bench::WorkloadPoint& point) const {
  const Bound bound = bound_of(plan, point);
  require_not_below(bound, point.time_us.median, plan.name() + " by " + point.algorithm, point.size);
  if (point.predicted_us > 0) point.predicted_us = std::max(point.predicted_us, bound.time.microseconds());
}

Bound Referee::bound_of(const bench::Series& series, Bytes size) const {
  if (series.pattern == bench::Pattern::copy) return {};
  const std::vector<Place> both{parse_place(series.from), parse_place(series.to)};
  const auto least = [&](std::vector<Demand::Message> messages) {
    return least_time(topology_, both, Demand::of_messages(2, std::move(messages)), on_gpus(series));
  };
  const Demand::Message there{0, 1, size};
  const Demand::Message back{1, 0, size};
  switch (series.pattern) {
    case bench::Pattern::pingpong: {
      Bound bound = least({there});
      const Bound behind = least({back});
      if (behind.time > bound.time) bound.of = behind.of;
      bound.time = (bound.time + behind.time) / 2;
      return bound;
    }
    case bench::Pattern::bandwidth:
      return least({there});
    case bench::Pattern::bidirectional:
      return least({there, back});
    case bench::Pattern::copy:
      break;
  }
  return {};
}

void Referee::judge(const bench::Series& series, const bench::Point& point) const {
  require_not_below(bound_of(series, point.size), point.time_us.median, series.protocol, point.size);
}

void Referee::judge(const bench::Series& series) const {
  for (const bench::Point& point : series.points) judge(series, point);
}

}  // namespace twinlink::model
