#include "model/study/advice_report.hpp"

#include <algorithm>
#include <map>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "model/study/model_error.hpp"
#include "protocols/bench/cli/csv.hpp"
#include "protocols/bench/results/crossing.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

constexpr std::string_view kNotSet = "own";

std::string chunk_text(const std::optional<Bytes>& chunk) {
  if (!chunk) return std::string(kNotSet);
  return *chunk == Bytes{} ? "whole" : format_size(*chunk);
}

std::string depth_text(const std::optional<int>& depth) {
  return depth ? std::to_string(*depth) : std::string(kNotSet);
}

/// In MB/s.
double bandwidth_of(const AdviceReport& report, Bytes size, double time_us) {
  const double directions = report.pattern == bench::Pattern::bidirectional ? 2 : 1;
  return directions * static_cast<double>(size.count()) / time_us;
}

/// "engine=kernel-push", as -o takes each.
std::vector<std::string> option_words(const Variant& who) {
  std::vector<std::string> words;
  for (const auto& [name, value] : who.options) words.push_back(name + "=" + value);
  return words;
}

std::string percent(double fraction) { return fmt::format("{:.1f} %", 100 * fraction); }

std::string describe(const Place& place) { return fmt::format("{} ({})", to_string(place), place.device); }

std::string pattern_text(const AdviceReport& report) {
  std::string text(to_string(report.pattern));
  if (report.pattern != bench::Pattern::pingpong) text += fmt::format(" with a window of {}", report.window);
  return text;
}

/// What --chunk takes for this chunk of this variant.
std::optional<Bytes> chunk_option(const AdviceReport& report, const Variant& who, const std::optional<Bytes>& chunk) {
  if (chunk != Bytes{}) return chunk;  // one that is not set, too
  for (const auto* contestants : {&report.survey.contestants, &report.survey.references}) {
    const auto found = std::ranges::find(*contestants, who, &Contestant::who);
    if (found != contestants->end()) return found->whole;
  }
  return chunk;
}

/// Width of the longest name that is shown, with the space behind it: `places` of each ranking, and the references.
const ModelError& error_of(const AdviceReport& report) {
  return model_error(report.from.node == report.to.node ? Simulated::within_node : Simulated::between_nodes);
}

std::size_t name_width(const AdviceReport& report, std::size_t places) {
  std::size_t width = 0;
  const auto take = [&](const Variant& who) { width = std::max(width, to_string(who).size()); };
  for (const SizeAdvice& at_size : report.advice.sizes) {
    for (std::size_t place = 0; place < std::min(places, at_size.ranking.size()); ++place) {
      take(at_size.ranking[place].who);
    }
  }
  for (const Contestant& reference : report.survey.references) take(reference.who);
  return width + 2;
}

void print_remarks(const AdviceReport& report, std::ostream& out) {
  const auto print = [&](std::string_view title, const std::vector<Remark>& remarks) {
    if (remarks.empty()) return;
    out << fmt::format("\n{}\n", title);
    for (const Remark& remark : remarks) out << fmt::format("  {:<14} {}\n", remark.who, remark.text);
  };
  print("Remarks", report.survey.remarks);
  print("Not compared", report.survey.left_out);
}

void print_sizes(const AdviceReport& report, std::ostream& out) {
  const std::size_t width = name_width(report, 2);
  const ModelError& error = error_of(report);
  out << fmt::format("\n{:<8}{:<{}}{:>6}{:>7}{:>13}{:>12}  {:<{}}{:>13}\n", "size", "fastest", width, "chunk", "depth",
                     "time us", "MB/s", "runner-up", width, "slower by");
  for (const SizeAdvice& at_size : report.advice.sizes) {
    const Choice& winner = at_size.ranking.front();
    const bool alone = at_size.ranking.size() == 1;
    out << fmt::format(
        "{:<8}{:<{}}{:>6}{:>7}{:>13.3f}{:>12.2f}  {:<{}}{:>13}\n", format_size(at_size.size), to_string(winner.who),
        width, chunk_text(winner.best.tuning.chunk), depth_text(winner.best.tuning.depth), winner.best.time_us,
        bandwidth_of(report, at_size.size, winner.best.time_us), alone ? "none" : to_string(at_size.ranking[1].who),
        width, alone ? "" : percent(slower_by(at_size, 1)) + (slower_by(at_size, 1) < error.share ? " tie" : ""));
  }
}

/// What the options of the winners are about.
void print_options(const Advice& advice, std::ostream& out) {
  std::map<std::string, std::string> said;
  for (const SizeAdvice& at_size : advice.sizes) {
    const Variant& who = at_size.ranking.front().who;
    for (const Option& option : find_protocol(who.protocol).options()) {
      const auto chosen = who.options.find(std::string(option.name));
      if (chosen != who.options.end()) said.emplace(chosen->first + "=" + chosen->second, option.description);
    }
  }
  if (!said.empty()) out << "\nOptions\n";
  for (const auto& [words, description] : said) out << fmt::format("  {:<14} {}\n", words, description);
}

