// How the library gets the data of a message: the option `send` of every protocol that gives them to send(); messages
// that go as they lie; and the memory of buffered sends.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "protocols/core/choices.hpp"
#include "protocols/core/lane.hpp"
#include "protocols/core/protocol.hpp"
#include "protocols/core/rank.hpp"

namespace twinlink {

enum class Sending {
  standard,    ///< MPI_Send: ended when the buffer may be written again
  synchronous  ///< MPI_Ssend: not before the peer has begun to receive
};

inline constexpr Choices kSendings{OptionChoice<Sending>{"standard", Sending::standard},
                                   OptionChoice<Sending>{"synchronous", Sending::synchronous}};
inline constexpr Option kSendOption{"send", kSendings.names(), "standard",
                                    "synchronous: as MPI_Ssend, no send ends before the peer has begun to receive it"};

/// What path_taken() adds for messages that leave the node and come back. Both ranks share the node there, so a reader
/// would not think of an adapter. Else empty.
inline std::string by_which_wires(const Path& path) {
  return path.loopback ? ", through the adapter in loopback" : std::string();
}

/// Starts the send of one piece, as the option wants it. Errors are those of Rank::send().
inline Op send_as(Rank& rank, Sending how, RankId peer, Tag tag, View from) {
  return how == Sending::synchronous ? rank.send_synchronously(peer, tag, from) : rank.send(peer, tag, from);
}

/// Exchanges with one peer by send() and receive() alone, of any memory that the rank's send() takes. `host` sends all
/// of its messages so, and `cuda-aware` those in host memory.
class PlainMessages {
 public:
  /// Messages are cut into the settings' chunks, of which `depth` are under way at once each way. `rank` must outlive
  /// this.
  PlainMessages(Rank& rank, RankId peer, const Settings& settings, Sending how = Sending::standard);
  PlainMessages(const PlainMessages&) = delete;
  PlainMessages& operator=(const PlainMessages&) = delete;

  /// As Channel::exchange(): the peer makes the opposite call with the same sizes.
  Outcome exchange(std::span<const View> outgoing, std::span<const View> incoming);

 private:
  Rank& rank_;
  Bytes chunk_;
  Seconds timeout_;
  // State of the exchange under way, kept for the next one.
  static constexpr std::size_t kIncoming = 0;
  static constexpr std::size_t kOutgoing = 1;
  std::array<std::vector<Bytes>, 2> wholes_;  ///< by lane and piece: the length of its message
  std::array<Lane, 2> lanes_;
};

/// The memory that a user attaches for MPI_Bsend: ordinary host memory, into which the CPU copies what is to be sent.
/// For `cuda-aware -o send=buffered`.
class AttachedBuffer {
 public:
  /// `rank` must outlive this. A copy may take `timeout`.
  AttachedBuffer(Rank& rank, Seconds timeout) : rank_(rank), timeout_(timeout) {}
  ~AttachedBuffer();
  AttachedBuffer(const AttachedBuffer&) = delete;
  AttachedBuffer& operator=(const AttachedBuffer&) = delete;

  /// Copies the messages, one after the other, and waits for each copy; those of the call before must have left. An
  /// outcome other than `delivered` names what became of a copy.
  Outcome take(std::span<const View> messages);
  /// What take() has copied.
  [[nodiscard]] std::span<const View> messages() const { return messages_; }

 private:
  void make_room(std::span<const View> messages);

  Rank& rank_;
  Seconds timeout_;
  Buffer memory_{};
  std::vector<View> messages_;
};

}  // namespace twinlink
