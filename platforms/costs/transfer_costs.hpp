// What copies and messages cost: who makes a copy, what it costs on its way and what follows it, and what bytes get
// alone. Pure functions of a platform.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "platforms/costs/software_costs.hpp"
#include "platforms/topology/topology.hpp"

namespace twinlink::platforms {

/// A copy in chunks that each go through a buffer: the first fills it, and then one is copied in while the next is
/// copied out.
struct Chunks {
  Bytes size{};
  Rate out{};         ///< at which a chunk is copied out, into the buffer
  Seconds each{};     ///< what each chunk but the first adds to the longer of its two copies
  int in_flight = 0;  ///< after so many chunks the buffer runs empty; 0: never

  /// Until the buffer holds the first chunk, and nothing is copied in.
  [[nodiscard]] Seconds filling(Bytes bytes) const { return std::min(bytes, size) / out; }
  /// What further chunks add to the copies of all.
  [[nodiscard]] Seconds further(Bytes bytes) const;
};

/// What a copy between two locations costs, and under which name the platform file has it.
struct CopyCost {
  const Cost* cost = nullptr;  ///< owned by the platform; null: it has none
  std::string name{};          ///< "pinned-to-device", "fallback"
  std::string path{};          ///< where the platform file has it: "driver.copies.peer"
  Seconds way{};               ///< the latency of the way, which is not in `cost`
  std::optional<Rate> rate{};  ///< the most at which its bytes flow
  Reach reach = Reach::cpu;
  std::optional<CopyKind> kind{};    ///< absent: the fallback
  std::optional<std::size_t> gpu{};  ///< whose engine copies: all copies of this kind on it share `rate`
  bool occupies_cpu = false;         ///< the calling CPU is busy until the copy has ended
  bool by_event = true;              ///< the CPU learns of its end by an event, see ends_by_event(CopyKind)
  std::optional<Chunks> chunks{};    ///< of the fallback, whose bytes flow at `rate` through the slower of two copies

  // Of a copy whose `cost` is not null.

  /// A CPU of that speed starts it.
  [[nodiscard]] Seconds starting(double speed) const { return on_cpu(cost->overhead.value, speed); }
  /// From then on until its first byte flows.
  [[nodiscard]] Seconds latency(Bytes size) const { return cost->latency.value.at(size) + way; }
  /// Least time behind the copy before it in its queue, see turn_behind().
  [[nodiscard]] Seconds gap(Bytes size) const { return or_none(cost->gap, size); }
  /// What chunks take beside their bytes' flow, of a copy that has any.
  [[nodiscard]] Seconds in_chunks(Bytes size) const {
    return chunks ? chunks->filling(size) + chunks->further(size) : Seconds{};
  }
};

/// What follows the last byte of a copy: who is told of it, and how.
struct CopyEnding {
  Seconds raising{};             ///< from the last byte until the copy has ended: its kernel raises the signal
  bool signal_with_end = false;  ///< its signal is seen when it ends; otherwise `runtime.signal` after that
  Seconds completion{};          ///< from its end: the CPU is busy learning of it
  Seconds behind_signal{};       ///< from its signal until its queue goes on, beside the next copy's gap
};

/// An end of a copy that a rank on the GPU `own` has the engine make. A kernel that stays there only pushes, so it is
/// never at an end that was `opened`, not even where a peer shares the GPU.
End seen_by(Engine engine, std::size_t own, End end, bool opened = false);
/// Both ends of what a kernel on that GPU does by itself.
inline End kernel_on(std::size_t gpu) { return seen_by(Engine::kernel, gpu, {.location = {Location::Kind::gpu, gpu}}); }
/// What an addition of `size` bytes to others is of a copy, which moves each byte twice through the memory: it reads
/// two and writes one.
inline Bytes moved_by_adding(Bytes size) { return Bytes{size.count() * 3 / 2}; }

/// Can a kernel move bytes between these ends? One of them says that the kernel runs there.
bool kernel_reaches(const Topology& topology, const End& from, const End& to);
/// An InputError that names the entry where the platform does not have it. Of interleaved memory the way is the
/// longest, and the rate the least.
CopyCost copy_cost(const Topology& topology, End from, End to);
/// The same, with `cost` null where the platform does not have the entry.
CopyCost find_copy_cost(const Topology& topology, End from, End to);
/// What follows a copy within a node, whose `copy.cost` is not null.
CopyEnding copy_ending(const RuntimeCosts& costs, const End& from, const CopyCost& copy);
/// And what follows a put of `size` bytes that raises a signal.
CopyEnding put_ending(const RuntimeCosts& costs, const End& from, const End& to, const CopyCost& copy, Bytes size);

/// When the next of a queue has its turn, whose last byte came at `ended`, and what its signal holds up at `turned`: a
/// gap counts from that, and without one signals hold up nothing.
inline Seconds turn_behind(Seconds ended, Seconds turned, Seconds gap) {
  return gap > Seconds{} ? turned + gap : ended;
}

// What the bytes of one copy or message get on an idle machine, beside their own rates: nothing where nothing on their
// way limits them.

/// A copy between locations that are not interleaved, which costs `copy`: the least of links, DRAM, what hubs and
/// memories let peers have, and what copies to and from host memory get there.
std::optional<Rate> narrowest(const Topology& topology, const End& from, const End& to, const CopyCost& copy);
/// A message from one CPU to another of a node.
std::optional<Rate> narrowest(const Topology& topology, Location from, Location to);
/// A message between nodes, in equal parts over `adapters`: the slowest part is the last.
std::optional<Rate> narrowest(const Topology& topology, Location from, std::span<const Adapters> adapters, Location to);

/// Latency of the way of such a message, the switches of the fabric and an adapter's reaching into device memory
/// included: of the part that comes last. Bytes that are in the CPU's request cross to the adapter once, others are
/// asked for.
Seconds latency(const Topology& topology, int from_node, Location from, std::span<const Adapters> adapters, int to_node,
                Location to, bool in_request = false);

}  // namespace twinlink::platforms
