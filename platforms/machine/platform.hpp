// A platform as plain structs: what a YAML file in platforms/ says, checked, with every number in SI units.
//
// No SimGrid here: twinlink-validate reads and writes platforms too.
//
//   const Platform platform = read_platform("keeneland-kids");    // reader/platform_reader.hpp
//   platform.node.links.front().forward.value                                    // a Rate
//   platform.node.links.front().forward.source.text                              // where it comes from
//
// What the numbers add up to, Topology says (topology/topology.hpp). A number that a file may leave out is optional,
// and its comment says what holds then. Lists of all fields are in platform_fields.hpp, for readers, writers and --set.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/machine/fabric.hpp"
#include "platforms/machine/software.hpp"
#include "platforms/yaml/sourced.hpp"
#include "protocols/core/rank.hpp"
#include "protocols/core/units.hpp"
#include "protocols/gpu/program.hpp"
#include "protocols/gpu/release.hpp"

namespace twinlink::platforms {

/// A link joins two vertices of the node's graph. Each direction has its own bandwidth; all flows share it evenly.
struct Link {
  std::string name{};
  std::string from{};
  std::string to{};
  Sourced<Rate> forward{};                   ///< from -> to, of all `count`
  Sourced<Rate> backward{};                  ///< to -> from
  std::optional<Sourced<Rate>> total{};      ///< both directions together, where that is less than their sum
  std::optional<Sourced<Rate>> dma_read{};   ///< what reads by devices across it get together; absent: as the link
  std::optional<Sourced<Rate>> dma_write{};  ///< and writes by devices
  /// What all peer reads get together whose bytes cross it one way; absent: what its ends let them have.
  std::optional<Sourced<Rate>> peer_read{};
  std::optional<Sourced<Rate>> peer_write{};  ///< and all peer writes
  /// What one copy or message that a device reads across it gets at most, whatever others there are and whatever
  /// `count`: as much as the device asks for ahead. Absent: no limit.
  std::optional<Sourced<Rate>> each_read{};
  std::optional<Sourced<Rate>> each_write{};  ///< and one that a device writes
  std::optional<Sourced<Seconds>> latency{};  ///< of one crossing
  int count = 1;                              ///< so many in parallel, over which traffic is spread
};

/// The rates that a link may have beside its two directions, each under its key: of all `count` together, and of each
/// transfer.
constexpr auto shared_rates(auto& link) {
  return std::array{std::pair("total", &link.total), std::pair("dma_read", &link.dma_read),
                    std::pair("dma_write", &link.dma_write), std::pair("peer_read", &link.peer_read),
                    std::pair("peer_write", &link.peer_write)};
}
constexpr auto single_rates(auto& link) {
  return std::array{std::pair("each_read", &link.each_read), std::pair("each_write", &link.each_write)};
}

/// Which peer traffic a vertex passes on: what GPUs and adapters read and write in GPUs past host memory.
enum class Forwards { none, adapters, all };
inline constexpr std::array kForwards{Forwards::none, Forwards::adapters, Forwards::all};
/// As the platform file spells it: "none", "adapters", "all".
std::string_view to_string(Forwards forwards);

/// What a hub or a memory does with what passes it.
struct Passing {
  std::optional<Sourced<Seconds>> latency{};
  Forwards forwards = Forwards::none;
  /// What all peer reads get together whose bytes come in by one of its links; absent: what links give.
  std::optional<Sourced<Rate>> peer_read{};
  std::optional<Sourced<Rate>> peer_write{};  ///< and all peer writes
  /// What GPUs copy to and from host memory over one of the links that lead to them, together; absent: each way as if
  /// alone.
  std::optional<Sourced<Rate>> duplex{};
};

/// A GPU of a node: where it sits. What it is, its GpuType says.
struct Gpu {
  std::string name{};
  std::string type{};         ///< one of Platform::gpu_types
  std::string memory_near{};  ///< the memory (NUMA domain) on its socket
  std::string nic{};          ///< the adapter that it uses; empty without a fabric
  /// Others, over which messages from NetworkCosts::striped_from on go beside `nic`, in equal parts.
  std::vector<std::string> more_nics{};
};

/// Where the host buffers of ranks lie.
enum class HostBuffers {
  near,        ///< in the memory next to the rank's GPU
  far,         ///< in the one with the most hops from it
  interleaved  ///< page by page in all memories alike
};
inline constexpr std::array kHostBuffers{HostBuffers::near, HostBuffers::far, HostBuffers::interleaved};
/// As the platform file spells it: "near", "far", "interleaved".
std::string_view to_string(HostBuffers buffers);

/// A way that is taken whatever others there are, in both directions unless another entry has the other one.
struct ForcedWay {
  std::string name{};
  std::string from{};              ///< a memory, GPU or adapter
  std::string to{};                ///< another one
  std::vector<std::string> via{};  ///< in this order: hubs, memories, and links where there are several between two
};

/// A host memory: what one socket or NUMA domain has, with the CPUs that run from it.
struct HostMemory {
  std::string name{};
  Sourced<Rate> copy_rate{};  ///< memcpy by one core, bytes copied per second
  /// How fast one of its cores runs the code of driver and library, beside the one on which what that takes was
  /// measured; absent: as fast. See on_cpu().
  std::optional<Sourced<Ratio>> speed{};
  /// What all reads of its DRAM get together, and what all writes get; absent: never the limit.
  std::optional<Sourced<Rate>> bandwidth{};
  /// How much of it the caches of its CPUs hold: what was used last; absent: all that is ever used.
  std::optional<Sourced<Bytes>> cache{};
  Passing passing{};
};

/// An inner vertex: a socket, an I/O hub, a switch.
struct Hub {
  std::string name{};
  Passing passing{.forwards = Forwards::all};
  /// It adds up what a GPU reads of all GPUs behind it, and spreads what one stores to all: what that gets of the links
  /// of a GPU, each way; absent: it does not.
  std::optional<Sourced<Rate>> reduces{};
};

/// A network adapter. Its link to the node is one of Node::links, that to the fabric is here.
struct Nic {
  std::string name{};
  std::optional<Sourced<Seconds>> latency{};  ///< of passing it
  std::optional<Sourced<Seconds>> gap{};      ///< least time between two messages that it sends
  std::optional<Sourced<Rate>> link{};        ///< to the fabric, each way; absent: the fabric's
  double port_share = 1;                      ///< of what the fabric lets it have both ways together, see degrade()
};

/// What an operation costs beside what it crosses: the calling CPU is busy for `overhead`, then nothing moves for
/// `latency` and that of the way, then the bytes flow; all of its kind on one GPU get `rate` together (absent: whatever
/// the way allows). A copy that waits for the one before it in its stream flows no earlier than `gap`, by its size,
/// after that one's last byte (absent: 0). What `cpu_written` says comes on top where a CPU wrote the source last and
/// nobody has read it since (absent: 0).
struct Cost {
  Sourced<Seconds> overhead{};
  Sourced<Piecewise> latency{};
  std::optional<Sourced<Rate>> rate{};
  std::optional<Sourced<Piecewise>> gap{};
  std::optional<Sourced<Piecewise>> cpu_written{};  ///< of copies from host memory only; by the bytes so written
};

/// The kinds of copies that a driver distinguishes.
enum class CopyKind {
  pinned_to_device,
  device_to_pinned,
  pageable_to_device,
  device_to_pageable,
  device_to_device,    ///< within one GPU
  peer,                ///< into the memory of a peer, by the copy engine
  peer_read,           ///< out of it; absent: as `peer`
  host_to_host,        ///< memcpy
  kernel_push,         ///< a kernel stores into the memory of a peer
  kernel_pull,         ///< a kernel loads from the memory of a peer
  kernel_local,        ///< a kernel copies within its GPU
  kernel_to_pinned,    ///< a kernel stores into page-locked host memory
  kernel_from_pinned,  ///< a kernel loads from page-locked host memory
  resident_push,       ///< a resident kernel stores into the memory of a peer
  cpu_to_device,       ///< the CPU stores into device memory that it has mapped
  cpu_from_device      ///< the CPU loads from it
};
inline constexpr int kCopyKinds = 16;
/// As the platform file spells it: "pinned-to-device".
std::string_view to_string(CopyKind kind);
/// Do such copies read host memory? Then it matters who wrote the source last (Cost::cpu_written).
bool reads_host_memory(CopyKind kind);
/// Do the bytes come from the far end of the way? A request crosses it first, so that the way's latency counts twice.
bool reads_far_end(CopyKind kind);
/// Does the calling CPU move the bytes itself, by its own loads and stores?
bool is_by_cpu(CopyKind kind);
/// Does the CPU learn by an event that such a copy is over? What the CPU has done itself it knows, and a resident
/// kernel tells it by a word in host memory.
bool ends_by_event(CopyKind kind);
using CopyCosts = std::map<CopyKind, Cost>;

/// What the thread blocks of a program do that runs on a GPU by itself and meets those of peers in memory: NCCL's
/// kernels. From a block's last store until the peer's block sees it, the way comes on top: once where lines say by
/// themselves that they are there, and thrice behind a fence, which waits for the stores' answers.
struct BlockCosts {
  Sourced<Rate> rate{};  ///< what a block loads and stores, flags included
  // The same where these are lines; absent: `rate`.
  std::optional<Sourced<Rate>> ll_rate{};
  std::optional<Sourced<Rate>> ll128_rate{};
  // The same of what a block passes on, in rings and trees, where it waits for every line that it stores; absent: as
  // above.
  std::optional<Sourced<Rate>> passing{};
  std::optional<Sourced<Rate>> ll_passing{};
  std::optional<Sourced<Rate>> ll128_passing{};
  Sourced<Seconds> ll{};      ///< a line of LL
  Sourced<Seconds> ll128{};   ///< a line of LL128
  Sourced<Seconds> simple{};  ///< a slot of Simple: barrier, fence and counter
  /// From the end of the call that launches a program until its blocks run, and from their end until the host may know
  /// of it, both together; absent: as of a kernel that copies within the GPU.
  std::optional<Sourced<Seconds>> start{};
  /// The same of a graph of programs: until the blocks of the first one run, and from the end of the last one's;
  /// absent: `start`.
  std::optional<Sourced<Seconds>> graph_start{};
  /// From the end of a program until the next one of its graph begins; absent: as nothing.
  std::optional<Sourced<Seconds>> next{};
  /// From the beginning of a program until it looks for its first slot, as its text comes from memory first; absent: as
  /// nothing. Of LL128 and of Simple, absent: as of LL.
  std::optional<Sourced<Seconds>> fetch{};
  std::optional<Sourced<Seconds>> ll128_fetch{};
  std::optional<Sourced<Seconds>> simple_fetch{};
  /// So much later comes the first slot of a program that is launched by itself, and not as one of a graph: caches have
  /// forgotten its text, and peers launch theirs not at the same moment; absent: as nothing.
  std::optional<Sourced<Seconds>> cold{};

