// alone(): one of two ranks does something, and finds nobody.
#pragma once

#include <functional>

#include "protocols/core/tags.hpp"
#include "tests/support/finish.hpp"

namespace twinlink {

/// Rank `who` works, while the other one waits for its end.
inline void alone(Rank& rank, int who, const std::function<void()>& work) {
  constexpr Tag kDone{tags::kFirstFree.value + 7};
  constexpr Tag kNudge{tags::kFirstFree.value + 8};
  const RankId peer{1 - rank.id().value};
  ControlMessage nothing;
  const auto later = [&] { return rank.now() + Seconds{1e6}; };
  const auto send = [&](Tag tag) { finish(rank, rank.send_control(peer, tag, nothing), later()); };
  if (rank.id().value == who) {
    work();
    send(kDone);
    return finish(rank, rank.recv_control(peer, kDone, nothing), later());
  }
  // Of two ranks that nobody else can help, the one that waits last gives up. That shall be the other.
  while (wait(rank, rank.recv_control(peer, kDone, nothing), later()) != Status::delivered) send(kNudge);
  send(kDone);  // for the clocks
}

}  // namespace twinlink
