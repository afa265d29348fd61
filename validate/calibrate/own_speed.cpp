#include "validate/calibrate/own_speed.hpp"

#include <algorithm>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#include "platforms/costs/software_costs.hpp"
#include "platforms/machine/platform_fields.hpp"
#include "platforms/topology/topology.hpp"

namespace twinlink::validate {
namespace {

constexpr const char* kWhy = "the base's, on its own processors";

template <class T>
concept Time =
    std::same_as<T, platforms::Sourced<Seconds>> || std::same_as<T, platforms::Sourced<platforms::Piecewise>>;

bool differ(Seconds a, Seconds b) { return a != b; }
/// Of curves with the same sizes.
bool differ(const platforms::Piecewise& a, const platforms::Piecewise& b) {
  return !std::ranges::equal(a.knots(), b.knots(), {}, &platforms::Piecewise::Knot::cost,
                             &platforms::Piecewise::Knot::cost);
}

/// Sets what differs between two states of one part.
class Changes {
 public:
  explicit Changes(PlatformEdit& edit) : edit_(edit) {}

  template <platforms::HasFields Part>
  void set(const std::string& path, const Part& before, const Part& after) {
    each_field(after, [&](std::string_view key, const auto& now) {
      each_field(before, [&](std::string_view other, const auto& then) {
        if constexpr (std::same_as<decltype(now), decltype(then)>) {
          if (key == other) set_one(path + "." + std::string(key), then, now);
        }
      });
    });
  }
  void set(const std::string& path, const platforms::CopyCosts& before, const platforms::CopyCosts& after) {
    for (const auto& [kind, cost] : after) set(path + "." + std::string(to_string(kind)), before.at(kind), cost);
  }

 private:
  template <class T>
  void set_one(const std::string& path, const T& before, const T& after) {
    if constexpr (Time<T>) {
      if (differ(before.value, after.value)) edit_.set(path, after.value, platforms::Quality::derived, kWhy);
    }
  }
  template <class T>
  void set_one(const std::string& path, const std::optional<T>& before, const std::optional<T>& after) {
    if (before && after) set_one(path, *before, *after);
  }

  PlatformEdit& edit_;
};

}  // namespace

void take_own_speed(PlatformEdit& edit) {
  const platforms::Platform base = edit.platform();
  const auto has_speed = [](const platforms::HostMemory& memory) { return memory.speed.has_value(); };
  if (std::ranges::none_of(base.node.memories, has_speed)) return;
  const platforms::Topology topology(base);
  const double speed = platforms::speed_near(topology, 0);
  Changes changes(edit);
  for (const platforms::GpuType& type : base.gpu_types) {
    changes.set("gpu_types." + type.name + ".copies", type.copies, on_cpu(type.copies, speed));
  }
  changes.set("driver.copies", base.copies, on_cpu(base.copies, speed));
  if (base.fallback) {
    platforms::Fallback own = *base.fallback;
    own.cost.overhead.value = platforms::on_cpu(own.cost.overhead.value, speed);
    changes.set("driver.fallback", *base.fallback, own);
  }
  changes.set("driver.runtime", base.runtime, on_cpu(base.runtime, speed));
  if (base.network) changes.set("mpi.network", *base.network, on_cpu(*base.network, speed));
  changes.set("mpi.intra_node", base.intra_node, on_cpu(base.intra_node, speed));
  for (const platforms::HostMemory& memory : base.node.memories) {
    if (has_speed(memory))
      edit.set("nodes.memories." + memory.name + ".speed", platforms::Ratio{}, platforms::Quality::derived, kWhy);
  }
}

}  // namespace twinlink::validate
