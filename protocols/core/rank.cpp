#include "protocols/core/rank.hpp"

#include <algorithm>
#include <cassert>
#include <string>

#include "protocols/core/blocks.hpp"
#include "protocols/core/enum_table.hpp"

namespace twinlink {

std::string_view to_string(Memory memory) {
  constexpr Words<Memory> kNames{"device", "pinned", "pageable", "shared pinned"};
  return kNames[memory];
}

void ControlMessage::assign(std::span<const std::byte> content) {
  assert(content.size() <= kCapacity);
  std::copy(content.begin(), content.end(), bytes_.begin());
  size_ = content.size();
}

const Place& Rank::place(RankId rank) const {
  if (rank.value >= 0 && rank.value < ranks()) return position_.places[static_cast<std::size_t>(rank.value)];
  throw UsageError("there is no rank " + std::to_string(rank.value) + " among " + std::to_string(ranks()));
}

Buffer Rank::allocate_beside(RankId peer, Bytes) {
  throw UnavailableError("this process does not drive the GPU of rank " + std::to_string(peer.value));
}

Answer Rank::check_peer_access(RankId peer) {
  const Path& path = path_to(peer);
  return path.same_device ? Answer::granted() : path.peer_access;
}

namespace {
constexpr const char* kNoPrograms = "nothing here runs programs of thread blocks";
}  // namespace

Op Rank::launch(const gpu::Work&, Stream) { throw UnavailableError(kNoPrograms); }
Op Rank::await_slot(const gpu::FifoSlot&) { throw UnavailableError(kNoPrograms); }
void Rank::raise_slot(const gpu::FifoSlot&) { throw UnavailableError(kNoPrograms); }

Op Rank::add_up(std::span<const RankId>, Tag, View, View) {
  throw UnavailableError("no switch of the network adds up here");
}

Op Rank::copy(View to, View from, Stream stream, Engine engine) {
  require_transfer(to, from, stream);
  return start_copy(to, from, {}, stream, engine);
}

Op Rank::copy_blocks(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) {
  check_blocks(to, from, blocks, engine);
  require_stream(stream);
  return start_copy(to, from, blocks, stream, engine);
}

void require_stream(Stream stream) {
  if (stream.index >= 0 && stream.index < kStreams) return;
  throw UsageError("there is no stream " + std::to_string(stream.index) + "; streams are 0 to " +
                   std::to_string(kStreams - 1));
}

void require_transfer(const View& to, const View& from, Stream stream) {
  require_stream(stream);
  if (to.length == from.length) return;
  throw UsageError("a copy of " + std::to_string(from.length.count()) + " B into a view of " +
                   std::to_string(to.length.count()) + " B");
}

void require_signal(const Signal& signal) {
  if (signal.tag.value < 0 || signal.tag.value >= kSignalTags) {
    throw UsageError("there is no signal " + std::to_string(signal.tag.value) + "; signals are 0 to " +
                     std::to_string(kSignalTags - 1));
  }
  if (signal.value > kMostSignal) {
    throw UsageError("a signal carries 48 bits, and " + std::to_string(signal.value) + " needs more");
  }
}

Status wait(Rank& rank, Op op, Seconds deadline) {
  std::optional<Completion> completion;
  try {
    completion = rank.wait_any({&op, 1}, deadline);
  } catch (...) {
    // What it reads or writes may be gone when the exception has passed on.
    rank.abandon(op);
    throw;
  }
  if (completion) return completion->status;
  rank.abandon(op);
  return Status::timed_out;
}

}  // namespace twinlink
