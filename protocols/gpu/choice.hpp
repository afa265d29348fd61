// Choice: which line format a program takes, and how many channels: NCCL's rule (src/graph/tuning.cc of release 2.28):
// the least predicted time, of a base, the hops of a ring or a tree, and the bytes over its bandwidth.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocols/core/units.hpp"
#include "protocols/gpu/work.hpp"

namespace twinlink::gpu {

/// What the rule knows of a machine.
struct Ground {
  bool links = false;  ///< NVLinks join the GPUs; else they meet over PCIe or in host memory
  Rate ring{12e9};     ///< all channels of a ring together: a PCIe 3 slot, as NCCL takes where it knows no better
  int generation = 0;  ///< of GPUs with NVLinks, as NCCL counts: 1 Volta, 2 Ampere, 3 Hopper, 4 Blackwell; 0: none
  int least_channels = 1;
  int channels = 2;  ///< at the most
  // Of several nodes, or domains of nodes that NVLinks join.
  int nodes = 1;
  int per_node = 1;      ///< ranks
  Rate network{};        ///< of all adapters of a node; zero: 12 GB/s for each rank
  bool reduces = false;  ///< a switch joins all GPUs, and adds up
};

/// By the model of the GPUs, "NVIDIA H200", and whether they reach each other's memory.
Ground ground_of(std::string_view model, bool peer_access);

struct Choice {
  LineFormat format = LineFormat::simple;
  Algorithm algorithm = Algorithm::ring;
  int channels = 1;
  std::optional<Seconds> predicted{};  ///< of messages nothing is
  std::string why{};                   ///< "predicted us: ring ll 8.21, tree ll 9.21, ring ll128 16.02, ..."
};

/// What a user has fixed.
struct Fixed {
  std::optional<LineFormat> format{};
  std::optional<int> channels{};
  std::optional<Algorithm> algorithm{};
};

/// For `bytes` of a buffer, or of the longer one of two messages. The same at all ranks of a machine of equal GPUs.
Choice choose(const Ground& ground, Operation operation, Bytes bytes, int ranks, const Fixed& fixed);

/// The choice for the last size of one operation, which is kept: with its reason it takes longer than a launch. For one
/// ground, and one that is fixed.
class LastChoice {
 public:
  const Choice& of(const Ground& ground, Operation operation, Bytes bytes, int ranks, const Fixed& fixed);
  /// Nothing before the first.
  [[nodiscard]] const std::optional<Choice>& last() const { return choice_; }

 private:
  std::optional<Choice> choice_{};
  Bytes bytes_{};
};

}  // namespace twinlink::gpu
