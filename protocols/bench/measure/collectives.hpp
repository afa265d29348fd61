// What ranks say to each other around a measurement, by control messages.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/core/measured_rank.hpp"

namespace twinlink::bench {

/// How long the calls below wait for the other side; after that they throw a CheckError that names it.
struct Patience {
  Seconds longest{};  ///< whatever the other side does
  Seconds silence{};  ///< without a sign of life from it, where the backend sees those

  /// For the own peer, which between two exchanges fills and compares buffers. `timeout` is of an exchange.
  static Patience of_peer(Seconds timeout);
  /// For ranks that others keep at work for any time, such as those whose turn it is.
  static Patience of_turn(Seconds timeout);
};

void send_control_now(MeasuredRank& rank, RankId peer, const ControlMessage& message, Patience patience);
ControlMessage recv_control_now(MeasuredRank& rank, RankId peer, Patience patience);

/// Both ranks have come here: what either did before has happened.
void synchronize(MeasuredRank& rank, RankId peer, Patience patience);
/// As synchronize(), but only the leader waits: what the other did before has happened.
void answer(MeasuredRank& rank, RankId peer, bool leading, Patience patience);
/// As synchronize(), for all ranks of the job.
void meet_all(MeasuredRank& rank, Patience patience);

/// The least of the numbers of all ranks of the job, on each of them, who have all come here.
int least_of_all(MeasuredRank& rank, int mine, Patience patience);

/// The most of the numbers of all ranks of the job, on each of them. Below 2^60.
std::uint64_t most_of_all(MeasuredRank& rank, std::uint64_t mine, Patience patience);

/// As synchronize(), for the ranks of a group. Every rank of it makes the same call.
void meet_in(MeasuredRank& rank, std::span<const RankId> group, Patience patience);

/// Two ranks as a group, in the same order at both ends.
std::array<RankId, 2> leader_first(RankId self, RankId peer, bool leading);
/// The least of the numbers of a group, on each of its ranks.
int agree_in(MeasuredRank& rank, std::span<const RankId> group, int mine, Patience patience);
/// The leader's number, at both ends. `mine` matters on the leader only.
int agree(MeasuredRank& rank, RankId peer, bool leading, int mine, Patience patience);

/// The other end's text, on the leader; the other end gets nothing.
std::string text_of_peer(MeasuredRank& rank, RankId peer, bool leading, std::string_view mine, Patience patience);

/// Waits for a message of each of some ranks while its own rank does something else. Without content.
class Listener {
 public:
  Listener(MeasuredRank& rank, const std::vector<RankId>& peers);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Has every message arrived? Asks, and does not wait.
  [[nodiscard]] bool received_all();

 private:
  MeasuredRank& rank_;
  std::vector<ControlMessage> messages_;
  std::vector<Op> awaited_;
};

// Where some ranks stand for all (MeasuredRank::standing()), every rank is one of these, here and in least_of_all().

/// Rank 0 gets the text of every rank, in the order of the ranks; the others get nothing. All ranks call it.
std::vector<std::string> gather(MeasuredRank& rank, std::string_view mine, Patience patience);
/// Each rank gets its text from rank 0, which has those of all in the order of the ranks. All ranks call it.
std::string scatter(MeasuredRank& rank, const std::vector<std::string>& texts, Patience patience);

}  // namespace twinlink::bench
