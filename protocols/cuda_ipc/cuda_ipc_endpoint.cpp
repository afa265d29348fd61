#include "protocols/cuda_ipc/cuda_ipc_endpoint.hpp"

#include <array>
#include <cassert>
#include <exception>

#include "protocols/core/tags.hpp"
#include "protocols/parts/connection.hpp"

namespace twinlink {

using handshake::Action;
using handshake::HandshakeEvent;

CudaIpcEndpoint::CudaIpcEndpoint(Rank& this_rank, RankId to, const CudaIpcOptions& chosen)
    : rank(this_rank),
      peer(to),
      options(chosen),
      cache(this_rank, to, chosen.cache, chosen.eviction),
      handshake_(chosen.fidelity, to < this_rank.id()),
      cuda_in_use_(!chosen.late) {
  for (int slot = options.fragments; slot-- > 0;) free_slots_.push_back(static_cast<std::uint16_t>(slot));
  mine_ = rank.allocate(Memory::shared_pinned, options.payload * static_cast<std::uint64_t>(options.fragments));
}

CudaIpcEndpoint::~CudaIpcEndpoint() {
  // While an exception passes, operations may still use the memory; the rank frees it when it ends.
  if (std::uncaught_exceptions() > 0) return;
  for (const Op op : sends) rank.abandon(op);
  if (theirs_) rank.close_memory(*theirs_);
  rank.release(mine_);
}

/// What an earlier connection has left in the FIFO is thrown away. Then both ends open the fragments of the other.
/// Neither goes on before the peer has opened its fragments, for it might be through with everything, and release them,
/// before that.
Outcome CudaIpcEndpoint::connect(Seconds timeout) {
  const Seconds deadline = rank.now() + timeout;
  Epoch numbers;
  Outcome outcome = twinlink::connect_ends(rank, peer, std::array{tags::kIpcFifo}, deadline, numbers);
  if (!outcome.ok()) return outcome;
  send_control("send fragments",
               {.kind = PacketKind::fragments,
                .slot = static_cast<std::uint16_t>(options.fragments),
                .length = options.payload.count()},
               rank.export_memory(mine_));
  ControlMessage message;
  if (outcome = recv_control("receive fragments", message, deadline); !outcome.ok()) return outcome;
  const auto [packet, handle] = message.as<PacketWithHandle>();
  their_payload_ = Bytes{packet.length};
  rank.step("open fragments");
  try {
    theirs_ = rank.open_memory(peer, handle);
  } catch (const Error& error) {
    // A forged or stale handle is the peer's fault, and a refusal of the system nobody's.
    return {Status::peer_failed, std::string("step 'open fragments': ") + error.what()};
  }
  send_control("send opened", {.kind = PacketKind::opened});
  return recv_control("receive opened", message, deadline);
}

Outcome CudaIpcEndpoint::recv_control(std::string_view words, ControlMessage& message, Seconds deadline) {
  rank.step(words);
  const Status status = wait(rank, rank.recv_control(peer, tags::kIpcFifo, message), deadline);
  return status == Status::delivered ? Outcome{} : did_not_connect(status, words);
}

void CudaIpcEndpoint::send_control(std::string_view words, const ControlMessage& message) {
  rank.step(words);
  sends.push_back(rank.send_control(peer, tags::kIpcFifo, message));
}

void CudaIpcEndpoint::send_naming(std::string_view words, const Packet& packet, const IpcHandle& handle) {
  if (last_sent_handle_ == handle) return send_control(words, packet);
  last_sent_handle_ = handle;
  send_control(words, packet, handle);
}

const IpcHandle& CudaIpcEndpoint::handle_named_in(const ControlMessage& message) {
  const bool same_again = message.bytes().size() == sizeof(Packet);
  if (!same_again) last_received_handle_ = message.as<PacketWithHandle>().handle;
  if (!last_received_handle_) throw UsageError("a header names the memory of the one before it, and there was none");
  return *last_received_handle_;
}

// ---- the handshake --------------------------------------------------------------------------------------------------

void CudaIpcEndpoint::about_to_send() {
  cuda_in_use_ = true;  // the message lies on the GPU
  if (options.use_ipc) react(HandshakeEvent::send);
}

bool CudaIpcEndpoint::take_handshake(const Packet& packet) {
  switch (packet.kind) {
    case PacketKind::request:
      react(HandshakeEvent::request);
      return true;
    case PacketKind::ack:
      react(HandshakeEvent::ack);
      return true;
    case PacketKind::not_ready:
      react(HandshakeEvent::not_ready);
      return true;
    case PacketKind::refusal:
      react(HandshakeEvent::refusal);
      return true;
    default:
      return false;
  }
}

void CudaIpcEndpoint::react(HandshakeEvent event) {
  if (options.closed) return;
  const handshake::Reaction reaction = handshake_.react(event, {.gpu_buffer = true, .cuda_in_use = cuda_in_use_});
  for (const Action action : reaction.actions) perform(action);
}

/// Number of the GPU that this rank uses, as it counts those that it sees.
std::uint32_t CudaIpcEndpoint::own_number() const {
  return options.sees_own_alone ? 0 : static_cast<std::uint32_t>(rank.place(rank.id()).gpu);
}

void CudaIpcEndpoint::perform(Action action) {
  const std::string_view words = handshake::to_string(action);
  switch (action) {
    case Action::send_request:
      send_control(words, {.kind = PacketKind::request, .number = own_number()});
      return;
    case Action::send_ack:
      send_control(words, {.kind = PacketKind::ack});
      return;
    case Action::send_not_ready:
      send_control(words, {.kind = PacketKind::not_ready});
      return;
    case Action::send_refusal:
      send_control(words, {.kind = PacketKind::refusal});
      return;
    case Action::enable_get:
      rank.state(words);
      return;
    case Action::check_access: {
      rank.step(words);
      const bool granted = options.sees_own_alone || rank.check_peer_access(peer);
      react(granted ? HandshakeEvent::access_granted : HandshakeEvent::access_refused);
      return;
    }
  }
}

// ---- the fragments --------------------------------------------------------------------------------------------------

std::optional<std::uint16_t> CudaIpcEndpoint::take_slot() {
  if (free_slots_.empty()) return std::nullopt;
  const std::uint16_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

void CudaIpcEndpoint::return_slot(std::uint16_t slot) { free_slots_.push_back(slot); }

View CudaIpcEndpoint::my_fragment(std::uint16_t slot, Bytes length) const {
  return {mine_, options.payload * slot, length};
}

View CudaIpcEndpoint::peers_fragment(std::uint16_t slot, Bytes length) const {
  assert(theirs_);
  return {*theirs_, their_payload_ * slot, length};
}

}  // namespace twinlink
