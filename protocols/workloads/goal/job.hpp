// A trace whose messages have found each other, and that can come to its end: what each rank then does, in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "protocols/core/payload.hpp"
#include "protocols/core/rank.hpp"
#include "protocols/workloads/goal/collectives.hpp"
#include "protocols/workloads/goal/lanes.hpp"
#include "protocols/workloads/goal/order.hpp"
#include "protocols/workloads/goal/trace.hpp"

namespace twinlink::workloads::goal {

/// A message as one of its ends sees it.
struct Message {
  std::uint32_t task = 0;  ///< of this rank
  int peer = 0;
  Bytes size{};           ///< as it travels: an empty one has a byte, as a library sends a header
  Payload content{};      ///< told apart from all others of the job
  AdapterTurn turn{};     ///< the nics that the ends name
  int lane = 0;           ///< of the pair's, 0 to kLanes-1
  std::size_t window{};   ///< those of one lane with one number travel as one exchange
  std::size_t place{};    ///< among all messages of the job, as they are sent
  std::uint32_t taken{};  ///< of a rank's message to itself: the task that receives it
};

/// A collective that the protocol does by itself, as one member sees it.
struct Collected {
  std::uint32_t task = 0;
  std::size_t group = 0;
  std::vector<std::uint32_t> after{};  ///< collectives of this rank that must have ended: the last ones before it of
                                       ///< its own group, and of those that share two ranks with that
  const Algorithm* how = nullptr;      ///< whose one step it is
  std::uint64_t elements = 0;          ///< of the catalogue's size
  Bytes wire{};                        ///< that cross the rank's wire
};

struct RankJob {
  // Messages of one peer and lane after the other, in the order in which both ends move them.
  std::vector<Message> sends{};
  std::vector<Message> receives{};
  std::vector<Message> own{};            ///< to itself
  std::vector<Collected> collectives{};  ///< by group, and there in the order of the file
  std::vector<int> cpus{};               ///< different ones
  std::size_t tasks = 0;                 ///< with those of bodies that are left out
  Bytes sent_left_out{};                 ///< by these

  [[nodiscard]] std::set<RankId> peers() const;
  /// What the rank holds at once, bytes: of each lane and direction one window, the largest; twice for its own.
  [[nodiscard]] Bytes memory() const;
  /// And of collectives: of each group the largest.
  [[nodiscard]] Bytes memory_of_collectives() const;
  /// By the whole job.
  [[nodiscard]] Bytes sent() const;
  /// Null: there is no message.
  [[nodiscard]] const Message* largest() const;
};

/// The messages of one peer and lane, as sends and receives have them; and of these, those that travel as one exchange.
std::vector<std::span<const Message>> by_lane(std::span<const Message> messages);
std::vector<std::span<const Message>> by_window(std::span<const Message> messages);
/// Of one group each.
std::vector<std::span<const Collected>> by_group(std::span<const Collected> collectives);
/// What a message takes of a buffer, so that the next one begins at a multiple of a page's fraction.
Bytes room_for(const Message& message);
/// The same for the largest window.
Bytes room_for(std::span<const Message> messages);

class Job {
 public:
  /// An InputError names the line of a message that nobody receives, a receive that nobody sends or that is too short,
  /// and tasks that wait for each other in a circle.
  explicit Job(Trace trace);

  [[nodiscard]] const Trace& trace() const { return trace_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(trace_.ranks.size()); }
  [[nodiscard]] const RankTrace& trace_of(int rank) const { return trace_.ranks[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const RankJob& of(int rank) const { return jobs_[static_cast<std::size_t>(rank)]; }
  /// Equal bodies of each rank that are left out, of a shortened trace.
  [[nodiscard]] std::uint64_t left_out() const { return trace_.left_out; }
  /// Where some are: lanes, windows and the longest path go on alike from body to body, so that they are as in the
  /// whole job.
  [[nodiscard]] bool goes_on() const { return goes_on_; }
  /// The longest chain of calcs: what the whole job takes where messages take no time and no cpu is shared.
  [[nodiscard]] Seconds longest_path() const { return longest_path_; }
  /// Receives from any rank or with any tag: what each takes has been planned.
  [[nodiscard]] std::size_t planned() const { return planned_; }
  /// Do messages name other nics than the first?
  [[nodiscard]] bool has_nics() const { return has_nics_; }
  /// "FILE:LINE", for people.
  [[nodiscard]] std::string where(int rank, std::uint32_t task) const;

 private:
  using Pair = std::pair<TaskId, TaskId>;  ///< a send and its recv
  [[nodiscard]] std::size_t number(TaskId id) const { return first_[static_cast<std::size_t>(id.rank)] + id.task; }
  [[nodiscard]] std::vector<Pair> match();
  void put_in_order(std::span<const Pair> pairs);
  void take_collectives();
  void take(std::span<const Planned> messages);
  void add_left_out(const Order& order, const Order& chains, bool has_messages);

  Trace trace_;
  std::vector<std::size_t> first_;  ///< task of each rank, counted over all
  std::vector<RankJob> jobs_;
  std::vector<Joint> joints_{};
  Seconds longest_path_{};
  std::size_t planned_ = 0;
  bool has_nics_ = false;
  bool goes_on_ = true;
};

}  // namespace twinlink::workloads::goal
