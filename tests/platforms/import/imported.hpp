// What importers make of a text, for tests.
#pragma once

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "platforms/import/texts/import_topology.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/errors.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::platforms {

inline std::string content(const std::string& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// As the file is read that is written of it.
inline Platform imported(const std::string& text, const std::string& gpu = {}) {
  const SketchedPlatform result = import_topology(text, "input", "test", gpu);
  return read_platform_text(platform_text(result.platform, result.heading), "written.yaml");
}

inline std::vector<std::string> notes(const std::string& text) { return import_topology(text, "input", "test").notes; }

inline std::string refusal(const std::string& text) {
  return said_by<InputError>([&] { return import_topology(text, "input", "test"); });
}

inline std::string peer_way(const Platform& platform, std::size_t a, std::size_t b) {
  const Topology topology(platform);
  if (!topology.peer_access(a, b)) return "refused";
  return topology.describe("gpu" + std::to_string(a),
                           topology.copy_route({Location::Kind::gpu, a}, {Location::Kind::gpu, b}));
}

inline const Link& link_of(const Platform& platform, const std::string& name) {
  const auto found = std::ranges::find(platform.node.links, name, &Link::name);
  if (found == platform.node.links.end()) throw Error("no link " + name);
  return *found;
}

inline double gigabytes(const Sourced<Rate>& rate) { return rate.value.bytes_per_second() / 1e9; }

}  // namespace twinlink::platforms
