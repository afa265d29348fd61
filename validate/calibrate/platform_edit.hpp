// A platform file whose numbers are replaced one by one. What is not replaced keeps its value and
// its source; what the file includes is merged into it.
//
//   PlatformEdit edit("platforms/h200-nvlink.yaml");
//   edit.set("driver.copies.peer.rate", 301.0_GBps, Quality::measured, "fit-peer");
//   edit.set_source("fit-peer", "12 lines, spread 2 %");
//   const Platform changed = edit.platform();
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "platforms/machine/platform.hpp"
#include "platforms/yaml/yaml_document.hpp"
#include "platforms/yaml/yaml_number.hpp"

namespace twinlink::validate {

/// One set() that has changed something, for the report.
struct NumberChange {
  std::string path{};    ///< "driver.copies.peer.rate"
  std::string before{};  ///< for people; empty if the base does not have it
  std::string after{};
};

class PlatformEdit {
 public:
  /// Reads `base` with all that it includes. An InputError with everything that is wrong with it.
  explicit PlatformEdit(const std::filesystem::path& base);

  /// Sets a number: a time, a rate or a curve, in the precision that a measurement has. `path` is as in an override;
  /// what it lacks is added. The source is text, or the name of an entry that set_source() gives.
  template <class Value>
  void set(const std::string& path, const Value& value, platforms::Quality quality, const std::string& source) {
    replace(path, yaml_value(value, platforms::kMeasured), quality, source);
  }
  /// A name for texts that serve as sources. Names that begin as ours do are free: the base's are renamed.
  void set_source(const std::string& name, const std::string& text);

  [[nodiscard]] const std::vector<NumberChange>& changes() const { return changes_; }
  /// What the file says now. An InputError if a platform's reader refuses it.
  [[nodiscard]] platforms::Platform platform() const;
  /// The file, beginning with `heading` as a comment. Sources that no number names any more are left out.
  [[nodiscard]] std::string text(const std::vector<std::string>& heading) const;

 private:
  void replace(const std::string& path, platforms::YamlValue value, platforms::Quality quality,
               const std::string& source);

  platforms::YamlValue document_;
  std::vector<NumberChange> changes_{};
};

/// What every name of our sources begins with.
inline constexpr std::string_view kSourcePrefix = "fit-";

}  // namespace twinlink::validate
