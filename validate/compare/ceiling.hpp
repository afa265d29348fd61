// How much of what the machine can do a protocol reaches: its times beside those of the primitives that it is made of.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/results/results.hpp"

namespace twinlink::validate {

/// A protocol at one size, one way of the two where it goes both ways.
struct CeilingRow {
  Bytes size{};
  double bare_us = 0;     ///< of the slowest primitive
  double taken_us = 0;    ///< by the protocol
  std::string slowest{};  ///< the primitive's name

  /// 1 is as fast as the slowest primitive by itself.
  [[nodiscard]] double share() const { return bare_us / taken_us; }
  [[nodiscard]] double added_us() const { return taken_us - bare_us; }
};

struct Ceiling {
  std::string protocol{};  ///< as the result labels it
  std::vector<CeilingRow> rows{};
  std::vector<Bytes> without_probe{};  ///< sizes of the result that a line lacks
};

/// What was read, with the file's name for messages.
struct ResultFile {
  bench::Result content{};
  std::string file{};
};
struct ProbesFile {
  bench::ProbeFile content{};
  std::string file{};
};

/// Holds `result` against the lines called `names` that its sender, or its receiver, measured (a copy between two: the
/// one towards the other). A pipeline is as fast as its slowest stage, so at each size the slowest line counts; sizes
/// that a line lacks are left out. An InputError, which names the file, for a name without a line, where no size is
/// common, and for times that are none.
Ceiling hold_against(const ResultFile& result, const ProbesFile& probes, std::span<const std::string> names);

/// The least share from `from` on; nothing without such a size.
std::optional<double> least_share(const Ceiling& ceiling, Bytes from);

/// For people.
std::string to_text(const Ceiling& ceiling);

}  // namespace twinlink::validate
