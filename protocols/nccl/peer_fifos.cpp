#include "protocols/nccl/peer_fifos.hpp"

#include <algorithm>
#include <exception>
#include <string>

#include "protocols/core/tags.hpp"

namespace twinlink::nccl {
namespace {

/// Both ends say it when they have closed the other's memory.
struct Closed {
  std::uint8_t closed = 1;
};

/// How long a peer may take to close what it has open.
constexpr Seconds kClosing{1.0};

}  // namespace

PeerFifos::~PeerFifos() {
  // While an exception passes, a program may still use the memory; the rank frees it when it ends.
  if (failed_ || std::uncaught_exceptions() > 0) return;
  if (std::ranges::none_of(by_format_, [](const auto& fifos) { return fifos.has_value(); })) return;
  try {
    rank_.step("close");
    for (const auto& fifos : by_format_) {
      if (fifos && fifos->theirs.id != 0) rank_.close_memory(fifos->theirs);
    }
    const Seconds deadline = rank_.now() + kClosing;
    ControlMessage closed;
    const Op heard = rank_.recv_control(peer_, tags::kReady, closed);
    const bool told =
        wait(rank_, rank_.send_control(peer_, tags::kReady, ControlMessage(Closed{})), deadline) == Status::delivered;
    if (wait(rank_, heard, deadline) != Status::delivered || !told) return;
    for (const auto& fifos : by_format_) {
      if (fifos) rank_.release(fifos->mine);
    }
  } catch (const Error&) {
    return;  // the rank frees what is left
  }
}

void PeerFifos::shape(gpu::Program& program) const {
  constexpr std::uint64_t kLine = 16;
  constexpr std::uint64_t kMostLl = std::uint64_t{32} << 10;
  const std::uint64_t slot = gpu::turns(std::max<std::uint64_t>(geometry_.slot.count(), 1), kLine) * kLine;
  program.slot = program.format == gpu::LineFormat::ll ? std::min(slot, kMostLl) : slot;
  program.slots = gpu::number(geometry_.slots);
}

/// Fresh memory may hold anything, and what looks like a flag would be taken for one.
Outcome PeerFifos::clear(const FormatFifos& fifos, const gpu::Program& program, Seconds deadline) {
  const gpu::Link link{.mine = View(fifos.mine)};
  rank_.step("clear");
  const Status status = wait(rank_, rank_.launch({.program = program, .links = {&link, 1}}, stream()), deadline);
  return {status, "step 'clear'"};
}

Outcome PeerFifos::open(gpu::LineFormat format, Seconds deadline) {
  std::optional<FormatFifos>& fifos = by_format_[index(format)];
  if (fifos) return {};
  gpu::Program program{.operation = gpu::Operation::clear, .format = format, .channels = geometry_.channels};
  shape(program);
  const auto channels = static_cast<std::size_t>(geometry_.channels);
  const bool on_device = geometry_.p2p && rank_.path_to(peer_).peer_access.yes;
  fifos.emplace();
  fifos->sent.resize(channels);
  fifos->received.resize(channels);
  rank_.step("make FIFOs");
  fifos->mine = rank_.allocate(on_device ? Memory::device : Memory::shared_pinned,
                               Bytes{gpu::fifo_room(program) * gpu::number(program.channels)});
  if (Outcome outcome = clear(*fifos, program, deadline); !outcome.ok()) return outcome;
  rank_.step("send place");
  const Op sent = rank_.send_control(peer_, tags::kReady, ControlMessage(rank_.export_memory(fifos->mine)));
  if (wait(rank_, sent, deadline) != Status::delivered) return {Status::timed_out, "step 'send place'"};
  rank_.step("receive place");
  ControlMessage place;
  const Status status = wait(rank_, rank_.recv_control(peer_, tags::kReady, place), deadline);
  if (status != Status::delivered) return {status, "step 'receive place': the peer has made no FIFOs"};
  try {
    fifos->theirs = rank_.open_memory(peer_, place.as<IpcHandle>());
  } catch (const Error& error) {
    // A forged or stale handle is the peer's fault, and a refusal of the driver nobody's.
    return {Status::peer_failed, std::string("step 'receive place': ") + error.what()};
  }
  return {};
}

gpu::Link PeerFifos::link(gpu::LineFormat format) const {
  const FormatFifos& fifos = *by_format_[index(format)];
  return {View(fifos.mine), View(fifos.theirs), fifos.sent, fifos.received};
}

void PeerFifos::count(const gpu::Program& program, bool sends, bool receives) {
  FormatFifos& fifos = *by_format_[index(program.format)];
  for (std::int32_t channel = 0; channel < program.channels; ++channel) {
    const auto at = static_cast<std::size_t>(channel);
    if (sends) fifos.sent[at] += gpu::sent_slots(program, channel);
    if (receives) fifos.received[at] += gpu::received_slots(program, channel);
  }
}

}  // namespace twinlink::nccl
