#include "model/platform/platform_reader.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "model/platform/node_checks.hpp"
#include "model/platform/platform_file.hpp"
#include "model/platform/topology.hpp"
#include "model/platform/yaml_document.hpp"
#include "model/platform/yaml_events.hpp"
#include "model/platform/yaml_section.hpp"
#include "protocols/core/edit_distance.hpp"

namespace twinlink::model {
namespace {

constexpr int kSchema = 1;
constexpr int kMostNodes = 1'000'000;

void read_sources(Section& root, const YamlValue& document, ReadContext& context) {
  root.find("sources");
  const YamlValue* sources = document.find("sources");
  if (sources == nullptr) return;
  Section section(*sources, "sources", context);
  for (const auto& entry : sources->entries) context.named_sources[entry.key] = section.text(entry.key);
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

void read_capability(Section& section, Gpu& gpu) {
  const std::string text = section.text("capability");
  const char* const end = text.data() + text.size();
  const auto [point, first] = std::from_chars(text.data(), end, gpu.capability_major);
  if (first == std::errc{} && point != end && *point == '.') {
    const auto [stop, second] = std::from_chars(point + 1, end, gpu.capability_minor);
    if (second == std::errc{} && stop == end && gpu.capability_major >= 0 && gpu.capability_minor >= 0) return;
  }
  if (!text.empty()) {
    section.error(section.position("capability"),
                  "'capability' in GPU '" + gpu.name + "': '" + text + "' is no compute capability such as \"2.0\"");
  }
}

Gpu read_gpu(const std::string& name, Section& section) {
  Gpu gpu{.name = name, .model = section.text("model"), .memory = section.bytes("memory")};
  read_capability(section, gpu);
  gpu.unified_addressing = section.boolean("unified_addressing");
  gpu.memory_near = section.text("memory_near");
  gpu.nic = section.optional("nic", &Section::text).value_or("");
  gpu.peer_domain = section.text("peer_domain");
  return gpu;
}

/// `bandwidth` stands for the directions that are not given by themselves.
Link read_link(const std::string& name, Section& section) {
  Link link{.name = name, .from = section.text("from"), .to = section.text("to")};
  const auto both = section.optional("bandwidth", &Section::rate);
  const auto direction = [&](std::string_view key) {
    return both ? section.optional(key, &Section::rate).value_or(*both) : section.rate(key);
  };
  link.forward = direction("forward");
  link.backward = direction("backward");
  link.total = section.optional("total", &Section::rate);
  return link;
}

Node read_node(Section& section) {
  Node node;
  node.count = section.integer("count", 1, kMostNodes);
  section.each("memories", "memory", [&](const std::string& name, Section& memory) {
    node.memories.push_back({name, memory.rate("copy_rate"), memory.optional("cache", &Section::bytes)});
  });
  node.hubs = section.texts("hubs");
  node.nics = section.texts("nics");
  section.each("gpus", "GPU", [&](const std::string& name, Section& gpu) { node.gpus.push_back(read_gpu(name, gpu)); });
  section.each("links", "link",
               [&](const std::string& name, Section& link) { node.links.push_back(read_link(name, link)); });
  return node;
}

// ---- fabric ---------------------------------------------------------------------------------------------------------

Rdma read_rdma(Section& section) {
  Rdma rdma{.hypothetical = section.optional("hypothetical", &Section::text).value_or("")};
  const auto read = [&](RdmaDistance way, std::optional<RdmaLimits>& limits) {
    const std::string name(to_string(way));
    if (section.find(name) == nullptr) return;
    section.nested(name, "rdma '" + name + "'", [&](Section& map) {
      limits = RdmaLimits{map.rate("read"), map.rate("write"), map.seconds("latency")};
    });
  };
  read(RdmaDistance::through_switch, rdma.through_switch);
  read(RdmaDistance::near, rdma.near);
  read(RdmaDistance::far, rdma.far);
  return rdma;
}

Fabric read_fabric(Section& section) {
  Fabric fabric{.link = section.rate("link"), .duplex = section.optional("duplex", &Section::rate)};
  if (section.find("rdma") != nullptr) {
    section.nested("rdma", "'rdma'", [&](Section& rdma) { fabric.rdma = read_rdma(rdma); });
  }
  return fabric;
}

// ---- costs ----------------------------------------------------------------------------------------------------------

Cost read_cost(Section& section) {
  return {.overhead = section.seconds("overhead"),
          .latency = section.piecewise("latency"),
          .rate = section.optional("rate", &Section::rate),
          .gap = section.optional("gap", &Section::piecewise)};
}

Cost read_cost(Section& section, CopyClass copy_class) {
  Cost cost = read_cost(section);
  if (reads_host_memory(copy_class)) cost.cpu_written = section.optional("cpu_written", &Section::piecewise);
  return cost;
}

NetworkCosts read_network(Section& section) {
  return {.send_overhead = section.piecewise("send_overhead"),
          .receive_overhead = section.seconds("receive_overhead"),
          .latency = section.piecewise("latency"),
          .rate = section.optional("rate", &Section::rate),
          .eager_limit = section.bytes("eager_limit"),
          .control = section.seconds("control"),
          .control_receive_overhead = section.optional("control_receive_overhead", &Section::seconds),
          .gap = section.optional("gap", &Section::piecewise),
          .completion = section.optional("completion", &Section::piecewise),
          .send_completion = section.optional("send_completion", &Section::seconds)};
}

CopiedBy read_copied_by(Section& section) {
  const std::string word = section.optional("copied_by", &Section::text).value_or("none");
  const auto* const found = std::ranges::find(kCopiedBy, word, [](CopiedBy by) { return to_string(by); });
  if (found != kCopiedBy.end()) return *found;
  section.error(section.position("copied_by"),
                "'copied_by' in 'intra_node': '" + word + "' is not one of none, receiver, both");
  return CopiedBy::none;
}

/// Bytes that caches do not hold take longer than others, and only where something says what caches hold.
void read_uncached(Section& section, const Node& node, NetworkCosts& costs) {
  costs.uncached = section.optional("uncached", &Section::rate);
  if (!costs.uncached) return;
  const bool cached = std::ranges::any_of(node.memories, [](const HostMemory& m) { return m.cache.has_value(); });
  if (!cached) {
    section.error(section.position("uncached"), "'uncached' in 'intra_node' needs a memory with a 'cache'");
  }
  if (!costs.rate || costs.uncached->value > costs.rate->value) {
    section.error(section.position("uncached"), "'uncached' in 'intra_node' needs a 'rate' that is not lower");
  }
}

NetworkCosts read_intra_node(Section& section, const Node& node) {
  NetworkCosts costs = read_network(section);
  read_uncached(section, node, costs);
  costs.piece = section.optional("piece", &Section::bytes);
  costs.copied_by = read_copied_by(section);
  if (costs.piece && (costs.copied_by == CopiedBy::none || costs.piece->value < costs.eager_limit.value)) {
    section.error(section.position("piece"),
                  "'piece' in 'intra_node' needs 'copied_by' and is not below 'eager_limit'");
  }
  if (costs.copied_by != CopiedBy::none && !costs.rate) {
    section.error(section.position("copied_by"),
                  "'copied_by' in 'intra_node' needs 'rate': the bytes that one CPU copies per second");
  }
  return costs;
}

RuntimeCosts read_runtime(Section& section) {
  return {.allocate_device = section.seconds("allocate_device"),
          .ipc_export = section.seconds("ipc_export"),
          .ipc_open = section.seconds("ipc_open"),
          .ipc_close = section.seconds("ipc_close"),
          .pin_base = section.seconds("pin_base"),
          .pin_per_gib = section.seconds("pin_per_gib"),
          .engine_block = section.optional("engine_block", &Section::seconds),
          .kernel_block = section.optional("kernel_block", &Section::seconds),
          .signal = section.optional("signal", &Section::seconds),
          .kernel_signal = section.optional("kernel_signal", &Section::piecewise),
          .signal_gap = section.optional("signal_gap", &Section::seconds),
          .kernel_signal_gap = section.optional("kernel_signal_gap", &Section::seconds),
          .register_base = section.optional("register_base", &Section::seconds),
          .register_per_gib = section.optional("register_per_gib", &Section::seconds),
          .deregister = section.optional("deregister", &Section::seconds),
          .completion = section.optional("completion", &Section::seconds),
          .look = section.optional("look", &Section::seconds)};
}

/// Host memory is copied at the rate of the slowest memory, unless the file gives a rate for it.
void complete_host_to_host(Platform& platform) {
  const auto found = platform.copies.find(CopyClass::host_to_host);
  if (found == platform.copies.end() || found->second.rate || platform.node.memories.empty()) return;
  found->second.rate = std::ranges::min(platform.node.memories, {}, [](const HostMemory& memory) {
                         return memory.copy_rate.value;
                       }).copy_rate;
}

void read_copies(Section& costs, Platform& platform) {
  costs.nested("copies", "'copies'", [&](Section& copies) {
    for (int i = 0; i < kCopyClasses; ++i) {
      const auto copy_class = static_cast<CopyClass>(i);
      const std::string name(to_string(copy_class));
      if (copies.find(name) == nullptr) continue;
      copies.nested(name, "copies '" + name + "'",
                    [&](Section& cost) { platform.copies[copy_class] = read_cost(cost, copy_class); });
    }
  });
  complete_host_to_host(platform);
}

/// GPUs of one peer domain that are too old for peer access have their copies staged.
bool needs_staging_within(const Platform& platform, const std::string& domain) {
  const Topology topology(platform);
  const std::vector<Gpu>& gpus = platform.node.gpus;
  for (std::size_t a = 0; a < gpus.size(); ++a) {
    for (std::size_t b = a + 1; b < gpus.size(); ++b) {
      if (gpus[a].peer_domain == domain && gpus[b].peer_domain == domain && !topology.peer_access(a, b)) return true;
    }
  }
  return false;
}

void read_staged_peers(Section& costs, Platform& platform) {
  std::vector<std::string> domains;
  for (const Gpu& gpu : platform.node.gpus) domains.push_back(gpu.peer_domain);
  costs.each_item("staged_peers", "a staged peer", [&](Section& section) {
    StagedPeer staged{section.text("from"), section.text("to"), read_cost(section)};
    for (const char* key : {"from", "to"}) {
      const std::string& domain = *key == 'f' ? staged.from_domain : staged.to_domain;
      if (domain.empty() || std::ranges::find(domains, domain) != domains.end()) continue;
      section.error(section.position(key),
                    "'" + std::string(key) + "' in a staged peer: no GPU has the peer domain '" + domain + "'");
    }
    if (!staged.from_domain.empty() && staged.from_domain == staged.to_domain &&
        !needs_staging_within(platform, staged.from_domain)) {
      section.error(section.position("to"),
                    "a staged peer within '" + staged.to_domain + "' is never used: no two GPUs there need it");
    }
    const auto is_same = [&](const StagedPeer& other) {
      return other.from_domain == staged.from_domain && other.to_domain == staged.to_domain;
    };
    if (!staged.from_domain.empty() && !staged.to_domain.empty() &&
        std::ranges::any_of(platform.staged_peers, is_same)) {
      section.error(section.position(), "two entries for '" + staged_name(staged) + "'");
    }
    platform.staged_peers.push_back(std::move(staged));
  });
}

void read_costs(Section& costs, Platform& platform) {
  read_copies(costs, platform);
  read_staged_peers(costs, platform);
  if (platform.fabric) {
    costs.nested("network", "'network'", [&](Section& section) { platform.network = read_network(section); });
  } else if (const YamlValue* network = costs.find("network")) {
    costs.error(network->position, "'network' in 'costs' belongs to a 'fabric', and this platform has none");
  }
  costs.nested("intra_node", "'intra_node'",
               [&](Section& section) { platform.intra_node = read_intra_node(section, platform.node); });
  costs.nested("runtime", "'runtime'", [&](Section& section) { platform.runtime = read_runtime(section); });
}

// ---- the whole ------------------------------------------------------------------------------------------------------

/// A file of another schema would give nothing but misleading errors.
bool has_our_schema(const YamlValue& document, Diagnostics& diagnostics) {
  const YamlValue* schema = document.find("schema");
  const std::string ours = std::to_string(kSchema);
  if (schema != nullptr && schema->text == ours) return true;
  diagnostics.error(
      schema == nullptr ? document.position : schema->position,
      (schema == nullptr ? "missing key 'schema' in the platform" : "unknown schema '" + schema->text + "'") +
          "; this program reads schema " + ours);
  return false;
}

void read_document(const YamlValue& document, Platform& platform, ReadContext& context) {
  Section root(document, "the platform", context);
  root.require("schema");
  read_sources(root, document, context);
  platform.name = root.text("name");
  platform.description = root.text("description");
  root.nested("nodes", "'nodes'", [&](Section& nodes) { platform.node = read_node(nodes); });
  if (root.find("fabric") != nullptr) {
    root.nested("fabric", "'fabric'", [&](Section& fabric) { platform.fabric = read_fabric(fabric); });
  }
  root.nested("costs", "'costs'", [&](Section& costs) { read_costs(costs, platform); });
}

/// Checks and takes apart a document of our schema.
Platform make_platform(const YamlValue& document, std::string name, ReadContext& context) {
  Platform platform{.file = std::move(name)};
  read_document(document, platform, context);
  if (const YamlValue* nodes = document.find("nodes")) check_node(platform, *nodes, context.diagnostics);
  context.diagnostics.throw_if_any();
  return platform;
}

void require_our_schema(const YamlValue& document, Diagnostics& diagnostics) {
  if (!has_our_schema(document, diagnostics)) diagnostics.throw_all();
}

}  // namespace

Platform read_platform(const std::filesystem::path& named, std::span<const std::string> overrides) {
  const std::filesystem::path file = find_platform(named);
  ReadContext context;
  std::optional<YamlValue> loaded = load_yaml(file, context.diagnostics);
  if (!loaded) context.diagnostics.throw_all();
  YamlValue document = std::move(*loaded);
  require_our_schema(document, context.diagnostics);
  for (const std::string& assignment : overrides) apply_override(document, assignment);
  require_our_schema(document, context.diagnostics);
  return make_platform(document, file.lexically_normal().string(), context);
}

Platform read_platform_text(const std::string& text, const std::string& name) {
  ReadContext context;
  YamlBudget budget;
  const auto file = std::make_shared<const std::string>(name);
  const std::optional<YamlValue> document = parse_yaml(text, file, budget, context.diagnostics);
  if (document && document->kind != YamlValue::Kind::map) {
    context.diagnostics.error({file}, "a platform is a map: lines of 'key: value'");
  }
  context.diagnostics.throw_if_any();
  require_our_schema(*document, context.diagnostics);
  return make_platform(*document, name, context);
}

}  // namespace twinlink::model
