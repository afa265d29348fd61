#include "model/study/warm_messages.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/engine/simulation.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/measure/check_error.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

std::string without_times(std::string_view how, const std::string& why) { return bench::to_text({{how, why}}); }

}  // namespace

bench::Plan warm_plan(bench::Pattern pattern, std::vector<Bytes> sizes, int window, Settings settings) {
  const bench::Repeats repeats = bench::simulated_repeats().latency_small;
  return {.pattern = pattern,
          .sizes = std::move(sizes),
          .window = window,
          .small = repeats,
          .large = repeats,
          .settings = std::move(settings)};
}

bench::Series warm_series(const Platform& platform, std::span<const Place> places, const Protocol& protocol,
                          const bench::Plan& plan) {
  bench::Series series;
  simulate(platform, places, [&](MeasuredRank& rank) {
    bench::Series mine = bench::measure(rank, protocol, plan);
    if (rank.id() == plan.first) series = std::move(mine);
  });
  return series;
}

std::string answer_or_refusal(const std::function<std::string()>& answer) {
  try {
    return answer();
  } catch (const UsageError& error) {
    return without_times(kRefused, error.what());
  } catch (const UnavailableError& error) {
    return without_times(kRefused, error.what());
  } catch (const bench::NotDelivered& error) {
    return without_times(kNotDelivered, error.what());
  }
}

std::string why_no_answer(const nlohmann::json& answer) {
  for (const std::string_view how : {kRefused, kNotDelivered}) {
    const auto found = answer.is_object() ? answer.find(how) : answer.end();
    if (found != answer.end()) return fmt::format("{}: {}", how, found->get<std::string>());
  }
  return {};
}

double to_picoseconds(double time_us) { return std::round(time_us * 1e6) / 1e6; }

}  // namespace twinlink::model
