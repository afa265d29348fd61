// A trace whose messages have found each other, and that can come to its end: what each rank then does, in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "protocols/core/payload.hpp"
#include "protocols/core/rank.hpp"
#include "protocols/workloads/goal/trace.hpp"

namespace twinlink::workloads::goal {

/// A message as one of its ends sees it.
struct Message {
  std::uint32_t task = 0;  ///< of this rank
  int peer = 0;
  Bytes size{};         ///< as it travels: an empty one has a byte, as a library sends a header
  Payload content{};    ///< told apart from all others of the job
  double order = 0;     ///< of all messages to one peer: when its send begins where messages take no time, ns
  std::size_t after{};  ///< among those that begin at the same time
};

struct RankJob {
  // Of each peer in turn the messages in the order in which both ends move them.
  std::vector<Message> sends{};
  std::vector<Message> receives{};
  std::vector<int> cpus{};  ///< different ones

  [[nodiscard]] std::set<RankId> peers() const;
  /// What the rank holds at once, bytes: of each peer and direction one message, the largest.
  [[nodiscard]] Bytes memory() const;
  [[nodiscard]] Bytes sent() const;
  /// Null: there is no message.
  [[nodiscard]] const Message* largest() const;
};

/// The messages of one peer, as sends and receives have them.
std::vector<std::span<const Message>> by_peer(std::span<const Message> messages);
/// The room of the largest of them, so that the next one begins at a multiple of a page's fraction.
Bytes room_for(std::span<const Message> messages);

class Job {
 public:
  /// An InputError names the line of a message that nobody receives, a receive that nobody sends, ends whose sizes
  /// differ, and tasks that wait for each other in a circle.
  explicit Job(Trace trace);

  [[nodiscard]] const Trace& trace() const { return trace_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(trace_.ranks.size()); }
  [[nodiscard]] const RankTrace& trace_of(int rank) const { return trace_.ranks[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const RankJob& of(int rank) const { return jobs_[static_cast<std::size_t>(rank)]; }
  /// The longest chain of calcs: what the job takes where messages take no time and no cpu is shared.
  [[nodiscard]] Seconds longest_path() const { return longest_path_; }
  /// "FILE:LINE", for people.
  [[nodiscard]] std::string where(int rank, std::uint32_t task) const;

 private:
  struct End;
  void match();
  void put_in_order(std::span<const std::pair<End, End>> pairs);

  Trace trace_;
  std::vector<std::size_t> first_;  ///< task of each rank, counted over all
  std::vector<RankJob> jobs_;
  Seconds longest_path_{};
};

}  // namespace twinlink::workloads::goal
