#include "model/study/shares.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "platforms/costs/kernel_costs.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {

std::vector<double> shares_by_machine(const Platform& platform, const std::vector<Place>& places,
                                      const bench::ArrayJob& job) {
  const Topology topology(platform);
  std::map<int, double> on_node;
  for (const Place& place : places) ++on_node[place.node];
  const auto ranks = static_cast<double>(places.size());
  std::vector<double> shares;
  for (const Place& place : places) {
    const std::size_t gpu = topology.gpu_of(place);
    const GpuType& type = topology.type_of(gpu);
    const auto element = static_cast<double>(job.element.count());
    double seconds = 0;  // for one element
    if (job.name == "fft") {
      if (!type.transforms) {
        throw InputError("--shares machine: the platform does not say what transforms take on " + type.model);
      }
      for (const std::uint64_t length : job.global.lengths) {
        if (length > 1) seconds += 2 * passes_of(length) * element / type.transforms->memory.value.bytes_per_second();
      }
    }
    const Location memory{Location::Kind::memory, topology.memory_near(gpu)};
    const Route out = topology.copy_route({Location::Kind::gpu, gpu}, memory);
    if (const auto rate = topology.narrowest(out, Reach::device_reads)) {
      seconds += element * (ranks - 1) / ranks / rate->bytes_per_second();
    }
    if (platform.fabric) {
      const double away = (ranks - on_node[place.node]) / ranks;
      const double adapters = platform.fabric->link.value.bytes_per_second() *
                              static_cast<double>(std::max<std::size_t>(1, topology.graph_of(place.node).nics.size()));
      seconds += element * away * on_node[place.node] / adapters;
    }
    shares.push_back(seconds > 0 ? 1 / seconds : 1);
  }
  return shares;
}

}  // namespace twinlink::model
