// The exchanges of the cuda-ipc protocol: every message is a small state, and one loop receives, copies and sends.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocols/cuda_ipc/cuda_ipc_endpoint.hpp"

namespace twinlink {

/// The messages of one call of exchange(), both ways, and then those of the next: only the room for them is kept, for
/// to make it would take a small message longer. The endpoint has what lasts: handshake, cache, fragments.
class CudaIpcExchange {
 public:
  /// `end` must outlive this.
  explicit CudaIpcExchange(CudaIpcEndpoint& end) : end_(end) {}

  /// Sends `outgoing` and receives `incoming`: to the end, the deadline or the first failure. After a failure nothing
  /// is in flight any more.
  Outcome run(std::span<const View> outgoing, std::span<const View> incoming, Seconds deadline);

 private:
  enum class Sending {
    not_started,
    waits_for_clear,  ///< the header is sent
    in_fragments,
    waits_for_fin,  ///< the receiver reads it
    done
  };
  enum class Receiving { waits_for_header, in_fragments, waits_to_pull, pulling, done };
  struct Outgoing {
    View bytes{};
    Sending state = Sending::not_started;
    Bytes handed_over{};
  };
  struct Incoming {
    View bytes{};
    Receiving state = Receiving::waits_for_header;
    Bytes arrived{};
    Packet header{};  ///< of a message that is read by IPC
    IpcHandle handle{};
  };
  /// A copy from the peer's memory.
  struct Pull {
    Op op{};
    std::size_t message = 0;
    Buffer source{};
  };

  void begin(std::span<const View> outgoing, std::span<const View> incoming, Seconds deadline);
  Outcome drive();

  // What this rank does by itself.
  Outcome start_sends();
  Outcome send_eagerly(Outgoing& message, std::uint32_t number);
  Outcome send_fragments();
  Outcome start_pulls();
  Outcome pull(std::size_t index);

  // What it receives.
  Outcome recv_control(const ControlMessage& message);
  Outcome take_header(const ControlMessage& message);
  Outcome take_eager(Incoming& message, const Packet& packet);
  Outcome take_fragment(Incoming& message, const Packet& packet);
  Outcome pulled(Status status);
  [[nodiscard]] Outgoing* outgoing(std::uint32_t number);
  [[nodiscard]] Incoming* incoming(std::uint32_t number);

  // Waiting.
  Outcome wait_for_something();
  [[nodiscard]] bool must_receive() const;
  [[nodiscard]] bool finished() const;
  [[nodiscard]] std::string what_is_missing() const;
  Status copy_now(std::string_view words, View to, View from, Stream stream);
  /// The exchange fails, and the peer learns it.
  Outcome fail(Status status, std::string reason);
  void abandon();

  CudaIpcEndpoint& end_;
  Seconds deadline_{};
  std::vector<Outgoing> outgoing_{};
  std::vector<Incoming> incoming_{};
  std::uint32_t first_out_ = 0;
  std::uint32_t first_in_ = 0;
  std::size_t next_to_start_ = 0;  ///< of outgoing_
  // Queues of a few elements. A deque takes half a kilobyte each, and a simulation has thousands of exchanges at once.
  std::vector<std::size_t> clear_{};    ///< outgoing messages that may be sent in fragments
  std::vector<std::size_t> to_pull_{};  ///< incoming messages that may be read
  std::vector<Pull> pulls_{};           ///< in flight, in order
  std::optional<Op> receive_op_{};      ///< in flight only while the exchange cannot end without it
  ControlMessage received_{};
  std::vector<Op> awaited_{};  ///< by wait_for_something()
};

}  // namespace twinlink
