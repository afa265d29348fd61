#include "platforms/tools/template.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "platforms/yaml/yaml_document.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/core/text.hpp"

namespace twinlink::platforms {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  if (error) throw UsageError(folder.string() + ": " + error.message() + ": there are no such parts");
  std::ranges::sort(names);
  return names;
}

/// The part that `word` means: the whole name, or whole words of it.
std::string find_part(const fs::path& parts, const std::string& kind, const std::string& word) {
  const std::vector<std::string> names = names_in(parts / kind);
  if (std::ranges::find(names, word) != names.end()) return word;
  std::vector<std::string> fitting;
  for (const std::string& name : names) {
    if (("-" + name + "-").find("-" + word + "-") != std::string::npos) fitting.push_back(name);
  }
  if (fitting.size() == 1) return fitting.front();
  const std::string option = fmt::format("--{} {}", kind, word);
  if (fitting.empty()) {
    const std::string meant = closest(word, names);
    throw UsageError(fmt::format("{}: there is no such part{}; there is: {}", option,
                                 meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant),
                                 fmt::join(names, ", ")));
  }
  // Modules on a board are what servers with several GPUs have.
  const auto module = std::ranges::find_if(fitting, [](const std::string& name) { return name.ends_with("-sxm"); });
  if (module != fitting.end()) return *module;
  throw UsageError(fmt::format("{} may be {}: say which", option, fmt::join(fitting, " or ")));
}

YamlValue load_part(const fs::path& file) {
  Diagnostics diagnostics;
  std::optional<YamlValue> part = load_yaml(file, diagnostics);
  diagnostics.throw_if_any();
  return *std::move(part);
}

std::vector<std::string> keys_of(const YamlValue& part, std::string_view section, std::string_view below) {
  const YamlValue* found = part.find(section);
  if (found != nullptr && !below.empty()) found = found->find(below);
  return found == nullptr ? std::vector<std::string>() : found->keys();
}

/// "gpu[0-7]", or "gpu0".
std::string many(const std::string& name, int count) {
  return count == 1 ? name + "0" : fmt::format("{}[0-{}]", name, count - 1);
}

struct PcieSlot {
  std::string rate{};
  std::string source{};  ///< of those that all parts know
};

/// By the GPU's compute capability: what its generation has.
PcieSlot slot_of(std::string_view capability) {
  if (capability.starts_with("9") || capability.size() > 3) return {"57.6 GB/s", "pcie5-x16"};
  if (capability.starts_with("8")) return {"28.8 GB/s", "pcie4-x16"};
  return capability.starts_with("3.0") || capability.starts_with("2.") ? PcieSlot{"7.31 GB/s", "pcie2-x16"}
                                                                       : PcieSlot{"14.4 GB/s", "pcie3-x16"};
}

/// Which parts a file includes, and what they call theirs.
struct ChosenParts {
  std::vector<std::string> files{};
  std::string gpu_type{};
  std::string gpu_model{};
  PcieSlot slot{};
  std::string root{};  ///< what GPUs and adapters are on: "socket"
  int roots = 0;
};

/// NVSwitches for so many of these GPUs, if there is a part for them.
std::string nvswitch_of(const fs::path& parts, const std::string& gpu, int gpus) {
  const std::string name = fmt::format("nvswitch-{}-{}", gpus, gpu.substr(0, gpu.find('-')));
  const std::vector<std::string> names = names_in(parts / "switch");
  const bool is_module = gpu.ends_with("-sxm") || gpu == "2030";
  return is_module && std::ranges::find(names, name) != names.end() ? name : "";
}

