// ControlMessages: the control messages between ranks of one node, in memory that they share. What MPI takes for such a
// message is a good part of what a small copy between two GPUs costs. RealRank posts and takes them in wait_any().
//
//   if (!messages.post(peer, tag, message)) keep it;    // the box is full: again after the next poll
//   if (messages.take(peer, tag, into)) ...             // one was there
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "protocols/core/path.hpp"
#include "protocols/core/rank.hpp"
#include "real/system/shared_memory.hpp"

namespace twinlink::real {

/// A box of kControlMessagesOfOrigin control messages for each origin, in memory of the rank that they go to.
/// Control messages of one origin and tag stay in order. Nothing waits here, and nothing is lost: a full box is
/// reported to the sender.
class ControlMessages {
 public:
  /// For a job of `ranks`.
  ControlMessages(RankId self, int ranks);

  /// For the peers' attach().
  [[nodiscard]] const SharedMemory::Token& token() const { return own_.token(); }
  /// Opens a peer's boxes. An EnvironmentError where that cannot be done.
  void attach(RankId peer, const SharedMemory::Token& token);

  /// Puts a control message into the box at `peer`, which attach() has opened. False, and nothing happens, while the
  /// box is full.
  [[nodiscard]] bool post(RankId peer, Tag tag, const ControlMessage& message);
  /// Takes the next control message of `peer` with `tag`. False while there is none.
  [[nodiscard]] bool take(RankId peer, Tag tag, ControlMessage& into);
  /// Takes what lies in the boxes here, for take() to find: who sends to this rank is not held up by it.
  void make_room();

 private:
  using Key = std::pair<RankId, Tag>;
  /// Takes control messages out of the box of `peer`: the first with `tag` goes into `into`, and those before it (all,
  /// if none has that tag) are kept for later calls of take(). Returns whether `into` was written.
  bool empty_box(RankId peer, std::optional<Tag> tag, ControlMessage* into);

  RankId self_;
  SharedMemory own_;
  std::map<RankId, SharedMemory> peers_;
  std::vector<std::uint64_t> posted_;  ///< by peer: control messages ever put into its box
  std::vector<std::uint64_t> seen_;    ///< by peer: how many of these it had taken when that was last looked at
  std::vector<std::uint64_t> taken_;   ///< by peer: control messages ever taken from its box here
  std::map<Key, std::deque<ControlMessage>> early_;  ///< taken from a box before anybody asked for them
  std::size_t early_messages_ = 0;                   ///< in all of them
};

/// Can control messages go between two ranks with this path, for they share memory? The same at both ends: paths are
/// symmetric.
inline bool shares_memory_with(const Path& path) { return path.same_node && path.device_mapping.yes; }

/// So many control messages of one origin may lie in its box.
inline constexpr std::uint64_t kControlMessagesOfOrigin = 64;

}  // namespace twinlink::real
