#include "validate/primitive.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace twinlink::validate {
namespace {

using model::End;
using model::Location;
using model::Platform;
using model::Sourced;
using model::Topology;
using Kind = Primitive::Kind;

/// The platform has a device of that name, or an InputError.
Place place_on(const std::string& text, const Topology& topology, const std::string& line) {
  try {
    Place place = parse_place(text);
    topology.require(place);
    return place;
  } catch (const UsageError& error) {
    throw InputError(fmt::format("{}: error: probe '{}': {}", topology.platform().file, line, error.what()));
  }
}

/// Takes `prefix` off `text` if it is there.
bool strip(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// Where the cost of a copy is; empty if the platform has no place for it.
std::string copy_path(const Primitive& primitive, const Topology& topology) {
  const std::string name = topology.find_copy_cost(primitive.from, primitive.to).name;
  const auto& staged = topology.platform().staged_peers;
  for (std::size_t i = 0; i < staged.size(); ++i) {
    if (model::staged_name(staged[i]) == name) return fmt::format("costs.staged_peers.{}", i);
  }
  for (int i = 0; i < model::kCopyClasses; ++i) {
    if (to_string(static_cast<model::CopyClass>(i)) == name) return "costs.copies." + name;
  }
  return {};
}

/// Reads one line's name, word by word.
class LineReader {
 public:
  LineReader(const bench::ProbeLine& line, const Topology& topology, std::string& reason)
      : line_(line), topology_(topology), reason_(reason) {}

  std::optional<Primitive> read() {
    const Place place = place_on(line_.gpu, topology_, line_.name);
    result_.gpu = result_.peer_gpu = place.gpu;
    if (!line_.peer.empty()) result_.peer_gpu = place_on(line_.peer, topology_, line_.name).gpu;
    reason_ = "no number of a platform stands for it";
    if (!recognize(line_.name)) return std::nullopt;
    if (result_.copies() && !can_copy()) return std::nullopt;
    if (needs_fabric() && !topology_.platform().network) {
      reason_ = "the base has no fabric";
      return std::nullopt;
    }
    return result_;
  }

 private:
  [[nodiscard]] std::size_t gpu() const { return static_cast<std::size_t>(result_.gpu); }
  [[nodiscard]] std::size_t peer_gpu() const { return static_cast<std::size_t>(result_.peer_gpu); }

  [[nodiscard]] End device(std::size_t gpu, bool kernel = false, bool resident = false) const {
    return {{Location::Kind::gpu, gpu}, Memory::device, kernel, resident};
  }
  [[nodiscard]] End host(std::size_t gpu, Memory memory, bool far = false) const {
    return {{Location::Kind::memory, far ? topology_.memory_far(gpu) : topology_.memory_near(gpu)}, memory};
  }

  bool recognize(std::string_view name) {
    if (strip(name, "copy kernel-")) return kernel_copy(name);
    if (name == "copy resident-push") return between(Kind::copy, device(gpu(), true, true), device(peer_gpu()));
    if (strip(name, "copy ")) return copy(name);
    if (strip(name, "peer copy ")) return peer_copy(name);
    if (strip(name, "engine-block ")) return blocks(name, Kind::engine_block);
    if (strip(name, "kernel-block ")) return blocks(name, Kind::kernel_block);
    if (name == "put and signal same-node") return between(Kind::signal, device(gpu()), device(peer_gpu()));
    if (strip(name, "message pinned ") || strip(name, "message pageable ")) return message(name, Kind::message);
    if (strip(name, "control message ")) return message(name, Kind::control);
    return runtime(name);
  }

  bool between(Kind kind, End from, End to) {
    result_.kind = kind;
    result_.from = from;
    result_.to = to;
    return true;
  }

  bool runtime(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, Kind>, 6> kNames{{{"allocate device", Kind::allocate_device},
                                                                       {"allocate pinned", Kind::pin},
                                                                       {"allocate shared-pinned", Kind::pin},
                                                                       {"handle export", Kind::ipc_export},
                                                                       {"handle open", Kind::ipc_open},
                                                                       {"handle close", Kind::ipc_close}}};
    const auto* const found = std::ranges::find(kNames, name, [](const auto& entry) { return entry.first; });
    if (found == kNames.end()) return false;
    result_.kind = found->second;
    return true;
  }

  /// The end that a word names: "device", "pinned", "pageable", "shared-pinned".
  [[nodiscard]] std::optional<End> end(std::string_view word, bool far) const {
    if (word == "device") return device(gpu());
    if (word == "pinned") return host(gpu(), Memory::pinned, far);
    if (word == "pageable") return host(gpu(), Memory::pageable, far);
    if (word == "shared-pinned") return host(gpu(), Memory::shared_pinned, far);
    return std::nullopt;
  }

  /// "pinned-to-device", near or far.
  bool ends(std::string_view words, bool far, Kind kind) {
    constexpr std::string_view kTo = "-to-";
    const std::size_t middle = words.find(kTo);
    if (middle == std::string_view::npos) return false;
    const auto from = end(words.substr(0, middle), far);
    const auto to = end(words.substr(middle + kTo.size()), far);
    return from && to && between(kind, *from, *to);
  }

  bool copy(std::string_view rest) {
    if (rest == "host-to-host") {
      const End memory = host(gpu(), Memory::pageable);
      return between(Kind::copy, memory, memory);
    }
    const std::string_view words = rest.substr(0, rest.find(' '));
    const std::string_view where = rest.substr(words.size());
    if (!where.empty() && where != " near" && where != " far") return false;
    return ends(words, where == " far", Kind::copy);
  }

  bool kernel_copy(std::string_view way) {
    const End pinned = host(gpu(), Memory::pinned);
    const End own = device(gpu(), true);
    if (way == "local") return between(Kind::copy, own, own);
    if (way == "to-pinned") return between(Kind::copy, own, pinned);
    if (way == "from-pinned") return between(Kind::copy, pinned, own);
    if (way == "push") return between(Kind::copy, own, device(peer_gpu()));
    return way == "pull" && between(Kind::copy, device(peer_gpu()), own);
  }

  bool peer_copy(std::string_view rest) {
    const bool write = strip(rest, "write ");
    if (!write && !strip(rest, "read ")) return false;
    if (rest != "direct" && rest != "staged") return false;  // of several at once: no cost of one copy
    if (const bool direct = rest == "direct"; direct != topology_.peer_access(gpu(), peer_gpu()).yes) {
      reason_ = direct ? "the base has no peer access between these GPUs" : "the base has peer access, these GPUs not";
      return false;
    }
    return write ? between(Kind::copy, device(gpu()), device(peer_gpu()))
                 : between(Kind::copy, device(peer_gpu()), device(gpu()));
  }

  /// "device-to-pinned of 64 B".
  bool blocks(std::string_view rest, Kind kind) {
    const std::string_view words = rest.substr(0, rest.find(' '));
    rest.remove_prefix(words.size());
    if (!strip(rest, " of ")) return false;
    std::uint64_t length = 0;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    if (error != std::errc{} || length == 0 || std::string_view(stop, rest.data() + rest.size()) != " B") return false;
    if (!ends(words, false, kind)) return false;
    result_.blocks = static_cast<double>(line_.size.count()) / static_cast<double>(length);
    if (kind == Kind::kernel_block) {
      for (End* end : {&result_.from, &result_.to}) end->kernel = end->memory == Memory::device;
    }
    return true;
  }

  bool message(std::string_view where, Kind kind) {
    if (where != "same-node" && where != "other-node") return false;
    result_.same_node = where == "same-node";
    return between(kind, host(gpu(), Memory::pageable), host(peer_gpu(), Memory::pageable));
  }

  bool can_copy() {
    const bool by_kernel = result_.from.kernel || result_.to.kernel;
    if (by_kernel && !topology_.kernel_reaches(result_.from, result_.to)) {
      reason_ = "on the base no kernel reaches both ends";
      return false;
    }
    if (copy_path(result_, topology_).empty()) {
      reason_ = "the base has no entry for '" + topology_.find_copy_cost(result_.from, result_.to).name + "'";
      return false;
    }
    return true;
  }

  [[nodiscard]] bool needs_fabric() const {
    return (result_.kind == Kind::message || result_.kind == Kind::control) && !result_.same_node;
  }

  const bench::ProbeLine& line_;
  const Topology& topology_;
  std::string& reason_;
  Primitive result_{};
};

void narrow(std::optional<Rate>& narrowest, Rate rate) {
  if (!narrowest || rate < *narrowest) narrowest = rate;
}

void narrow(std::optional<Rate>& narrowest, const model::Route& route, const Platform& platform) {
  for (const model::Hop& hop : route) {
    const model::Link& link = platform.node.links[hop.link];
    narrow(narrowest, hop.forward ? link.forward.value : link.backward.value);
    if (link.total) narrow(narrowest, link.total->value);
  }
}

Seconds flow_time(Bytes size, std::optional<Rate> narrowest, const std::optional<Sourced<Rate>>& rate) {
  if (rate) narrow(narrowest, rate->value);
  return narrowest ? size / *narrowest : Seconds{};
}

std::optional<Seconds> plus(std::optional<Seconds> time, const std::optional<Sourced<Seconds>>& each, double count) {
  if (!time || !each) return std::nullopt;
  return *time + each->value * count;
}

/// Until the last byte is there.
std::optional<Seconds> predict_bytes(const Primitive& primitive, Bytes size, const Topology& topology) {
  const model::Cost* cost = topology.find_copy_cost(primitive.from, primitive.to).cost;
  if (cost == nullptr) return std::nullopt;
  return cost->host.value + cost->latency.value.at(size) +
         flow_time(size, narrowest_link(primitive, topology), cost->rate);
}

/// Until the CPU that has waited for it knows it.
std::optional<Seconds> predict_copy(const Primitive& primitive, Bytes size, const Topology& topology) {
  const auto bytes = predict_bytes(primitive, size, topology);
  return bytes ? std::optional(*bytes + completion(primitive, topology.platform())) : std::nullopt;
}

/// Half of a round trip: the two ways need not cost the same. The peer does not wait for this CPU to learn of the end.
std::optional<Seconds> predict_put(const Primitive& primitive, Bytes size, const Topology& topology) {
  const auto there = predict_bytes(primitive, size, topology);
  Primitive back = primitive;
  std::swap(back.from, back.to);
  const auto answer = predict_bytes(back, size, topology);
  if (!there || !answer) return std::nullopt;
  return (*there + *answer) / 2;
}

}  // namespace

std::optional<Primitive> find_primitive(const bench::ProbeLine& line, const Topology& topology, std::string& reason) {
  return LineReader(line, topology, reason).read();
}

std::string cost_path(const Primitive& primitive, const Topology& topology) {
  const std::string_view network = primitive.same_node ? "costs.intra_node" : "costs.network";
  switch (primitive.kind) {
    case Kind::copy:
      return copy_path(primitive, topology);
    case Kind::engine_block:
      return "costs.runtime.engine_block";
    case Kind::kernel_block:
      return "costs.runtime.kernel_block";
    case Kind::signal:
      return "costs.runtime.signal";
    case Kind::message:
      return std::string(network);
    case Kind::control:
      return fmt::format("{}.control", network);
    case Kind::allocate_device:
      return "costs.runtime.allocate_device";
    case Kind::pin:
      return "costs.runtime.pin_base";
    case Kind::ipc_export:
      return "costs.runtime.ipc_export";
    case Kind::ipc_open:
      return "costs.runtime.ipc_open";
    case Kind::ipc_close:
      return "costs.runtime.ipc_close";
  }
  return {};
}

Seconds completion(const Primitive& primitive, const Platform& platform) {
  const bool by_device = primitive.from.memory == Memory::device || primitive.to.memory == Memory::device;
  const auto& cost = platform.runtime.completion;
  return primitive.copies() && by_device && cost ? cost->value : Seconds{};
}

std::optional<Rate> narrowest_link(const Primitive& primitive, const Topology& topology) {
  const Platform& platform = topology.platform();
  std::optional<Rate> narrowest;
  if (primitive.same_node) {
    narrow(narrowest, topology.copy_route(primitive.from.location, primitive.to.location), platform);
    return narrowest;
  }
  const auto nic = [&](int gpu) { return platform.node.gpus[static_cast<std::size_t>(gpu)].nic; };
  narrow(narrowest, topology.to_nic_route(primitive.from.location, nic(primitive.gpu)), platform);
  narrow(narrowest, topology.from_nic_route(nic(primitive.peer_gpu), primitive.to.location), platform);
  narrow(narrowest, platform.fabric->link.value);
  if (platform.fabric->duplex) narrow(narrowest, platform.fabric->duplex->value);
  return narrowest;
}

std::optional<Seconds> predict_below(const Primitive& primitive, Bytes size, const Topology& topology) {
  return primitive.kind == Kind::signal ? predict_put(primitive, size, topology)
                                        : predict_copy(primitive, size, topology);
}

std::optional<Seconds> predict(const Primitive& primitive, Bytes size, const Topology& topology) {
  const Platform& platform = topology.platform();
  const model::RuntimeCosts& runtime = platform.runtime;
  const model::NetworkCosts& network = primitive.same_node ? platform.intra_node : *platform.network;
  switch (primitive.kind) {
    case Kind::copy:
      return predict_copy(primitive, size, topology);
    case Kind::engine_block:
      return plus(predict_below(primitive, size, topology), runtime.engine_block, primitive.blocks);
    case Kind::kernel_block:
      return plus(predict_below(primitive, size, topology), runtime.kernel_block, primitive.blocks);
    case Kind::signal:
      return plus(predict_below(primitive, size, topology), runtime.signal, 1);
    case Kind::message:
      return network.send_host.value + network.latency.value.at(size) +
             flow_time(size, narrowest_link(primitive, topology), network.rate);
    case Kind::control:
      return network.control.value;
    case Kind::allocate_device:
      return runtime.allocate_device.value;
    case Kind::pin:
      return runtime.pin_base.value +
             runtime.pin_per_gib.value * (static_cast<double>(size.count()) / static_cast<double>((1_GiB).count()));
    case Kind::ipc_export:
      return runtime.ipc_export.value;
    case Kind::ipc_open:
      return runtime.ipc_open.value;
    case Kind::ipc_close:
      return runtime.ipc_close.value;
  }
  return std::nullopt;
}

}  // namespace twinlink::validate
