// The workloads: their names, algorithms and schedules.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocols/workloads/schedule.hpp"

namespace twinlink::workloads {

/// One way to do a workload.
struct Algorithm {
  std::string_view name;         ///< "ring"
  std::string_view description;  ///< one line
  /// On a machine where a message of n bytes takes a + n/b, for n ranks and S bytes: for people.
  std::string_view closed_form;
  /// Why the algorithm cannot do this shape; empty: it can.
  std::string (*refuses)(const Shape& shape);
  Schedule (*schedule)(const Shape& shape, int rank, std::uint64_t elements);
  /// By the protocol itself: of protocols that do it, and what these take where nobody chooses.
  std::optional<Collective> together{};
};

struct Workload {
  std::string_view name;         ///< "all-reduce"
  std::string_view description;  ///< one line
  /// Bytes that cross a rank's wire for each byte of the message size, as nccl-tests define their bus bandwidth.
  double (*bus_factor)(int ranks);
  std::span<const Algorithm> algorithms;  ///< the first is what small messages take where nobody chooses
};

std::span<const Workload> all_workloads();
/// A UsageError with a suggestion.
const Workload& find_workload(std::string_view name);
/// A UsageError that lists those of the workload.
const Algorithm& find_algorithm(const Workload& workload, std::string_view name);
/// The algorithm by which a protocol does the workload by itself; null: there is none, or no such workload.
const Algorithm* together_of(std::string_view workload);

}  // namespace twinlink::workloads
