// What the time of a probe goes to: the parts of the platform, and the residual that the parts do not explain.
#pragma once

#include <optional>
#include <utility>

#include "platforms/topology/topology.hpp"
#include "validate/primitives/primitive.hpp"

namespace twinlink::validate {

/// Shares of a measured time. They add up to 1.
struct TimeShares {
  double start = 0;      ///< what CPUs and engines do for each: starts, gaps, ends, signals, calls
  double way = 0;        ///< the latencies of links, hubs, memories and adapters
  double bytes = 0;      ///< the bytes at the rates of links, engines and CPUs
  double residual = 0;   ///< the latency by size of an engine or a library, whatever the way
  double left_over = 0;  ///< what the platform misses; negative where it takes longer than the machine

  [[nodiscard]] double parts() const { return start + way + bytes; }
  TimeShares& operator+=(const TimeShares& other);
  TimeShares& operator/=(double count);
};

/// Takes residuals, latencies of ways and bytes off a platform, one after the other: what a time shrinks by is its
/// share. Bytes come last, for the rates of links decide which way is taken.
class TimeSplit {
 public:
  explicit TimeSplit(const platforms::Platform& platform);

  /// Shares of `measured`, which is positive. Nothing if the platform lacks a number that this needs.
  [[nodiscard]] std::optional<TimeShares> shares(const Primitive& primitive, Bytes size, Seconds measured) const;

 private:
  struct Machine {
    explicit Machine(platforms::Platform described) : platform(std::move(described)), topology(platform) {}
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    platforms::Platform platform;
    platforms::Topology topology;
  };

  Machine whole_;
  Machine without_residual_;
  Machine without_way_;    ///< and without the residual
  Machine without_bytes_;  ///< and without both
};

}  // namespace twinlink::validate
