// Packing: messages whose bytes lie apart, over any protocol.
//
//   sender                                              receiver
//   1. pack: device -> packed buffer                    1. the protocol's own steps, into the packed buffer
//   2. the protocol's own steps, from the packed buffer 2. unpack: packed buffer -> device
//
// The packed buffer lies where the protocol takes its messages: in device memory, and in page-locked memory for a
// protocol that takes host memory, so that packing is the copy to the host. The three parts follow each other; they are
// not pipelined.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/core/protocol.hpp"
#include "protocols/core/rank.hpp"
#include "protocols/layout/layout.hpp"

namespace twinlink {

enum class PackMethod {
  copies,  ///< a copy for each block, waited for before the next: Open MPI's first support for GPUs, one cuMemcpy each
  rows,    ///< one 2-D copy by the copy engine; only for blocks of one length at one distance
  kernel   ///< one kernel that copies all blocks
};
/// "copies", "2d", "kernel".
std::string_view to_string(PackMethod method);
/// The method of that name. A UsageError lists all.
PackMethod find_pack_method(std::string_view name);

struct Packing {
  Layout layout{};  ///< contiguous: nothing is packed
  PackMethod method = PackMethod::kernel;

  [[nodiscard]] bool needed() const { return !layout.contiguous(); }
  friend bool operator==(const Packing&, const Packing&) = default;
};

/// A UsageError with the reason where `packing` cannot pack a message of `packed` bytes.
void check_packing(const Packing& packing, Bytes packed);

/// Where the messages lie that the user passes in.
Memory message_memory(const Protocol& protocol, const Packing& packing);

/// The packed buffers of one end of a connection. A peer's channel may open them: like the messages' own buffers they
/// must outlive both ends.
class PackedBuffers {
 public:
  /// Room for `outgoing` and `incoming` bytes of messages that are under way at once, gaps not counted; each message
  /// but the last counts as rounded up to kAlignment. Nothing is allocated where nothing is packed. `rank` must outlive
  /// this.
  PackedBuffers(Rank& rank, const Protocol& inner, const Packing& packing, Bytes outgoing, Bytes incoming);
  ~PackedBuffers();
  PackedBuffers(const PackedBuffers&) = delete;
  PackedBuffers& operator=(const PackedBuffers&) = delete;

  static constexpr Bytes kAlignment{256};
  [[nodiscard]] Buffer outgoing() const { return outgoing_; }
  [[nodiscard]] Buffer incoming() const { return incoming_; }

 private:
  Rank& rank_;
  Buffer outgoing_{};
  Buffer incoming_{};
};

/// As protocol.connect(); where something is packed, a PackingChannel over that.
std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Protocol& protocol, const Settings& settings,
                                 const Packing& packing, const PackedBuffers& buffers);

/// One end of a connection for messages in device memory: a view spans a message's extent, gaps included, and what lies
/// in the gaps stays as it is. Messages of one exchange that share their memory share their packed place.
///
/// A UsageError, before anything moves, for a message that reaches beyond its buffer, that is no device memory, that
/// the method cannot pack, or that has no room in the packed buffers.
class PackingChannel final : public Channel {
 public:
  /// `inner` carries the packed messages. `rank` and `buffers` must outlive this. Each of the three parts may take
  /// `timeout`.
  PackingChannel(Rank& rank, std::unique_ptr<Channel> inner, Packing packing, const PackedBuffers& buffers,
                 Seconds timeout);

  [[nodiscard]] std::string path_taken() const override;
  [[nodiscard]] std::vector<std::string> reasons() const override { return inner_->reasons(); }
  [[nodiscard]] std::vector<Counter> counters() const override { return inner_->counters(); }
  [[nodiscard]] bool connecting() const override { return inner_->connecting(); }

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override;
  enum class Rearrangement { pack, unpack };
  /// The blocks of a message of one size, for both directions.
  struct Plan {
    std::vector<Block> pack;
    std::vector<Block> unpack;
  };

  [[nodiscard]] std::vector<View> packed_places(std::span<const View> messages, Buffer buffer) const;
  [[nodiscard]] const Plan& plan_of(Bytes extent);
  Outcome rearrange(std::span<const View> messages, std::span<const View> packed, Rearrangement way);
  Outcome copy_each(const View& to, const View& from, std::span<const Block> blocks, Seconds deadline);
  Outcome wait_all(std::span<const Op> ops, Seconds deadline);

  Rank& rank_;
  std::unique_ptr<Channel> inner_;
  Packing packing_;
  const PackedBuffers& buffers_;
  Seconds timeout_;
  std::map<Bytes, Plan> plans_;  ///< by extent: making one takes longer than many a transfer
};

}  // namespace twinlink
