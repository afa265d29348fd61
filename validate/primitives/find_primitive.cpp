// What a line measures, as a primitive of a platform.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "protocols/bench/probe/probed.hpp"
#include "validate/primitives/primitive.hpp"

namespace twinlink::validate {
namespace {

using bench::Probed;
using platforms::End;
using platforms::Location;
using platforms::Topology;
using Kind = Primitive::Kind;

/// The platform's device of that name; or an InputError.
Place device_at(const std::string& text, const Topology& topology, const std::string& line) {
  try {
    Place place = parse_place(text);
    topology.require(place);
    return place;
  } catch (const UsageError& error) {
    throw InputError(fmt::format("{}: error: probe '{}': {}", topology.platform().file, line, error.what()));
  }
}

/// Finds the primitive of one line.
class Finder {
 public:
  Finder(const bench::ProbeLine& line, const Topology& topology, std::string& reason)
      : line_(line), topology_(topology), reason_(reason) {}

  std::optional<Primitive> find() {
    const Place own = device_at(line_.gpu, topology_, line_.name);
    const Place peer = line_.peer.empty() ? own : device_at(line_.peer, topology_, line_.name);
    result_.gpu = topology_.gpu_of(own);
    result_.peer_gpu = topology_.gpu_of(peer);
    result_.node = own.node;
    result_.peer_node = peer.node;
    reason_ = "no number of a platform stands for it";
    const std::optional<Probed> probed = bench::probed_by(line_.name);
    const std::optional<Kind> kind = probed ? kind_of(*probed) : std::nullopt;
    if (!kind) return std::nullopt;
    result_.kind = *kind;
    if (result_.copies() && !has_copy(*probed)) return std::nullopt;
    if (result_.messages() && !has_messages(*probed)) return std::nullopt;
    if (result_.runs_programs() && !has_programs(*probed)) return std::nullopt;
    return result_;
  }

 private:
  /// One line for each primitive. Nothing, with the reason, for what no number of a platform stands for.
  std::optional<Kind> kind_of(const Probed& probed) {
    using How = Probed::How;
    const bool by_engine = probed.engine == Engine::dma;
    switch (probed.what) {
      case Probed::What::copy:
        if (probed.gpus > 1 || probed.how == How::both_ways) return std::nullopt;
        if (probed.cpu_written) return Kind::written_copy;
        return probed.how == How::start ? Kind::start : probed.how == How::queued ? Kind::queued : Kind::copy;
      case Probed::What::block:
        return by_engine ? Kind::engine_block : Kind::kernel_block;
      case Probed::What::put_and_signal:
        if (probed.engine == Engine::resident) return without("its signal comes with its end");
        if (probed.how == How::queued) return by_engine ? Kind::queued_signal : Kind::queued_kernel_signal;
        return by_engine ? Kind::signal : Kind::kernel_signal;
      case Probed::What::message:
        if (probed.how == How::both_ways) return std::nullopt;
        if (probed.how == How::start) return Kind::start_message;
        if (probed.how == How::queued) return Kind::gap;
        if (probed.how == How::alone) return Kind::message;
        if (!probed.same_node) return without("between nodes the adapters decide");
        if (topology_.platform().intra_node.is_eager(line_.size)) return Kind::completion;
        return without("of messages that are larger than eager ones the bytes decide");
      case Probed::What::receive:
        return Kind::start_receive;
      case Probed::What::control:
        return probed.how == How::alone ? Kind::control : Kind::queued_control;
      case Probed::What::program:
        if (probed.programs == 1) return probed.how == How::start ? Kind::start_program : Kind::program;
        return probed.how == How::start ? Kind::start_graph : Kind::graph;
      case Probed::What::hop:
        return of_format(probed.format, Kind::hop_simple);
      case Probed::What::pass:
        return of_format(probed.format, Kind::pass_simple);
      case Probed::What::blocks:
        return of_format(probed.format, Kind::blocks_simple);
      case Probed::What::ring:
        return of_format(probed.format, probed.how == How::alone ? Kind::cold_simple : Kind::ring_simple);
      case Probed::What::finish:
        return Kind::finish;
      case Probed::What::look:
        return Kind::look;
      case Probed::What::allocate:
        if (probed.from == Memory::device) return Kind::allocate_device;
        if (probed.from == Memory::pageable) return std::nullopt;
        return Kind::pin;
      case Probed::What::handle_export:
        return Kind::ipc_export;
      case Probed::What::handle_open:
        return Kind::ipc_open;
      case Probed::What::handle_close:
        return Kind::ipc_close;
      case Probed::What::release:
      case Probed::What::register_device:
      case Probed::What::deregister_device:
        return std::nullopt;
    }
    return std::nullopt;
  }