  [[nodiscard]] Rate rate_of(gpu::LineFormat format) const {
    if (format == gpu::LineFormat::ll && ll_rate) return ll_rate->value;
    if (format == gpu::LineFormat::ll128 && ll128_rate) return ll128_rate->value;
    return rate.value;
  }
  [[nodiscard]] Rate passing_of(gpu::LineFormat format) const {
    const auto& own = format == gpu::LineFormat::simple ? passing
                      : format == gpu::LineFormat::ll   ? ll_passing
                                                        : ll128_passing;
    return own ? own->value : rate_of(format);
  }
  [[nodiscard]] Seconds fetch_of(gpu::LineFormat format) const {
    const auto& own = format == gpu::LineFormat::simple ? simple_fetch : ll128_fetch;
    if (format != gpu::LineFormat::ll && own) return own->value;
    return fetch ? fetch->value : Seconds{};
  }
  /// From a store until the peer's block goes on, beside the way.
  [[nodiscard]] Seconds hop_of(gpu::LineFormat format) const {
    return format == gpu::LineFormat::simple ? simple.value : format == gpu::LineFormat::ll ? ll.value : ll128.value;
  }
};

/// What a library of Fourier transforms makes of a kind of GPU, in double precision.
struct TransformCosts {
  Sourced<Rate> memory{};    ///< what a pass over the numbers reads and writes, both together
  Sourced<Flops> compute{};  ///< at the most
};

/// A kind of GPU: its data sheet, and what its copy engines and kernels cost.
struct GpuType {
  std::string name{};
  std::string model{};
  Sourced<Bytes> memory{};
  int capability_major = 0;
  int capability_minor = 0;
  bool unified_addressing = true;
  CopyCosts copies{};
  std::optional<BlockCosts> blocks{};          ///< absent: nobody knows, and such programs do not run on it
  std::optional<BlockCosts> library_blocks{};  ///< the same of the kernels of NCCL itself; absent: as ours
  std::optional<TransformCosts> transforms{};  ///< absent: nobody knows, and nothing is transformed on it
};

/// How the driver copies between GPUs that do not reach each other: chunks through a bounce buffer in host memory.
/// While one chunk is copied in, the next is copied out, and the driver waits for both; the first is copied out alone.
struct Fallback {
  Cost cost{};            ///< without a rate
  std::string through{};  ///< where the bounce buffer lies: "source" and "target" are the memories near them
  Sourced<Bytes> chunk{};
  Sourced<Seconds> per_chunk{};  ///< each chunk but the first, beside the longer of its two copies
  /// What copies in both directions between two GPUs reach together, of what one alone does; absent: each its own.
  std::optional<Sourced<Ratio>> both_ways{};
  /// After so many chunks the buffer runs empty, and the next is copied out alone as the first was; 0: never.
  int in_flight = 0;
};

/// Whose CPU copies the bytes of a message within a node.
enum class CopiedBy {
  none,      ///< nobody's: each message has the rate for itself, and moves whatever the ranks do
  receiver,  ///< a single copy, by the receiver in the kernel: CMA, KNEM, XPMEM
  both       ///< the sender copies into shared memory, the receiver out of it, at the same time but for `fragment`
};
inline constexpr std::array kCopiedBy{CopiedBy::none, CopiedBy::receiver, CopiedBy::both};
/// As the platform file spells it: "none", "receiver", "both".
std::string_view to_string(CopiedBy copied_by);

/// What the MPI library takes for a message: between nodes, where the adapter's way comes on top, or within a node.
/// A message takes send_overhead (sender's CPU), latency and the way's latency, its bytes over the way's links, and
/// completion (receiver's CPU).
struct NetworkCosts {
  Sourced<Piecewise> send_overhead{};   ///< the CPU posts a send, with the bytes of it that it copies at once
  Sourced<Seconds> receive_overhead{};  ///< the CPU posts a receive
  Sourced<Piecewise> latency{};         ///< from the posted send until the first byte flows, adapter and wire included
  /// Rate of one message, or of the part of one that an adapter has, where that is less than the links allow.
  std::optional<Sourced<Rate>> rate{};
  Sourced<Bytes> eager_limit{};  ///< up to here a message leaves without waiting for its receive
  /// The eager limit with which `latency` was measured; absent: `eager_limit`.
  std::optional<Sourced<Bytes>> latency_limit{};
  /// Between nodes: up to here a message of host memory is in the request that the CPU writes, so that its adapter has
  /// nothing to read. One of device memory never is; it takes latency_read(). Absent: no message is.
  std::optional<Sourced<Bytes>> inline_limit{};
  /// Between nodes: messages of this size on go in equal parts over all adapters of their GPUs; absent: those above
  /// the eager limit.
  std::optional<Sourced<Bytes>> striped_from{};
  /// Between nodes: at least so many adapters of its node a message between host memories takes from that size on,
  /// those of the rank's GPU first, then the nearest others; 0: those of the GPU.
  int host_adapters = 0;
  Sourced<Seconds> control{};  ///< one control message
  /// The CPU awaits a control message and takes it in; absent: 0.
  std::optional<Sourced<Seconds>> control_receive_overhead{};
  /// Within a node only; other than `none` it needs `rate`, which is then what one CPU copies, all its messages
  /// together, save eager ones where there is a `completion`.
  CopiedBy copied_by = CopiedBy::none;
  /// Within a node only, with a `copied_by` other than `none`: where both CPUs copy, what the sender's copies of a
  /// message that is not eager before the receiver's can begin; absent: both begin at once.
  std::optional<Sourced<Bytes>> fragment{};
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
  /// The CPU finds out that a message lies in device memory, before it posts the send or the receive; absent: 0.
  std::optional<Sourced<Seconds>> device_pointer{};
  /// The sender's CPU is busy learning that a send is over; absent: 0.
  std::optional<Sourced<Seconds>> send_completion{};

