// What one rank of a workload does, step by step: whom it sends which elements, whom it receives from, what it adds up.
// Pure, so that all ranks' schedules can be checked against each other without a machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/core/protocol.hpp"
#include "protocols/core/standing.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::workloads {

/// What reductions add up: unsigned numbers of 64 bits.
inline constexpr Bytes kElement{8};
constexpr Bytes bytes_of(std::uint64_t elements) { return Bytes{elements * kElement.count()}; }
/// Whole ones, and one at least.
constexpr std::uint64_t elements_of(Bytes size) { return std::max<std::uint64_t>(1, size.count() / kElement.count()); }

enum class Where { data, scratch };

/// Elements of one of a rank's two buffers.
struct Slice {
  Where where = Where::data;
  std::uint64_t begin = 0;
  std::uint64_t length = 0;

  friend bool operator==(const Slice&, const Slice&) = default;
};

/// One exchange with a peer. A side of length 0 is left out; the peer has the opposite.
struct Transfer {
  int peer = 0;
  Slice send{};
  Slice receive{};
};

/// On the rank's own device.
struct Local {
  enum class Kind { copy, add };
  Kind kind = Kind::copy;
  Slice to{};
  Slice from{};
};

/// What Portions says of blocks of unequal lengths.
struct PortionLists {
  int experts = 0;
  Bytes longest{};
  Bytes sent{};
  std::vector<Bytes> lengths{};
  std::vector<Bytes> from{};
  std::vector<Bytes> to{};

  [[nodiscard]] Portions portions() const {
    return {.experts = experts, .longest = longest, .sent = sent, .lengths = lengths, .from = from, .to = to};
  }
};

/// A collective that the protocol does by itself.
struct Together {
  Collective what = Collective::all_reduce;
  Slice data{};
  int times = 1;               ///< so many of it follow each other in one graph
  PortionLists blocks{};       ///< of a dispatch and a combine
  std::vector<int> members{};  ///< ascending ranks; empty: all of the job
};

/// The content of a slice: as a number per slice, which additions add up (Payload summable()).
struct Mark {
  Slice slice{};
  std::uint64_t value = 0;
  std::uint64_t period = 0;  ///< elements after which it begins again, on whoever has the slice; 0: never
};

/// First what the GPU computes; then all transfers, at the same time; then what is local, in order. Transfers with one
/// peer follow each other in the list, and are one exchange of several messages.
struct Step {
  std::size_t after = 0;  ///< it begins when so many steps of the schedule's other list have ended
  Seconds compute{};      ///< one kernel; kernels of steps without anything else are queued at once
  std::vector<Transfer> transfers{};
  std::vector<Local> locals{};
  std::optional<Together> together{};  ///< instead of both
  // Where contents are verified while the schedule runs: what is there before the step, and behind it.
  std::vector<Mark> fresh{};
  std::vector<Mark> expected{};
};

struct Schedule {
  std::uint64_t data = 0;     ///< elements of the data buffer
  std::uint64_t scratch = 0;  ///< of the other
  std::vector<Step> steps{};
  std::vector<Step> beside{};  ///< what goes on at the same time, with peers of its own
  std::vector<Mark> before{};  ///< covers the data buffer, unless all marks are those of the steps
  std::vector<Mark> after{};   ///< of the data buffer, what the workload promises

  /// Of both lists.
  template <typename Do>
  void for_each_step(Do what) const {
    for (const std::vector<Step>* list : {&steps, &beside}) {
      for (const Step& step : *list) what(step);
    }
  }
};

/// The experts of a model, of which a gate chooses some for each token.
struct Experts {
  int count = 256;
  int top = 8;      ///< so many for a token
  double skew = 0;  ///< exponent of Zipf's law; 0: all are as popular
  int seed = 1;     ///< draws who is popular

  friend bool operator==(const Experts&, const Experts&) = default;
};

/// Keys and values of a prompt, and who has read it.
struct KvCache {
  int prefill = 0;       ///< so many ranks, the first ones; 0: half of all
  Bytes block = 64_KiB;  ///< what a server keeps together
};

/// Ranks and how they lie: rank r is on node r / per_node.
struct Shape {
  int ranks = 2;
  int per_node = 1;  ///< divides `ranks`
  /// Are two of them on one node, however they lie? Nothing: nobody has said.
  std::optional<bool> shares_nodes{};
  Experts experts{};    ///< of what goes to them
  KvCache kv{};         ///< of the workload of that name
  Standing standing{};  ///< who stands for whom has the same contents

  /// A number of what a rank has, from 0 to distinct()-1; each is that of as many ranks.
  [[nodiscard]] int content_of(int rank) const { return standing.place_of(rank); }
  [[nodiscard]] int distinct() const { return ranks / standing.each(); }
};

/// The part of rank `index` of `count`, where `elements` are shared out: the first ones have one more.
Slice part_of(std::uint64_t elements, int count, int index);

}  // namespace twinlink::workloads
