#include "model/study/jobs/referee.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "protocols/bench/workload/turns.hpp"
#include "protocols/core/protocol.hpp"
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

}  // namespace

Referee::Referee(const Platform& platform, std::vector<Place> places)
    : topology_(platform), places_(std::move(places)) {}

Bound Referee::bound_of(const bench::WorkloadPlan& plan, const bench::WorkloadPoint& point) const {
  const auto demand = demand_of(plan, point, static_cast<int>(places_.size()));
  return demand ? least_time(topology_, places_, *demand, on_gpus(plan.ways)) : Bound{};
}

void Referee::judge(const bench::WorkloadPlan& plan, bench::WorkloadPoint& point) const {
  constexpr double kRounding = 1e-6;  // of sums of times, each of which has a grain
  const Bound bound = bound_of(plan, point);
  const double least_us = bound.time.microseconds();
  if (point.time_us.median < least_us * (1 - kRounding)) {
    throw std::logic_error(fmt::format("{} by {} of {} takes {:.3f} us, and what must cross {} needs {:.3f} us",
                                       plan.name(), point.algorithm, format_size(point.size), point.time_us.median,
                                       bound.of, least_us));
  }
  if (point.predicted_us > 0) point.predicted_us = std::max(point.predicted_us, least_us);
}

}  // namespace twinlink::model
