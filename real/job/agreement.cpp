#include "real/job/agreement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace twinlink::real {
namespace {

constexpr const char* kCommand = "the command";

/// Ranks may differ in these. Rank 0 alone reads what is expected and writes what is found.
constexpr std::array kOwn{"--help", "--gpus", "--host-memory", "--nvtx", "--expect",
                          "--json", "--csv",  "--format",      "--out",  "--samples"};

std::string value_of(const CLI::Option& option) {
  if (option.count() == 0) return option.get_default_str();
  // All ranks take part in a trace and a timeline; where they are written to is rank 0's.
  if (option.get_name() == "--trace" || option.get_name() == "--timeline") return "given";
  return fmt::format("{}", fmt::join(option.results(), " "));
}

std::string name_of(const CLI::Option& option) {
  const std::vector<std::string>& names = option.get_lnames();
  return names.empty() ? option.get_name(true) : "--" + names.front();
}

std::vector<Setting> parse(const std::string& text) {
  std::vector<Setting> settings;
  if (text.empty()) return settings;
  for (const auto& each : nlohmann::json::parse(text)) settings.push_back({each.at(0), each.at(1)});
  return settings;
}

/// Empty where the rank has no such setting.
std::string find(std::span<const Setting> settings, const std::string& name) {
  const auto found = std::ranges::find(settings, name, &Setting::name);
  return found == settings.end() ? std::string{} : found->value;
}

/// "8M on ranks 0, 2 and not given on rank 1", each value once.
std::string who_has_what(std::span<const std::vector<Setting>> all, const std::string& name) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> values;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::string value = find(all[rank], name);
    auto same = std::ranges::find(values, value, [](const auto& each) { return each.first; });
    if (same == values.end()) same = values.insert(values.end(), {value, {}});
    same->second.push_back(rank);
  }
  std::vector<std::string> parts;
  for (const auto& [value, ranks] : values) {
    parts.push_back(fmt::format("{} on rank{} {}", value.empty() ? "not given" : value, ranks.size() == 1 ? "" : "s",
                                fmt::join(ranks, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, " and "));
}

}  // namespace

std::vector<Setting> settings_of(const CLI::App& command, std::string_view program) {
  std::vector<Setting> settings{{kCommand, command.get_name()}, {"the version", std::string(program)}};
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = name_of(*option);
    if (std::ranges::find(kOwn, name) == kOwn.end()) settings.push_back({name, value_of(*option)});
  }
  return settings;
}

std::string to_text(std::span<const Setting> settings) {
  nlohmann::json pairs = nlohmann::json::array();
  for (const Setting& each : settings) pairs.push_back({each.name, each.value});
  return pairs.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);  // arguments need not be UTF-8
}

std::string difference(std::span<const std::string> texts) {
  std::vector<std::vector<Setting>> all;
  for (const std::string& text : texts) all.push_back(parse(text));
  // By rank 0's list first; a program of another version may know more.
  for (const std::vector<Setting>& mine : all) {
    for (const Setting& setting : mine) {
      const auto same = [&](const auto& other) { return find(other, setting.name) == setting.value; };
      if (std::ranges::all_of(all, same)) continue;
      if (setting.name == kCommand) return "the ranks run different commands; all must be started alike";
      return fmt::format("the ranks must be started alike: {} is {}", setting.name, who_has_what(all, setting.name));
    }
  }
  return {};
}

}  // namespace twinlink::real
