#include <algorithm>
#include <ostream>
#include <set>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/study/advice.hpp"
#include "model/study/jobs/job_advice.hpp"
#include "model/study/model_error.hpp"
#include "protocols/bench/cli/csv.hpp"
#include "protocols/bench/workload/array_job.hpp"
#include "protocols/workloads/catalogue.hpp"

namespace twinlink::model {
namespace {

std::string percent_text(double fraction) { return fmt::format("{:.1f} %", 100 * fraction); }

std::string size_text(Bytes size) { return format_size(size); }

/// "--algorithm ring --place packed"; empty for the job as it is given.
std::string all_words(const JobSizeAdvice& size, const JobSample& sample, const JobSearch& search) {
  std::string words = words_of(sample.setting, search);
  if (words.empty() && sample.algorithm == size.given.algorithm) return words;
  const bench::WorkloadOptions& workload = search.job.workload;
  const bool has_algorithms = sample.algorithm != "trace" && !bench::is_array_job(workload.workload);
  if (workload.algorithm.empty() && has_algorithms && !sample.algorithm.empty()) {
    words.insert(0, "--algorithm " + sample.algorithm + (words.empty() ? "" : " "));
  }
  return words;
}
std::string best_words(const JobSizeAdvice& size, const JobSearch& search) {
  return all_words(size, size.ranking.front(), search);
}

/// Sizes that follow each other with the same settings are a line.
void print_settings(const JobAdvice& advice, const JobSearch& search, std::ostream& out) {
  out << "\nAdded to the command\n";
  for (std::size_t first = 0; first < advice.sizes.size();) {
    const std::string words = best_words(advice.sizes[first], search);
    std::size_t last = first;
    while (last + 1 < advice.sizes.size() && best_words(advice.sizes[last + 1], search) == words) ++last;
    const std::string from = size_text(advice.sizes[first].size);
    out << fmt::format("  {:<16} {}\n", last == first ? from : from + " to " + size_text(advice.sizes[last].size),
                       words.empty() ? "nothing" : words);
    for (std::size_t i = first; i <= last; ++i) {
      const std::optional<JobSample>& own = advice.sizes[i].own;
      if (!own) continue;
      out << fmt::format("  {:<16} {} by itself takes {:.3f} us\n", size_text(advice.sizes[i].size),
                         own->setting.within, own->time_us);
    }
    first = last + 1;
  }
}

void print_choices(const JobSizeAdvice& size, std::ostream& out) {
  constexpr std::size_t kMost = 8;
  const std::vector<ChoiceTimes> choices = choices_of(size);
  if (choices.empty()) return;
  out << fmt::format("\nThe least us of {} with each value that was tried, the others as they were then\n",
                     size_text(size.size));
  for (const ChoiceTimes& choice : choices) {
    auto values = choice.values;
    std::ranges::stable_sort(values, {}, &std::pair<std::string, double>::second);
    std::string text;
    for (std::size_t i = 0; i < std::min(kMost, values.size()); ++i) {
      text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ", values[i].first, values[i].second);
    }
    if (values.size() > kMost)
      text += fmt::format(" and {} more up to {:.2f}", values.size() - kMost, values.back().second);
    out << fmt::format("  {:<10} {}\n", choice.choice, text);
  }
}

nlohmann::json to_json(const JobSample& sample) {
  const JobSetting& setting = sample.setting;
  nlohmann::json json{{"algorithm", sample.algorithm},
                      {"time_us", sample.time_us},
                      {"place", setting.place},
                      {"protocol", setting.within},
                      {"protocol_between", setting.between.empty() ? setting.within : setting.between}};
  if (setting.chunk) json["chunk_bytes"] = setting.chunk->count();
  if (setting.depth) json["depth"] = *setting.depth;
  if (!setting.options.empty()) json["options"] = setting.options;
  if (!setting.options_between.empty()) json["options_between"] = setting.options_between;
  return json;
}

/// Over the job as it is given, or what a library does by itself in its place.
double gain(const JobSizeAdvice& size) {
  const double own_us = size.own ? std::min(size.own->time_us, size.given.time_us) : size.given.time_us;
  return 1 - size.ranking.front().time_us / own_us;
}

const ModelError& error_of(const JobSample& sample) { return model_error(simulated_by(sample.algorithm)); }

/// Of all that is said, each once.
std::set<const ModelError*> errors_of(const JobAdvice& advice) {
  std::set<const ModelError*> all;
  for (const JobSizeAdvice& size : advice.sizes) {
    all.insert(&error_of(size.given));
    for (const JobSample& sample : size.ranking) all.insert(&error_of(sample));
  }
  return all;
}

std::string told(double share, const JobSample& a, const JobSample& b) {
  const double error = std::max(error_of(a).share, error_of(b).share);
  return percent_text(share) + (share > 0 && share < error ? " tie" : "");
}

}  // namespace

void print_job_advice(const JobAdvice& advice, const JobSearch& search, std::ostream& out) {
  out << fmt::format("Advice for {} of {} ranks on {}\n", advice.workload, advice.ranks, search.platform->name);
  out << fmt::format(
      "{} simulations; a setting within {} of the fastest counts as equal, and what differs least from "
      "the command comes first\n",
      advice.simulations, percent_text(kTieMargin));
  for (const ModelError* const error : errors_of(advice)) {
    out << fmt::format("A lead or a gain of less than {} is a tie: {} err by that much ({})\n",
                       percent_text(error->share), error->of, error->source);
  }
  if (advice.predicted) {
    out << "Of so many ranks those algorithms alone are simulated that are predicted to be nearly the fastest\n";
  }
  out << fmt::format("\n{:<8}{:<18}{:>13}  {:<18}{:>13}{:>15}{:>15}\n", "size", "fastest", "time us", "runner-up",
                     "slower by", "as given us", "gain");
  for (const JobSizeAdvice& size : advice.sizes) {
    const JobSample& best = size.ranking.front();
    const bool alone = size.ranking.size() == 1;
    const double slower = alone ? 0 : size.ranking[1].time_us / best.time_us - 1;
    out << fmt::format("{:<8}{:<18}{:>13.3f}  {:<18}{:>13}{:>15.3f}{:>15}\n", size_text(size.size), best.algorithm,
                       best.time_us, alone ? "none" : size.ranking[1].algorithm,
                       alone ? "" : told(slower, best, size.ranking[1]), size.given.time_us,
                       told(gain(size), best, size.given));
  }
  print_settings(advice, search, out);
  print_choices(advice.sizes.back(), out);
  if (advice.left_out.empty()) return;
  constexpr std::size_t kMost = 10;
  out << "\nLeft out\n";
  for (std::size_t i = 0; i < std::min(kMost, advice.left_out.size()); ++i) {
    out << fmt::format("  {}: {}\n", advice.left_out[i].who, advice.left_out[i].text);
  }
  if (advice.left_out.size() > kMost) out << fmt::format("  and {} more\n", advice.left_out.size() - kMost);
}

nlohmann::json to_json(const JobAdvice& advice, const JobSearch& search) {
  nlohmann::json points = nlohmann::json::array();
  for (const JobSizeAdvice& size : advice.sizes) {
    nlohmann::json point{{"bytes", size.size.count()}, {"given", to_json(size.given)}};
    if (size.own) point["library_by_itself"] = to_json(*size.own);
    for (const JobSample& sample : size.ranking) {
      point["ranking"].push_back(to_json(sample));
      point["ranking"].back()["words"] = all_words(size, sample, search);
    }
    for (const JobSample& sample : size.samples) point["tried"].push_back(to_json(sample));
    points.push_back(std::move(point));
  }
  nlohmann::json left_out = nlohmann::json::array();
  for (const Remark& remark : advice.left_out) left_out.push_back({{"who", remark.who}, {"text", remark.text}});
  nlohmann::json errors = nlohmann::json::object();
  for (const ModelError* const error : errors_of(advice)) errors[std::string(error->of)] = 100 * error->share;
  return {{"schema", 1},
          {"kind", "twinlink-workload-advice"},
          {"world", "simulated"},
          {"workload", advice.workload},
          {"ranks", advice.ranks},
          {"simulations", advice.simulations},
          {"tie_margin_percent", 100 * kTieMargin},
          {"model_error_percent", std::move(errors)},
          {"points", std::move(points)},
          {"left_out", std::move(left_out)}};
}

std::string to_csv(const JobAdvice& advice, const JobSearch& search) {
  std::string csv = "bytes,place,algorithm,words,time_us,given_us\n";
  for (const JobSizeAdvice& size : advice.sizes) {
    for (std::size_t place = 0; place < size.ranking.size(); ++place) {
      const JobSample& sample = size.ranking[place];
      csv += fmt::format("{},{},{},{},{},{}\n", size.size.count(), place + 1, sample.algorithm,
                         bench::csv_cell(all_words(size, sample, search)), sample.time_us, size.given.time_us);
    }
  }
  return csv;
}

}  // namespace twinlink::model
