#include "protocols/bench/cli/pair_options.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/core/text.hpp"
#include "protocols/registry.hpp"

namespace twinlink::bench {
namespace {

PairWish parse_pair(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  const std::vector<std::string_view> ends = split(parts[0], '-');
  if (ends.size() != 2 || ends[0].empty() || ends[1].empty()) {
    throw UsageError(fmt::format("'{}' is no pair: FIRST-SECOND, or FIRST-SECOND:PROTOCOL:NAME=VALUE", text));
  }
  if (ends[0] == ends[1]) throw UsageError(fmt::format("'{}' is a pair with itself", text));
  PairWish wish{.first = std::string(ends[0]), .second = std::string(ends[1])};
  if (parts.size() > 1) wish.protocol = find_protocol(parts[1]).name();
  for (std::size_t i = 2; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    if (equals == std::string::npos) throw UsageError(fmt::format("'{}': '{}' is no NAME=VALUE", text, parts[i]));
    wish.settings.emplace_back(parts[i].substr(0, equals), parts[i].substr(equals + 1));
  }
  return wish;
}

int parse_depth(const std::string& text) {
  int depth = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), depth);
  if (error == std::errc{} && stop == text.data() + text.size() && depth >= 1 && depth <= kMaxDepth) return depth;
  throw UsageError(fmt::format("depth '{}' is no whole number from 1 to {}", text, kMaxDepth));
}

/// A pair that names a protocol begins anew: settings of another protocol would say nothing, or something else.
RunOptions options_of(const PairWish& wish, RunOptions options) {
  if (wish.protocol.empty()) return options;
  options.protocol = wish.protocol;
  SettingsOptions& settings = options.settings;
  settings = {.library = settings.library};
  for (const auto& [name, value] : wish.settings) {
    if (name == "chunk") {
      settings.chunk = parse_size(value);
    } else if (name == "depth") {
      settings.depth = parse_depth(value);
    } else if (name == "preset") {
      settings.preset = value;
    } else {
      settings.options.emplace_back(name, value);
    }
  }
  return options;
}

}  // namespace

std::vector<PairWish> parse_pairs(std::string_view text) {
  std::vector<PairWish> wishes;
  for (const std::string_view pair : split(text, ',')) wishes.push_back(parse_pair(pair));
  std::vector<std::string> ends;
  for (const PairWish& wish : wishes) {
    for (const std::string& end : {wish.first, wish.second}) {
      if (std::ranges::find(ends, end) != ends.end()) throw UsageError(fmt::format("{} is in two pairs", end));
      ends.push_back(end);
    }
  }
  return wishes;
}

CLI::Option* add_pairs_option(CLI::App& app, RunOptions& options, const std::string& form, const std::string& example) {
  const OptionGroup group(app, "Several pairs");
  return add_read_option(app, "--pairs", form + "[:PROTOCOL[:NAME=VALUE...]],...", {},
                         fmt::format("These pairs at once, such as {0}: what each gets beside the others, and the sum. "
                                     "A pair may run another protocol, with its defaults but for chunk, depth, preset "
                                     "and options named here. --json writes FILE, FILE-2, ..., one for each pair",
                                     example),
                         [&options](const std::string& text) { options.pairs = parse_pairs(text); })
      ->excludes(app.get_option("--all-pairs"), app.get_option("--trace"), app.get_option("--one-process"));
}

std::vector<PairPlan> make_pair_plans(const RunOptions& options, const DefaultRepeats& defaults,
                                      const std::function<RankId(const std::string&)>& rank_of) {
  if (options.pairs.size() > 1 && options.output.format == Format::osu) {
    throw UsageError("several pairs have no OSU form");
  }
  std::vector<PairPlan> plans;
  for (const PairWish& wish : options.pairs) {
    const RunOptions mine = options_of(wish, options);
    PairPlan pair{&find_protocol(mine.protocol), make_plan(mine, defaults)};
    pair.plan.first = rank_of(wish.first);
    pair.plan.second = rank_of(wish.second);
    plans.push_back(std::move(pair));
  }
  put_side_by_side(plans);
  return plans;
}

}  // namespace twinlink::bench
