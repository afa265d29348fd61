// What a line's name says, word by word.
#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "validate/primitives/primitive.hpp"

namespace twinlink::validate {
namespace {

using model::End;
using model::Location;
using model::Topology;
using Kind = Primitive::Kind;

/// The platform's device of that name, by its index; or an InputError.
std::size_t gpu_on(const std::string& text, const Topology& topology, const std::string& line) {
  try {
    const Place place = parse_place(text);
    topology.require(place);
    return topology.gpu_of(place);
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

bool strip_end(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

/// Reads one line's name, word by word.
class LineReader {
 public:
  LineReader(const bench::ProbeLine& line, const Topology& topology, std::string& reason)
      : line_(line), topology_(topology), reason_(reason) {}

  std::optional<Primitive> read() {
    result_.gpu = result_.peer_gpu = gpu_on(line_.gpu, topology_, line_.name);
    if (!line_.peer.empty()) result_.peer_gpu = gpu_on(line_.peer, topology_, line_.name);
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
  [[nodiscard]] std::size_t gpu() const { return result_.gpu; }
  [[nodiscard]] std::size_t peer_gpu() const { return result_.peer_gpu; }

  [[nodiscard]] End device(std::size_t gpu, bool kernel = false, bool resident = false) const {
    return {{Location::Kind::gpu, gpu}, Memory::device, kernel, resident, gpu == this->gpu()};
  }
  [[nodiscard]] End host(std::size_t gpu, Memory memory, bool far = false) const {
    return {{Location::Kind::memory, far ? topology_.memory_far(gpu) : topology_.memory_near(gpu)}, memory};
  }

  bool recognize(std::string_view name) {
    if (strip(name, "start message ")) return message(name, Kind::start_message);
    if (strip(name, "start receive ")) return message(name, Kind::start_receive);
    if (strip_end(name, " cpu-written")) {
      return one_copy(name) && result_.from.memory != Memory::device && part(Kind::written_copy);
    }
    if (strip(name, "start ")) return one_copy(name) && part(Kind::start);
    if (strip(name, "queued ")) return queued(name);
    return one_copy(name) || more_than_a_copy(name) || runtime(name);
  }

  bool queued(std::string_view name) {
    if (strip(name, "message ")) {
      if (!strip_end(name, " both-ways")) return message(name, Kind::gap);
      reason_ = "between nodes the adapters decide";
      return name == "same-node" && eager(name, Kind::completion);
    }
    if (strip(name, "bare control message ")) {
      return strip_end(name, " both-ways") && message(name, Kind::queued_control);
    }
    if (strip(name, "put and signal ")) {
      if (!put_and_signal(name)) return false;
      return part(result_.kind == Kind::kernel_signal ? Kind::queued_kernel_signal : Kind::queued_signal);
    }
    return one_copy(name) && part(Kind::queued);
  }

  bool one_copy(std::string_view name) {
    if (strip(name, "copy kernel-")) return kernel_copy(name);
    if (name == "copy resident-push") return between(Kind::copy, device(gpu(), true, true), device(peer_gpu()));
    if (strip(name, "copy ")) return copy(name);
    return strip(name, "peer copy ") && peer_copy(name);
  }

  bool part(Kind kind) {
    result_.kind = kind;
    return true;
  }

  bool more_than_a_copy(std::string_view name) {
    if (strip(name, "engine-block ")) return blocks(name, Kind::engine_block);
    if (strip(name, "kernel-block ")) return blocks(name, Kind::kernel_block);
    if (strip(name, "put and signal ")) return put_and_signal(name);
    if (strip(name, "message pinned ") || strip(name, "message pageable ")) return message(name, Kind::message);
    return strip(name, "control message ") && message(name, Kind::control);
  }

  bool put_and_signal(std::string_view rest) {
    if (rest == "same-node") return between(Kind::signal, device(gpu()), device(peer_gpu()));
    if (rest == "by kernel same-node") {
      return between(Kind::kernel_signal, device(gpu(), true), device(peer_gpu()));
    }
    if (rest == "by resident kernel same-node") reason_ = "its signal comes with its end";
    return false;
  }

  bool between(Kind kind, End from, End to) {
    result_.kind = kind;
    result_.from = from;
    result_.to = to;
    return true;
  }

  bool runtime(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, Kind>, 8> kNames{{{"finish ended copy", Kind::finish},
                                                                       {"look copy", Kind::look},
                                                                       {"allocate device", Kind::allocate_device},
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

  /// Of eager messages.
  bool eager(std::string_view where, Kind kind) {
    if (!message(where, kind)) return false;
    const model::Platform& platform = topology_.platform();
    if (needs_fabric() && !platform.network) return true;  // read() refuses it
    reason_ = "of messages that are larger than eager ones the bytes decide";
    return (result_.same_node ? platform.intra_node : *platform.network).is_eager(line_.size);
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

  [[nodiscard]] bool needs_fabric() const { return result_.messages() && !result_.same_node; }

  const bench::ProbeLine& line_;
  const Topology& topology_;
  std::string& reason_;
  Primitive result_{};
};

}  // namespace

std::optional<Primitive> find_primitive(const bench::ProbeLine& line, const Topology& topology, std::string& reason) {
  return LineReader(line, topology, reason).read();
}

}  // namespace twinlink::validate
