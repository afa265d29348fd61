// A kernel on the receiver's GPU loads.
#include "protocols/gpudirect_v2/by_delivered.hpp"
#include "protocols/gpudirect_v2/peer_mover.hpp"

namespace twinlink {
namespace {

std::vector<Step> sender(PeerEnd& end, const BatchedPieces& sent) {
  return {send_ready(end, sent), recv_delivered(end), check_delivered(end, sent)};
}

std::vector<Step> receiver(PeerEnd& end, const BatchedPieces& awaited) {
  const auto pull = [&end, &awaited](const Piece& p) -> Started {
    if (Outcome reached = reach(end, awaited, p); !reached.ok()) return reached;
    return end.copies->start(awaited.views(p), end.theirs);
  };
  return {recv_ready(end), {"pull", pull}, send_delivered(end, awaited)};
}

}  // namespace

const PeerMover kKernelPullMover{
    .path_taken = "peer copy by a kernel's loads", .engine = Engine::kernel, .sender = &sender, .receiver = &receiver};

}  // namespace twinlink
