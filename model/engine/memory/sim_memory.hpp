// The memory of one simulated rank: buffers with a size and a content tag, no bytes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "model/engine/flows/machine.hpp"
#include "model/engine/memory/content.hpp"
#include "model/engine/memory/written.hpp"
#include "protocols/core/rank.hpp"

namespace twinlink::model {

/// An allocation. Operations keep it alive; a released one is only memory that somebody may still write.
struct Allocation {
  Memory memory = Memory::pageable;
  Site site{};
  Content content{Bytes{}};
  RankId owner{};
  std::uint64_t serial = 0;   ///< unique in the simulation; what IPC handles name
  std::uint64_t address = 0;  ///< in the owner's address space
  int in_use = 0;             ///< the owner's operations in flight, abandoned ones not counted
  int opened = 0;             ///< how often peers have it open
  bool exported = false;
  int registrations = 0;          ///< with the network adapter
  bool in_library_cache = false;  ///< pageable memory that the MPI library has registered and keeps so
  WrittenBytes written{};         ///< of host memory

  /// These bytes have just been written, by a CPU or somebody else. Of device memory nobody remembers it.
  void was_written(Bytes at, Bytes length, bool by_cpu) {
    if (memory == Memory::device) return;
    by_cpu ? written.write(at, length) : static_cast<void>(written.take(at, length));
  }
};

/// A peer's allocation that a rank has opened, once for every time.
struct Opening {
  RankId owner{};  ///< as this rank knows it: who stands for that one has the allocation
  Site site{};     ///< likewise
  int in_use = 0;  ///< operations in flight that use this opening, abandoned ones not counted
};

/// Some bytes of an allocation, as an operation holds them.
struct Part {
  std::shared_ptr<Allocation> allocation{};
  std::shared_ptr<Opening> opening{};  ///< what they are seen through; null: the rank's own
  Bytes offset{};
  Bytes length{};

  /// The operations in flight that use the bytes in this way.
  [[nodiscard]] int& users() const { return opening ? opening->in_use : allocation->in_use; }
  /// Whose memory it is to the rank that has the part.
  [[nodiscard]] RankId owner() const { return opening ? opening->owner : allocation->owner; }
  /// Where the bytes lie, to that rank.
  [[nodiscard]] const Site& site() const { return opening ? opening->site : allocation->site; }
  [[nodiscard]] End end() const { return {site().location, allocation->memory}; }
  [[nodiscard]] Content content() const { return allocation->content.slice(offset, length); }
  /// An operation uses the bytes from now on, or not any more. Nothing without an allocation.
  void hold() const {
    if (allocation) ++users();
  }
  void let_go() const {
    if (allocation) --users();
  }
};

/// What the memories of all ranks share.
struct JobMemory {
  /// What ranks can open: allocations that have been exported, by serial.
  std::unordered_map<std::uint64_t, std::weak_ptr<Allocation>> exports{};
  std::map<std::pair<int, std::size_t>, Bytes> device_memory_used{};  ///< by node and GPU, which stand for others
  const Folding* folding = nullptr;                                   ///< null: each rank has memory of its own
};

class SimMemory {
 public:
  /// `job` outlives this object.
  SimMemory(RankId owner, JobMemory& job) : owner_(owner), job_(job) {}

  Buffer allocate(Memory kind, Bytes size, Site site);
  /// Memory of the GPU at `site`, called `name`, which has `capacity`. A UsageError where that is not left of it.
  Buffer allocate_device(Bytes size, Site site, Bytes capacity, const Place& name);
  void release(Buffer buffer);
  IpcHandle export_memory(Buffer buffer);
  /// `path` leads to the owner.
  Buffer open(RankId owner, const IpcHandle& handle, const Path& path);
  void close(Buffer buffer);
  void register_with_adapter(Buffer buffer);
  void deregister(Buffer buffer);

  /// Was this buffer opened from a peer?
  [[nodiscard]] bool opened(Buffer buffer) const { return find(buffer).opening != nullptr; }
  /// The bytes of a view. A UsageError for an unknown buffer or bytes beyond its end.
  [[nodiscard]] Part part(const View& view) const;

 private:
  struct Entry {
    std::shared_ptr<Allocation> allocation;
    std::shared_ptr<Opening> opening{};  ///< of a peer's allocation; null: it was allocated here
  };
  [[nodiscard]] const Entry& find(Buffer buffer) const;
  Buffer insert(Entry entry);
  std::uint64_t take_address(Bytes size);
  [[nodiscard]] Bytes& device_memory_used(const Site& site);

  RankId owner_;
  JobMemory& job_;
  std::unordered_map<std::uint32_t, Entry> buffers_;
  std::uint32_t next_id_ = 1;
  std::map<std::uint64_t, std::uint64_t> addresses_;  ///< in use: begin and end
};

}  // namespace twinlink::model