  [[nodiscard]] bool is_eager(Bytes size) const { return size <= eager_limit.value; }
  [[nodiscard]] bool is_inline(Bytes size) const {
    return inline_limit && size <= inline_limit->value && is_eager(size);
  }
  /// `latency` where an adapter reads the bytes, however few: of those that others have in the request, that of the
  /// first point of the curve at which it reads.
  [[nodiscard]] Seconds latency_read(Bytes size) const;
  /// Does a message of `size` take several adapters where its GPUs have them?
  [[nodiscard]] bool is_striped(Bytes size) const {
    return striped_from ? size >= striped_from->value : !is_eager(size);
  }
  /// From the posted send until its first byte flows, where its receive is posted; `read`: of bytes that an adapter
  /// reads, however few. Above the limit with which `latency`
  /// was measured it holds the library's request and the answer to it, a round trip of `asking`; another eager limit
  /// adds it to messages that ask now, as far as the first point behind that limit shows that asking takes, and takes
  /// it from those that ask no more, as far as the curve rises behind that limit. So a message never takes longer than
  /// one behind it, unless those of the file do.
  [[nodiscard]] Seconds latency_asking(Bytes size, Seconds asking, bool read = false) const;
  /// The CPU posts a send of `size`.
  [[nodiscard]] Seconds posting(Bytes size) const { return send_overhead.value.at(size); }
  /// Last piece of a message of `size` that CPUs copy in pieces, which the receiver's CPU copies when the sender's
  /// is through. Zero for other messages: their bytes all flow at once.
  [[nodiscard]] Bytes last_fragment(Bytes size) const {
    return fragment && copied_by == CopiedBy::both && !is_eager(size) ? std::min(size, fragment->value) : Bytes{};
  }
  /// Part of such a message that goes with the request: the sender's CPU has copied it when it has posted the message.
  [[nodiscard]] Bytes first_part(Bytes size) const { return std::min(eager_limit.value, last_fragment(size)); }
  /// The CPU posts a control message, as it does the smallest message; a part of `control`.
  [[nodiscard]] Seconds sending_control() const { return std::min(posting(Bytes{}), control.value); }
  /// The CPU awaits a control message and takes it in.
  [[nodiscard]] Seconds receiving_control() const { return or_none(control_receive_overhead); }
  /// The receiver's CPU takes one of `size` in.
  [[nodiscard]] Seconds taking_in(Bytes size) const { return is_eager(size) ? or_none(completion, size) : Seconds{}; }
};

/// What driver and runtime take for all but the bytes: calls that a CPU is busy for, and what signals take.
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
  /// The CPU asks whether a copy has ended, and it has not; absent: 0.
  std::optional<Sourced<Seconds>> failed_poll{};
  /// The CPU is busy for the call that launches a program of thread blocks; absent: as for a kernel that copies within
  /// the GPU.
  std::optional<Sourced<Seconds>> program_launch{};
  /// And for the call that launches a graph of them; absent: `program_launch`.
  std::optional<Sourced<Seconds>> graph_launch{};
  /// cuDeviceCanAccessPeer, where it is asked at the first message; absent: 0.
  std::optional<Sourced<Seconds>> peer_check{};
};

