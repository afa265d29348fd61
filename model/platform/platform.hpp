// A platform as plain structs: what a YAML file in platforms/ says, checked, with every number in SI units.
//
// No SimGrid here: twinlink-validate reads and writes platforms too.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocols/core/rank.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::model {

/// Where a number comes from.
enum class Quality { measured, datasheet, derived, assumed };
inline constexpr std::array kQualities{Quality::measured, Quality::datasheet, Quality::derived, Quality::assumed};
std::string_view to_string(Quality quality);

struct Source {
  Quality quality = Quality::assumed;
  std::string text{};  ///< the reference or the derivation, in words

  bool operator==(const Source&) const = default;
};

/// A number of the platform file with its source.
template <class T>
struct Sourced {
  T value{};
  Source source{};

  bool operator==(const Sourced&) const = default;
};

/// A cost that a platform need not have: none.
inline Seconds or_none(const std::optional<Sourced<Seconds>>& cost) { return cost ? cost->value : Seconds{}; }

/// A cost that depends on the size: linear between its points, constant before the first and after the last.
class Piecewise {
 public:
  struct Knot {
    Bytes size{};
    Seconds cost{};
  };
  Piecewise() = default;
  /// `knots` ascend by size and are not empty.
  explicit Piecewise(std::vector<Knot> knots);
  /// The same at all sizes.
  explicit Piecewise(Seconds cost) : knots_{{.cost = cost}} {}
  [[nodiscard]] Seconds at(Bytes size) const;
  [[nodiscard]] const std::vector<Knot>& knots() const { return knots_; }

 private:
  std::vector<Knot> knots_{Knot{}};
};

/// A link joins two vertices of the node's graph. Each direction has its own bandwidth; all flows share it evenly.
struct Link {
  std::string name{};
  std::string from{};
  std::string to{};
  Sourced<Rate> forward{};               ///< from -> to
  Sourced<Rate> backward{};              ///< to -> from
  std::optional<Sourced<Rate>> total{};  ///< both directions together, where that is less than their sum
};

struct Gpu {
  std::string name{};
  std::string model{};
  Sourced<Bytes> memory{};
  int capability_major = 0;
  int capability_minor = 0;
  bool unified_addressing = true;
  std::string memory_near{};  ///< the memory (NUMA domain) on its socket
  std::string nic{};          ///< the adapter that it uses
  std::string peer_domain{};  ///< GPUs of one peer domain reach each other's memory: an I/O hub, an NVLink fabric
};

struct HostMemory {
  std::string name{};
  Sourced<Rate> copy_rate{};  ///< memcpy by one core, bytes copied per second
  /// How much of it the caches of its CPUs hold: what was used last; absent: all that is ever used.
  std::optional<Sourced<Bytes>> cache{};
};

/// What an operation costs beside the links that it crosses: the calling CPU is busy for `host`, then nothing moves for
/// `latency`, then the bytes flow at no more than `rate` (absent: whatever the links allow). A copy that waits for the
/// one before it in its stream flows no earlier than `gap`, by its size, after that one's last byte (absent: 0).
/// What `cpu_written` says comes on top where a CPU wrote the source last and nobody has read it since (absent: 0).
struct Cost {
  Sourced<Seconds> overhead{};
  Sourced<Piecewise> latency{};
  std::optional<Sourced<Rate>> rate{};
  std::optional<Sourced<Piecewise>> gap{};
  std::optional<Sourced<Piecewise>> cpu_written{};  ///< of copies from host memory only; by the bytes so written
};

/// The classes of copies that a driver distinguishes.
enum class CopyClass {
  pinned_to_device_near,
  pinned_to_device_far,
  device_to_pinned_near,
  device_to_pinned_far,
  pageable_to_device_near,
  pageable_to_device_far,
  device_to_pageable_near,
  device_to_pageable_far,
  device_to_device,    ///< within one GPU
  peer,                ///< into the memory of a GPU of its peer domain, by the copy engine
  peer_read,           ///< out of it; absent: as `peer`
  host_to_host,        ///< memcpy
  kernel_push,         ///< a kernel stores into the memory of a GPU of its peer domain
  kernel_pull,         ///< a kernel loads from the memory of a GPU of its peer domain
  kernel_local,        ///< a kernel copies within its GPU
  kernel_to_pinned,    ///< a kernel stores into page-locked host memory
  kernel_from_pinned,  ///< a kernel loads from page-locked host memory
  resident_push        ///< a resident kernel stores into the memory of a GPU of its peer domain
};
inline constexpr int kCopyClasses = 18;
/// As the platform file spells it: "pinned-to-device-near".
std::string_view to_string(CopyClass copy_class);
/// Do such copies read host memory?
bool reads_host_memory(CopyClass copy_class);
/// Does the CPU learn by an event that such a copy is over? What the CPU has done itself it knows, and a resident
/// kernel tells it by a word in host memory.
bool ends_by_event(CopyClass copy_class);

