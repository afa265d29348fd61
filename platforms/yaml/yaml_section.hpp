// One map of a platform file while it is read: hands out its values by key, and says in the end which keys nobody asked
// for. What is wrong goes into the diagnostics, and the caller gets a default, so that one run finds everything.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/yaml/diagnostics.hpp"
#include "platforms/yaml/sourced.hpp"
#include "platforms/yaml/yaml_document.hpp"

namespace twinlink::platforms {

/// What all sections of one platform share.
struct ReadContext {
  Diagnostics diagnostics{};
  std::map<std::string, std::string, std::less<>> named_sources{};
};

/// A key of an included file that the top of a document does not know is not quoted: the file may be anything. What
/// follows a known key may be.
class Section {
 public:
  /// The top of a document. `what` names the map in messages: "link 'qpi'". `map` and `context` must outlive this
  /// object.
  Section(const YamlValue& map, std::string what, ReadContext& context);
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;
  /// Reports every key that was not asked for.
  ~Section();

  [[nodiscard]] const Position& position() const { return map_.position; }
  /// The place of the value under `key`, or of the map if there is none.
  [[nodiscard]] const Position& position(std::string_view key) const;
  void error(const Position& where, const std::string& message) { context_.diagnostics.error(where, message); }

  /// The value under `key`; nullptr if there is none, which is an error for require().
  const YamlValue* find(std::string_view key);
  const YamlValue* require(std::string_view key);

  std::string text(std::string_view key);
  /// A decimal number from `least` to `most`.
  int integer(std::string_view key, int least, int most);
  bool boolean(std::string_view key);
  /// A list of decimal numbers from `least` to `most`; empty if the key is missing.
  std::vector<int> integers(std::string_view key, int least, int most);
  /// A list of texts; empty if the key is missing.
  std::vector<std::string> texts(std::string_view key);

  // Numbers with their sources.
  Sourced<Bytes> bytes(std::string_view key);
  Sourced<Seconds> seconds(std::string_view key);
  Sourced<Rate> rate(std::string_view key);
  /// "135 %", from 0.01 to 10000.
  Sourced<Ratio> ratio(std::string_view key);
  /// "9.7 TFLOP/s".
  Sourced<Flops> flops(std::string_view key);
  /// A duration, or a list of [size, duration].
  Sourced<Piecewise> piecewise(std::string_view key);
  /// A quantity alone, where something else tells its source: "25 GB/s"; nothing if the key is missing.
  std::optional<Bytes> plain_bytes(std::string_view key);
  std::optional<Rate> plain_rate(std::string_view key);
  /// What `read`, one of the functions above, makes of `key`; nothing if the key is missing.
  template <class T>
  std::optional<T> optional(std::string_view key, T (Section::*read)(std::string_view)) {
    if (find(key) == nullptr) return std::nullopt;
    return (this->*read)(key);
  }

  /// What the key must have; of an optional one, what it has if it is there.
  void take(std::string_view key, Sourced<Bytes>& into) { into = bytes(key); }
  void take(std::string_view key, Sourced<Seconds>& into) { into = seconds(key); }
  void take(std::string_view key, Sourced<Rate>& into) { into = rate(key); }
  void take(std::string_view key, Sourced<Ratio>& into) { into = ratio(key); }
  void take(std::string_view key, Sourced<Flops>& into) { into = flops(key); }
  void take(std::string_view key, Sourced<Piecewise>& into) { into = piecewise(key); }
  template <class T>
  void take(std::string_view key, std::optional<Sourced<T>>& into) {
    if (find(key) != nullptr) take(key, into.emplace());
  }

  /// Every text of a map whose keys are names, however many there are.
  void each_text(const std::function<void(const std::string& name, std::string text)>& read);

  /// Gives `read` the map under `key`.
  void nested(std::string_view key, const std::string& what, const std::function<void(Section&)>& read);
  /// Gives `read` each map in the map under `key`, with its name; `noun` says what they are: "link".
  void each(std::string_view key, const std::string& noun,
            const std::function<void(const std::string& name, Section&)>& read);

 private:
  enum class Level { top, nested };
  Section(const YamlValue& map, std::string what, ReadContext& context, Level level);
  [[nodiscard]] bool is_told_by_name(const YamlValue::Entry& entry) const;
  int whole_number(const std::string& text, const Position& where, const std::string& what, int least, int most);
  template <class T>
  Sourced<T> number(std::string_view key, T (*parse)(std::string_view));
  template <class T>
  T quantity(const YamlValue& value, T (*parse)(std::string_view));
  template <class T>
  std::optional<T> plain(std::string_view key, T (*parse)(std::string_view));
  Piecewise curve(const YamlValue& value);
  Source source();
  [[nodiscard]] std::string scalar(const YamlValue& value, const std::string& what);
  [[nodiscard]] std::string named(std::string_view key) const { return "'" + std::string(key) + "' in " + what_; }

  const YamlValue& map_;
  std::string what_;
  ReadContext& context_;
  Level level_;
  std::vector<std::string> known_{};
  bool all_known_ = false;
};

/// Gives `read` the map that a file is, which messages call `what`. An InputError with everything that is wrong in it.
void read_file(const std::filesystem::path& file, const std::string& what,
               const std::function<void(Section& top, ReadContext& context)>& read);

}  // namespace twinlink::platforms
