// A rank's part of a recorded job, played over channels: sends and receives side by side with what its cpus compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "protocols/workloads/connections.hpp"
#include "protocols/workloads/execution.hpp"
#include "protocols/workloads/goal/job.hpp"
#include "protocols/workloads/goal/steady.hpp"
#include "protocols/workloads/numbered_channel.hpp"

namespace twinlink::workloads::goal {

/// What was under way of the collectives of a kind and group, or of messages: from where one could begin (of a recv:
/// was asked for) until it ended.
struct UnderWay {
  std::size_t calls = 0;
  Seconds time{};     ///< one at least was under way
  Seconds exposed{};  ///< and the rank computed nothing
};

/// What became of one time through the job, on this rank. Times are from the call on.
struct Played {
  Outcome outcome{};
  std::string fault{};                          ///< a message that is not what was sent; empty: none
  Seconds ended{};                              ///< its last task
  Seconds waited{};                             ///< until then, while it neither computed nor sent
  std::map<std::string, UnderWay> under_way{};  ///< by name: "messages", "all-reduce among ranks 0-3"
  /// Of a shortened job: the figures above are those of the whole one, if all ranks together go on at this pace, us.
  Pace pace{};
};

/// Opens a channel for each lane of a peer and direction: what one sends must not wait for what the other one does, nor
/// for what it need not wait for itself.
class Player {
 public:
  /// Every rank of the job makes one. `job` must outlive it.
  Player(ConcurrentRank& rank, const Ways& ways, const Job& job);
  ~Player();
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  /// With `check`, messages are filled before and compared after they travel: the times mean nothing then.
  Played play(bool check, Seconds timeout);
  [[nodiscard]] std::map<std::string, std::uint64_t> counters() const;
  /// Is any channel?
  [[nodiscard]] bool connecting() const;
  /// Closes all channels; peers may have the buffers open until they have done so, too.
  void close() {
    lines_.clear();
    joined_.clear();
  }

 private:
  /// A lane to or from one peer.
  struct Line {
    std::span<const Message> messages;
    bool sends;
    View room;
    std::unique_ptr<NumberedChannel> rank{};
    std::unique_ptr<Channel> channel{};
  };
  /// The members of a group, and what they do together.
  struct Joined {
    std::span<const Collected> collectives;
    std::map<std::pair<const Algorithm*, std::uint64_t>, Schedule> schedules{};  ///< by how, and of how many elements
    std::unique_ptr<Buffers> buffers{};
    std::unique_ptr<NumberedChannel> rank{};
    Circle members{};
  };
  class Round;

  void require_streams(const Ways& ways) const;
  void join_groups(const Ways& ways);
  Stream take_stream();
  void add_lines(std::span<const Message> messages, bool sends);
  View take_room(Bytes room);

  ConcurrentRank& rank_;
  const Job& job_;
  const RankJob& mine_;
  Buffer buffer_{};
  Bytes used_{};
  View own_from_{};  ///< of messages to itself
  View own_to_{};
  std::vector<Line> lines_{};
  std::vector<Joined> joined_{};
  int streams_ = 0;
  /// Tasks that wait for the end, and for the beginning, of each task.
  std::vector<std::vector<std::uint32_t>> after_end_;
  std::vector<std::vector<std::uint32_t>> after_start_;
};

}  // namespace twinlink::workloads::goal
