// Work: a program with the memory that it is to run on. What Rank::launch() takes.
//
//   const gpu::Work work{.program = program, .input = data, .output = data, .links = links};
//   require_work(work);                                // a backend does that
//   const Op op = rank.launch(work, Stream{0});        // peers launch theirs
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "protocols/core/rank.hpp"
#include "protocols/gpu/program.hpp"

namespace twinlink::gpu {

/// The FIFOs of a connection with one peer, of all channels one behind the other (fifo_room()).
struct Link {
  View mine{};  ///< that the peer fills: memory of this rank
  /// That this rank fills: memory of the peer, which is opened. Of a link that CPUs carry: this rank's own.
  View theirs{};
  View window{};         ///< of a put: memory of the peer, which is opened, where the message goes
  bool carried = false;  ///< by CPUs over the network: this rank's own takes what is in `theirs`, and fills `mine`
  /// By channel, slots that have passed each way before.
  std::span<const std::uint64_t> sent{};
  std::span<const std::uint64_t> received{};
  /// And what the program passes; it matters where it runs more than once.
  std::span<const std::uint64_t> sent_each{};
  std::span<const std::uint64_t> received_each{};
};

/// Spans must live until launch() returns; the memory, until the operation has ended.
struct Work {
  Program program{};
  View input{};   ///< device memory of this rank, as the output is
  View output{};  ///< of a ring or a tree the same bytes
  std::span<const Link> links{};
  /// By channel; empty: one ring of all ranks in their order for all channels, and no tree. Then link 0 leads to the
  /// rank before this one, and link 1 to the one behind.
  std::span<const ChannelPosition> positions{};
  /// By channel, and there by place: the ranks of each ring. Empty: in their order, or nobody asks, as in an
  /// all-reduce.
  std::span<const std::int32_t> orders{};
  std::span<const std::uint64_t> numbers{};  ///< of blocks to experts: what lies where (experts.hpp)
  int times = 1;                             ///< so many runs follow each other in one graph
  /// Launches for other GPUs that the same thread makes before this one, and behind it. A simulation knows what they
  /// take; on real GPUs each process has one, and others are a UsageError.
  int launches_before = 0;
  int launches_behind = 0;
  /// A simulation times the kernels of NCCL itself, where the platform has their costs.
  bool library = false;
};

/// The place of a rank where Work::positions is empty: in the one ring of all ranks in their order.
ChannelPosition usual_position(const Program& program);
/// The place in one channel: that of Work::positions, or the usual one.
ChannelPosition position_of(const Work& work, std::int32_t channel);
/// Of the channel's ring; empty: by their numbers.
std::span<const std::int32_t> order_of(const Work& work, std::int32_t channel);

/// A slot of one channel's FIFO in this rank's own memory, which its CPU stands behind. Of what a program sends the CPU
/// awaits `filled` and raises `read`; of what it receives the CPU awaits `read`, which the program raises in the FIFO
/// that it sends through, and raises `filled`.
struct FifoSlot {
  enum class Event : std::uint8_t { filled, read };

  View fifo{};        ///< where the event is told
  Program program{};  ///< format, slot and slots
  std::uint64_t step = 0;
  std::uint64_t bytes = 0;  ///< of data in it
  Event event = Event::filled;
};

std::string_view to_string(LineFormat format);
std::string_view to_string(Operation operation);
std::string_view to_string(Algorithm algorithm);
/// "all-reduce ll128 rank 1 of 4, 1024 B, 2 channels": what traces say.
std::string describe(const Work& work);
/// "simple slot 3 filled".
std::string describe(const FifoSlot& slot);

/// What every backend checks: a UsageError for a program that makes no sense, sizes that are no multiple of an element
/// where elements are added up, buffers that overlap, and FIFOs that are too small.
void require_work(const Work& work);
/// A UsageError for a FIFO without room.
void require_slot(const FifoSlot& slot);

}  // namespace twinlink::gpu
