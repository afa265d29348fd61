// How the data of a message are sent: the option `send` of every protocol that gives them to send().
#pragma once

#include "protocols/core/protocol.hpp"
#include "protocols/core/rank.hpp"

namespace twinlink {

enum class Sending {
  standard,    ///< MPI_Send: ended when the buffer may be written again
  synchronous  ///< MPI_Ssend: not before the peer has begun to receive
};

inline constexpr Option kSendOption{"send", "standard|synchronous", "standard",
                                    "synchronous: as MPI_Ssend, no send ends before the peer has begun to receive it"};

inline Op send_as(Rank& rank, Sending how, RankId peer, Tag tag, View from) {
  return how == Sending::synchronous ? rank.send_synchronously(peer, tag, from) : rank.send(peer, tag, from);
}

}  // namespace twinlink
