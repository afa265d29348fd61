// A kernel on the sender's GPU stores, and raises a flag behind the bytes.
#include "protocols/gpudirect_v2/by_flag.hpp"
#include "protocols/gpudirect_v2/peer_mover.hpp"

namespace twinlink {
namespace {

std::vector<Step> sender(PeerEnd& end, const BatchedPieces& sent) {
  const auto by_kernel = [&end, &sent](const Piece& p) { return push(end, sent, p, Engine::kernel); };
  return {recv_ready(end), {"push", by_kernel}};
}

std::vector<Step> receiver(PeerEnd& end, const BatchedPieces& awaited) {
  return {send_ready(end, awaited), await_flag(end), check_flag(end, awaited)};
}

}  // namespace

const PeerMover kKernelPushMover{.path_taken = "peer copy by a kernel's stores",
                                 .engine = Engine::kernel,
                                 .flags = true,
                                 .sender = &sender,
                                 .receiver = &receiver};

}  // namespace twinlink
