// What a line of a probe file measured, in terms of a platform: which numbers the simulation would charge, and what it
// would come to on an idle machine. The closed form of every probe in one place. Calibration turns the forms round, and
// `suspect` holds a node's probes against them.
//
//   std::string reason;
//   const auto primitive = find_primitive(line, topology, reason);           // "copy pinned-to-device near", 64K
//   if (primitive) predict(*primitive, line.size, topology);                 // overhead + latency + bytes / rate + ...
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "platforms/costs/transfer_costs.hpp"
#include "protocols/bench/probe/probe.hpp"

namespace twinlink::validate {

/// One thing that a machine does, such as a copy between two kinds of memory or a control message.
struct Primitive {
  enum class Kind {
    copy,                  ///< between two ends, by the copy engine, the CPU or a kernel
    engine_block,          ///< the same of `blocks` blocks, by the copy engine
    kernel_block,          ///< the same by a kernel
    signal,                ///< a put with a signal behind it, by the copy engine
    kernel_signal,         ///< the same by a kernel
    written_copy,          ///< a copy whose source was just written
    start,                 ///< what the CPU does to start a copy behind another
    queued,                ///< the share of one of bench::kQueuedCopies copies that wait behind each other
    queued_signal,         ///< the same of such puts with signals, by the copy engine
    queued_kernel_signal,  ///< and by a kernel
    finish,                ///< what the CPU does to learn that a copy has ended
    look,                  ///< what it does to learn that one has not ended yet
    message,               ///< between the host memories of two places
    start_message,         ///< what the CPU does to send one
    start_receive,         ///< and to await one
    gap,                   ///< the share of one of bench::kQueuedCopies messages one way
    completion,            ///< the same where as many eager ones go the other way at the same time
    control,               ///< a control message
    queued_control,        ///< the share of one of bench::kQueuedCopies control messages both ways
    allocate_device,
    pin,
    ipc_export,
    ipc_open,
    ipc_close,
    start_program,  ///< what the CPU does to launch a program of thread blocks
    program,        ///< a launch of one that moves nothing, to its end
    start_graph,    ///< as start_program, of a graph of `blocks` of them
    graph,          ///< as program
    hop_simple,     ///< from a block's store until the peer's block goes on; by line format
    hop_ll,
    hop_ll128,
    blocks_simple,  ///< a message by `blocks` thread blocks at each end, beside launch and hop; by line format
    blocks_ll,
    blocks_ll128,
    pass_simple,  ///< a whole slot that a block has from its peer and passes on; by line format
    pass_ll,
    pass_ll128,
    ring_simple,  ///< of a graph, an all-reduce of an element on each of `blocks` GPUs; by line format
    ring_ll,
    ring_ll128,
    cold_simple,  ///< the same, launched by itself; by line format
    cold_ll,
    cold_ll128
  };
  Kind kind = Kind::copy;
  platforms::End from{};  ///< of whatever copies(); of a message the memories
  platforms::End to{};
  bool same_node = true;  ///< messages
  std::size_t gpu = 0;    ///< of the rank that measured, in the topology's graph; messages leave by its adapter
  std::size_t peer_gpu = 0;
  int node = 0;  ///< of these GPUs
  int peer_node = 0;
  double blocks = 0;  ///< or programs of a graph, or GPUs of a ring

  /// Is it a put with a signal?
  [[nodiscard]] bool signals() const { return kind == Kind::signal || kind == Kind::kernel_signal; }
  /// Was its source just written, which makes it take longer?
  [[nodiscard]] bool is_written() const { return kind == Kind::written_copy; }
  /// Is it the part of a class of copies that the CPU does?
  [[nodiscard]] bool is_cpus_part() const { return kind == Kind::start; }
  /// Is it a copy, whatever comes on top of it, or a part of one?
  [[nodiscard]] bool copies() const { return kind <= Kind::queued_kernel_signal; }
  /// Does it go between two ranks, by messages or control messages?
  [[nodiscard]] bool messages() const { return kind >= Kind::message && kind <= Kind::queued_control; }
  /// Is it a program of thread blocks, or a part of one?
  [[nodiscard]] bool runs_programs() const { return kind >= Kind::start_program; }
};

/// What is known of a kind of primitives: one row of a table, and all that a new kind needs beside its closed form.
struct KindFacts {
  /// How calibration finds the number that stands for the kind.
  enum class Fit {
    constant,             ///< the mean of its lines
    constant_beside_way,  ///< and the way that they take is another number's
    latency_of_copies,    ///< latency and rate
    latency_of_messages,
    line_over_size,  ///< a straight line over the size
    cpus_part,       ///< told before everything else, since what a CPU does is no part of a latency
    gap_of_copies,   ///< what follows here is what a line takes longer than the platform without it
    gap_of_messages,
    share_of_blocks,
    share_of_signals,
    signal_by_size,
    written,
    hop_of_blocks,   ///< what a line takes beside its way
    rate_of_blocks,  ///< told by the fewest blocks
    launch,          ///< what is left of a launch beside the CPU's part
    passing,         ///< what is left of a slot that is passed on beside its hop
    ring,            ///< what is left of a ring beside its hops, which several sizes of rings tell, too
    cold,            ///< what is left of one that is launched by itself
    graph,           ///< the same, and what lies between the programs
    rest             ///< last: what is left when all else is known
  };
  /// Where the platform keeps the number: with the class of the copy, the network, what the driver does, or the thread
  /// blocks of the GPU type.
  enum class Owner { copy, network, runtime, blocks };

