#include "platforms/machine/platform_numbers.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "platforms/machine/platform_fields.hpp"

namespace twinlink::platforms {
namespace {

/// Each add() appends what it is given.
class NumberList {
 public:
  std::vector<NumberEntry> entries{};

  void add(const std::string& path, const Sourced<Bytes>& number) {
    const auto count = static_cast<double>(number.value.count());
    entries.push_back({path, count, "B", format_bytes(number.value), number.source});
  }
  void add(const std::string& path, const Sourced<Rate>& number) {
    entries.push_back({path, number.value.bytes_per_second(), "B/s", format_rate(number.value), number.source});
  }
  void add(const std::string& path, const Sourced<Ratio>& number) {
    entries.push_back({path, number.value.of_one, "1", format_ratio(number.value), number.source});
  }
  void add(const std::string& path, const Sourced<Flops>& number) {
    entries.push_back({path, number.value.per_second, "FLOP/s", format_flops(number.value), number.source});
  }
  void add(const std::string& path, const Sourced<Seconds>& number) { add(path, number.value, number.source); }
  void add(const std::string& path, const Sourced<Piecewise>& number) {
    const auto& knots = number.value.knots();
    for (const auto& [size, cost] : knots) {
      add(knots.size() == 1 ? path : path + "[" + format_size(size) + "]", cost, number.source);
    }
  }
  template <class T>
  void add(const std::string& path, const std::optional<T>& number) {
    if (number) add(path, *number);
  }

  template <HasFields T>
  void add(const std::string& path, const T& part) {
    each_field(part, [&](std::string_view key, const auto& field) { add(path + "." + std::string(key), field); });
  }
  template <class T>
  void add_named(const std::string& path, const std::vector<T>& things) {
    for (const T& thing : things) add(path + "." + thing.name, thing);
  }
  void add(const std::string& path, const CopyCosts& copies) {
    for (const auto& [kind, cost] : copies) add(path + "." + std::string(to_string(kind)), cost);
  }
  void add(const std::string& path, const Node& node) {
    add_named(path + ".memories", node.memories);
    add_named(path + ".hubs", node.hubs);
    add_named(path + ".nics", node.nics);
    add_named(path + ".links", node.links);
  }

 private:
  void add(const std::string& path, Seconds value, const Source& source) {
    entries.push_back({path, value.value(), "s", format_seconds(value), source});
  }
};

}  // namespace

std::vector<NumberEntry> all_numbers(const Platform& platform) {
  NumberList list;
  for (const GpuType& type : platform.gpu_types) {
    list.add("gpu_types." + type.name, type);
    list.add("gpu_types." + type.name + ".copies", type.copies);
  }
  list.add("nodes", platform.node);
  for (const NodeKind& kind : platform.kinds) list.add("kinds." + kind.name + ".nodes", kind.node);
  list.add("fabric", platform.fabric);
  list.add("driver.copies", platform.copies);
  list.add("driver.fallback", platform.fallback);
  list.add("driver.runtime", platform.runtime);
  list.add("mpi.network", platform.network);
  list.add("mpi.intra_node", platform.intra_node);
  return std::move(list.entries);
}

}  // namespace twinlink::platforms
