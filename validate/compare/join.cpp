#include "validate/compare/join.hpp"

#include <map>

namespace twinlink::validate {

std::string devices(const Key& key) { return key.peer.empty() ? key.gpu : key.gpu + " to " + key.peer; }

std::string to_string(const Key& key) {
  std::string text;
  for (const auto& part : {key.name, devices(key)}) {
    if (!part.empty()) text += part + ' ';
  }
  return text + format_size(key.size);
}

Join join(std::span<const Sample> measured, std::span<const Sample> simulated) {
  std::map<Key, double> measured_us;
  for (const auto& sample : measured) measured_us.emplace(sample.key, sample.time_us);
  std::map<Key, double> simulated_us;
  for (const auto& sample : simulated) simulated_us.emplace(sample.key, sample.time_us);

  Join result;
  for (const auto& sample : measured) {
    if (const auto other = simulated_us.find(sample.key); other != simulated_us.end()) {
      result.rows.push_back({.key = sample.key,
                             .measured_us = sample.time_us,
                             .simulated_us = other->second,
                             .unstable = sample.unstable});
    } else {
      result.only_measured.push_back(sample.key);
    }
  }
  for (const auto& sample : simulated) {
    if (!measured_us.contains(sample.key)) result.only_simulated.push_back(sample.key);
  }
  return result;
}

}  // namespace twinlink::validate