  /// Those of LL and LL128 stand behind that of Simple.
  static Kind of_format(gpu::LineFormat format, Kind simple) {
    return static_cast<Kind>(static_cast<int>(simple) + static_cast<int>(format));
  }

  std::optional<Kind> without(std::string reason) {
    reason_ = std::move(reason);
    return std::nullopt;
  }
  bool lacks(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  [[nodiscard]] End device(std::size_t gpu, Engine engine = Engine::dma) const {
    const bool kernel = engine != Engine::dma;
    return {{Location::Kind::gpu, gpu}, Memory::device, kernel, engine == Engine::resident, gpu == result_.gpu};
  }
  [[nodiscard]] End host(std::size_t gpu, Memory memory, bool far = false) const {
    return {{Location::Kind::memory, far ? topology_.memory_far(gpu) : topology_.memory_near(gpu)}, memory};
  }

  /// Where the copy goes, and whether the platform has it.
  bool has_copy(const Probed& probed) {
    const bool signals = probed.what == Probed::What::put_and_signal;
    if (signals || probed.peer != Probed::Peer::none) {
      const bool is_dma_copy = !signals && probed.engine == Engine::dma;
      if (is_dma_copy && probed.direct != topology_.peer_access(result_.gpu, result_.peer_gpu).yes) {
        return lacks(probed.direct ? "the base has no peer access between these GPUs"
                                   : "the base has peer access, these GPUs not");
      }
      result_.from = device(result_.gpu, probed.engine);
      result_.to = device(result_.peer_gpu);
      if (probed.peer == Probed::Peer::read) {
        result_.from = device(result_.peer_gpu);
        result_.to = device(result_.gpu, probed.engine);
      }
    } else {
      const auto end = [&](Memory memory) {
        return memory == Memory::device ? device(result_.gpu, probed.engine) : host(result_.gpu, memory, probed.far);
      };
      result_.from = end(probed.from);
      result_.to = end(probed.to);
    }
    if (probed.block_bytes > 0) {
      result_.blocks = static_cast<double>(line_.size.count()) / static_cast<double>(probed.block_bytes);
    }
    const bool by_kernel = result_.from.kernel || result_.to.kernel;
    if (by_kernel && !kernel_reaches(topology_, result_.from, result_.to)) {
      return lacks("on the base no kernel reaches both ends");
    }
    if (copy_path(result_, topology_).empty()) {
      return lacks("the base has no entry for '" + find_copy_cost(topology_, result_.from, result_.to).name + "'");
    }
    return true;
  }

  bool has_messages(const Probed& probed) {
    result_.same_node = probed.same_node;
    result_.from = host(result_.gpu, Memory::pageable);
    result_.to = host(result_.peer_gpu, Memory::pageable);
    return probed.same_node || topology_.platform().network || lacks("the base has no fabric");
  }

  /// The GPU's blocks, and where they meet those of the peer.
  bool has_programs(const Probed& probed) {
    result_.from = device(result_.gpu, Engine::kernel);
    result_.to = device(result_.peer_gpu);
    result_.blocks = static_cast<double>(probed.what == Probed::What::program ? probed.programs
                                         : probed.what == Probed::What::ring  ? probed.gpus
                                                                              : probed.blocks);
    if (!topology_.type_of(result_.gpu).blocks) return lacks("the base does not say what thread blocks of this GPU do");
    if (probed.what == Probed::What::program) return true;
    if (probed.direct == topology_.peer_access(result_.gpu, result_.peer_gpu).yes) return true;
    return lacks(probed.direct ? "the base has no peer access between these GPUs"
                               : "the base has peer access, and the way through the host is its links'");
  }

  const bench::ProbeLine& line_;
  const Topology& topology_;
  std::string& reason_;
  Primitive result_{};
};

}  // namespace

std::optional<Primitive> find_primitive(const bench::ProbeLine& line, const Topology& topology, std::string& reason) {
  return Finder(line, topology, reason).find();
}

}  // namespace twinlink::validate
