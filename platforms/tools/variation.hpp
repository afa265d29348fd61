// A platform with one of its numbers changed, for each number.
#pragma once

#include <string>
#include <vector>

#include "platforms/machine/fabric.hpp"
#include "platforms/machine/platform.hpp"
#include "platforms/yaml/yaml_document.hpp"

namespace twinlink::platforms {

/// A number that can be changed by itself. Of a number by size, each point is one.
struct VariableNumber {
  std::string path{};  ///< as an override names it; a point of a curve ends in "[4K]"
  std::string text{};  ///< "7.31 GB/s"
};

class Variations {
 public:
  explicit Variations(const Platform& platform);

  [[nodiscard]] const std::vector<VariableNumber>& numbers() const { return numbers_; }
  /// The platform with the number of that index times `factor`; of sizes as near as whole bytes are, but changed. An
  /// InputError if the reader refuses that.
  [[nodiscard]] Platform with(std::size_t number, double factor) const;
  /// By how much the number grows then: 0.01 is one per cent. 0 of nothing.
  [[nodiscard]] double growth(std::size_t number, double factor) const;
  /// The platform as all others are read.
  [[nodiscard]] Platform unchanged() const;

 private:
  [[nodiscard]] Platform read(const YamlValue& tree) const;

  WithinNode within_node_{};
  std::vector<LaterFault> later_faults_{};
  std::vector<SlowedPart> slowed_parts_{};
  Failures failures_{};
  std::vector<CableFault> cables_{};
  std::string file_{};
  YamlValue tree_;
  std::vector<VariableNumber> numbers_{};
};

}  // namespace twinlink::platforms
