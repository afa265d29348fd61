// The survey behind `advise` against brute force: every combination of every choice.
#include "model/study/survey.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/study/advice.hpp"
#include "model/study/child_process.hpp"
#include "model/study/warm_messages.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/choices.hpp"
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
  if (option.name.ends_with("_level")) return {"auto", "LOC", "SYS"};  // those between are as one of them
  std::string rest(option.values);
  if (rest.ends_with(kOfList)) rest.resize(rest.size() - kOfList.size());
  if (rest.find('|') == std::string::npos) return {std::string(option.default_value)};
  while (true) {
    const std::size_t bar = rest.find('|');
    const std::string choice = rest.substr(0, bar);
    const auto same = [&](const std::string& other) {
      return std::ranges::equal(choice, other, {}, ::tolower, ::tolower);
    };
    // "ll" and "LL" are two spellings of one; where LL128 is safe NCCL knows, and no advice switches it on.
    if (std::ranges::none_of(choices, same) && choice != "ll128" && choice != "LL128") choices.push_back(choice);
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
                            [](const Protocol&, const Settings& base) {
                              return SearchSpace{.chunks = {base.chunk},
                                                 .depths = {base.depth},
                                                 .most_pieces = std::numeric_limits<std::uint64_t>::max()};
                            },
                        .all_presets = true,
                        .all_choices = true};
  const Survey survey = make_survey(platform, plan);
  return make_advice(survey.contestants).sizes.front().ranking.front().fastest_us;
}

/// What `advise` tries, of few sizes.
SurveyPlan small_plan(const std::vector<Place>& places) {
  return {.places = places,
          .sizes = {4_KiB, 512_KiB, 4_MiB},
          .at_once = cores(),
          .space =
              [](const Protocol&, const Settings& base) {
                SearchSpace space = default_search(4_MiB, {base.chunk, base.depth});
                space.chunks = {Bytes{}, 16_KiB, 256_KiB, 1_MiB};
                space.depths = {1, 2, 4, 16};
                space.own_depth.reset();
                return space;
              },
          .all_choices = true};
}

/// Every platform that is shipped, within its first node and between its first two.
class Pruned : public ::testing::TestWithParam<std::string> {};

std::vector<std::vector<Place>> pairs_of(const Platform& platform) {
  const Topology topology(platform);
  std::vector<std::vector<Place>> pairs;
  for (const Place& other : {Place{0, 1, {}}, Place{1, 0, {}}}) {
    try {
      static_cast<void>(topology.path(Place{0, 0, {}}, other));
      pairs.push_back({Place{0, 0, {}}, other});
    } catch (const Error&) {  // there is no second GPU, or no second node
    }
  }
  return pairs;
}

void expect_the_same_winners(const std::string& name, bool between_nodes) {
  const Platform platform = read_platform(std::string(TWINLINK_SOURCE_DIR) + "/platforms/" + name + ".yaml");
  for (const std::vector<Place>& places : pairs_of(platform)) {
    if ((places[1].node != 0) != between_nodes) continue;
    SurveyPlan plan = small_plan(places);
    std::size_t simulated = 0;
    plan.on_progress = [&](std::size_t done, std::size_t all) { simulated += done == all ? all : 0; };
    const auto ranking = [&](bool prunes) {
      plan.prunes = prunes;
      simulated = 0;
      const Advice advice = make_advice(make_survey(platform, plan).contestants);
      return std::pair(advice, simulated);
    };
    const auto [all, of_all] = ranking(false);
    const auto [pruned, of_pruned] = ranking(true);
    ASSERT_EQ(all.sizes.size(), pruned.sizes.size());
    EXPECT_LT(of_pruned, of_all) << "or nothing is pruned";
    for (std::size_t i = 0; i < all.sizes.size(); ++i) {
      const SizeAdvice& expected = all.sizes[i];
      const SizeAdvice& found = pruned.sizes[i];
      const std::string what = name + ", " + to_string(places[1]) + ", " + format_size(expected.size);
      EXPECT_EQ(to_string(found.ranking.front().who), to_string(expected.ranking.front().who)) << what;
      EXPECT_DOUBLE_EQ(found.ranking.front().fastest_us, expected.ranking.front().fastest_us) << what;
      // Other protocols may lose what does not change who wins: as much as counts as equal.
      ASSERT_EQ(found.ranking.size(), expected.ranking.size()) << what;
      for (const Choice& choice : expected.ranking) {
        const auto same =
            std::ranges::find(found.ranking, choice.who.protocol, [](const Choice& c) { return c.who.protocol; });
        ASSERT_NE(same, found.ranking.end()) << what;
        EXPECT_LE(same->fastest_us, choice.fastest_us * (1 + kTieMargin)) << what << ", " << choice.who.protocol;
      }
    }
  }
}

TEST_P(Pruned, FindsTheSameWinnersWithinANode) { expect_the_same_winners(GetParam(), false); }
TEST_P(Pruned, FindsTheSameWinnersBetweenNodes) { expect_the_same_winners(GetParam(), true); }

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

const std::vector<std::string> kFew{"h200-nvlink", "keeneland-kids"};

std::vector<std::string> other_platforms() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(TWINLINK_SOURCE_DIR "/platforms")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".yaml" && std::ranges::find(kFew, name) == kFew.end()) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::string name_of(const ::testing::TestParamInfo<std::string>& test) {
  std::string name = test.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Few, Pruned, ::testing::ValuesIn(kFew), name_of);
INSTANTIATE_TEST_SUITE_P(Others, Pruned, ::testing::ValuesIn(other_platforms()), name_of);

INSTANTIATE_TEST_SUITE_P(Machines, Advised, ::testing::Values("keeneland-kids", "hgx-h100"),
                         [](const auto& test) { return test.index == 0 ? "kids" : "hgx"; });

}  // namespace
}  // namespace twinlink::model
