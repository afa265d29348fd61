#include "platforms/yaml/yaml_document.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "platforms/yaml/yaml_events.hpp"
#include "platforms/yaml/yaml_ranges.hpp"
#include "protocols/bench/results/output_files.hpp"

namespace twinlink::platforms {
namespace fs = std::filesystem;
namespace {

constexpr std::uintmax_t kLargestFile = 1U << 20;

/// A byte that no YAML text has: a control character other than tab and the ends of lines.
bool is_binary(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f;
}

/// The file's content, or the reason why there is none in `problem`.
std::optional<std::string> read_text(const fs::path& file, std::string& problem) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (error || !fs::is_regular_file(status)) {
    problem = error                      ? "cannot be read: " + error.message()
              : fs::is_directory(status) ? "is a folder"
                                         : "is not a regular file";
    return std::nullopt;
  }
  const std::uintmax_t size = fs::file_size(file, error);
  if (error || size > kLargestFile) {
    problem = error ? "cannot be read: " + error.message() : "is larger than 1 MiB, so it is no platform";
    return std::nullopt;
  }
  bench::note_input(file);
  // No more than its size: files of the kernel have none, and to read one may wait for ever.
  std::ifstream stream(file, std::ios::binary);
  std::string text(size, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(size));
  if (!stream || stream.gcount() != static_cast<std::streamsize>(size)) {
    problem = "cannot be read";
    return std::nullopt;
  }
  if (std::ranges::any_of(text, is_binary)) {
    problem = "is a binary file, not YAML";
    return std::nullopt;
  }
  return text;
}

/// Puts what `from` says over `into`.
void merge(YamlValue& into, YamlValue from) {
  using enum YamlValue::Kind;
  if (into.kind != map || from.kind != map || into.is_number() || from.is_number()) {
    into = std::move(from);
    return;
  }
  into.position = from.position;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < into.entries.size(); ++i) places.emplace(into.entries[i].key, i);
  for (auto& entry : from.entries) {
    const auto [place, is_new] = places.emplace(entry.key, into.entries.size());
    if (is_new) {
      into.entries.push_back(std::move(entry));
    } else {
      merge(into.entries[place->second].value, std::move(entry.value));
    }
  }
}

/// Loads a file with what it includes.
class Loader {
 public:
  Loader(Diagnostics& diagnostics, fs::path shared) : diagnostics_(diagnostics), shared_(std::move(shared)) {}

  /// `asked_by` is the place of the include, or the file itself.
  std::optional<YamlValue> load(const fs::path& file, const Position& asked_by) {
    const std::string name = file.lexically_normal().string();
    std::string problem;
    const std::optional<std::string> text = read_text(file, problem);
    if (!text) {
      diagnostics_.error(asked_by, (asked_by.line == 0 ? "the file" : "'" + name + "'") + " " + problem);
      return std::nullopt;
    }
    const auto shared_name = std::make_shared<const std::string>(name);
    std::optional<YamlValue> document = parse_yaml(*text, shared_name, budget_, diagnostics_, asked_by.line == 0);
    if (!document) return std::nullopt;
    if (document->kind == YamlValue::Kind::null) {
      diagnostics_.error({shared_name}, "the file is empty");
      return std::nullopt;
    }
    if (document->kind != YamlValue::Kind::map) {
      diagnostics_.error(document->position, "a platform is a map: lines of 'key: value'");
      return std::nullopt;
    }
    if (!expand_ranges(*document, budget_, diagnostics_)) return std::nullopt;
    open_.push_back(file);
    std::optional<YamlValue> result = merge_includes(*std::move(document), file);
    if (result && !bring_machines(*result, file)) result.reset();
    open_.pop_back();
    return result;
  }

 private:
  std::optional<YamlValue> merge_includes(YamlValue document, const fs::path& file) {
    const auto include = std::ranges::find(document.entries, "include", &YamlValue::Entry::key);
    if (include == document.entries.end()) return document;
    const YamlValue names = std::move(include->value);
    document.entries.erase(include);

    YamlValue result(YamlValue::Kind::map, document.position);
    bool complete = true;
    const auto load_one = [&](const YamlValue& name) {
      std::optional<YamlValue> included;
      if (name.kind != YamlValue::Kind::scalar) {
        diagnostics_.error(name.position, "'include' takes the name of a file or a list of names");
      } else if (const fs::path path = path_of(name.text, file); is_open(path)) {
        diagnostics_.error(name.position, "cyclic include: " + chain_to(path));
      } else {
        included = load(path, name.position);
      }
      complete = complete && included;
      if (included) merge(result, *std::move(included));
    };
    if (names.kind == YamlValue::Kind::list) {
      std::ranges::for_each(names.items, load_one);
    } else {
      load_one(names);
    }
    if (!complete) return std::nullopt;
    merge(result, std::move(document));
    return result;
  }

