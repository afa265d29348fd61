#include "platforms/import/gpu_table.hpp"

#include <charconv>
#include <string_view>
#include <tuple>

#include "platforms/reader/platform_file.hpp"
#include "platforms/yaml/yaml_section.hpp"

namespace twinlink::platforms {
namespace {

/// A model says what of its family is otherwise.
template <class T>
void take(std::optional<T> said, std::optional<T>& into) {
  if (said) into = said;
}

void take(Section& section, std::string_view key, std::optional<int>& into, int most) {
  if (section.find(key) != nullptr) into = section.integer(key, 0, most);
}

/// One of two words, or neither.
void take(Section& section, std::string_view key, std::initializer_list<std::string_view> words, std::string& into) {
  const auto text = section.optional(key, &Section::text);
  if (!text) return;
  into = *text;
  std::string all;
  for (const std::string_view word : words) {
    if (into == word) return;
    all += (all.empty() ? "" : " or ") + std::string(word);
  }
  section.error(section.position(key), "'" + into + "' is not " + all);
}

void take_capability(Section& section, GpuModel& model) {
  const auto text = section.optional("capability", &Section::text);
  if (!text) return;
  std::pair<int, int> value;
  const char* const end = text->data() + text->size();
  const auto major = std::from_chars(text->data(), end, value.first);
  if (major.ptr != end && *major.ptr == '.' && std::from_chars(major.ptr + 1, end, value.second).ptr == end) {
    model.capability = value;
  } else {
    section.error(section.position("capability"), "'" + *text + "' is no capability such as \"9.0\"");
  }
}

/// What a family or a model says.
void take_facts(Section& section, GpuModel& model) {
  constexpr int kLatest = 6;
  constexpr int kMostLanes = 32;
  constexpr int kMostLinks = 64;
  take_capability(section, model);
  if (const auto text = section.optional("source", &Section::text)) model.source = *text;
  if (const auto text = section.optional("gcn", &Section::text)) model.gcn = *text;
  take(section, "pcie", model.pcie, kLatest);
  take(section, "lanes", model.lanes, kMostLanes);
  take(section, "links", model.links, kMostLinks);
  take(section.plain_rate("link"), model.link);
  take(section.plain_rate("c2c"), model.c2c);
  take(section.plain_rate("from_host"), model.from_host);
  take(section.plain_rate("to_host"), model.to_host);
  take(section.plain_bytes("memory"), model.memory);
  take(section.plain_rate("memory_rate"), model.memory_rate);
  std::string on_switch;
  take(section, "switch", {"joins", "sums"}, on_switch);
  if (!on_switch.empty()) {
    model.switched = true;
    model.sums = on_switch == "sums";
  }
  std::string peers;
  take(section, "peers", {"links"}, peers);
  if (!peers.empty()) model.pcie_peers = false;
}

void read_family(Section& family, std::vector<GpuModel>& table) {
  constexpr int kLanes = 16;
  GpuModel shared{.lanes = kLanes, .switched = false, .sums = false, .pcie_peers = true};
  const std::string vendor = family.text("vendor");
  take_facts(family, shared);
  family.each("models", "model", [&](const std::string& name, Section& section) {
    GpuModel model = shared;
    model.name = name;
    model.also = section.texts("also");
    for (const std::string& id : section.texts("ids")) model.devices.push_back(vendor + ":" + id);
    take_facts(section, model);
    if (!model.capability || !model.pcie || model.source.empty()) {
      section.error(section.position(), "model '" + name + "' needs a capability, a generation of PCIe and a source");
    }
    table.push_back(std::move(model));
  });
}

std::vector<GpuModel> read_gpus() {
  std::vector<GpuModel> table;
  read_file(platforms_folder() / "parts" / "models" / "gpus.yaml", "the table of GPUs",
            [&](Section& top, ReadContext&) {
              top.each("families", "family", [&](const std::string&, Section& family) { read_family(family, table); });
            });
  return table;
}

auto facts_of(GpuModel& model) {
  return std::tie(model.capability, model.pcie, model.lanes, model.links, model.link, model.switched, model.sums,
                  model.c2c, model.from_host, model.to_host, model.pcie_peers, model.memory, model.memory_rate);
}

}  // namespace

const std::vector<GpuModel>& gpu_table() {
  static const std::vector<GpuModel> table = read_gpus();
  return table;
}

GpuModel common_of(const std::vector<const GpuModel*>& models) {
  if (models.empty()) return {};
  GpuModel common = *models.front();
  for (const GpuModel* const other : models) {
    if (other == models.front()) continue;
    common.name.clear();
    common.also.clear();
    common.devices.clear();
    if (common.gcn != other->gcn) common.gcn.clear();
    if (common.source != other->source) common.source = "data sheets of all GPUs that it may be";
    GpuModel copy = *other;
    std::apply(
        [&](auto&... mine) {
          std::apply([&](auto&... its) { ((mine == its ? void() : mine.reset()), ...); }, facts_of(copy));
        },
        facts_of(common));
  }
  return common;
}

}  // namespace twinlink::platforms