  Primitive::Kind kind = Primitive::Kind::copy;
  std::string_view plural{};  ///< "messages"
  /// By how much a healthy machine's curve may be slower than a platform that was calibrated from it, as the geometric
  /// mean over its small, middle and large sizes: what the form of this kind's closed form misses. Of the stored probes
  /// of an H200 node, which tests/validate/suspect holds to it; of windows the closed form misses as much of a
  /// simulation, too.
  std::array<double, 3> own_errors{};
  Owner owner = Owner::copy;
  std::string_view number{};  ///< "overhead"; empty: the owner's entry as a whole
  Fit fit = Fit::constant;
  /// What `size` bytes take on an idle machine; nothing if the platform lacks a number that this needs.
  std::optional<Seconds> (*predict)(const Primitive& primitive, Bytes size,
                                    const platforms::Topology& topology) = nullptr;
};
const KindFacts& facts_of(Primitive::Kind kind);
/// "copies by kernels", or what the kind is called.
std::string_view plural_of(const Primitive& primitive);

/// What the line means on this platform. Nothing, with the reason in `reason`, for a line that none of the platform's
/// numbers stands for. An InputError for a device that the platform does not have.
std::optional<Primitive> find_primitive(const bench::ProbeLine& line, const platforms::Topology& topology,
                                        std::string& reason);

/// Where the platform keeps what `primitive` costs: "driver.copies.peer", "driver.fallback", "mpi.network",
/// "driver.runtime.ipc_open". Of a copy with something on top, where that is; of a part of a copy the number that
/// stands for it: "driver.copies.peer.overhead".
std::string cost_path(const Primitive& primitive, const platforms::Topology& topology);
/// Path of the number that says what copies() costs: "driver.copies.peer".
std::string copy_path(const Primitive& primitive, const platforms::Topology& topology);

/// The narrowest of what lies on the way: links, the fabric, and for copies DRAM and what hubs and memories let peers
/// have; of a message of `size` between nodes what all its adapters have together. Nothing if nothing limits it.
std::optional<Rate> narrowest_link(const Primitive& primitive, Bytes size, const platforms::Topology& topology);

/// Nothing where one of both is nothing.
std::optional<Seconds> plus(std::optional<Seconds> time, std::optional<Seconds> each, double count);
/// What the driver costs on the CPU that calls it.
platforms::RuntimeCosts runtime_of(const Primitive& primitive, const platforms::Topology& topology);
/// The costs of the messages of `size` that `primitive` is, with their way in latency and control; or comes with,
/// without it.
platforms::NetworkCosts network_of(const Primitive& primitive, Bytes size, const platforms::Topology& topology);
/// Over so many adapters a message of `size` goes in equal parts; 1 within a node.
double adapters_of(const Primitive& primitive, Bytes size, const platforms::Topology& topology);
/// What the way of a message of `size` adds.
Seconds message_way(const Primitive& primitive, Bytes size, const platforms::Topology& topology);
/// What `size` bytes take over links of which the narrowest is known, and at no more than `rate`. Zero where nothing
/// limits them.
Seconds flow_time(Bytes size, std::optional<Rate> narrowest, std::optional<Rate> rate);

/// The number that only queued puts with signals tell, here those that took `time`: `signal_gap` or
/// `kernel_signal_gap`; not positive where the rest takes all of it. Empty if the platform lacks a number that this
/// needs.
std::optional<Seconds> rest_of(const Primitive& primitive, Bytes size, Seconds time,
                               const platforms::Topology& topology);

/// What the bytes of a copy take once they flow.
Seconds flow_alone(const Primitive& primitive, Bytes size, const platforms::Topology& topology);

/// What `size` bytes take on an idle machine. Nothing if the platform lacks a number that this needs.
std::optional<Seconds> predict(const Primitive& primitive, Bytes size, const platforms::Topology& topology);
/// What a line means on a platform, and what it takes there.
struct PredictedLine {
  Primitive primitive{};
  Seconds time{};  ///< positive
};
/// find_primitive() and predict() together. Nothing, with the reason, also where the platform lacks a number of it, or
/// makes it take no time.
std::optional<PredictedLine> predict_line(const bench::ProbeLine& line, const platforms::Topology& topology,
                                          std::string& reason);
/// Time of the copy alone below something on top of it; below a signal the CPU does not wait to learn of its
/// end. As for predict().
std::optional<Seconds> predict_below(const Primitive& primitive, Bytes size, const platforms::Topology& topology);

}  // namespace twinlink::validate
