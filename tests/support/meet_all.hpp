// meet_all(): nobody goes on before all have come, as where peers may have a rank's buffers open until then.
#pragma once

#include "protocols/core/tags.hpp"
#include "tests/support/finish.hpp"

namespace twinlink {

inline void meet_all(Rank& rank) {
  ControlMessage message;
  for (const bool sends : {true, false}) {
    for (RankId peer{0}; peer.value < rank.ranks(); ++peer.value) {
      if (peer == rank.id()) continue;
      finish(rank,
             sends ? rank.send_control(peer, tags::kFirstFree, message)
                   : rank.recv_control(peer, tags::kFirstFree, message),
             rank.now() + Seconds{10});
    }
  }
}

}  // namespace twinlink
