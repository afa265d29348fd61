#include "platforms/reader/release_reader.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <system_error>
#include <utility>

#include "platforms/reader/platform_file.hpp"
#include "platforms/yaml/sourced.hpp"
#include "platforms/yaml/yaml_document.hpp"
#include "platforms/yaml/yaml_section.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

namespace fs = std::filesystem;
using Kind = YamlValue::Kind;

Rate read_value(std::string_view text, Rate /*kind*/) { return parse_rate(text); }
Seconds read_value(std::string_view text, Seconds /*kind*/) { return parse_seconds(text); }
Bytes read_value(std::string_view text, Bytes /*kind*/) { return parse_bytes(text); }

/// "85 %".
double read_value(std::string_view text, double /*kind*/) {
  double percent = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), percent);
  constexpr double kMost = 100;
  const bool whole = std::string_view(end, text.data() + text.size()) == " %";
  if (wrong == std::errc{} && whole && percent >= 0 && percent <= kMost) return percent / kMost;
  throw UnitError("'" + std::string(text) + "' is no share from 0 % to 100 %");
}

int read_value(std::string_view text, int /*kind*/) {
  int number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  constexpr int kMost = 200;
  if (wrong == std::errc{} && end == text.data() + text.size() && number >= 1 && number <= kMost) return number;
  throw UnitError("'" + std::string(text) + "' is no whole number from 1 to 200");
}

bool read_value(std::string_view text, bool /*kind*/) {
  if (text == "true" || text == "false") return text == "true";
  throw UnitError("'" + std::string(text) + "' is neither true nor false");
}

Level read_value(std::string_view text, Level /*kind*/) {
  const auto* const found = std::ranges::find(kLevels, text, [](Level level) { return to_string(level); });
  if (found != kLevels.end()) return *found;
  throw UnitError("'" + std::string(text) + "' is no level: LOC, NVL, C2C, PIX, PXB, PHB or SYS");
}

class Reader {
 public:
  explicit Reader(ReadContext& context) : context_(context) {}

  /// A number, or a list of so many, or a list of such lists.
  template <class T>
  void fill(const YamlValue& value, T& into) {
    if (value.kind != Kind::scalar) return wrong(value, "one value is expected");
    try {
      into = read_value(value.text, T{});
    } catch (const UnitError& error) {
      wrong(value, error.what());
    }
  }
  template <class T, std::size_t kCount>
  void fill(const YamlValue& value, std::array<T, kCount>& into) {
    if (value.kind != Kind::list || value.items.size() != kCount) {
      return wrong(value, "a list of " + std::to_string(kCount) + " is expected");
    }
    for (std::size_t i = 0; i < kCount; ++i) fill(value.items[i], into[i]);
  }
  template <class T>
  void fill(const YamlValue& value, std::vector<T>& into) {
    if (value.kind != Kind::list || value.items.empty()) return wrong(value, "a list is expected");
    for (const YamlValue& item : value.items) fill(item, into.emplace_back());
  }
  template <class T>
  void fill(const YamlValue& value, gpu::ByFormat<T>& into) {
    fill(value, into.of);
  }

  /// The number under `key`: a map of its value and its source.
  template <class T>
  void take(Section& section, std::string_view key, T& into) {
    if (section.require(key) == nullptr) return;
    section.nested(key, "'" + std::string(key) + "'", [&](Section& number) {
      if (const YamlValue* const value = number.require("value")) fill(*value, into);
      const auto sources = std::ranges::count_if(kQualities, [&](Quality quality) {
        return !number.optional(to_string(quality), &Section::text).value_or("").empty();
      });
      if (sources != 1) number.error(number.position(), "'" + std::string(key) + "' needs one source, as 'datasheet'");
    });
  }
  template <class T>
  void take_optional(Section& section, std::string_view key, T& into) {
    if (section.find(key) != nullptr) take(section, key, into);
  }
  void take(Section& section, std::string_view key, gpu::Latencies& into) {
    section.nested(key, "'" + std::string(key) + "'", [&](Section& map) {
      take(map, "ring", into.ring);
      take(map, "tree", into.tree);
    });
  }
  /// By compute capability, 10 times its first number and its second.
  template <class T>
  void take(Section& section, std::string_view key, gpu::ByCapability<T>& into) {
    const YamlValue* const map = section.require(key);
    if (map == nullptr) return;
    section.nested(key, "'" + std::string(key) + "'", [&](Section& table) {
      for (const YamlValue::Entry& entry : map->entries) {
        int capability = 0;
        const auto [end, bad] = std::from_chars(entry.key.data(), entry.key.data() + entry.key.size(), capability);
        if (bad != std::errc{} || end != entry.key.data() + entry.key.size()) {
          table.error(entry.position, "'" + entry.key + "' is no compute capability such as 90");
        }
        take(table, entry.key, into[capability]);
      }
      if (into.empty()) table.error(table.position(), "'" + std::string(key) + "' is empty");
    });
  }

