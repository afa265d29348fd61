// How the data of a message are sent: the option `send` of every protocol that gives them to send().
#pragma once

#include <string>

#include "protocols/core/choices.hpp"
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

}  // namespace twinlink
