// What the tests of the contract share: pairs of ranks, deadlines, buffers that clean up, short words for waiting.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "protocols/core/measured_rank.hpp"
#include "protocols/core/protocol.hpp"
#include "tests/contract/world.hpp"

namespace twinlink {

// For GoogleTest's messages.
void PrintTo(Status status, std::ostream* out);
void PrintTo(const Verdict& verdict, std::ostream* out);
void PrintTo(RankId rank, std::ostream* out);
void PrintTo(Bytes bytes, std::ostream* out);
void PrintTo(Seconds seconds, std::ostream* out);

}  // namespace twinlink

namespace twinlink::contract {

inline constexpr Memory kAllMemories[] = {Memory::device, Memory::pinned, Memory::pageable, Memory::shared_pinned};

/// Runs `body` for every pair of ranks, on both ends at once, so that every kind of path of the world is met.
void on_every_pair(const std::function<void(MeasuredRank& rank, RankId peer)>& body);
/// Runs `body` with every protocol that the path to the peer supports.
void on_every_connection(const std::function<void(MeasuredRank&, RankId peer, const Protocol&)>& body);

/// Does this rank play the first part in the pair? Exactly one of the two does.
inline bool first(const Rank& rank, RankId peer) { return rank.id() < peer; }

/// Tag `n` (0 to 15) of the running test. No two tests share a tag: what a failed test leaves in flight must not reach
/// the next one.
Tag tag(int n);

/// A deadline that only a lost operation misses.
Seconds soon(Rank& rank);

/// A buffer that is released at the end of its scope.
class Scratch {
 public:
  Scratch(Rank& rank, Memory kind, Bytes size) : rank_(rank), buffer_(rank.allocate(kind, size)) {}
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] Buffer buffer() const { return buffer_; }
  [[nodiscard]] View view() const { return View(buffer_); }
  [[nodiscard]] View slice(Bytes from, Bytes count) const { return View(buffer_).slice(from, count); }

 private:
  Rank& rank_;
  Buffer buffer_;
};

/// Waits for `op`, which must be delivered.
void finish(Rank& rank, Op op);
/// Waits for all of `ops`, in whatever order they end; all must be delivered.
void finish_all(Rank& rank, std::vector<Op> ops);
/// Copies by the copy engine on the first stream and waits.
void copy_now(Rank& rank, View to, View from);
/// Sends or receives one control message and waits.
void send_control_now(Rank& rank, RankId peer, Tag with, const ControlMessage& message = ControlMessage());
ControlMessage recv_control_now(Rank& rank, RankId peer, Tag with);
/// Both ends have come here: what either did before has happened.
void meet(Rank& rank, RankId peer);

/// Gives the peer `mine` and returns what it gave.
template <class T>
T swap_with(Rank& rank, RankId peer, const T& mine) {
  constexpr int kSwapTag = 14;
  const Op sent = rank.send_control(peer, tag(kSwapTag), ControlMessage(mine));
  const ControlMessage theirs = recv_control_now(rank, peer, tag(kSwapTag));
  finish(rank, sent);
  return theirs.as<T>();
}

}  // namespace twinlink::contract
