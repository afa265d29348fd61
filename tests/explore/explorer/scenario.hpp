// What is explored, and what comes out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/core/measured_rank.hpp"

namespace twinlink::explore {

/// What the body of a rank says to the explorer, outside of the protocol.
class Witness {
 public:
  virtual ~Witness() = default;
  /// Says how the rank ended, in words: the states that a protocol can end in are listed in ExploreResult::endings.
  virtual void ending(std::string_view words) = 0;
  /// Something that must hold in all interleavings. If not, `words` become a violation, and the body goes on.
  virtual void require(bool holds, std::string_view words) = 0;
  /// Something that distinguishes states of the body which the outside cannot tell apart, such as the state of a
  /// handshake: see Likeness::looks. `digest` lives until unwatch() or the body ends, and is called whenever the body
  /// waits.
  virtual void watch(const std::function<std::uint64_t()>& digest) = 0;
  virtual void unwatch() = 0;
};

/// What one rank does. It runs once for every interleaving, or from the middle, so all that it changes must be its
/// own: variables of the body and what they own. No expectations of a test framework; no waiting in a catch block.
using Body = std::function<void(MeasuredRank&, Witness&)>;

/// All on one node, each with a GPU of its own.
Path neighbours();
/// Each on a node of its own. Device memory may go over the network.
Path apart();

/// A byte that does not arrive as it was sent.
struct Fault {
  enum class Kind { drop, scramble };
  Kind kind = Kind::drop;
  RankId victim{};   ///< whose memory is hit, by a message or by a peer's copy
  int transfer = 0;  ///< which transfer into that memory from another rank, counted from 0 in the order of their ends
  Bytes offset{};    ///< of the byte within that transfer
};

struct Scenario {
  /// One per rank.
  std::vector<Body> bodies;
  /// Between every two ranks.
  Path path = neighbours();
  /// Up to this size a send may end although nobody has asked for it; beyond, only when a receive is posted.
  Bytes eager_limit{1024};
  /// May a send_control() end later than at once? Where many are in flight, the orders of their ends are most of all
  /// orders.
  bool late_sends = true;
  /// For run_once(): every copy and message takes its rank 1 us and 1 ns per byte, a computation its time, every other
  /// call 1 us, and what is received comes not before it was sent. Else time stands still.
  bool clock = false;
  int numa_domains = 1;
  std::optional<Fault> fault{};
};

enum class Reduction {
  none,  ///< every single end of an operation is a step of its own, in all orders
  full   ///< one of the orders that no rank can tell apart
};

/// When two states are one.
enum class Likeness {
  bytes,  ///< every byte of stacks, heaps and machine agrees. Always right, but what is left over in dead variables
          ///< makes one state look like many
  looks   ///< the machine agrees, what each rank waits for and where, what it received, and what it lets watch. Far
          ///< fewer states, and right only for bodies that remember nothing else: compare_looks tells
};

struct Limits {
  Reduction reduction = Reduction::full;
  Likeness likeness = Likeness::bytes;
  /// With Likeness::bytes: do states with the same looks go on alike? ExploreResult::ambiguous says where not.
  bool compare_looks = false;
  /// Do not go on from a state that was met before? Without, only the smallest jobs come to an end.
  bool merge = true;
  /// The exploration gives up beyond: ExploreResult::complete is false then.
  std::uint64_t states = 20'000'000;
  /// A longer execution is a violation: it does not end.
  std::size_t steps = 20'000;
  /// Enough of different findings.
  std::size_t findings = 100;
};

/// Something that must not happen, and how it came about.
struct Finding {
  std::string what;   ///< without what depends on the interleaving
  std::string trace;  ///< a line per start and end of an operation, as in a golden trace
};

struct ExploreResult {
  bool complete = true;          ///< everything was explored
  std::uint64_t states = 0;      ///< that differ
  std::uint64_t steps = 0;       ///< from one state to a next one
  std::uint64_t executions = 0;  ///< that came to an end
  /// Steps from states with the same looks that led to states with different looks. 0 says that Likeness::looks would
  /// have found the same.
  std::uint64_t ambiguous = 0;
  /// How the ranks ended, "delivered | timed out", and in how many executions.
  std::map<std::string, std::uint64_t> endings{};
  std::vector<Finding> violations{};
  /// Nothing can happen any more, and some rank still waits; one for each set of waits.
  std::vector<Finding> deadlocks{};

  [[nodiscard]] bool clean() const { return complete && violations.empty() && deadlocks.empty(); }
};

/// For people: the figures, and every finding with its trace.
std::string to_string(const ExploreResult& result);

/// Runs the scenario through all interleavings.
ExploreResult explore(const Scenario& scenario, const Limits& limits = {});

/// Which interleaving run_once() takes.
enum class Order {
  first,  ///< the first operation in the span that can end
  last,   ///< the last one
  mixed   ///< one by a fixed rule that prefers none
};

/// Runs one interleaving with bodies that may use anything, test frameworks included. Where nothing else can happen
/// the earliest deadline passes; where there is none, an Error. The first exception of a body is thrown again.
void run_once(const Scenario& scenario, Order order);

}  // namespace twinlink::explore
