// The state of an explored job, apart from the fibers: who has which operations, messages and memory. Plain values that
// can be copied, and that look alike however they came about.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/engine/memory/content.hpp"
#include "protocols/core/rank.hpp"
#include "tests/explore/explorer/hash.hpp"

namespace twinlink::explore {

enum class Verb : std::uint8_t { copy, put, send, receive, send_control, recv_control, await_signal };

/// An allocation: the how-manieth of which rank.
struct AllocationId {
  int owner = 0;
  std::uint32_t index = 0;
  auto operator<=>(const AllocationId&) const = default;
};

/// Some bytes of an allocation.
struct Part {
  AllocationId allocation{};
  Bytes offset{};
  Bytes length{};
  std::uint32_t buffer = 0;  ///< through which its rank sees them
};

/// An operation that its rank has not taken yet. Its id says what it is, so that it does not depend on what the rank
/// did at the same time: the third copy of stream 1 has one id in all interleavings.
struct Operation {
  std::uint64_t id = 0;
  Verb verb = Verb::copy;
  Status status = Status::delivered;
  bool ended = false;
  bool abandoned = false;  ///< only copies and puts stay in the list then, for their stream goes on
  bool eager = false;      ///< of a send: need not be matched
  bool adds = false;       ///< a copy that adds to what is there
  int peer = -1;
  int tag = 0;
  int stream = -1;
  Seconds ends{};            ///< by the clock of its rank, which does not end sooner
  std::uint32_t number = 0;  ///< of a send: its parcel
  Part to{};
  Part from{};
  std::vector<Block> blocks{};     ///< of a copy or put
  std::optional<Signal> signal{};  ///< of a put
  ControlMessage* into = nullptr;  ///< of a recv_control: on the fiber
  std::uint64_t* value = nullptr;  ///< of an await: on the fiber
};

/// Bytes on their way, from the start of the send until a receive takes them.
struct Parcel {
  std::uint32_t number = 0;
  bool eager = false;
  bool matched = false;  ///< a receive was posted for it; that lasts
  Seconds arrival{};
  std::shared_ptr<const model::Content> content{};
  std::uint64_t digest = 0;
};

struct Letter {
  ControlMessage message{};
  Seconds arrival{};
};

struct Raised {
  std::uint64_t value = 0;
  Seconds arrival{};
};

enum class Plane : std::uint8_t { data, control, signal };

/// What one rank gives another with one tag.
struct Inbox {
  int from = 0;
  int to = 0;
  int tag = 0;
  Plane plane = Plane::data;
  std::uint32_t given = 0;  ///< sends, control sends or raises so far
  std::uint32_t asked = 0;  ///< receives, control receives or awaits so far
  std::vector<Parcel> parcels{};
  std::vector<Letter> messages{};
  std::uint64_t received = 0;    ///< a digest of the control messages that were taken
  std::vector<Raised> raised{};  ///< signals that were not awaited yet
};

struct Allocation {
  std::uint32_t buffer = 0;   ///< the owner's id for it
  std::uint32_t address = 0;  ///< the lowest that no living allocation of the owner has: caches meet old ones again
  Memory memory = Memory::pageable;
  Bytes size{};
  bool exported = false;
  bool exposed = false;  ///< may end up in another rank's steps: exported, or used by a put
  bool released = false;
  int registrations = 0;  ///< with the network adapter
  int opened = 0;         ///< how often peers have it open
  std::shared_ptr<const model::Content> content{};
  std::uint64_t digest = 0;
};

/// A buffer that a rank holds: its own memory or a peer's.
struct Held {
  AllocationId allocation{};
  bool mapped = false;
  bool gone = false;
};

struct RankState {
  Seconds now{};
  std::vector<Operation> operations;  ///< by id
  std::vector<Allocation> allocations;
  std::vector<Held> buffers;                                                      ///< by id, from 1
  std::vector<std::uint32_t> streams = std::vector<std::uint32_t>(kStreams, 0U);  ///< operations so far
  // Where it stands in wait_any().
  const Op* waits_for = nullptr;
  std::size_t waits_for_count = 0;
  Seconds deadline{};
  const void* where = nullptr;                              ///< the code that called it
  const std::function<std::uint64_t()>* watched = nullptr;  ///< on the fiber
  bool finished = false;
  std::string failure{};  ///< what its body threw
  std::string ending{};   ///< what its body said about how it ended
};

struct World {
  std::vector<RankState> ranks;
  std::vector<Inbox> channels;  ///< ordered
  int into_victim = 0;          ///< transfers so far into the memory that Scenario::fault names
};

/// Adds all that decides how things go on.
void add_to(Hash& hash, const World& world);

}  // namespace twinlink::explore
