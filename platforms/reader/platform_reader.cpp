#include "platforms/reader/platform_reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "platforms/machine/platform_fields.hpp"
#include "platforms/reader/node_checks.hpp"
#include "platforms/reader/platform_file.hpp"
#include "platforms/reader/release_reader.hpp"
#include "platforms/reader/yaml_override.hpp"
#include "platforms/yaml/yaml_document.hpp"
#include "platforms/yaml/yaml_events.hpp"
#include "platforms/yaml/yaml_ranges.hpp"
#include "platforms/yaml/yaml_section.hpp"

namespace twinlink::platforms {
namespace {

bool has_our_schema(const YamlValue& document, Diagnostics& diagnostics) {
  const YamlValue* schema = document.find("schema");
  const std::string ours = std::to_string(kPlatformSchema);
  if (schema != nullptr && schema->text == ours) return true;
  const std::string message =
      (schema == nullptr ? "missing key 'schema' in the platform" : "unknown schema '" + schema->text + "'") +
      "; this program reads schema " + ours;
  diagnostics.error(schema == nullptr ? document.position : schema->position, message);
  return false;
}

/// With all that was found so far.
void require_our_schema(const YamlValue& document, Diagnostics& diagnostics) {
  if (!has_our_schema(document, diagnostics)) diagnostics.throw_all();
}

void read_sources(Section& root, const YamlValue& document, ReadContext& context) {
  root.find("sources");
  const YamlValue* sources = document.find("sources");
  if (sources == nullptr) return;
  Section(*sources, "sources", context).each_text([&](const std::string& name, std::string text) {
    context.named_sources[name] = std::move(text);
  });
}

/// All numbers of a part that has a list of them.
template <HasFields Part>
void read_numbers(Section& section, Part& part) {
  each_field(part, [&](std::string_view key, auto& field) {
    if constexpr (requires { section.take(key, field); }) section.take(key, field);
  });
}

/// A word of a few.
template <class Word, std::size_t count>
Word read_word(Section& section, std::string_view key, const std::string& where, const std::array<Word, count>& words,
               Word otherwise) {
  if (section.find(key) == nullptr) return otherwise;
  const std::string text = section.text(key);
  const auto* const found = std::ranges::find(words, text, [](Word word) { return to_string(word); });
  if (found != words.end()) return *found;
  std::string choices;
  for (const Word word : words) choices += (choices.empty() ? "" : ", ") + std::string(to_string(word));
  section.error(section.position(key),
                "'" + std::string(key) + "' in " + where + ": '" + text + "' is not one of " + choices);
  return otherwise;
}

// ---- copies ---------------------------------------------------------------------------------------------------------

Cost read_cost(Section& section, CopyKind kind) {
  Cost cost;
  read_numbers(section, cost);
  if (cost.cpu_written && !reads_host_memory(kind)) {
    section.error(section.position("cpu_written"), "'cpu_written' belongs to copies from host memory, and '" +
                                                       std::string(to_string(kind)) + "' is none");
  }
  return cost;
}

CopyCosts read_copies(Section& section) {
  CopyCosts costs;
  if (section.find("copies") == nullptr) return costs;
  section.nested("copies", "'copies'", [&](Section& copies) {
    for (int i = 0; i < kCopyKinds; ++i) {
      const auto kind = static_cast<CopyKind>(i);
      const std::string name(to_string(kind));
      if (copies.find(name) == nullptr) continue;
      copies.nested(name, "copies '" + name + "'", [&](Section& cost) { costs[kind] = read_cost(cost, kind); });
    }
  });
  return costs;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

void read_capability(Section& section, GpuType& type) {
  const std::string text = section.text("capability");
  const char* const end = text.data() + text.size();
  const auto [point, first] = std::from_chars(text.data(), end, type.capability_major);
  if (first == std::errc{} && point != end && *point == '.') {
    const auto [stop, second] = std::from_chars(point + 1, end, type.capability_minor);
    if (second == std::errc{} && stop == end && type.capability_major >= 0 && type.capability_minor >= 0) return;
  }
  if (!text.empty()) {
    section.error(section.position("capability"), "'capability' in GPU type '" + type.name + "': '" + text +
                                                      "' is no compute capability such as \"2.0\"");
  }
}

GpuType read_gpu_type(const std::string& name, Section& section) {
  GpuType type{.name = name, .model = section.text("model")};
  read_numbers(section, type);
  read_capability(section, type);
  type.unified_addressing = section.optional("unified_addressing", &Section::boolean).value_or(true);
  type.copies = read_copies(section);
  for (const auto& [key, into] : {std::pair{"blocks", &type.blocks}, {"library_blocks", &type.library_blocks}}) {
    if (section.find(key) == nullptr) continue;
    section.nested(key, "'" + std::string(key) + "'",
                   [to = into](Section& blocks) { read_numbers(blocks, to->emplace()); });
  }
  if (section.find("transforms") != nullptr) {
    section.nested("transforms", "'transforms'",
                   [&](Section& transforms) { read_numbers(transforms, type.transforms.emplace()); });
  }
  return type;
}

/// One name, or a list of them.
std::vector<std::string> read_names(Section& section, std::string_view key) {
  const YamlValue* value = section.find(key);
  if (value == nullptr) return {};
  return value->kind == YamlValue::Kind::list ? section.texts(key) : std::vector{section.text(key)};
}

Gpu read_gpu(const std::string& name, Section& section) {
  Gpu gpu{.name = name,
          .type = section.text("type"),
          .memory_near = section.optional("memory_near", &Section::text).value_or("")};
  gpu.more_nics = read_names(section, "nic");
  if (gpu.more_nics.empty()) return gpu;
  gpu.nic = gpu.more_nics.front();
  gpu.more_nics.erase(gpu.more_nics.begin());
  return gpu;
}

/// `bandwidth` stands for the directions that are not given by themselves.
Link read_link(const std::string& name, Section& section) {
  constexpr int kMostLinks = 1024;
  Link link{.name = name, .from = section.text("from"), .to = section.text("to")};
  if (section.find("count") != nullptr) link.count = section.integer("count", 1, kMostLinks);
  const auto of_all = [&](Sourced<Rate> each) {
    each.value = Rate{each.value.bytes_per_second() * link.count};
    return each;
  };
  const auto both = section.optional("bandwidth", &Section::rate);
  const auto direction = [&](std::string_view key) {
    return of_all(both ? section.optional(key, &Section::rate).value_or(*both) : section.rate(key));
  };
  link.forward = direction("forward");
  link.backward = direction("backward");
  for (const auto& [key, rate] : shared_rates(link)) {
    if (const auto each = section.optional(key, &Section::rate)) *rate = of_all(*each);
  }
  for (const auto& [key, rate] : single_rates(link)) section.take(key, *rate);
  section.take("latency", link.latency);
  return link;
}

void read_forwarding(Section& section, const std::string& where, Passing& passing) {
  passing.forwards = read_word(section, "forwards", where, kForwards, passing.forwards);
}

void read_peers(Section& section, Node& node) {
  if (section.find("peers") == nullptr) return;
  node.peers.emplace();
  for (const std::string& pair : section.texts("peers")) {
    const std::size_t space = pair.find(' ');
    const std::pair names(pair.substr(0, space), space == std::string::npos ? "" : pair.substr(space + 1));
    const auto known = [&](const std::string& name) {
      return std::ranges::find(node.gpus, name, &Gpu::name) != node.gpus.end();
    };
    if (known(names.first) && known(names.second) && names.first != names.second) {
      node.peers->push_back(names);
    } else {
      section.error(section.position("peers"),
                    "'peers' in 'nodes': '" + pair + "' is no pair of GPUs, as in 'gpu0 gpu1'");
    }
  }
}

Node read_node(Section& section) {
  Node node;
  node.count = section.integer("count", 1, kMostNodes);
  if (section.find("domain") != nullptr) node.domain = section.integer("domain", 1, kMostNodes);
  section.each("memories", "memory", [&](const std::string& name, Section& map) {
    HostMemory memory{.name = name};
    read_numbers(map, memory);
    read_forwarding(map, "memory '" + name + "'", memory.passing);
    node.memories.push_back(std::move(memory));
  });
  if (section.find("hubs") != nullptr) {
    section.each("hubs", "hub", [&](const std::string& name, Section& map) {
      Hub hub{.name = name};
      read_numbers(map, hub);
      read_forwarding(map, "hub '" + name + "'", hub.passing);
      node.hubs.push_back(std::move(hub));
    });
  }
  if (section.find("nics") != nullptr) {
    section.each("nics", "NIC", [&](const std::string& name, Section& map) {
      Nic nic{.name = name};
      read_numbers(map, nic);
      node.nics.push_back(std::move(nic));
    });
  }
  section.each("gpus", "GPU", [&](const std::string& name, Section& gpu) { node.gpus.push_back(read_gpu(name, gpu)); });
  section.each("links", "link",
               [&](const std::string& name, Section& link) { node.links.push_back(read_link(name, link)); });
  if (section.find("ways") != nullptr) {
    section.each("ways", "way", [&](const std::string& name, Section& way) {
      node.ways.push_back(
          {.name = name, .from = way.text("from"), .to = way.text("to"), .via = read_names(way, "via")});
    });
  }
  node.host_buffers = read_word(section, "host_buffers", "'nodes'", kHostBuffers, HostBuffers::near);
  node.cpu = read_word(section, "cpu", "'nodes'", kCpus, Cpu::unknown);
  read_peers(section, node);
  return node;
}

void read_shape(Section& section, Fabric& fabric) {
  constexpr int kMost = 1'000'000;
  fabric.shape = read_word(section, "shape", "'fabric'", kFabricShapes, FabricShape::one_switch);
  fabric.routing = read_word(section, "routing", "'fabric'", kFabricRoutings, FabricRouting::by_target);
  fabric.size = section.integers("size", 1, kMost);
  for (const std::string& text : read_names(section, "oversubscription")) {
    const std::optional<Oversubscription> ratio = parse_oversubscription(text);
    if (!ratio) {
      section.error(section.position("oversubscription"),
                    "'oversubscription' in 'fabric': '" + text + "' is not ports down for ports up, as 2, 2:1 or 1:2");
    }
    fabric.oversubscription.push_back(ratio.value_or(Oversubscription{}));
  }
  if (section.find("radix") != nullptr) fabric.radix = section.integer("radix", 1, kMost);
  if (section.find("seed") != nullptr) fabric.seed = section.integer("seed", 0, kMost);
  if (const std::string wrong = fabric.wrong_size(); !wrong.empty()) {
    section.error(section.position("size"), "'size' in 'fabric': " + wrong);
    fabric.shape = FabricShape::one_switch;
  }
}

Fabric read_fabric(Section& section) {
  Fabric fabric;
  read_numbers(section, fabric);
  read_shape(section, fabric);
  if (fabric.reduces && !fabric.is_tree() && fabric.nodes()) {
    section.error(section.position("reduces"), "'reduces' in 'fabric': sums go up and down a tree of switches, and a " +
                                                   std::string(to_string(fabric.shape)) + " is none");
  }
  if (section.find("rdma") == nullptr) return fabric;
  section.nested("rdma", "'rdma'", [&](Section& map) {
    Rdma& rdma = fabric.rdma.emplace();
    rdma.hypothetical = map.optional("hypothetical", &Section::text).value_or("");
    rdma.by_gpu = map.optional("by_gpu", &Section::text).value_or("");
    read_numbers(map, rdma);
  });
  return fabric;
}

// ---- driver and library ---------------------------------------------------------------------------------------------

Fallback read_fallback(Section& section, const std::vector<HostMemory>& memories) {
  constexpr int kMostInFlight = 1024;
  Fallback fallback;
  read_numbers(section, fallback);
  fallback.through = section.optional("through", &Section::text).value_or("source");
  std::vector<std::string> places{"source", "target"};
  for (const HostMemory& memory : memories) places.push_back(memory.name);
  if (!fallback.through.empty() && std::ranges::find(places, fallback.through) == places.end()) {
    section.error(section.position("through"),
                  "'through' in 'fallback': '" + fallback.through + "' is neither 'source' nor 'target' nor a memory");
  }
  if (section.find("in_flight") != nullptr) fallback.in_flight = section.integer("in_flight", 1, kMostInFlight);
  if (fallback.chunk.value == Bytes{} && section.find("chunk") != nullptr) {
    section.error(section.position("chunk"), "'chunk' in 'fallback' must not be 0 B");
  }
  return fallback;
}

void read_driver(Section& section, Platform& platform) {
  platform.copies = read_copies(section);
  if (section.find("fallback") != nullptr) {
    section.nested("fallback", "'fallback'",
                   [&](Section& map) { platform.fallback = read_fallback(map, platform.node.memories); });
  }
  section.nested("runtime", "'runtime'", [&](Section& map) { read_numbers(map, platform.runtime); });
}

/// Bytes that caches do not hold take longer than others, and only where something says what caches hold.
void check_uncached(Section& section, const Node& node, const NetworkCosts& costs) {
  if (!costs.uncached) return;
  const bool cached = std::ranges::any_of(node.memories, [](const HostMemory& m) { return m.cache.has_value(); });
  if (!cached) {
    section.error(section.position("uncached"), "'uncached' in 'intra_node' needs a memory with a 'cache'");
  }
  if (!costs.rate || costs.uncached->value > costs.rate->value) {
    section.error(section.position("uncached"), "'uncached' in 'intra_node' needs a 'rate' that is not lower");
  }
}

NetworkCosts read_network(Section& section) {
  constexpr int kMostHostAdapters = 64;
  NetworkCosts costs;
  read_numbers(section, costs);
  if (section.find("host_adapters") != nullptr) {
    costs.host_adapters = section.integer("host_adapters", 1, kMostHostAdapters);
  }
  for (const auto& [key, is_there] :
       {std::pair("fragment", costs.fragment.has_value()), std::pair("uncached", costs.uncached.has_value())}) {
    if (is_there) section.error(section.position(key), "'" + std::string(key) + "' belongs to 'intra_node'");
  }
  return costs;
}

NetworkCosts read_intra_node(Section& section, const Node& node) {
  NetworkCosts costs;
  read_numbers(section, costs);
  for (const auto& [key, number] :
       {std::pair("striped_from", &costs.striped_from), {"inline_limit", &costs.inline_limit}}) {
    if (*number) section.error(section.position(key), "'" + std::string(key) + "' belongs to 'network'");
  }
  costs.copied_by = read_word(section, "copied_by", "'intra_node'", kCopiedBy, CopiedBy::none);
  check_uncached(section, node, costs);
  if (costs.fragment && (costs.copied_by == CopiedBy::none || costs.fragment->value < costs.eager_limit.value)) {
    section.error(section.position("fragment"),
                  "'fragment' in 'intra_node' needs 'copied_by' and is not below 'eager_limit'");
  }
  if (costs.copied_by != CopiedBy::none && !costs.rate) {
    section.error(section.position("copied_by"),
                  "'copied_by' in 'intra_node' needs 'rate': the bytes that one CPU copies per second");
  }
  return costs;
}

void read_mpi(Section& section, Platform& platform) {
  platform.library = section.optional("library", &Section::text).value_or("");
  if (!platform.library.empty() && std::ranges::find(kLibraries, platform.library) == kLibraries.end()) {
    std::string known;
    for (const std::string_view name : kLibraries) known += (known.empty() ? "" : ", ") + std::string(name);
    section.error(section.position("library"), "'library' in 'mpi': '" + platform.library + "' is not one of " + known);
  }
  if (platform.fabric) {
    section.nested("network", "'network'", [&](Section& map) { platform.network = read_network(map); });
  } else {
    // A single node uses the same library, whose part may have a network.
    section.find("network");
  }
  section.nested("intra_node", "'intra_node'",
                 [&](Section& map) { platform.intra_node = read_intra_node(map, platform.node); });
}

// ---- the whole ------------------------------------------------------------------------------------------------------

void read_document(const YamlValue& document, Platform& platform, ReadContext& context) {
  Section root(document, "the platform", context);
  root.require("schema");
  read_sources(root, document, context);
  platform.name = root.text("name");
  platform.description = root.text("description");
  if (root.find("software") != nullptr) {
    root.nested("software", "'software'", [&](Section& map) { platform.software = read_software(map); });
  }
  root.each("gpu_types", "GPU type",
            [&](const std::string& name, Section& type) { platform.gpu_types.push_back(read_gpu_type(name, type)); });
  root.nested("nodes", "'nodes'", [&](Section& nodes) { platform.node = read_node(nodes); });
  if (root.find("kinds") != nullptr) {
    root.each("kinds", "kind", [&](const std::string& name, Section& kind) {
      kind.nested("nodes", "'nodes' of kind '" + name + "'",
                  [&](Section& nodes) { platform.kinds.push_back({.name = name, .node = read_node(nodes)}); });
      if (kind.find("replaces") != nullptr && !platform.kinds.empty() && platform.kinds.back().name == name) {
        platform.kinds.back().replaces = kind.integer("replaces", 0, kMostNodes);
      }
    });
  }
  if (root.find("fabric") != nullptr) {
    root.nested("fabric", "'fabric'", [&](Section& fabric) { platform.fabric = read_fabric(fabric); });
  }
  root.nested("driver", "'driver'", [&](Section& driver) { read_driver(driver, platform); });
  root.nested("mpi", "'mpi'", [&](Section& mpi) { read_mpi(mpi, platform); });
  platform.release_named = root.optional("ccl", &Section::text).value_or("");
  const Position where = root.position("ccl");
  if (where.file && platform.release_named.find('/') == std::string::npos &&
      platform.release_named.ends_with(".yaml")) {  // beside the platform, as what it includes
    platform.release_named =
        std::filesystem::absolute(std::filesystem::path(*where.file).parent_path() / platform.release_named).string();
  }
  try {
    platform.release = find_release(platform.release_named);
  } catch (const UsageError& error) {
    root.error(root.position("ccl"), std::string("'ccl': ") + error.what());
  }
}

/// The names of the files that texts are of: each file has one name, which all its texts share.
void add_files(const YamlValue& value, std::set<const std::string*>& files) {
  if (value.position.file) files.insert(value.position.file.get());
  for (const YamlValue& item : value.items) add_files(item, files);
  for (const YamlValue::Entry& entry : value.entries) add_files(entry.value, files);
}

/// Checks and takes apart a document of our schema. Not a whole one: adapters have failed, for which the fabric has
/// ports all the same.
Platform make_platform(const YamlValue& document, std::string name, ReadContext& context, bool is_whole = true) {
  std::set<const std::string*> shared_names;
  add_files(document, shared_names);
  std::set<std::string> files;  // what is included twice is read twice
  for (const std::string* file : shared_names) files.insert(*file);
  files.erase(name);
  Platform platform{.file = std::move(name), .included = {files.begin(), files.end()}};
  read_document(document, platform, context);
  if (const YamlValue* nodes = document.find("nodes")) {
    check_node(platform, *nodes, context.diagnostics);
    if (is_whole) check_ports(platform, *nodes, context.diagnostics);
  }
  if (const YamlValue* kinds = document.find("kinds")) check_kinds(platform, *kinds, context.diagnostics);
  context.diagnostics.throw_if_any();
  complete_nodes(platform);
  return platform;
}

/// Where the file says what `assignment` of an eager limit changes, the library does something else from now on; but
/// the latencies were measured with the limit of the file.
void keep_latency_limit(YamlValue& document, std::string_view assignment) {
  for (const std::string_view network : {"network", "intra_node"}) {
    if (!assignment.starts_with("mpi." + std::string(network) + ".eager_limit")) continue;
    YamlValue* mpi = document.find("mpi");
    YamlValue* costs = mpi == nullptr ? nullptr : mpi->find(network);
    if (costs == nullptr || costs->find("latency_limit") != nullptr) continue;
    if (const YamlValue* limit = costs->find("eager_limit")) costs->add("latency_limit", YamlValue(*limit));
  }
}

}  // namespace

Platform read_platform(const std::filesystem::path& named, std::span<const std::string> overrides,
                       const std::function<void(YamlValue&)>& change) {
  const std::filesystem::path file = find_platform(named);
  ReadContext context;
  std::optional<YamlValue> loaded = load_yaml(file, context.diagnostics, shared_parts());
  if (!loaded) context.diagnostics.throw_all();
  YamlValue document = std::move(*loaded);
  require_our_schema(document, context.diagnostics);
  for (const std::string& assignment : overrides) {
    keep_latency_limit(document, assignment);
    apply_override(document, assignment);
  }
  if (change) change(document);
  require_our_schema(document, context.diagnostics);
  return make_platform(document, file.lexically_normal().string(), context, !change);
}

Platform read_platform_text(const std::string& text, const std::string& name) {
  ReadContext context;
  YamlBudget budget;
  const auto file = std::make_shared<const std::string>(name);
  std::optional<YamlValue> document = parse_yaml(text, file, budget, context.diagnostics);
  if (document && document->kind != YamlValue::Kind::map) {
    context.diagnostics.error({file}, "a platform is a map: lines of 'key: value'");
  }
  context.diagnostics.throw_if_any();
  require_our_schema(*document, context.diagnostics);
  if (!expand_ranges(*document, budget, context.diagnostics)) context.diagnostics.throw_all();
  return make_platform(*document, name, context);
}

}  // namespace twinlink::platforms
