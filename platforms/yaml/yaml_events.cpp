#include "platforms/yaml/yaml_events.hpp"

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace twinlink::platforms {
namespace {

/// Ends the parse; what is wrong has been said.
struct GiveUp {};

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::shared_ptr<const std::string> file, YamlBudget& budget, Diagnostics& diagnostics, bool quotes)
      : file_(std::move(file)), budget_(budget), diagnostics_(diagnostics), quotes_(quotes) {}

  YamlValue take_root() { return std::move(root_); }

  [[nodiscard]] Position position(const YAML::Mark& mark) const {
    if (mark.is_null()) return {file_};
    return {file_, mark.line + 1, mark.column + 1};
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    complete({YamlValue::Kind::null, position(mark)}, anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string& text) override {
    complete({YamlValue::Kind::scalar, position(mark), text}, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) give_up(position(mark), "an alias inside of what it stands for");
    spend(count_values(found->second), position(mark));
    store(found->second);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open_.push_back({{YamlValue::Kind::list, position(mark)}, anchor});
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open_.push_back({{YamlValue::Kind::map, position(mark)}, anchor});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  /// A list or map whose end has not come yet.
  struct Open {
    YamlValue value;
    YAML::anchor_t anchor;
    std::optional<YamlValue> key{};  ///< of a map: read, and its value not yet
    std::set<std::string> keys{};    ///< of a map: those that it has, for a search in the tree is linear
  };

  [[noreturn]] void give_up(const Position& where, const std::string& message) {
    diagnostics_.error(where, message);
    throw GiveUp{};
  }

  void spend(std::size_t values, const Position& where) {
    if (budget_.take(values)) return;
    give_up(where, "the platform has more than " + std::to_string(YamlBudget::kValues) +
                       " values, its aliases, ranges and included files expanded");
  }

  void close() {
    Open ended = std::move(open_.back());
    open_.pop_back();
    complete(std::move(ended.value), ended.anchor);
  }

  void complete(YamlValue value, YAML::anchor_t anchor) {
    spend(1, value.position);
    if (anchor != 0) {
      spend(count_values(value), value.position);  // a copy, and anchors may lie within anchors
      anchors_[anchor] = value;
    }
    store(std::move(value));
  }

  void store(YamlValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Open& parent = open_.back(); parent.value.kind == YamlValue::Kind::list) {
      parent.value.items.push_back(std::move(value));
    } else if (parent.key) {
      store_entry(parent, *parent.key, std::move(value));
      parent.key.reset();
    } else {
      parent.key = std::move(value);
    }
  }

  void store_entry(Open& map, const YamlValue& key, YamlValue value) {
    if (key.kind != YamlValue::Kind::scalar) {
      diagnostics_.error(key.position, "a key must be a plain text");
    } else if (!map.keys.insert(key.text).second) {
      diagnostics_.error(key.position, quotes_ ? "duplicate key '" + key.text + "'" : "duplicate key");
    } else {
      map.value.entries.push_back({key.text, key.position, std::move(value)});
    }
  }

  std::shared_ptr<const std::string> file_;
  YamlBudget& budget_;
  Diagnostics& diagnostics_;
  bool quotes_;
  YamlValue root_{};
  std::vector<Open> open_{};
  std::map<YAML::anchor_t, YamlValue> anchors_{};
};

}  // namespace

std::size_t count_values(const YamlValue& value) {
  std::size_t count = 1;
  for (const YamlValue& item : value.items) count += count_values(item);
  for (const auto& entry : value.entries) count += count_values(entry.value);
  return count;
}

std::optional<YamlValue> parse_yaml(const std::string& text, const std::shared_ptr<const std::string>& file,
                                    YamlBudget& budget, Diagnostics& diagnostics, bool quotes) {
  TreeBuilder builder(file, budget, diagnostics, quotes);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    YamlValue root = builder.take_root();
    if (parser.HandleNextDocument(builder)) {
      diagnostics.error(builder.take_root().position, "a second document; a file holds one");
    }
    return root;
  } catch (const YAML::DeepRecursion& e) {
    diagnostics.error(builder.position(e.mark), "YAML: lists and maps are nested too deeply");
  } catch (const YAML::Exception& e) {
    // yaml-cpp 0.8 adds the anchor's name, 0.7 does not; the place says it too.
    constexpr std::string_view kNoAnchor = "the referenced anchor is not defined";
    diagnostics.error(builder.position(e.mark),
                      "YAML: " + std::string(e.msg.starts_with(kNoAnchor) ? kNoAnchor : std::string_view(e.msg)));
  } catch (const GiveUp&) {
  }
  return std::nullopt;
}

}  // namespace twinlink::platforms