  template <class T>
  void take_by_cpu(Section& section, std::map<Cpu, T>& into, bool all = true) {
    for (const Cpu cpu : kCpus) {
      if (cpu == Cpu::unknown || (!all && section.find(to_string(cpu)) == nullptr)) continue;
      take(section, to_string(cpu), into[cpu]);
    }
  }

 private:
  void wrong(const YamlValue& value, const std::string& what) { context_.diagnostics.error(value.position, what); }

  ReadContext& context_;
};

void read(Section& root, Reader& reader, gpu::Release& release) {
  release.name = root.text("name");
  reader.take(root, "oldest", release.oldest);
  root.nested("latencies", "'latencies'", [&](Section& map) {
    reader.take(map, "base", release.base);
    reader.take(map, "links", release.over_links);
    reader.take(map, "pcie", release.over_pcie);
    reader.take(map, "network", release.over_network);
    reader.take(map, "overhead_amd", release.network_overhead_amd);
    reader.take(map, "overhead", release.network_overhead);
    reader.take_optional(map, "alone_as_trees", release.tree_latency_alone);
    reader.take_optional(map, "all_nodes_left", release.all_nodes_left);
    reader.take(map, "switch", release.switched);
    reader.take(map, "switch_hop", release.switch_hop);
    reader.take_optional(map, "pat", release.pat);
  });
  root.nested("bandwidths", "'bandwidths'", [&](Section& map) {
    reader.take(map, "ll", release.ll);
    reader.take(map, "ring_ll128", release.ring_ll128);
    reader.take(map, "tree_ll128", release.tree_ll128);
    reader.take(map, "tree", release.tree);
    reader.take(map, "tree_share", release.tree_share);
    const auto nothing = [](const auto& shares) {
      return std::ranges::any_of(shares, [](double s) { return s <= 0; });
    };
    if (std::ranges::any_of(release.tree_share, nothing))
      map.error(map.position(), "'tree_share': a tree gets something");
    reader.take_optional(map, "alone_ll128", release.alone_ll128);
    reader.take_optional(map, "switch_flat", release.switch_flat);
    reader.take_optional(map, "pat", release.pat_share);
    if (release.switch_flat == 0) {
      reader.take(map, "switch_share", release.switch_share);
      reader.take(map, "switch_tree", release.switch_tree);
    }
  });
  root.nested("channels", "'channels'", [&](Section& map) {
    reader.take(map, "most", release.most_channels);
    constexpr int kMostChannels = 64;
    if (release.most_channels > kMostChannels) map.error(map.position(), "'most': there are 64 channels at the most");
    reader.take(map, "switch", release.switch_channels);
    reader.take(map, "switch_between", release.switch_channels_between);
    reader.take(map, "worth", release.worth);
    if (map.find("worth") != nullptr && std::ranges::find(release.worth.of, Bytes{}) != release.worth.of.end()) {
      map.error(map.position(), "'worth': a channel is worth a byte at least");
    }
    reader.take_optional(map, "in_cells", release.in_cells);
    reader.take(map, "most_by_ll", release.most_by_ll);
    reader.take_optional(map, "ll_by_most", release.ll_by_most);
    reader.take_optional(map, "message_channel", release.message_channel);
    reader.take(map, "within", release.speeds_within);
    reader.take(map, "between", release.speeds_between);
  });
  root.nested("links", "'links'", [&](Section& map) {
    reader.take(map, "gpu", release.link);
    reader.take(map, "pcie3_x16", release.pcie);
    reader.take(map, "unknown_adapter", release.unknown_adapter);
    map.nested("sockets", "'sockets'", [&](Section& sockets) { reader.take_by_cpu(sockets, release.sockets); });
  });
  root.nested("levels", "'levels'", [&](Section& map) {
    reader.take(map, "p2p", release.p2p);
    if (map.find("p2p_on") != nullptr) {
      map.nested("p2p_on", "'p2p_on'", [&](Section& cpus) { reader.take_by_cpu(cpus, release.p2p_on, false); });
    }
    reader.take_optional(map, "p2p_two_amd", release.p2p_two_amd);
    reader.take(map, "gdr", release.gdr);
    reader.take(map, "ll128", release.ll128);
    reader.take_optional(map, "ll128_on", release.ll128_on);
    reader.take_optional(map, "ll128_mixed", release.ll128_mixed);
    reader.take_optional(map, "c2c_is_near", release.c2c_is_near);
  });
}