/// A copy between GPUs of different peer domains: the driver moves it through host memory.
struct StagedPeer {
  std::string from_domain{};
  std::string to_domain{};
  Cost cost{};
};

/// Whose CPU copies the bytes of a message within a node.
enum class CopiedBy {
  none,      ///< nobody's: each message has the rate for itself, and moves whatever the ranks do
  receiver,  ///< a single copy, by the receiver in the kernel: CMA, KNEM, XPMEM
  both       ///< the sender copies into shared memory, the receiver out of it, at the same time but for `piece`
};
inline constexpr std::array kCopiedBy{CopiedBy::none, CopiedBy::receiver, CopiedBy::both};
/// As the platform file spells it: "none", "receiver", "both".
std::string_view to_string(CopiedBy copied_by);

struct NetworkCosts {
  Sourced<Piecewise> send_overhead{};   ///< the CPU posts a send, with the bytes of it that it copies at once
  Sourced<Seconds> receive_overhead{};  ///< the CPU posts a receive
  Sourced<Piecewise> latency{};         ///< from the posted send until the first byte flows, adapter and wire included
  std::optional<Sourced<Rate>> rate{};  ///< of one message, where that is less than the links allow
  Sourced<Bytes> eager_limit{};         ///< up to here a message leaves without waiting for its receive
  Sourced<Seconds> control{};           ///< one control message
  /// The CPU awaits a control message and takes it in; absent: 0.
  std::optional<Sourced<Seconds>> control_receive_overhead{};
  /// Within a node only; other than `none` it needs `rate`, which is then what one CPU copies, all its messages
  /// together, save eager ones where there is a `completion`.
  CopiedBy copied_by = CopiedBy::none;
  /// Within a node only, with a `copied_by` other than `none`: where both CPUs copy, what the sender's copies of a
  /// message that is not eager before the receiver's can begin; absent: both begin at once.
  std::optional<Sourced<Bytes>> piece{};
  /// Within a node only: what takes the place of `rate` for bytes that the memory's `cache` does not hold, at the end
  /// that lacks more of them; absent: the caches make no difference.
  std::optional<Sourced<Rate>> uncached{};
  /// From the last byte of one message to the first byte of the next one of its sender to its receiver; where CPUs copy
  /// in pieces, from the end of its first piece, and work of the sender's CPU; absent: 0.
  /// LogGP's gap, less what the bytes take.
  std::optional<Sourced<Piecewise>> gap{};
  /// The receiver's CPU is busy taking an eager message in and learning of it, by its size; no part of `latency`;
  /// absent: 0. LogGP's overhead, less `receive_overhead`.
  std::optional<Sourced<Piecewise>> completion{};
  /// The sender's CPU is busy learning that a send is over; absent: 0.
  std::optional<Sourced<Seconds>> send_completion{};

  [[nodiscard]] bool is_eager(Bytes size) const { return size <= eager_limit.value; }
  /// The CPU posts a send of `size`.
  [[nodiscard]] Seconds posting(Bytes size) const { return send_overhead.value.at(size); }
  /// Of a message of `size` that CPUs copy in pieces, the last one, which the receiver's CPU copies when the sender's
  /// is through. Nothing of others, whose bytes all flow at once.
  [[nodiscard]] Bytes last_piece(Bytes size) const {
    return piece && copied_by == CopiedBy::both && !is_eager(size) ? std::min(size, piece->value) : Bytes{};
  }
  /// Of the same: what goes with the request, so that the sender's CPU has copied it when it has posted the message.
  [[nodiscard]] Bytes first_part(Bytes size) const { return std::min(eager_limit.value, last_piece(size)); }
  /// The CPU posts a control message, as it does the smallest message; a part of `control`.
  [[nodiscard]] Seconds telling() const { return std::min(posting(Bytes{}), control.value); }
  /// The CPU awaits a control message and takes it in.
  [[nodiscard]] Seconds hearing() const { return or_none(control_receive_overhead); }
  /// The receiver's CPU takes one of `size` in.
  [[nodiscard]] Seconds taking_in(Bytes size) const {
    return completion && is_eager(size) ? completion->value.at(size) : Seconds{};
  }
};

