// What programs of thread blocks take on an idle machine: launches, hops, and what blocks move.
#pragma once

#include <optional>

#include "validate/primitives/primitive.hpp"

namespace twinlink::validate {

/// Of a kind that has one: hops, and messages by blocks.
gpu::LineFormat format_of(const Primitive& primitive);

/// The call that launches it, a program or a graph.
std::optional<Seconds> predict_call(const Primitive& primitive, Bytes size, const platforms::Topology& topology);
/// One that moves nothing, and a graph of them.
std::optional<Seconds> predict_program(const Primitive& primitive, Bytes size, const platforms::Topology& topology);
std::optional<Seconds> predict_graph(const Primitive& primitive, Bytes size, const platforms::Topology& topology);
/// Half of an element's way there and back.
std::optional<Seconds> predict_hop(const Primitive& primitive, Bytes size, const platforms::Topology& topology);
/// A slot of `size` that is passed on: to and fro it takes twice as long.
std::optional<Seconds> predict_pass(const Primitive& primitive, Bytes size, const platforms::Topology& topology);
/// A ring of a graph, and one that is launched by itself.
std::optional<Seconds> predict_ring(const Primitive& primitive, Bytes size, const platforms::Topology& topology);
std::optional<Seconds> predict_cold(const Primitive& primitive, Bytes size, const platforms::Topology& topology);
/// What `size` bytes more take.
std::optional<Seconds> predict_moving(const Primitive& primitive, Bytes size, const platforms::Topology& topology);

/// What the CPU does of a launch, before and after it. Empty: the platform does not say it.
std::optional<Seconds> beside_start(const Primitive& launch, const platforms::Topology& topology);
/// Of a hop what is in no number of the blocks' lines: the way, and the bytes.
Seconds beside_line(const Primitive& hop, Bytes size, const platforms::Topology& topology);
/// Hops of a ring one after the other.
double hops_of(const Primitive& ring);
/// What a hop of a ring takes, with its way.
Seconds hop_of_ring(const Primitive& ring, const platforms::Topology& topology);

}  // namespace twinlink::validate
