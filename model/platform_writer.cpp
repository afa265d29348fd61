#include "model/platform_writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "model/platform_numbers.hpp"

namespace twinlink::model {
namespace {

struct Unit {
  const char* name;
  double factor;
};

/// In the largest unit that leaves at least 1 before the point; the last unit for what is smaller, zero included.
template <std::size_t count>
std::string with_unit(double value, const std::array<Unit, count>& units) {
  const auto fits = std::ranges::find_if(units, [&](const Unit& unit) { return value >= unit.factor; });
  const Unit& unit = fits == units.end() ? units.back() : *fits;
  return fmt::format("{:.12g} {}", value / unit.factor, unit.name);
}

std::string text_of(Rate rate) {
  // Twelve digits of a unit stay below 1e12 and so without an exponent, which no reader of units knows.
  static constexpr std::array<Unit, 4> kUnits{{{"GB/s", 1e9}, {"MB/s", 1e6}, {"kB/s", 1e3}, {"B/s", 1}}};
  return with_unit(rate.bytes_per_second(), kUnits);
}

std::string text_of(Seconds time) {
  static constexpr std::array<Unit, 4> kUnits{{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}};
  // A fraction of a nanosecond is written without an exponent.
  if (time.value() > 0 && time.value() < 1e-9) return fmt::format("{:.6f} ns", time.value() * 1e9);
  return time == Seconds{} ? "0 us" : with_unit(time.value(), kUnits);
}

std::string text_of(Bytes size) { return format_bytes(size); }

std::string text_of(const Piecewise& curve) {
  const auto& knots = curve.knots();
  if (knots.size() == 1) return text_of(knots.front().cost);
  std::vector<std::string> points;
  for (const auto& [size, cost] : knots) points.push_back(fmt::format("[{}, {}]", text_of(size), text_of(cost)));
  return fmt::format("[{}]", fmt::join(points, ", "));
}

/// As a YAML text of one line.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    result += control ? ' ' : c;
  }
  return result + "\"";
}

