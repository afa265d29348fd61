#include "validate/primitives/program_times.hpp"

#include <algorithm>

namespace twinlink::validate {
namespace {

using gpu::LineFormat;
using model::BlockCosts;
using model::Location;
using model::Topology;
using Kind = Primitive::Kind;

/// A line is only made of such (find_primitive()).
const BlockCosts& blocks_of(const Primitive& primitive, const Topology& topology) {
  return topology.type_of(primitive.gpu).blocks.value();
}

bool is_graph(const Primitive& primitive) {
  return primitive.kind == Kind::graph || primitive.kind == Kind::start_graph;
}

/// What a launch costs of which the platform says nothing: a kernel's copy within the GPU.
model::CopyCost copy_within(const Primitive& primitive, const Topology& topology) {
  const model::End own = model::kernel_on(primitive.gpu);
  return find_copy_cost(topology, own, own);
}

model::RuntimeCosts driver_of(const Primitive& primitive, const Topology& topology) {
  return model::on_cpu(topology.platform().runtime, model::speed_near(topology, primitive.gpu));
}

std::optional<Seconds> start_of(const Primitive& primitive, const Topology& topology) {
  const BlockCosts& blocks = blocks_of(primitive, topology);
  if (is_graph(primitive) && blocks.graph_start) return blocks.graph_start->value;
  if (blocks.start) return blocks.start->value;
  const model::CopyCost copy = copy_within(primitive, topology);
  return copy.cost == nullptr ? std::nullopt : std::optional(copy.cost->latency.value.at(Bytes{}));
}

/// The way of a store to the peer's slots, and of the load that fetches from host memory what lies there.
struct Way {
  Seconds store{};
  Seconds load{};
};
Way way_of(const Primitive& hop, const Topology& topology) {
  const Location own{Location::Kind::gpu, hop.gpu};
  const Location peer{Location::Kind::gpu, hop.peer_gpu};
  if (topology.peer_access(hop.gpu, hop.peer_gpu)) return {topology.latency(own, peer), {}};
  const Location slots = topology.host_buffers(hop.peer_gpu);
  return {topology.latency(own, slots), topology.latency(slots, peer) * 2};
}

}  // namespace

LineFormat format_of(const Primitive& primitive) {
  switch (primitive.kind) {
    case Kind::hop_ll:
    case Kind::blocks_ll:
      return LineFormat::ll;
    case Kind::hop_ll128:
    case Kind::blocks_ll128:
      return LineFormat::ll128;
    default:
      return LineFormat::simple;
  }
}

std::optional<Seconds> predict_call(const Primitive& primitive, Bytes, const Topology& topology) {
  const model::RuntimeCosts runtime = driver_of(primitive, topology);
  if (is_graph(primitive) && runtime.graph_launch) return runtime.graph_launch->value;
  if (runtime.program_launch) return runtime.program_launch->value;
  const model::CopyCost copy = copy_within(primitive, topology);
  if (copy.cost == nullptr) return std::nullopt;
  return copy.starting(model::speed_near(topology, primitive.gpu));
}

std::optional<Seconds> beside_start(const Primitive& launch, const Topology& topology) {
  const std::optional<Seconds> call = predict_call(launch, {}, topology);
  if (!call) return std::nullopt;
  return *call + or_none(driver_of(launch, topology).completion);
}

std::optional<Seconds> predict_program(const Primitive& primitive, Bytes, const Topology& topology) {
  const std::optional<Seconds> beside = beside_start(primitive, topology);
  const std::optional<Seconds> start = start_of(primitive, topology);
  return beside && start ? std::optional(*beside + *start) : std::nullopt;
}

std::optional<Seconds> predict_graph(const Primitive& primitive, Bytes size, const Topology& topology) {
  const std::optional<Seconds> first = predict_program(primitive, size, topology);
  if (!first) return std::nullopt;
  return *first + or_none(blocks_of(primitive, topology).next) * (primitive.blocks - 1);
}

Seconds beside_line(const Primitive& hop, Bytes size, const Topology& topology) {
  const LineFormat format = format_of(hop);
  const Way way = way_of(hop, topology);
  const Bytes stored{gpu::stored(format, size.count())};
  const Seconds bytes = stored / blocks_of(hop, topology).rate_of(format);
  return bytes + way.store * (format == LineFormat::simple ? 3.0 : 1.0) + way.load;
}

std::optional<Seconds> predict_hop(const Primitive& primitive, Bytes size, const Topology& topology) {
  return blocks_of(primitive, topology).hop_of(format_of(primitive)) + beside_line(primitive, size, topology);
}

/// Blocks add up, until a kernel's stores reach no more.
std::optional<Seconds> predict_moving(const Primitive& primitive, Bytes size, const Topology& topology) {
  const LineFormat format = format_of(primitive);
  Primitive push = primitive;
  push.kind = Kind::copy;
  const Rate blocks{blocks_of(primitive, topology).rate_of(format).bytes_per_second() * primitive.blocks};
  const std::optional<Rate> kernel = find_copy_cost(topology, push.from, push.to).rate;
  const Bytes stored{gpu::stored(format, size.count())};
  return flow_time(stored, narrowest_link(push, topology), kernel ? std::min(blocks, *kernel) : blocks);
}

}  // namespace twinlink::validate
