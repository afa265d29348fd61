#include "validate/primitives/program_times.hpp"

#include <algorithm>

#include "platforms/costs/kernel_costs.hpp"

namespace twinlink::validate {
namespace {

using gpu::LineFormat;
using platforms::BlockCosts;
using platforms::Location;
using platforms::Topology;
using Kind = Primitive::Kind;

/// A line is only made of such (find_primitive()).
const BlockCosts& blocks_of(const Primitive& primitive, const Topology& topology) {
  return topology.type_of(primitive.gpu).blocks.value();
}

bool is_graph(const Primitive& primitive) {
  return primitive.kind == Kind::graph || primitive.kind == Kind::start_graph;
}

}  // namespace

/// All have Simple, LL and LL128 in this order.
LineFormat format_of(const Primitive& primitive) {
  constexpr int kFormats = 3;
  return static_cast<LineFormat>((static_cast<int>(primitive.kind) - static_cast<int>(Kind::hop_simple)) % kFormats);
}

std::optional<Seconds> predict_call(const Primitive& primitive, Bytes, const Topology& topology) {
  return platforms::launching(topology, primitive.gpu, is_graph(primitive));
}

std::optional<Seconds> beside_start(const Primitive& launch, const Topology& topology) {
  return plus(predict_call(launch, {}, topology), or_none(runtime_of(launch, topology).completion), 1);
}

std::optional<Seconds> predict_program(const Primitive& primitive, Bytes, const Topology& topology) {
  const auto start = platforms::starting_blocks(topology, primitive.gpu, is_graph(primitive));
  return plus(beside_start(primitive, topology), start, 1);
}

std::optional<Seconds> predict_graph(const Primitive& primitive, Bytes size, const Topology& topology) {
  const Seconds next = or_none(blocks_of(primitive, topology).next);
  return plus(predict_program(primitive, size, topology), next, primitive.blocks - 1);
}

Seconds beside_line(const Primitive& hop, Bytes size, const Topology& topology) {
  const LineFormat format = format_of(hop);
  const Location peer{Location::Kind::gpu, hop.peer_gpu};
  const Location slots = topology.peer_access(hop.gpu, hop.peer_gpu) ? peer : topology.host_buffers(hop.peer_gpu);
  const Seconds store = topology.latency({Location::Kind::gpu, hop.gpu}, slots);
  // Lines go on as they come.
  const bool whole = format == LineFormat::simple;
  const Seconds bytes = whole ? size / blocks_of(hop, topology).passing_of(format) : Seconds{};
  return bytes + store * platforms::crossings(format) + loading(topology, slots, peer);
}

std::optional<Seconds> predict_hop(const Primitive& primitive, Bytes size, const Topology& topology) {
  return blocks_of(primitive, topology).hop_of(format_of(primitive)) + beside_line(primitive, size, topology);
}

/// Lines of a slot come while those of the one before leave, so that both ends are always busy. A slot of Simple is
/// passed on when all of it has come.
std::optional<Seconds> predict_pass(const Primitive& primitive, Bytes size, const Topology& topology) {
  const LineFormat format = format_of(primitive);
  const Bytes stored{gpu::stored(format, size.count())};
  const Seconds bytes =
      flow_time(stored, narrowest_link(primitive, size, topology), blocks_of(primitive, topology).passing_of(format));
  const Seconds hop = hop_of_ring(primitive, topology);
  return format == LineFormat::simple ? bytes + hop : std::max(bytes / 2, hop);
}

double hops_of(const Primitive& ring) { return 2 * (ring.blocks - 1); }

Seconds hop_of_ring(const Primitive& ring, const Topology& topology) {
  return blocks_of(ring, topology).hop_of(format_of(ring)) + beside_line(ring, {}, topology);
}

std::optional<Seconds> predict_ring(const Primitive& primitive, Bytes, const Topology& topology) {
  const BlockCosts& blocks = blocks_of(primitive, topology);
  return or_none(blocks.next) + blocks.fetch_of(format_of(primitive)) +
         hop_of_ring(primitive, topology) * hops_of(primitive);
}

std::optional<Seconds> predict_cold(const Primitive& primitive, Bytes size, const Topology& topology) {
  const BlockCosts& blocks = blocks_of(primitive, topology);
  const auto ring = predict_ring(primitive, size, topology);
  const auto launch = predict_program(primitive, size, topology);
  return plus(plus(launch, ring, 1), or_none(blocks.cold) - or_none(blocks.next), 1);
}

/// Blocks add up, until a kernel's stores reach no more.
std::optional<Seconds> predict_moving(const Primitive& primitive, Bytes size, const Topology& topology) {
  const LineFormat format = format_of(primitive);
  Primitive push = primitive;
  push.kind = Kind::copy;
  const Rate blocks{blocks_of(primitive, topology).rate_of(format).bytes_per_second() * primitive.blocks};
  const std::optional<Rate> kernel = find_copy_cost(topology, push.from, push.to).rate;
  const Bytes stored{gpu::stored(format, size.count())};
  return flow_time(stored, narrowest_link(push, size, topology), platforms::least_of(kernel, blocks));
}

}  // namespace twinlink::validate
