#include "model/cli/explanation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <ostream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/engine/flows/machine.hpp"
#include "model/engine/simulation.hpp"
#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/measure/warm_up.hpp"
#include "protocols/bench/results/settings_text.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

std::string in_words(const Answer& answer) { return answer ? "yes" : "no: " + answer.reason; }

void print_path(const Explanation& all, std::ostream& out) {
  const Path& path = all.path;
  const auto line = [&](std::string_view what, const std::string& text) {
    out << fmt::format("  {:<26} {}\n", what, text);
  };
  out << fmt::format("A message of {} from {} ({}) to {} ({}) on {}\n\nPath\n", format_size(all.size),
                     to_string(all.places[0]), all.places[0].device, to_string(all.places[1]), all.places[1].device,
                     all.platform);
  line("same node", path.same_node ? "yes" : "no");
  line("peer access", in_words(path.peer_access));
  line("memory can be mapped", in_words(path.device_mapping));
  line("network reaches the GPUs", in_words(path.device_memory_on_network));
  if (!path.hypothetical.empty()) line("but hypothetically only", path.hypothetical);
  if (!all.within_node.empty()) line("messages within the node", all.within_node);
  if (all.packing.needed()) {
    line("layout", fmt::format("{}, {} of memory", describe(all.packing.layout),
                               format_size(all.packing.layout.extent(all.size))));
  }
}

void print_libraries(const Explanation& all, std::ostream& out) {
  out << fmt::format("\nA CUDA-aware library chooses for {}\n", format_size(all.size));
  for (const LibraryChoice& choice : all.libraries) {
    out << fmt::format("  {:<14}{}: {}\n  {:14}by the first of these rules that fits\n", choice.library,
                       choice.protocol, choice.reason, "");
    std::istringstream lines(choice.rules);
    for (std::string line; std::getline(lines, line);) out << fmt::format("  {:14}  {}\n", "", line);
  }
}

nlohmann::json to_json(const ExplainedStep& step) {
  const OpReport& r = step.report;
  return {{"rank", r.rank.value},
          {"step", r.step},
          {"operations", step.operations},
          {"bytes", r.size.count()},
          {"cost_entry", r.cost},
          {"route", r.route},
          {"start_us", r.started.microseconds()},
          {"end_us", r.ended.microseconds()},
          {"overhead_us", r.overhead.microseconds()},
          {"latency_us", r.latency.microseconds()},
          {"flow_us", r.flow.microseconds()},
          {"completion_us", r.completion.microseconds()}};
}

/// What held its bytes up longest, if anything did.
std::string held_up(const Explanation& all) {
  const auto longest = std::ranges::max_element(all.links, {}, &LinkShare::bottleneck);
  if (longest == all.links.end() || longest->bottleneck <= Seconds{}) {
    return "Held up by no link: its own engines, blocks and CPUs set the pace";
  }
  return fmt::format("Held up by {} for {}, which was at {:.1f} % of its rate", longest->name,
                     format_seconds(longest->bottleneck), longest->utilisation * 100);
}

}  // namespace

ObservedMessage observe_message(const Platform& platform, const std::vector<Place>& places, const Protocol& protocol,
                                const Settings& settings, const Packing& packing, Bytes size) {
  const Seconds timeout = settings.timeout;
  ObservedMessage all;
  std::vector<OpReport>& reports = all.reports;
  Seconds began{};
  Seconds delivered{};
  std::function<std::vector<LinkUse>()> read;
  std::vector<LinkUse> before;
  std::vector<FlowRecord> flows;
  const auto body = [&](MeasuredRank& simulated) {
    bench::SetUpRank ready(simulated);
    MeasuredRank& rank = ready;
    const RankId peer{1 - rank.id().value};
    const bench::Patience patience = bench::Patience::of_peer(timeout);
    const View message(rank.allocate(message_memory(protocol, packing), packing.layout.extent(size)));
    const PackedBuffers packed(rank, protocol, packing, size, size);
    auto channel = twinlink::connect(rank, peer, protocol, settings, packing, packed);
    const auto round = [&] {
      if (rank.id().value == 0) {
        began = rank.now();
        before = read();
        flows.clear();
      }
      const Outcome outcome = rank.id().value == 0 ? channel->send(message) : channel->receive(message);
      if (!outcome.ok()) throw Error(std::string(to_string(outcome.status)) + ": " + outcome.reason);
      if (rank.id().value == 1) {
        delivered = rank.now();
        // The machine's links are there as long as it is.
        all.links = link_shares(before, read(), flows, bottlenecks_of(flows), began, delivered);
      }
      rank.step("");  // what follows is no part of the protocol
      bench::synchronize(rank, peer, patience);
    };
    bench::WarmUp warm_up(
        ready, [&] { return channel->connecting(); },
        [&](int mine) {
          return bench::agree_in(rank, bench::leader_first(rank.id(), peer, rank.id().value == 0), mine, patience);
        });
    warm_up(1, round);
    if (rank.id().value == 1) reports.clear();
    bench::synchronize(rank, peer, patience);
    round();
    all.path_taken = channel->path_taken();
    all.reasons = channel->reasons();
    // The peer may have the packed buffers open until its end is closed too.
    channel.reset();
    bench::synchronize(rank, peer, patience);
  };
  simulate(platform, places, body,
           {.observer = [&](const OpReport& report) { reports.push_back(report); },
            .on_flow = [&](const FlowRecord& flow) { flows.push_back(flow); },
            .idle_faults = &all.idle,
            .link_use = &read});
  std::erase_if(reports, [](const OpReport& r) { return r.step.empty(); });
  std::ranges::stable_sort(reports, {}, &OpReport::started);
  for (OpReport& report : reports) {
    report.started = report.started - began;
    report.ended = report.ended - began;
  }
  all.delivered = delivered - began;
  return all;
}

