// One end of a cuda-ipc connection: what lasts from exchange to exchange.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocols/core/rank.hpp"
#include "protocols/cuda_ipc/cuda_ipc_options.hpp"
#include "protocols/cuda_ipc/cuda_ipc_packet.hpp"
#include "protocols/cuda_ipc/ipc_handshake.hpp"
#include "protocols/parts/handle_cache.hpp"

namespace twinlink {

/// How many messages this end has sent or received in which way.
struct CudaIpcCounts {
  std::uint64_t ipc_messages = 0;
  std::uint64_t staged_messages = 0;  ///< eager ones too
  std::uint64_t fragments_sent = 0;
};

class CudaIpcEndpoint {
 public:
  /// Nothing goes through the FIFO before connect(). `this_rank` must outlive it.
  CudaIpcEndpoint(Rank& this_rank, RankId to, const CudaIpcOptions& chosen);
  ~CudaIpcEndpoint();
  CudaIpcEndpoint(const CudaIpcEndpoint&) = delete;
  CudaIpcEndpoint& operator=(const CudaIpcEndpoint&) = delete;

  /// Meets the peer, which must do the same: both open each other's fragments. Once.
  Outcome connect(Seconds timeout);

  // ---- the FIFO ---------------------------------------------------------------------------------------------------

  void send_control(std::string_view words, const Packet& packet) { send_control(words, ControlMessage(packet)); }
  void send_control(std::string_view words, const Packet& packet, const IpcHandle& handle) {
    send_control(words, ControlMessage(PacketWithHandle{packet, handle}));
  }
  /// The same without the handle where it is that of the call before: a control message takes longer with every cache
  /// line of it that goes from core to core.
  void send_naming(std::string_view words, const Packet& packet, const IpcHandle& handle);
  /// The handle that the peer names so with `message`. Messages come here in the order in which they were sent.
  const IpcHandle& handle_named_in(const ControlMessage& message);
  /// What has been sent and is still under way, for wait_any().
  std::vector<Op> sends{};

  // ---- the handshake ----------------------------------------------------------------------------------------------

  /// A message is about to be sent: asks, if it is time to ask.
  void about_to_send();
  /// Reacts to a packet of the handshake; false if it is none.
  bool take_handshake(const Packet& packet);
  [[nodiscard]] const handshake::Endpoint& handshake() const { return handshake_; }
  [[nodiscard]] bool cuda_in_use() const { return cuda_in_use_; }
  void set_cuda_in_use(bool in_use) { cuda_in_use_ = in_use; }

  // ---- the fragments ----------------------------------------------------------------------------------------------

  /// A slot of this rank's fragments that may be written, or nothing while the peer has them all.
  std::optional<std::uint16_t> take_slot();
  void return_slot(std::uint16_t slot);
  [[nodiscard]] View my_fragment(std::uint16_t slot, Bytes length) const;
  [[nodiscard]] View peers_fragment(std::uint16_t slot, Bytes length) const;
  [[nodiscard]] bool has_free_slot() const { return !free_slots_.empty(); }

  // ---- the rest ---------------------------------------------------------------------------------------------------

  Rank& rank;
  const RankId peer;
  const CudaIpcOptions options;
  HandleCache cache;
  CudaIpcCounts counts{};
  std::uint32_t next_out = 0;  ///< the number of the next message that is sent, and received
  std::uint32_t next_in = 0;

  enum class Transport { none, staged, ipc };
  /// A message begins to travel, in either direction.
  void note_way(Transport way) {
    last_way_ = way;
    ++(way == Transport::ipc ? counts.ipc_messages : counts.staged_messages);
  }
  [[nodiscard]] Transport last_way() const { return last_way_; }

 private:
  void send_control(std::string_view words, const ControlMessage& message);
  void react(handshake::HandshakeEvent event);
  void perform(handshake::Action action);
  [[nodiscard]] std::uint32_t own_number() const;
  Outcome recv_control(std::string_view words, ControlMessage& message, Seconds deadline);

  std::optional<IpcHandle> last_sent_handle_{};
  std::optional<IpcHandle> last_received_handle_{};
  handshake::Endpoint handshake_;
  bool cuda_in_use_;
  Buffer mine_{};
  std::optional<Buffer> theirs_{};
  Bytes their_payload_{};
  std::vector<std::uint16_t> free_slots_;
  Transport last_way_ = Transport::none;
};

}  // namespace twinlink