void print_takeovers(const Advice& advice, std::ostream& out) {
  out << "\nCrossovers\n";
  for (const Takeover& takeover : advice.takeovers) {
    const std::string at = takeover.at ? fmt::format(" at about {},", bench::rounded_size(*takeover.at)) : "";
    out << fmt::format("  {} overtakes {}{} between {} and {}\n", takeover.to, takeover.from, at,
                       format_size(takeover.after), format_size(takeover.by));
  }
  if (advice.takeovers.empty()) {
    out << fmt::format("  none: {} is the fastest at every size\n", advice.sizes.front().ranking.front().who.protocol);
  }
}

void print_singles(const AdviceReport& report, std::ostream& out) {
  out << "\nOne setting for all sizes, and how much slower it is than its protocol's best of every size (geometric "
         "mean)\n";
  for (const SingleTuning& single : report.singles) {
    const std::string preset = single.who.preset.empty() ? "" : "--preset " + single.who.preset + " ";
    std::string options;
    for (const std::string& word : option_words(single.who)) options += "-o " + word + " ";
    if (const auto chunk = chunk_option(report, single.who, single.tuning.chunk)) {
      options += "--chunk " + format_size(*chunk) + " ";
    }
    if (single.tuning.depth) options += "--depth " + std::to_string(*single.tuning.depth) + " ";
    out << fmt::format("  {:<14} {}{}: {}\n", single.who.protocol, preset,
                       options.empty() ? "its own" : options.substr(0, options.size() - 1), percent(single.loss));
  }
  for (const LibraryAdvice& library : report.libraries) {
    const auto& [who, tuning, loss, missing] = library.tuning;
    const std::string depth = library.fixed_depth ? fmt::format(" (its depth is {})", depth_text(tuning.depth)) : "";
    out << fmt::format("\nThe same for {}, in the library's own names{}: {}\n  {}\n", to_string(who), depth,
                       percent(loss), fmt::join(library.lines, "\n  "));
  }
}

/// What a user sets to have it so.
nlohmann::json to_json(const AdviceReport& report, const Variant& who, const Tuning& tuning) {
  nlohmann::json json{{"protocol", who.protocol}};
  if (const auto chunk = chunk_option(report, who, tuning.chunk)) json["chunk_bytes"] = chunk->count();
  if (tuning.depth) json["depth"] = *tuning.depth;
  if (!who.preset.empty()) json["preset"] = who.preset;
  if (!who.options.empty()) json["options"] = who.options;
  return json;
}

nlohmann::json to_json(const std::vector<Remark>& remarks) {
  nlohmann::json json = nlohmann::json::array();
  for (const Remark& remark : remarks) json.push_back({{"who", remark.who}, {"text", remark.text}});
  return json;
}

nlohmann::json to_json(const AdviceReport& report, Bytes size, const Choice& choice) {
  nlohmann::json json = to_json(report, choice.who, choice.best.tuning);
  json["time_us"] = choice.best.time_us;
  json["fastest_us"] = choice.fastest_us;
  json["bandwidth_MBps"] = bandwidth_of(report, size, choice.best.time_us);
  json["path"] = choice.best.path;
  return json;
}

nlohmann::json points_json(const AdviceReport& report) {
  nlohmann::json points = nlohmann::json::array();
  for (const SizeAdvice& at_size : report.advice.sizes) {
    nlohmann::json ranking = nlohmann::json::array();
    for (std::size_t place = 0; place < at_size.ranking.size(); ++place) {
      ranking.push_back(to_json(report, at_size.size, at_size.ranking[place]));
      ranking.back()["slower_percent"] = 100 * slower_by(at_size, place);
      if (place > 0) ranking.back()["tie"] = slower_by(at_size, place) < error_of(report).share;
    }
    nlohmann::json point{{"bytes", at_size.size.count()}, {"ranking", std::move(ranking)}};
    for (const Contestant& reference : report.survey.references) {
      const Sample& sample = simplest_of_fastest(reference.samples.at(at_size.size));
      point["references"].push_back(to_json(report, at_size.size, {reference.who, sample, sample.time_us}));
    }
    points.push_back(std::move(point));
  }
  return points;
}

nlohmann::json takeovers_json(const Advice& advice) {
  nlohmann::json json = nlohmann::json::array();
  for (const Takeover& takeover : advice.takeovers) {
    json.push_back({{"from", takeover.from},
                    {"to", takeover.to},
                    {"after_bytes", takeover.after.count()},
                    {"by_bytes", takeover.by.count()},
                    {"at_bytes", takeover.at ? nlohmann::json(*takeover.at) : nlohmann::json()}});
  }
  return json;
}