std::vector<ExplainedStep> steps_of(const std::vector<OpReport>& reports) {
  std::vector<ExplainedStep> steps;
  std::array<std::optional<std::size_t>, 2> latest{};  // by rank: its last step
  for (const OpReport& report : reports) {
    auto& last = latest.at(static_cast<std::size_t>(report.rank.value));
    const bool packing = report.step == "pack" || report.step == "unpack";
    if (packing && last && steps[*last].report.step == report.step && steps[*last].report.cost == report.cost) {
      ExplainedStep& step = steps[*last];
      ++step.operations;
      step.report.ended = report.ended;
      step.report.overhead += report.overhead;
      step.report.latency += report.latency;
      step.report.flow += report.flow;
      step.report.completion += report.completion;
      step.report.size += report.size;
    } else {
      last = steps.size();
      steps.push_back({report});
    }
  }
  return steps;
}

void print_choice(const Explanation& all, std::ostream& out) {
  print_path(all, out);
  out << "\nProtocols (chosen is the first that needs no fallback; --compare compares their speeds)\n";
  for (const auto& [protocol, text] : all.verdicts) out << fmt::format("  {:<14} {}\n", protocol, text);
  print_libraries(all, out);
}

void print_steps(const Explanation& all, std::ostream& out) {
  if (!all.reasons.empty()) out << fmt::format("\nWhy {} goes so\n", all.protocol);
  for (const std::string& reason : all.reasons) out << fmt::format("  {}\n", reason);
  out << fmt::format("\nSteps of {} ({}), {}, times in microseconds\n", all.protocol, all.path_taken,
                     bench::settings_text(all.settings));
  // The end of a copy is that of its bytes; what the CPU needs to learn of it comes after.
  out << "  rank     start       end  step            = overhead   + latency  +    flow + completion  size    cost "
         "entry\n";
  for (const auto& [r, operations] : all.steps) {
    out << fmt::format("  {:>4} {:>9.3f} {:>9.3f}  {:<15} {:>10.3f} {:>10.3f} {:>10.3f} {:>12.3f}  {:<6}  {}{}\n",
                       r.rank.value, r.started.microseconds(), r.ended.microseconds(), r.step,
                       r.overhead.microseconds(), r.latency.microseconds(), r.flow.microseconds(),
                       r.completion.microseconds(), format_size(r.size), r.cost,
                       operations > 1 ? fmt::format(", {} times", operations) : "");
    if (!r.route.empty()) out << fmt::format("{:28}by {}\n", "", r.route);
  }
  out << fmt::format("\nDelivered after {}\n", format_seconds(all.delivered));
  out << held_up(all) << '\n';
  constexpr double kAlike = 1e-3;
  const double half = all.half_round_trip.value();
  if (half > 0 && std::abs(half / all.delivered.value() - 1) > kAlike) {
    out << fmt::format("Half of a round trip, as 'run' measures it, takes {}: {}\n",
                       format_seconds(all.half_round_trip),
                       "the way back is another one, or a receiver gets ready only after its own message");
  }
}

nlohmann::json to_json(const Explanation& all) {
  const Path& path = all.path;
  nlohmann::json json{{"kind", "twinlink-explanation"},
                      {"schema", 1},
                      {"platform", all.platform},
                      {"from", to_string(all.places[0])},
                      {"to", to_string(all.places[1])},
                      {"bytes", all.size.count()},
                      {"path",
                       {{"same_node", path.same_node},
                        {"peer_access", in_words(path.peer_access)},
                        {"memory_can_be_mapped", in_words(path.device_mapping)},
                        {"network_reaches_gpus", in_words(path.device_memory_on_network)},
                        {"hypothetical", path.hypothetical},
                        {"within_node", all.within_node}}},
                      {"protocol", all.protocol},
                      {"settings", bench::settings_text(all.settings)},
                      {"path_taken", all.path_taken},
                      {"delivered_us", all.delivered.microseconds()},
                      {"held_up", held_up(all)}};
  if (!all.reasons.empty()) json["reasons"] = all.reasons;
  if (all.half_round_trip > Seconds{}) json["half_round_trip_us"] = all.half_round_trip.microseconds();
  if (all.packing.needed()) json["layout"] = to_string(all.packing.layout);
  for (const auto& [protocol, text] : all.verdicts) json["protocols"][protocol] = text;
  for (const LibraryChoice& choice : all.libraries) {
    json["libraries"][choice.library] = {{"protocol", choice.protocol}, {"reason", choice.reason}};
  }
  for (const ExplainedStep& step : all.steps) json["steps"].push_back(to_json(step));
  return json;
}

}  // namespace twinlink::model
