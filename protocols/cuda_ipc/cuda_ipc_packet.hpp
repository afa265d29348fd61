// What the two ends of a cuda-ipc connection send each other. All of it travels under one tag and stays in order.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocols/core/rank.hpp"
#include "protocols/parts/connection.hpp"

namespace twinlink {

enum class PacketKind : std::uint16_t {
  fragments,      ///< a connection begins; with the handle of the sender's fragments
  opened,         ///< the fragments have been opened
  request,        ///< REQ: the handshake, see ipc_handshake.hpp
  ack,            ///< ACK
  not_ready,      ///< NOTREADY
  refusal,        ///< REFUSED
  eager,          ///< a small message, which lies in a fragment; with no bytes it has none
  header,         ///< a message that will be staged
  clear_to_send,  ///< the acknowledgement of a header
  fragment,       ///< a fragment of a staged message lies in a slot
  fragment_done,  ///< the slot may be written again
  rget,           ///< a message to be read by the receiver; with the handle of its memory, if that is a new one
  fin,            ///< a message has been read
  failed          ///< this end has given the exchange up
};

/// One control message. What a kind does not need is zero.
struct Packet {
  PacketKind kind{};
  std::uint16_t slot = 0;    ///< of a fragment; fragments: their number
  std::uint32_t number = 0;  ///< of the message, counted per direction from the start; request: the sender's device
  std::uint64_t offset = 0;  ///< of a fragment in its message; of a message in the exported buffer
  std::uint64_t length = 0;  ///< of the message, or of the fragment; fragments: of one at most
};

/// A packet that names memory.
struct PacketWithHandle {
  Packet packet;
  IpcHandle handle;
};
static_assert(sizeof(PacketWithHandle) <= ControlMessage::kCapacity);
static_assert(sizeof(Packet) != kConnectMessageSize && sizeof(PacketWithHandle) != kConnectMessageSize);

/// The packet at the front of a message, with or without a handle. A UsageError for a message of any other size.
inline Packet packet_of(const ControlMessage& message) {
  if (message.bytes().size() == sizeof(PacketWithHandle)) return message.as<PacketWithHandle>().packet;
  return message.as<Packet>();
}

}  // namespace twinlink