/// Nodes of all kinds together.
inline constexpr int kMostNodes = 1'000'000;
/// Memories, hubs, adapters and GPUs of a node and its domain, and their links, those of all kinds together: between
/// all of them ways are looked for.
inline constexpr std::size_t kMostParts = 448;
inline constexpr std::size_t kMostLinksOfParts = 1024;

/// The graph of one node: memories, GPUs, adapters and hubs are its vertices, by their names, and links join them.
struct Node {
  int count = 1;   ///< of such nodes
  int domain = 1;  ///< so many nodes share this graph, and each has as many of its memories, adapters and GPUs
  std::vector<HostMemory> memories{};
  std::vector<Gpu> gpus{};
  std::vector<Nic> nics{};
  std::vector<Hub> hubs{};
  std::vector<Link> links{};
  std::vector<ForcedWay> ways{};
  HostBuffers host_buffers = HostBuffers::near;
  Cpu cpu = Cpu::unknown;
  /// Pairs of GPUs that reach each other's memory, where that does not follow from the ways; absent: it does.
  std::optional<std::vector<std::pair<std::string, std::string>>> peers{};
};

/// Nodes of another kind, numbered behind those before them; or nodes that are not as their like.
struct NodeKind {
  std::string name{};
  Node node{};
  std::optional<int> replaces{};  ///< the number of the first node in whose place they are

