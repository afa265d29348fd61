#include "protocols/gpudirect_v2/peer_mover.hpp"

namespace twinlink {
namespace {

/// The end that is reached into and awaits `delivered`, as a receiver or as a sender.
std::vector<Step> told_by_delivered(PeerTransfer& own) {
  return {own.send_ready(), own.recv_delivered(), own.check_delivered()};
}

std::vector<Step> told_by_flag(PeerTransfer& awaited) {
  return {awaited.send_ready(), awaited.await_flag(), awaited.check_flag()};
}

std::vector<Step> copies_out(PeerTransfer& sent) {
  return {
      sent.recv_ready(), {"peer copy", [&sent](const Piece& p) { return sent.copy_out(p); }}, sent.send_delivered()};
}

std::vector<Step> copies_in(PeerTransfer& awaited) {
  return {awaited.recv_ready(),
          {"pull", [&awaited](const Piece& p) { return awaited.copy_in(p); }},
          awaited.send_delivered()};
}

std::vector<Step> pushes(PeerTransfer& sent) {
  return {sent.recv_ready(), {"push", [&sent](const Piece& p) { return sent.push(p, Engine::kernel); }}};
}

/// What a resident kernel moves sooner than the copy engine: it is one block of threads, with the bandwidth of one, but
/// needs no launch. (H200 over NVLink: 5.6 us against 6.8 us at 64 KiB, 30 us against 9.3 us at 1 MiB.)
constexpr Bytes kMostResident = 64_KiB;

std::vector<Step> pushes_by_either(PeerTransfer& sent) {
  const auto by_either = [&sent](const Piece& p) {
    return sent.push(p, p.bytes.length <= kMostResident ? Engine::resident : Engine::dma);
  };
  return {sent.recv_ready(), {"push", by_either}};
}

}  // namespace

constinit const std::array<PeerMover, 4> kPeerMovers{
    PeerMover{.path_taken = "peer copy by the copy engine",
              .engine = Engine::dma,
              .helped_by_driver = true,
              .sender = &copies_out,
              .receiver = &told_by_delivered},
    PeerMover{.path_taken = "peer copy by a kernel's stores",
              .engine = Engine::kernel,
              .flags = true,
              .sender = &pushes,
              .receiver = &told_by_flag},
    PeerMover{.path_taken = "peer copy by a kernel's loads",
              .engine = Engine::kernel,
              .sender = &told_by_delivered,
              .receiver = &copies_in},
    PeerMover{.path_taken =
                  "peer copy by the stores of a resident kernel, which occupies a multiprocessor of the sender's GPU",
              .batches_by = " by the copy engine",
              .engine = Engine::dma,
              .flags = true,
              .sender = &pushes_by_either,
              .receiver = &told_by_flag}};

}  // namespace twinlink
