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
  std::map<Key, Sample> others;
  for (const auto& sample : simulated) others.emplace(sample.key, sample);

  Join result;
  for (const auto& sample : measured) {
    if (const auto other = others.find(sample.key); other != others.end()) {
      result.rows.push_back({.key = sample.key,
                             .measured_us = sample.time_us,
                             .simulated_us = other->second.time_us,
                             .unstable = sample.unstable || other->second.unstable});
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
