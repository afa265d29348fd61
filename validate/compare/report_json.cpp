#include "validate/compare/report.hpp"

#include <nlohmann/json.hpp>

#include "protocols/core/enum_table.hpp"

namespace twinlink::validate {
namespace {

using nlohmann::json;

json optional_number(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

json key_json(const Key& key) {
  json out{{"bytes", key.size.count()}};
  if (!key.name.empty()) out["name"] = key.name;
  if (!key.gpu.empty()) out["gpu"] = key.gpu;
  if (!key.peer.empty()) out["peer"] = key.peer;
  return out;
}

json keys_json(const std::vector<Key>& keys) {
  auto out = json::array();
  for (const auto& key : keys) out.push_back(key_json(key));
  return out;
}

json recording_json(const Recording& recording) {
  json out{{"file", recording.file},
           {"program", recording.program},
           {"command", recording.command},
           {"environment", *recording.environment}};
  if (recording.series) {
    const auto& series = *recording.series;
    out["protocol"] = series.protocol;
    out["pattern"] = to_string(series.pattern);
    out["from"] = series.from;
    out["to"] = series.to;
    for (const bench::OtherPair& other : series.beside) out["beside"].push_back(other.where_and_what());
    if (series.told.settings) {
      if (series.settings.chunk) out["chunk_bytes"] = series.settings.chunk->count();
      if (series.settings.depth) out["depth"] = *series.settings.depth;
    }
    if (series.told.window) out["window"] = series.window;
  }
  if (const auto& workload = recording.workload) {
    out["workload"] = workload->workload;
    out["protocol"] = workload->protocol;
    out["protocol_between_nodes"] = workload->protocol_between;
    if (!workload->protocol_between_domains.empty()) {
      out["protocol_between_domains"] = workload->protocol_between_domains;
    }
    out["ranks"] = workload->ranks;
    if (!workload->settings.empty()) out["settings"] = workload->settings;
  }
  return out;
}

json rows_json(const std::vector<Row>& rows) {
  auto out = json::array();
  for (const auto& row : rows) {
    auto line = key_json(row.key);
    line["measured_us"] = row.measured_us;
    line["simulated_us"] = row.simulated_us;
    line["error"] = relative_error(row);
    line["unstable"] = row.unstable;
    out.push_back(std::move(line));
  }
  return out;
}

json errors_json(const ErrorSummary& errors) {
  return {{"n", errors.n},
          {"geometric_mean", errors.geometric_mean},
          {"bias", errors.bias},
          {"p95", errors.p95},
          {"slower", errors.slower},
          {"max", errors.max},
          {"max_at", key_json(errors.max_at)}};
}

json pair_json(const Pair& pair) {
  json out{{"label", pair.label},
           {"measured", recording_json(pair.measured)},
           {"simulated", recording_json(pair.simulated)},
           {"notes", pair.notes},
           {"rows", rows_json(pair.joined.rows)},
           {"only_measured", keys_json(pair.joined.only_measured)},
           {"only_simulated", keys_json(pair.joined.only_simulated)},
           {"errors", errors_json(pair.errors)}};
  if (pair.measured.series) out["expectation"] = to_string(pair.prediction);
  return out;
}

json order_json(const Comparison& comparison, const CurveOrder& order) {
  const auto label = [&](Faster curve) { return comparison.pairs[curve == Faster::a ? order.a : order.b].label; };
  const auto leads_json = [&](const std::vector<Lead>& leads) {
    auto out = json::array();
    for (const auto& lead : leads) out.push_back({{"faster", label(lead.curve)}, {"from_bytes", lead.from_bytes}});
    return out;
  };
  auto crossovers = json::array();
  for (const auto& crossover : order.crossovers) {
    crossovers.push_back({{"faster", label(crossover.curve)},
                          {"measured_bytes", optional_number(crossover.measured_bytes)},
                          {"simulated_bytes", optional_number(crossover.simulated_bytes)},
                          {"distance_log2", optional_number(crossover.distance())}});
  }
  return {{"a", comparison.pairs[order.a].label},   {"b", comparison.pairs[order.b].label},
          {"measured", leads_json(order.measured)}, {"simulated", leads_json(order.simulated)},
          {"crossovers", std::move(crossovers)},    {"sizes", order.sizes},
          {"same_order", order.same_order}};
}

std::string_view verdict_name(Verdict verdict) {
  constexpr Words<Verdict> kNames{"no limit", "passed", "exceeded"};
  return kNames[verdict];
}

}  // namespace

json json_report(const Comparison& comparison) {
  auto pairs = json::array();
  for (const auto& pair : comparison.pairs) pairs.push_back(pair_json(pair));
  auto orders = json::array();
  for (const auto& order : comparison.orders) orders.push_back(order_json(comparison, order));
  json limits{{"geometric_mean", optional_number(comparison.limits.geometric_mean)},
              {"p95", optional_number(comparison.limits.p95)}};
  if (comparison.limits.slower) limits["slower"] = *comparison.limits.slower;
  const Pair& first = comparison.pairs.front();
  return {{"kind", "twinlink-comparison"},
          {"schema", kComparisonSchema},
          {"program", "twinlink-validate " TWINLINK_VERSION},
          {"sides", {first.measured.side(), first.simulated.side()}},
          {"pairs", std::move(pairs)},
          {"orders", std::move(orders)},
          {"limits", std::move(limits)},
          {"verdict", verdict_name(comparison.verdict())},
          {"exceeded", comparison.exceeded}};
}

}  // namespace twinlink::validate