  /// A file may lie anywhere and include parts: those beside it count, then those of the folders above, then the
  /// shared.
  [[nodiscard]] fs::path path_of(const std::string& name, const fs::path& file) const {
    std::error_code error;
    fs::path beside = file.parent_path() / name;
    if (!name.starts_with("parts/") || fs::exists(beside, error)) return beside;
    // Above "a/b/../mine.yaml" is what "a" lies in, not "a/b".
    fs::path folder = fs::absolute(file, error).lexically_normal().parent_path();
    while (folder.has_relative_path()) {
      folder = folder.parent_path();
      if (fs::exists(folder / name, error)) return folder / name;
    }
    return !shared_.empty() && fs::exists(shared_ / name, error) ? shared_ / name : beside;
  }

  /// A kind of nodes that is those of another machine brings these and their types of GPUs. What is here wins.
  bool bring_machines(YamlValue& document, const fs::path& file) {
    YamlValue* kinds = document.find("kinds");
    if (kinds == nullptr) return true;
    bool complete = true;
    YamlValue brought(YamlValue::Kind::map, document.position);
    for (YamlValue::Entry& kind : kinds->entries) {
      const auto machine = std::ranges::find(kind.value.entries, "machine", &YamlValue::Entry::key);
      if (machine == kind.value.entries.end()) continue;
      const YamlValue name = std::move(machine->value);
      kind.value.entries.erase(machine);
      const fs::path path = file.parent_path() / name.text;
      if (name.kind != YamlValue::Kind::scalar || is_open(path)) {
        diagnostics_.error(name.position, "'machine' takes the name of another platform's file");
        complete = false;
        continue;
      }
      std::optional<YamlValue> other = load(path, name.position);
      complete = complete && other;
      if (!other) continue;
      YamlValue nodes(YamlValue::Kind::map, name.position);
      if (YamlValue* found = other->find("nodes")) nodes.add("nodes", std::move(*found));
      merge(nodes, std::move(kind.value));
      kind.value = std::move(nodes);
      for (const char* key : {"sources", "gpu_types"}) {
        YamlValue one(YamlValue::Kind::map, name.position);
        if (YamlValue* found = other->find(key)) one.add(key, std::move(*found));
        merge(brought, std::move(one));
      }
    }
    merge(brought, std::move(document));
    document = std::move(brought);
    return complete;
  }

  [[nodiscard]] bool is_open(const fs::path& path) const {
    std::error_code none;
    return std::ranges::any_of(open_, [&](const fs::path& other) { return fs::equivalent(path, other, none); });
  }

  [[nodiscard]] std::string chain_to(const fs::path& last) const {
    std::string chain;
    for (const fs::path& file : open_) chain += file.filename().string() + " -> ";
    return chain + last.filename().string();
  }

  Diagnostics& diagnostics_;
  fs::path shared_;
  YamlBudget budget_{};
  std::vector<fs::path> open_{};
};

}  // namespace

YamlValue::YamlValue() = default;

YamlValue::YamlValue(Kind of, Position at, std::string scalar)
    : kind(of), position(std::move(at)), text(std::move(scalar)) {}

YamlValue::YamlValue(std::string scalar) : YamlValue(Kind::scalar, {}, std::move(scalar)) {}

const YamlValue* YamlValue::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &found->value;
}

YamlValue* YamlValue::find(std::string_view key) {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &found->value;
}

YamlValue& YamlValue::add(std::string_view key, YamlValue value) {
  entries.push_back({std::string(key), {}, std::move(value)});
  return entries.back().value;
}

std::vector<std::string> YamlValue::keys() const {
  std::vector<std::string> result;
  for (const Entry& entry : entries) result.push_back(entry.key);
  return result;
}

std::optional<YamlValue> load_yaml(const fs::path& file, Diagnostics& diagnostics, const fs::path& shared) {
  return Loader(diagnostics, shared)
      .load(file, {std::make_shared<const std::string>(file.lexically_normal().string())});
}

}  // namespace twinlink::platforms
