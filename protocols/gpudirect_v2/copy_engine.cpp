// The copy engine of the sender's GPU writes.
#include "protocols/gpudirect_v2/by_delivered.hpp"
#include "protocols/gpudirect_v2/peer_mover.hpp"

namespace twinlink {
namespace {

std::vector<Step> sender(PeerEnd& end, const BatchedPieces& sent) {
  const auto peer_copy = [&end, &sent](const Piece& p) -> Started {
    if (Outcome reached = reach(end, sent, p); !reached.ok()) return reached;
    return end.copies->start(end.theirs, sent.views(p));
  };
  return {recv_ready(end), {"peer copy", peer_copy}, send_delivered(end, sent)};
}

std::vector<Step> receiver(PeerEnd& end, const BatchedPieces& awaited) {
  return {send_ready(end, awaited), recv_delivered(end), check_delivered(end, awaited)};
}

}  // namespace

const PeerMover kCopyEngineMover{.path_taken = "peer copy by the copy engine",
                                 .engine = Engine::dma,
                                 .helped_by_driver = true,
                                 .sender = &sender,
                                 .receiver = &receiver};

}  // namespace twinlink