  /// Is a node of this number one of these, in the place of another?
  [[nodiscard]] bool stands_at(int number) const {
    return replaces && number >= *replaces && number - *replaces < node.count;
  }
};

/// What becomes of a part while the machine runs: in every node of the kind that has one of that name.
struct LaterFault {
  Seconds at{};        ///< simulated time
  std::string part{};  ///< a link; an adapter or a hub stands for all links that end at it
  double share = 0;    ///< of its bandwidth that is left; 0: it is gone, and what crosses it fails
  std::string text{};  ///< how a user has said it
};

/// A part that a user has slowed from the start on: its rates are what is left of them.
struct SlowedPart {
  std::string part{};
  std::string text{};  ///< how a user has said it
};

struct Platform;

/// What is gone from the start on, as users have said it.
struct Failures {
  /// A link; a GPU, an adapter or a hub stands for all links that end at it.
  struct Part {
    std::string part{};  ///< its name in the graph of all kinds; empty: a whole node
    std::string text{};  ///< how a user has said it
  };
  /// Something that nobody can use any more, though it still stands in the graph.
  struct Gone {
    std::size_t index = 0;
    std::string text{};  ///< of what takes it away
  };
  std::vector<Part> parts{};
  std::vector<Gone> gpus{};         ///< of the graph: no rank can be there
  std::vector<Gone> off_network{};  ///< kinds of nodes, the first of which is the platform's own, without an adapter
  std::shared_ptr<const Platform> whole{};  ///< the platform without failures; null where there are none

