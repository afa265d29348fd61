// The survey behind `advise` against brute force: every combination of every choice.
#include "model/study/survey.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "model/study/child_process.hpp"
#include "model/study/warm_messages.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/core/options.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

constexpr std::string_view kTimeless = "refused";

std::vector<std::string> choices_of(const Option& option) {
  std::vector<std::string> choices;
  const bool of_collectives = option.name == "algo" || option.name == "nvls_enable";  // no message goes by them
  if (of_collectives) return {std::string(option.default_value)};
  if (option.values == "SIZE") return {std::string(option.default_value), "0", "1G"};
  std::string rest(option.values);
  if (rest.find('|') == std::string::npos) return {std::string(option.default_value)};
  while (true) {
    const std::size_t bar = rest.find('|');
    const std::string choice = rest.substr(0, bar);
    const auto same = [&](const std::string& other) {
      return std::ranges::equal(choice, other, {}, ::tolower, ::tolower);
    };
    if (std::ranges::none_of(choices, same)) choices.push_back(choice);  // "ll" and "LL" are two spellings of one
    if (bar == std::string::npos) return choices;
    rest.erase(0, bar + 1);
  }
}

/// All settings of a protocol that its choices give, with its own chunk and depth.
std::vector<Settings> all_settings(const Protocol& protocol) {
  std::vector<Settings> all{protocol.defaults()};
  for (const Option& option : protocol.options()) {
    std::vector<Settings> more;
    for (const Settings& settings : all) {
      for (const std::string& choice : choices_of(option)) {
        more.push_back(settings);
        set_option(protocol, more.back(), std::string(option.name), choice);
      }
    }
    all = std::move(more);
  }
  for (const Preset& preset : protocol.presets()) all.push_back(preset.settings);
  return all;
}

/// Of one message size, over all protocols that `advise` compares and all their choices, in us.
double fastest_by_brute_force(const Platform& platform, const std::vector<Place>& places, Bytes size) {
  const Path path = Topology(platform).path(places[0], places[1]);
  std::vector<std::function<std::string()>> works;
  for (const Protocol* protocol : all_protocols()) {
    const bool compared =
        protocol->supports(path).usable() && !protocol->delegates() && protocol->message_memory() == Memory::device;
    if (!compared) continue;
    for (const Settings& settings : all_settings(*protocol)) {
      works.emplace_back([&platform, &places, protocol, size, settings]() -> std::string {
        try {
          const bench::Plan plan = warm_plan(bench::Pattern::pingpong, {size}, 1, settings);
          const bench::Series series = warm_series(platform, places, *protocol, plan);
          return std::to_string(series.points.at(0).time_us.median);
        } catch (const Error&) {
          return std::string(kTimeless);
        }
      });
    }
  }
  double fastest = std::numeric_limits<double>::infinity();
  for (const std::string& answer : in_child_processes(works, cores())) {
    if (answer != kTimeless) fastest = std::min(fastest, std::stod(answer));
  }
  return fastest;
}

double fastest_by_survey(const Platform& platform, const std::vector<Place>& places, Bytes size) {
  const SurveyPlan plan{.places = places,
                        .sizes = {size},
                        .at_once = cores(),
                        .space =
                            [](const Settings& base) {
                              return SearchSpace{.chunks = {base.chunk},
                                                 .depths = {base.depth},
                                                 .most_pieces = std::numeric_limits<std::uint64_t>::max()};
                            },
                        .all_presets = true,
                        .all_choices = true};
  const Survey survey = make_survey(platform, plan);
  return make_advice(survey.contestants).sizes.front().ranking.front().fastest_us;
}

class Advised : public ::testing::TestWithParam<std::string> {};

TEST_P(Advised, FindsWhatBruteForceFinds) {
  const Platform platform = read_platform(std::string(TWINLINK_SOURCE_DIR) + "/platforms/" + GetParam() + ".yaml");
  const std::vector<Place> places{{0, 1, {}}, {0, 2, {}}};
  for (const Bytes size : {4_B, 64_KiB}) {
    // What is printed has six digits behind the point.
    EXPECT_NEAR(fastest_by_survey(platform, places, size), fastest_by_brute_force(platform, places, size), 1e-6)
        << format_size(size);
  }
}

TEST(AdvisedLimits, OfTheAdapterAreTriedOnBothSides) {
  const Platform platform = read_platform(TWINLINK_SOURCE_DIR "/platforms/hgx-h100.yaml");
  const std::vector<Place> places{{0, 0, {}}, {1, 0, {}}};
  for (const Bytes size : {4_B, 1_MiB}) {
    EXPECT_NEAR(fastest_by_survey(platform, places, size), fastest_by_brute_force(platform, places, size), 1e-6)
        << format_size(size);
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, Advised, ::testing::Values("keeneland-kids", "hgx-h100"),
                         [](const auto& test) { return test.index == 0 ? "kids" : "hgx"; });

}  // namespace
}  // namespace twinlink::model
