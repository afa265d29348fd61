// The memory of one real rank: buffers by id, what they are, who uses them. RealRank's verbs of memory end here, and
// its operations ask part() for addresses. Errors are those of Rank.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "protocols/core/rank.hpp"
#include "real/device/device_runtime.hpp"
#include "real/rank/exports.hpp"
#include "real/system/numa.hpp"

namespace twinlink::real {

/// An allocation, or memory of a peer that is mapped.
struct Allocation {
  std::byte* data = nullptr;
  Memory memory = Memory::pageable;
  Bytes size{};
  Locality locality = Locality::near;    ///< of host memory, as its owner asked for it
  int in_use = 0;                        ///< operations that wait_any() has not returned yet
  int registrations = 0;                 ///< with the network adapter
  bool kept = false;                     ///< an abandoned operation may still use it: freed at the very end
  std::optional<SharedMemory> shared{};  ///< shared pinned memory lies here, the rank's own or a peer's
  std::optional<IpcHandle> handle{};     ///< exported device memory
  std::optional<RankId> owner{};         ///< opened from this peer
  Exports::Slot slot = 0;                ///< of the handle, in the owner's table
};

/// Bytes of an allocation, checked.
struct Part {
  Allocation* allocation = nullptr;
  std::byte* data = nullptr;
  Bytes length{};
};

/// Frees all that is left when it ends; MPI must have ended before.
class RealMemory {
 public:
  /// All must outlive this object.
  RealMemory(RankId owner, DeviceRuntime& runtime, Exports& exports, const Numa& numa);
  ~RealMemory();
  RealMemory(const RealMemory&) = delete;
  RealMemory& operator=(const RealMemory&) = delete;

  /// Device memory is of the selected device; host memory of a NUMA domain near to it, or far.
  Buffer allocate(Memory kind, Bytes size, Locality locality);
  /// On another device that this process sees.
  Buffer allocate_on(const Uuid& device, Bytes size);
  /// At once, or, of memory that an abandoned operation may still use, when this object ends.
  void release(Buffer buffer);
  IpcHandle export_memory(Buffer buffer);
  /// `device` is the owner's; `path` leads there.
  Buffer open(RankId owner, const Uuid& device, const IpcHandle& handle, const Path& path);
  void close(Buffer buffer);
  /// The MPI library registers device memory itself, when it is sent first; here is only noted that it may be.
  void register_with_adapter(Buffer buffer);
  void deregister(Buffer buffer);

  /// The bytes of a view. A UsageError for an unknown buffer or bytes beyond its end.
  [[nodiscard]] Part part(const View& view) const;

 private:
  using AllocationPtr = std::unique_ptr<Allocation>;
  using Table = std::unordered_map<std::uint32_t, AllocationPtr>;

  [[nodiscard]] Table::const_iterator find(Buffer buffer) const;
  Buffer insert(AllocationPtr allocation);
  void fetch(Allocation& allocation);
  void map_device_memory(Allocation& allocation, const Uuid& device, const IpcHandle& handle);
  void map_host_memory(Allocation& allocation, const Uuid& device, const IpcHandle& handle);
  /// Makes host memory, whose owner has `device`, ready for copies. If that fails, the runtime does not know it.
  void prepare(const Allocation& allocation, const Uuid& device);
  void free(const Allocation& allocation);
  void remove(Table::const_iterator entry);

  RankId owner_;
  DeviceRuntime& runtime_;
  Exports& exports_;
  const Numa& numa_;
  Table buffers_;
  std::vector<AllocationPtr> kept_;
  std::uint32_t next_id_ = 1;
};

}  // namespace twinlink::real
