// What of a machine may be wrong, and how long each measured thing takes where it is.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "platforms/machine/platform.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/probe/probe.hpp"
#include "validate/primitives/primitive.hpp"

namespace twinlink::validate {

/// One line of probes beside what the platform says of it.
struct HeldLine {
  const bench::ProbeLine* line = nullptr;  ///< owned by the caller
  Primitive primitive{};
  Seconds predicted{};  ///< with the platform as it is

  /// Does it tell the bandwidth of the parts that it crosses? What is on top of a copy, or queues, repeats them.
  [[nodiscard]] bool tells_parts() const {
    using enum Primitive::Kind;
    return primitive.kind == copy || primitive.kind == message || primitive.kind == gap;
  }
};

/// A machine on which something is wrong: what a line takes there.
using IllMachine = std::function<Seconds(const HeldLine&)>;

/// Something that may be wrong. With a share, it has that much of what it should have; without one it is otherwise
/// than it should be, and slows what it slows.
struct Possible {
  std::string part{};               ///< "pcie3", "gpu3"; of what has no share the whole of it in words
  std::string kind{};               ///< "link", "adapter", "hub", "memory", "fabric", "GPU memory", "way" ...
  std::string of_what{};            ///< "bandwidth", "speed"; empty: it has no share
  bool degradable = false;          ///< `--degrade PART=50%` gives it to a simulation
  std::vector<std::size_t> gpus{};  ///< that it is about, in the topology's graph; empty: what its links tell

  /// May it slow such a line? Of a part in the graph its prediction says that.
  std::function<bool(const HeldLine&)> concerns{};
  std::function<IllMachine(double share)> at{};

  [[nodiscard]] bool has_share() const { return !of_what.empty(); }
};

/// Links, memories, hubs, adapters and the fabric; of each GPU its memory and its copy engine, into host memory, out of
/// it, and both; the processors. `base` and `topology`, which is of it, must outlive what is returned.
std::vector<Possible> parts_of(const platforms::Platform& base, const platforms::Topology& topology);

/// What has all its bandwidth, and is used otherwise: an adapter other than a GPU's own, host buffers in another memory
/// than the one next to the GPU, and peers that reach each other by the root of PCIe though a switch joins them (ACS).
std::vector<Possible> ways_of(const platforms::Platform& base, const platforms::Topology& topology);

}  // namespace twinlink::validate