  [[nodiscard]] bool none() const { return parts.empty(); }
};

/// How the MPI library carries messages within a node. Whoever runs the library chooses, so the file does not say it.
struct WithinNode {
  /// Through the adapter and back instead of through shared memory: what MVAPICH2 does by default with MV2_USE_CUDA.
  bool loopback = false;
  /// Shared memory by Open MPI's smcuda, which ranks above sm once it is built and has no single copy (KNEM, CMA).
  bool smcuda = false;
  /// Shared memory: messages above the eager limit are copied in and out of it in pieces of this size
  /// (MV2_SMP_SEND_BUF_SIZE); empty: pieces so small that the two copies overlap from the start.
  std::optional<Bytes> copy_size{};
  /// Set by set_within_node(): the platform has a single copy, which smcuda has taken away.
  bool single_copy_lost = false;
};

/// A machine: one file of platforms/, with what it includes, and with what the command line has changed of it.
struct Platform {
  std::string name{};
  std::string description{};
  std::string file{};                   ///< where it was read from
  std::vector<std::string> included{};  ///< files that this one includes, as it names them from where it lies
  Software software{};
  std::vector<GpuType> gpu_types{};
  Node node{};
  std::vector<NodeKind> kinds{};   ///< of other nodes
  std::optional<Fabric> fabric{};  ///< none: a single node
  CopyCosts copies{};              ///< of host memory, and what no type of GPU says of itself
  std::optional<Fallback> fallback{};
  std::optional<NetworkCosts> network{};  ///< between nodes
  NetworkCosts intra_node{};              ///< MPI through shared memory
  std::string library{};                  ///< the MPI library by the name of its presets: "ucx"; empty: not said
  RuntimeCosts runtime{};
  /// By whose tables a library of collectives chooses; null: the folder of platforms has none.
  std::shared_ptr<const gpu::Release> release{};
  std::string release_named{};  ///< as the file names it; empty: the newest
  WithinNode within_node{};
  std::vector<LaterFault> later_faults{};
  std::vector<SlowedPart> slowed_parts{};
  Failures failures{};

  /// `gpu` is an index into Node::gpus, whose type is one of gpu_types.
  [[nodiscard]] const GpuType& type_of(std::size_t gpu) const;
  /// Nodes of all kinds.
  [[nodiscard]] std::int64_t nodes() const;
  /// Adapters of a node, of the kind that has most of them.
  [[nodiscard]] int most_nics() const;
};

/// A UsageError for a way that `platform` does not have.
void set_within_node(Platform& platform, const WithinNode& within_node);

/// The most that a message gets which CPUs copy within a node: twice what a core copies in the fastest memory, since
/// one side of each of its copies stays in the caches.
Rate most_of_copied_messages(const Platform& platform);

}  // namespace twinlink::platforms