class Writer {
 public:
  Writer(const Platform& platform, const std::vector<std::string>& heading) {
    for (const std::string& text : heading) line(0, text.empty() ? "#" : "# " + text);
    line(0, "schema: 1");
    line(0, "name: " + quoted(platform.name));
    line(0, "description: " + quoted(platform.description));
    write_sources(platform);
    write_node(platform.node);
    if (platform.fabric) write_fabric(*platform.fabric);
    line(0, "");
    line(0, "costs:");
    write_copies(platform);
    if (platform.network) write_network("network", *platform.network);
    write_network("intra_node", platform.intra_node);
    write_runtime(platform.runtime);
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void line(std::size_t indent, std::string_view text) {
    text_ += std::string(text.empty() ? 0 : 2 * indent, ' ');
    text_ += text;
    text_ += '\n';
  }

  /// A text of one word is a name to the reader, so it needs one too.
  void write_sources(const Platform& platform) {
    std::map<std::string, int> uses;
    std::vector<std::string> order;
    std::string last_curve;
    for (const NumberEntry& number : all_numbers(platform)) {
      // The points of a curve are one number.
      const auto bracket = number.path.find('[');
      const std::string curve = bracket == std::string::npos ? "" : number.path.substr(0, bracket);
      if (!curve.empty() && curve == last_curve) continue;
      last_curve = curve;
      if (uses[number.source.text]++ == 0) order.push_back(number.source.text);
    }
    std::erase_if(order,
                  [&](const std::string& text) { return uses[text] < 2 && text.find(' ') != std::string::npos; });
    if (order.empty()) return;
    line(0, "");
    line(0, "sources:");
    for (const std::string& text : order) {
      names_[text] = fmt::format("source{}", names_.size() + 1);
      line(1, fmt::format("{}: {}", names_[text], quoted(text)));
    }
  }

  template <class T>
  [[nodiscard]] std::string number(const Sourced<T>& number) const {
    const auto name = names_.find(number.source.text);
    return fmt::format("{{value: {}, {}: {}}}", text_of(number.value), to_string(number.source.quality),
                       name == names_.end() ? quoted(number.source.text) : name->second);
  }
  template <class T>
  void entry(std::size_t indent, std::string_view key, const Sourced<T>& value) {
    line(indent, fmt::format("{}: {}", key, number(value)));
  }
  template <class T>
  void entry(std::size_t indent, std::string_view key, const std::optional<Sourced<T>>& value) {
    if (value) entry(indent, key, *value);
  }
  void list(std::string_view key, const std::vector<std::string>& names) {
    if (!names.empty()) line(1, fmt::format("{}: [{}]", key, fmt::join(names, ", ")));
  }

  void write_node(const Node& node) {
    line(0, "");
    line(0, "nodes:");
    line(1, fmt::format("count: {}", node.count));
    line(1, "memories:");
    for (const HostMemory& memory : node.memories) {
      line(2, fmt::format("{}: {{copy_rate: {}}}", memory.name, number(memory.copy_rate)));
    }
    list("hubs", node.hubs);
    list("nics", node.nics);
    line(1, "gpus:");
    for (const Gpu& gpu : node.gpus) {
      line(2, gpu.name + ":");
      line(3, "model: " + quoted(gpu.model));
      entry(3, "memory", gpu.memory);
      line(3, fmt::format("capability: \"{}.{}\"", gpu.capability_major, gpu.capability_minor));
      line(3, fmt::format("unified_addressing: {}", gpu.unified_addressing));
      line(3, "memory_near: " + gpu.memory_near);
      if (!gpu.nic.empty()) line(3, "nic: " + gpu.nic);
      line(3, "peer_domain: " + gpu.peer_domain);
    }
    line(1, "links:");
    for (const Link& link : node.links) write_link(link);
  }

  void write_link(const Link& link) {
    const bool same = link.forward.value == link.backward.value &&
                      link.forward.source.text == link.backward.source.text &&
                      link.forward.source.quality == link.backward.source.quality;
    if (same && !link.total) {
      return line(2, fmt::format("{}: {{from: {}, to: {}, bandwidth: {}}}", link.name, link.from, link.to,
                                 number(link.forward)));
    }
    line(2, link.name + ":");
    line(3, "from: " + link.from);
    line(3, "to: " + link.to);
    entry(3, "forward", link.forward);
    entry(3, "backward", link.backward);
    entry(3, "total", link.total);
  }

  void write_fabric(const Fabric& fabric) {
    line(0, "");
    line(0, "fabric:");
    entry(1, "link", fabric.link);
    entry(1, "duplex", fabric.duplex);
    if (!fabric.rdma) return;
    line(1, "rdma:");
    if (!fabric.rdma->hypothetical.empty()) line(2, "hypothetical: " + quoted(fabric.rdma->hypothetical));
    const auto limits = [&](RdmaWay way, const std::optional<RdmaLimits>& found) {
      if (!found) return;
      line(2, fmt::format("{}:", to_string(way)));
      entry(3, "read", found->read);
      entry(3, "write", found->write);
      entry(3, "latency", found->latency);
    };
    limits(RdmaWay::near, fabric.rdma->near);
    limits(RdmaWay::far, fabric.rdma->far);
    limits(RdmaWay::through_switch, fabric.rdma->through_switch);
  }

  void write_cost(const Cost& cost) {
    entry(3, "host", cost.host);
    entry(3, "latency", cost.latency);
    entry(3, "rate", cost.rate);
  }

  void write_copies(const Platform& platform) {
    line(1, platform.copies.empty() ? "copies: {}" : "copies:");
    for (const auto& [copy_class, cost] : platform.copies) {
      line(2, fmt::format("{}:", to_string(copy_class)));
      write_cost(cost);
    }
    if (!platform.staged_peers.empty()) line(1, "staged_peers:");
    for (const StagedPeer& staged : platform.staged_peers) {
      line(2, "- from: " + staged.from_domain);
      line(3, "to: " + staged.to_domain);
      write_cost(staged.cost);
    }
  }

  void write_network(std::string_view name, const NetworkCosts& costs) {
    line(1, fmt::format("{}:", name));
    entry(2, "send_host", costs.send_host);
    entry(2, "receive_host", costs.receive_host);
    entry(2, "latency", costs.latency);
    entry(2, "rate", costs.rate);
    entry(2, "eager_limit", costs.eager_limit);
    entry(2, "control", costs.control);
  }

  void write_runtime(const RuntimeCosts& costs) {
    line(1, "runtime:");
    entry(2, "allocate_device", costs.allocate_device);
    entry(2, "ipc_export", costs.ipc_export);
    entry(2, "ipc_open", costs.ipc_open);
    entry(2, "ipc_close", costs.ipc_close);
    entry(2, "pin_base", costs.pin_base);
    entry(2, "pin_per_gib", costs.pin_per_gib);
    entry(2, "engine_block", costs.engine_block);
    entry(2, "kernel_block", costs.kernel_block);
    entry(2, "signal", costs.signal);
    entry(2, "register_base", costs.register_base);
    entry(2, "register_per_gib", costs.register_per_gib);
    entry(2, "deregister", costs.deregister);
  }

  std::string text_{};
  std::map<std::string, std::string> names_{};  ///< of source texts
};

}  // namespace

std::string platform_text(const Platform& platform, const std::vector<std::string>& heading) {
  return Writer(platform, heading).take();
}

}  // namespace twinlink::model