nlohmann::json to_json(const AdviceReport& report, const SingleTuning& single) {
  nlohmann::json json = to_json(report, single.who, single.tuning);
  json["slower_percent"] = 100 * single.loss;
  return json;
}

}  // namespace

void print_advice(const AdviceReport& report, std::ostream& out) {
  out << fmt::format("Advice for {} from {} to {} on {}\n", pattern_text(report), describe(report.from),
                     describe(report.to), report.platform);
  out << fmt::format(
      "Simulated one-way times of warm messages, with the simplest chunk and depth within {} of the protocol's best\n",
      percent(kTieMargin));
  const ModelError& error = error_of(report);
  out << fmt::format("A lead of less than {} is a tie: {} err by that much ({})\n", percent(error.share), error.of,
                     error.source);
  print_sizes(report, out);
  print_options(report.advice, out);
  print_takeovers(report.advice, out);
  print_singles(report, out);
  print_remarks(report, out);
}

void print_comparison(const AdviceReport& report, std::ostream& out) {
  const SizeAdvice& at_size = report.advice.sizes.front();
  out << fmt::format("A message of {} from {} to {} on {}: half of a simulated round trip, warm\n\n",
                     format_size(at_size.size), describe(report.from), describe(report.to), report.platform);
  const std::size_t width = name_width(report, at_size.ranking.size());
  out << fmt::format("{:<{}}{:>6}{:>7}{:>13}{:>12}{:>11}  {}\n", "protocol", width, "chunk", "depth", "time us", "MB/s",
                     "slower by", "path");
  const auto print = [&](const std::string& protocol, const Sample& sample, const std::string& slower) {
    out << fmt::format("{:<{}}{:>6}{:>7}{:>13.3f}{:>12.2f}{:>11}  {}\n", protocol, width,
                       chunk_text(sample.tuning.chunk), depth_text(sample.tuning.depth), sample.time_us,
                       bandwidth_of(report, at_size.size, sample.time_us), slower, sample.path);
  };
  for (std::size_t place = 0; place < at_size.ranking.size(); ++place) {
    const Choice& choice = at_size.ranking[place];
    print(to_string(choice.who), choice.best, place == 0 ? "fastest" : percent(slower_by(at_size, place)));
  }
  for (const Contestant& reference : report.survey.references) {
    print(to_string(reference.who), simplest_of_fastest(reference.samples.at(at_size.size)), "reference");
  }
  print_remarks(report, out);
}

nlohmann::json to_json(const AdviceReport& report) {
  nlohmann::json singles = nlohmann::json::array();
  for (const SingleTuning& single : report.singles) singles.push_back(to_json(report, single));
  nlohmann::json libraries = nlohmann::json::array();
  for (const LibraryAdvice& library : report.libraries) {
    nlohmann::json json = to_json(report, library.tuning);
    json["fixed_depth"] = library.fixed_depth;
    json["lines"] = library.lines;
    libraries.push_back(std::move(json));
  }
  return {{"schema", kAdviceSchema},
          {"kind", kAdviceKind},
          {"world", "simulated"},
          {"program", report.program},
          {"command", report.command},
          {"environment", *report.environment},
          {"pattern", to_string(report.pattern)},
          {"window", report.window},
          {"from", to_string(report.from)},
          {"to", to_string(report.to)},
          {"tie_margin_percent", 100 * kTieMargin},
          {"model_error_percent", 100 * error_of(report).share},
          {"points", points_json(report)},
          {"crossovers", takeovers_json(report.advice)},
          {"single_settings", std::move(singles)},
          {"libraries", std::move(libraries)},
          {"remarks", to_json(report.survey.remarks)},
          {"not_compared", to_json(report.survey.left_out)}};
}

std::string to_csv(const AdviceReport& report) {
  std::string csv =
      "pattern,window,from,to,bytes,place,protocol,preset,options,chunk_bytes,depth,time_us,bandwidth_MBps,fastest_us,"
      "slower_percent,path\n";
  for (const SizeAdvice& at_size : report.advice.sizes) {
    for (std::size_t place = 0; place < at_size.ranking.size(); ++place) {
      const auto& [who, best, fastest_us] = at_size.ranking[place];
      const auto chunk = chunk_option(report, who, best.tuning.chunk);
      csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", to_string(report.pattern), report.window,
                         to_string(report.from), to_string(report.to), at_size.size.count(), place + 1, who.protocol,
                         who.preset, bench::csv_cell(fmt::format("{}", fmt::join(option_words(who), " "))),
                         chunk ? std::to_string(chunk->count()) : "",
                         best.tuning.depth ? std::to_string(*best.tuning.depth) : "", best.time_us,
                         bandwidth_of(report, at_size.size, best.time_us), fastest_us, 100 * slower_by(at_size, place),
                         bench::csv_cell(best.path));
    }
  }
  return csv;
}

}  // namespace twinlink::model