ChosenParts choose(const TemplateWishes& wishes, const fs::path& parts) {
  ChosenParts chosen;
  const auto take = [&](const std::string& kind, const std::string& word) {
    std::string name = find_part(parts, kind, word);
    chosen.files.push_back(kind + "/" + name + ".yaml");
    return name;
  };
  const std::string gpu = take("gpu", wishes.gpu);
  const YamlValue gpu_part = load_part(parts / chosen.files.back());
  const std::vector<std::string> types = keys_of(gpu_part, "gpu_types", "");
  if (types.empty()) throw InputError(chosen.files.back() + ": error: this part has no 'gpu_types'");
  chosen.gpu_type = types.front();
  const YamlValue* const type = gpu_part.find("gpu_types")->find(chosen.gpu_type);
  const auto text = [&](std::string_view key) { return type->find(key) == nullptr ? "" : type->find(key)->text; };
  chosen.gpu_model = text("model");
  chosen.slot = slot_of(text("capability"));

  take("cpu", wishes.cpu);
  const YamlValue cpu_part = load_part(parts / chosen.files.back());
  for (const auto& [section, name] :
       {std::pair("memories", "numa"), std::pair("hubs", "ioh"), std::pair("hubs", "socket")}) {
    const std::vector<std::string> keys = keys_of(cpu_part, "nodes", section);
    const auto is_root = [&](const std::string& key) { return key.starts_with(name); };
    const auto count = static_cast<int>(std::ranges::count_if(keys, is_root));
    if (count == 0) continue;
    chosen.root = name;
    chosen.roots = count;
  }
  if (chosen.roots == 0) throw InputError(chosen.files.back() + ": error: this part has neither 'numa0' nor 'socket0'");

  const std::string switches = wishes.switches.empty() ? nvswitch_of(parts, gpu, wishes.gpus) : wishes.switches;
  if (!switches.empty() && switches != "none") take("switch", switches);
  if (!wishes.nic.empty()) take("nic", wishes.nic);
  take("mpi", wishes.mpi);
  const bool is_amd = gpu.starts_with("mi");
  take("driver", !wishes.driver.empty() ? wishes.driver : is_amd ? "rocm6" : "cuda12");
  return chosen;
}

}  // namespace

std::string template_text(const TemplateWishes& wishes, const fs::path& parts) {
  const ChosenParts chosen = choose(wishes, parts);
  if (wishes.gpus % chosen.roots != 0) {
    throw UsageError(
        fmt::format("--gpus {}: the {} sockets of this CPU cannot share them evenly", wishes.gpus, chosen.roots));
  }
  const int count = wishes.adapters == 0 ? wishes.gpus : wishes.adapters;
  if (wishes.adapters != 0 && wishes.nic.empty()) throw UsageError("--adapters needs --nic: which adapters");
  if (wishes.gpus % count != 0) {
    throw UsageError(fmt::format("--adapters {}: {} GPUs cannot share them evenly", count, wishes.gpus));
  }
  std::string text = fmt::format(
      "# A template: each GPU{} on a socket by a link of its own. Put the switches and the links of the machine in\n"
      "# their place, and say of each number where it comes from: platforms/SCHEMA.md, and 'twinlink-sim check'.\n"
      "schema: 2\nname: {}\ndescription: \"{} x {}\"\ninclude:\n",
      wishes.nic.empty()     ? ""
      : count == wishes.gpus ? " and its adapter"
                             : ", and each adapter,",
      wishes.name, wishes.gpus, chosen.gpu_model);
  for (const std::string& file : chosen.files) {
    text += fmt::format("  - {}\n", (fs::path("parts") / file).generic_string());
  }
  const std::string gpus = many("gpu", wishes.gpus);
  const std::string adapters = many("hca", count);
  const std::string roots = many(chosen.root, chosen.roots);
  text += fmt::format("nodes:\n  count: {}\n", wishes.nic.empty() ? 1 : wishes.nodes);
  if (!wishes.nic.empty()) text += fmt::format("  nics:\n    {}: {{}}\n", adapters);
  text += fmt::format("  gpus:\n    {}: {{type: {}{}}}\n  links:\n", gpus, chosen.gpu_type,
                      wishes.nic.empty() ? "" : ", nic: \"" + adapters + "\"");
  // Fewer adapters than sockets are on the first ones.
  const std::string adapter_roots = many(chosen.root, std::min(chosen.roots, count));
  const auto add_link = [&](const std::string& name, const std::string& from, const std::string& to) {
    text += fmt::format(
        "    {}:\n      from: \"{}\"\n      to: \"{}\"\n      bandwidth: {{value: {}, derived: {}}}\n"
        "      latency: {{value: 0.15 us, derived: pcie-hop}}\n",
        name, from, to, chosen.slot.rate, chosen.slot.source);
  };
  add_link(many("gpu-pcie", wishes.gpus), gpus, roots);
  if (!wishes.nic.empty()) add_link(many("hca-pcie", count), adapters, adapter_roots);
  return text;
}

}  // namespace twinlink::platforms