struct RuntimeCosts {
  Sourced<Seconds> allocate_device{};
  Sourced<Seconds> ipc_export{};  ///< cudaIpcGetMemHandle
  Sourced<Seconds> ipc_open{};    ///< cudaIpcOpenMemHandle
  Sourced<Seconds> ipc_close{};
  Sourced<Seconds> pin_base{};  ///< page-locking: base plus per byte
  Sourced<Seconds> pin_per_gib{};
  // A run that needs one of these on a platform that does not have it is an InputError.
  std::optional<Sourced<Seconds>> engine_block{};  ///< what each block of a 2-D copy adds to the copy engine's time
  std::optional<Sourced<Seconds>> kernel_block{};  ///< what each block adds to the time of a kernel that copies blocks
  std::optional<Sourced<Seconds>> signal{};        ///< from the last byte of a put until its signal is seen
  /// From the last byte of a put by a kernel until its signal is seen, and its own CPU told, by the bytes that it puts:
  /// the last of many blocks of threads waits for all others; absent: `signal`, and the CPU learns of the end as of
  /// that of any other copy. A resident kernel needs neither.
  std::optional<Sourced<Piecewise>> kernel_signal{};
  /// From a signal that the copy engine's queue has raised until the queue goes on, beside the next copy's gap,
  /// without which it does not count; absent: 0.
  std::optional<Sourced<Seconds>> signal_gap{};
  /// The same behind a kernel that has raised one in `kernel_signal`.
  std::optional<Sourced<Seconds>> kernel_signal_gap{};
  std::optional<Sourced<Seconds>> register_base{};  ///< making device memory known to the adapter: base plus per byte
  std::optional<Sourced<Seconds>> register_per_gib{};
  std::optional<Sourced<Seconds>> deregister{};
  /// The CPU is busy learning that a copy by an engine or a kernel has ended; absent: 0. A kernel that raises a signal
  /// in `kernel_signal`, or that stays on the GPU, tells the CPU itself.
  std::optional<Sourced<Seconds>> completion{};
  /// The CPU asks in vain whether a copy has ended; absent: 0.
  std::optional<Sourced<Seconds>> look{};
};

struct Node {
  int count = 1;
  std::vector<HostMemory> memories{};
  std::vector<Gpu> gpus{};
  std::vector<std::string> nics{};
  std::vector<std::string> hubs{};  ///< inner vertices: sockets, I/O hubs, switches
  std::vector<Link> links{};
};

/// What an adapter that reads and writes device memory gets between one GPU and itself, all its flows together.
struct RdmaLimits {
  Sourced<Rate> read{};        ///< the adapter reads device memory, to send it
  Sourced<Rate> write{};       ///< the adapter writes device memory, which it has received
  Sourced<Seconds> latency{};  ///< what an end in device memory adds to a message's latency
};

/// GPUDirect RDMA: the adapters read and write device memory. Which limits hold is decided by what lies between GPU and
/// adapter: see RdmaDistance.
struct Rdma {
  std::string hypothetical{};                  ///< why the real machine cannot do it; empty if it can
  std::optional<RdmaLimits> through_switch{};  ///< absent: the links alone limit it
  std::optional<RdmaLimits> near{};            ///< absent: it does not work there
  std::optional<RdmaLimits> far{};             ///< absent: it does not work there
};

/// What lies between a GPU and an adapter of its node.
enum class RdmaDistance {
  through_switch,  ///< PCIe switches only
  near,            ///< the root complex of one socket: a hub that has a link to a host memory, or the memory itself
  far              ///< two sockets
};
/// As the platform file spells it: "switch", "near", "far".
std::string_view to_string(RdmaDistance way);

/// How nodes are joined: a switch that never blocks; an adapter's link is the only limit.
struct Fabric {
  Sourced<Rate> link{};                   ///< of one adapter, each way
  std::optional<Sourced<Rate>> duplex{};  ///< both ways together, where that is less than twice `link`
  std::optional<Rdma> rdma{};             ///< none: the adapters reach host memory only
};

/// How the MPI library carries messages within a node. Whoever runs the library chooses, so the file does not say it.
struct WithinNode {
  /// Through the adapter and back instead of through shared memory: what MVAPICH2 does by default with MV2_USE_CUDA.
  bool loopback = false;
  /// Shared memory: messages above the eager limit are copied in and out of it in pieces of this size
  /// (MV2_SMP_SEND_BUF_SIZE); empty: pieces so small that the two copies overlap from the start.
  std::optional<Bytes> copy_size{};
};

struct Platform {
  std::string name{};
  std::string description{};
  std::string file{};  ///< where it was read from
  Node node{};
  std::optional<Fabric> fabric{};  ///< none: a single node
  std::map<CopyClass, Cost> copies{};
  std::vector<StagedPeer> staged_peers{};
  std::optional<NetworkCosts> network{};  ///< between nodes
  NetworkCosts intra_node{};              ///< MPI through shared memory
  RuntimeCosts runtime{};
  WithinNode within_node{};
};

/// A UsageError for a way that `platform` does not have.
void set_within_node(Platform& platform, const WithinNode& within_node);

}  // namespace twinlink::model
