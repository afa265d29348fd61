// A binomial tree to rank 0 and back:
//
//   1. receive what each rank below me asks for
//   2. send what I ask for, or the first two calls that differ, to the rank above me
//   3. receive the answer of rank 0 from there
//   4. send it to each rank below me
#include "protocols/heap/heap_agreement.hpp"

#include <array>
#include <vector>

#include "protocols/core/errors.hpp"
#include "protocols/core/tags.hpp"

namespace twinlink {
namespace {

/// The call of one rank and, where there is one, another call of a second one.
struct Asked {
  HeapCall call{};
  HeapCall other{};
  std::int32_t rank = 0;
  std::int32_t other_rank = -1;  ///< nobody

  [[nodiscard]] bool differs() const { return other_rank >= 0; }
};
static_assert(sizeof(Asked) <= ControlMessage::kCapacity);

void require(Status status, int peer) {
  if (status == Status::delivered) return;
  throw Error("a call on the symmetric heap is one of all ranks, and rank " + std::to_string(peer) + " did not come (" +
              std::string(to_string(status)) + ")");
}

Asked receive(Rank& rank, int peer, Seconds deadline) {
  ControlMessage message;
  require(wait(rank, rank.recv_control(RankId{peer}, tags::kHeapCall, message), deadline), peer);
  return message.as<Asked>();
}

void send(Rank& rank, int peer, const Asked& asked, Seconds deadline) {
  require(wait(rank, rank.send_control(RankId{peer}, tags::kHeapCall, ControlMessage(asked)), deadline), peer);
}

}  // namespace

std::string describe(const HeapCall& call) {
  switch (call.kind) {
    case HeapCall::Kind::make:
      return "makes a heap of " + std::to_string(call.size) + " B";
    case HeapCall::Kind::allocate:
      return "allocates " + std::to_string(call.size) + " B, aligned to " + std::to_string(call.alignment) + " B";
    case HeapCall::Kind::free:
      return "frees what lies at " + std::to_string(call.offset);
    case HeapCall::Kind::barrier:
      return "waits for all";
    case HeapCall::Kind::close:
      return "closes the heap";
  }
  return {};
}

void agree_on(Rank& rank, const HeapCall& call, Seconds deadline) {
  const int self = rank.id().value;
  Asked all{.call = call, .rank = self};
  std::vector<int> below;
  int above = -1;
  for (int distance = 1; distance < rank.ranks(); distance *= 2) {
    if ((self & distance) != 0) {
      above = self - distance;
      break;
    }
    if (self + distance < rank.ranks()) below.push_back(self + distance);
  }
  rank.step("agree on a call of the heap");
  for (const int peer : below) {
    const Asked theirs = receive(rank, peer, deadline);
    if (all.differs()) continue;
    if (theirs.differs()) {
      all = theirs;
    } else if (theirs.call != call) {
      all.other = theirs.call;
      all.other_rank = theirs.rank;
    }
  }
  if (above >= 0) {
    send(rank, above, all, deadline);
    all = receive(rank, above, deadline);
  }
  for (const int peer : below) send(rank, peer, all, deadline);
  if (!all.differs()) return;
  throw UsageError("a call on the symmetric heap is one of all ranks: rank " + std::to_string(all.rank) + " " +
                   describe(all.call) + ", and rank " + std::to_string(all.other_rank) + " " + describe(all.other));
}

}  // namespace twinlink
