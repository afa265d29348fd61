// What a line of a probe file measured, in terms of a platform: which numbers the simulation would charge, and what it
// would come to on an idle machine. The closed form of every probe in one place.
#pragma once

#include <optional>
#include <string>

#include "model/topology.hpp"
#include "protocols/bench/probe.hpp"

namespace twinlink::validate {

struct Primitive {
  enum class Kind {
    copy,          ///< between two ends, by the copy engine, the CPU or a kernel
    engine_block,  ///< the same of `blocks` blocks, by the copy engine
    kernel_block,  ///< the same by a kernel
    signal,        ///< a copy with a signal behind it
    message,       ///< between the host memories of two places
    control,       ///< a control message
    allocate_device,
    pin,
    ipc_export,
    ipc_open,
    ipc_close
  };
  Kind kind = Kind::copy;
  model::End from{};  ///< of a copy, a signal or blocks; of a message the memories
  model::End to{};
  bool same_node = true;  ///< messages
  int gpu = 0;            ///< of the rank that measured; messages between nodes leave by its adapter
  int peer_gpu = 0;
  double blocks = 0;

  /// Is it a copy, whatever comes on top of it?
  [[nodiscard]] bool copies() const { return kind <= Kind::signal; }
};

/// What the line means on this platform. Nothing, with the reason in `reason`, for a line that none of the platform's
/// numbers stands for. An InputError for a device that the platform does not have.
std::optional<Primitive> find_primitive(const bench::ProbeLine& line, const model::Topology& topology,
                                        std::string& reason);

/// Where the platform keeps what `primitive` costs: "costs.copies.peer", "costs.staged_peers.0", "costs.network",
/// "costs.runtime.ipc_open". Of a copy with something on top, where that is.
std::string cost_path(const Primitive& primitive, const model::Topology& topology);

/// What of a copy's time the CPU needs to learn of its end. Zero for what is no copy of device memory.
Seconds completion(const Primitive& primitive, const model::Platform& platform);

/// The narrowest link on the way, the fabric included. Nothing if there is no link.
std::optional<Rate> narrowest_link(const Primitive& primitive, const model::Topology& topology);

/// What `size` bytes take on an idle machine. Nothing if the platform lacks a number that this needs.
std::optional<Seconds> predict(const Primitive& primitive, Bytes size, const model::Topology& topology);
/// Of a copy with something on top: what the copy alone takes. As for predict().
std::optional<Seconds> predict_below(const Primitive& primitive, Bytes size, const model::Topology& topology);

}  // namespace twinlink::validate