std::shared_ptr<const gpu::Release> read_release(const fs::path& file) {
  auto release = std::make_shared<gpu::Release>();
  read_file(file, "the release", [&](Section& top, ReadContext& context) {
    Reader reader(context);
    read(top, reader, *release);
  });
  return release;
}

/// Null where the folder of platforms is not found.
fs::path folder_of_releases() {
  try {
    return platforms_folder() / "parts" / "ccl";
  } catch (const UsageError&) {
    return {};
  }
}

/// "nccl-2.9" is older than "nccl-2.28".
bool is_older(const std::string& one, const std::string& other) {
  const auto number = [](const std::string& name) {
    const std::size_t point = name.rfind('.');
    int minor = 0;
    if (point != std::string::npos) std::from_chars(name.data() + point + 1, name.data() + name.size(), minor);
    return std::pair(name.substr(0, point), minor);
  };
  return number(one) < number(other);
}

/// Of a number or a list of any depth, without its source.
std::string text_of(const YamlValue* value) {
  if (value == nullptr) return "";
  if (value->is_number()) return text_of(value->find("value"));
  if (value->kind != Kind::list) return value->text;
  std::string text;
  for (const YamlValue& item : value->items) text += (text.empty() ? "" : ", ") + text_of(&item);
  return "[" + text + "]";
}

}  // namespace

std::vector<std::string> release_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_of_releases(), error)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names, is_older);
  return names;
}

std::shared_ptr<const gpu::Release> find_release(std::string_view named) {
  if (named.ends_with(".yaml") || named.find('/') != std::string_view::npos) return read_release(fs::path(named));
  const std::vector<std::string> names = release_names();
  if (named.empty()) return names.empty() ? nullptr : read_release(folder_of_releases() / (names.back() + ".yaml"));
  if (std::ranges::find(names, named) != names.end()) {
    return read_release(folder_of_releases() / (std::string(named) + ".yaml"));
  }
  std::string message = "there is no release '" + std::string(named) + "' (there are:";
  for (const std::string& name : names) message += " " + name;
  throw UsageError(message + ")");
}

std::vector<TableDifference> difference_of_releases(const std::string& a, const std::string& b) {
  std::vector<TableDifference> found;
  const auto document = [](const std::string& name) {
    Diagnostics diagnostics;
    std::optional<YamlValue> text = load_yaml(folder_of_releases() / (name + ".yaml"), diagnostics);
    if (!text) diagnostics.throw_all();
    return *std::move(text);
  };
  const auto compare = [&](const auto& self, const std::string& path, const YamlValue* one,
                           const YamlValue* other) -> void {
    const YamlValue& some = one != nullptr ? *one : *other;
    if (some.kind == Kind::map && !some.is_number()) {
      std::vector<std::string> keys = some.keys();
      for (const std::string& key : other != nullptr ? other->keys() : std::vector<std::string>{}) {
        if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
      }
      const auto in = [](const YamlValue* map, const std::string& key) {
        return map != nullptr ? map->find(key) : nullptr;
      };
      for (const std::string& key : keys)
        self(self, path.empty() ? key : path + "." + key, in(one, key), in(other, key));
      return;
    }
    const std::string was = text_of(one);
    const std::string is = text_of(other);
    if (path != "name" && was != is) found.push_back({path, was, is});
  };
  const YamlValue one = document(a);
  const YamlValue other = document(b);
  compare(compare, "", &one, &other);
  return found;
}

}  // namespace twinlink::platforms
