#include "platforms/import/adapter_table.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "platforms/reader/platform_file.hpp"
#include "platforms/yaml/yaml_document.hpp"
#include "platforms/yaml/yaml_section.hpp"

namespace twinlink::platforms {
namespace {

struct AdapterModel {
  std::vector<std::string> devices{};
  std::vector<std::string> names{};
  Sourced<Rate> rate{};
};

std::vector<AdapterModel> read_adapters() {
  ReadContext context;
  std::vector<AdapterModel> table;
  const std::optional<YamlValue> document =
      load_yaml(platforms_folder() / "parts" / "models" / "adapters.yaml", context.diagnostics);
  if (!document) context.diagnostics.throw_all();
  {
    Section root(*document, "the table of adapters", context);
    root.each("adapters", "adapter", [&](const std::string& name, Section& row) {
      AdapterModel model{.devices = row.texts("ids"), .names = row.texts("names")};
      model.rate.source = {Quality::derived, "the most of a " + name + "; " + row.text("source")};
      try {
        model.rate.value = parse_rate(row.text("rate"));
      } catch (const UnitError& error) {
        row.error(row.position("rate"), error.what());
      }
      table.push_back(std::move(model));
    });
  }
  context.diagnostics.throw_if_any();
  return table;
}

}  // namespace

std::optional<Sourced<Rate>> adapter_rate(std::string_view device_id, std::string_view name) {
  static const std::vector<AdapterModel> table = read_adapters();
  const auto by = [&](const auto& is) -> std::optional<Sourced<Rate>> {
    const auto found = std::ranges::find_if(table, is);
    return found == table.end() ? std::nullopt : std::optional(found->rate);
  };
  const auto of_device =
      by([&](const AdapterModel& model) { return std::ranges::find(model.devices, device_id) != model.devices.end(); });
  if (of_device) return of_device;
  auto of_name = by([&](const AdapterModel& model) {
    return std::ranges::any_of(model.names, [&](const std::string& begin) { return name.starts_with(begin); });
  });
  if (of_name) of_name->source.quality = Quality::assumed;
  return of_name;
}

}  // namespace twinlink::platforms
