#include "validate/calibrate/calibration_messages.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "protocols/bench/results/statistics.hpp"
#include "validate/primitives/message_times.hpp"
#include "validate/primitives/queue_times.hpp"

namespace twinlink::validate {
namespace {

/// The middle of the lines of this size.
std::optional<Seconds> time_at(const Group& group, Bytes size) {
  std::vector<double> times;
  for (const GroupedProbe& grouped : group.lines) {
    if (grouped.size() == size) times.push_back(grouped.time().value());
  }
  return times.empty() ? std::nullopt : std::optional(Seconds{bench::upper_median(times)});
}

/// The shortest line of this size.
std::optional<Seconds> shortest_at(const Group& group, Bytes size) {
  std::optional<Seconds> shortest;
  for (const GroupedProbe& grouped : group.lines) {
    if (grouped.size() == size && (!shortest || grouped.time() < *shortest)) shortest = grouped.time();
  }
  return shortest;
}

/// What the CPU is busy for to send. At the eager limit that may change, so the largest eager size of the group stands
/// for all up to there.
platforms::Piecewise fit_posting(const Group& group, Bytes eager_limit) {
  std::map<Bytes, CostAt> costs;
  for (const GroupedProbe& grouped : group.lines) {
    const Seconds time = *time_at(group, grouped.size());
    costs[grouped.size()] = {{grouped.size(), time}, time * (2 * kTolerance)};
  }
  const auto above = costs.upper_bound(eager_limit);
  if (above != costs.begin() && above != costs.end()) {
    CostAt largest = std::prev(above)->second;
    largest.knot.size = eager_limit;
    costs.emplace(eager_limit, largest);
  }
  return curve_of(costs);
}

/// What the receiver's CPU is busy for with an eager message, of windows both ways. `messages` and `one_way` are the
/// groups of messages by themselves and of windows one way; a size that they lack tells nothing. Nothing if no size
/// does.
std::optional<platforms::Piecewise> fit_completion(const Group& both_ways, const Group& messages, const Group& one_way,
                                                   const platforms::NetworkCosts& costs,
                                                   const platforms::Topology& topology) {
  std::map<Bytes, CostAt> ascending;
  for (const GroupedProbe& grouped : both_ways.lines) {
    const auto together = time_at(both_ways, grouped.size());
    const auto alone = shortest_at(messages, grouped.size());
    const auto window = time_at(one_way, grouped.size());
    if (!alone || !window) continue;
    const EagerTimes times{.alone = *alone,
                           .one_way = *window,
                           .both_ways = *together,
                           .flow = flow_of_message(grouped.primitive, grouped.size(), topology)};
    const Seconds completion = completion_of(costs, grouped.size(), times);
    ascending[grouped.size()] = {{grouped.size(), completion}, *together * kTolerance};
  }
  return ascending.empty() ? std::nullopt : std::optional(curve_of(ascending));
}

/// What a CPU is busy for to learn that a send is over. Nothing where CPUs wait for messages at every size.
std::optional<Seconds> fit_send_completion(const Group& both_ways, const platforms::NetworkCosts& costs) {
  std::vector<CountedObservation> observations;
  for (const GroupedProbe& grouped : both_ways.lines) {
    if (costs.taking_in(grouped.size()) == Seconds{}) continue;
    const Seconds rest = grouped.time() - send_completion_of(costs, grouped.size(), grouped.time());
    observations.push_back({observation_of(grouped), rest, 1});
  }
  if (observations.empty()) return std::nullopt;
  return fit_share(observations).value_or(Seconds{});
}

}  // namespace

MessageFits::MessageFits(const ProbeSet& probes, const std::vector<Group>& groups, const platforms::Topology& base,
                         PlatformEdit& edit, std::vector<std::string>& notes)
    : probes_(probes), groups_(groups), base_(base), edit_(edit), notes_(notes) {}

void MessageFits::fit_cpu() {
  for (const Group& group : groups_) fit_start(group);
  for (const Group& group : groups_) fit_end(group);
}

/// The costs of the network at `path`, "mpi.intra_node", as far as they are known.
platforms::NetworkCosts& MessageFits::network_at(const std::string& path) {
  const platforms::Platform& base = base_.platform();
  const bool within = path == "mpi.intra_node";
  return networks_.try_emplace(path, within ? base.intra_node : base.network.value()).first->second;
}

void MessageFits::fit_start(const Group& group) {
  const std::string network(group.path, 0, group.path.rfind('.'));
  switch (group.first().kind) {
    case Primitive::Kind::start_message:
      network_at(network).send_overhead.value = fit_posting(group, network_at(network).eager_limit.value);
      return set_fit(edit_, group.path, network_at(network).send_overhead.value, group, probes_);
    case Primitive::Kind::start_receive:
      network_at(network).receive_overhead.value = fit_constant(observations_of(group));
      return set_fit(edit_, group.path, network_at(network).receive_overhead.value, group, probes_);
    case Primitive::Kind::control:
      network_at(network).control.value = fit_constant(observations_of(group)) - message_way(group.first(), {}, base_);
      return;  // to be known here: as a number of the platform it is no part of a message
    default:
      return;
  }
}

void MessageFits::fit_end(const Group& group) {
  const std::string network(group.path, 0, group.path.rfind('.'));
  if (group.first().kind == Primitive::Kind::queued_control) {
    return set_fit(edit_, group.path, receiving_control_of(network_at(network), fit_constant(observations_of(group))),
                   group, probes_);
  }
  if (group.first().kind != Primitive::Kind::completion) return;
  const Group* const messages = find_group(groups_, network);
  const Group* const one_way = find_group(groups_, network + ".gap");
  std::optional<platforms::Piecewise> completion;
  if (messages != nullptr && one_way != nullptr) {
    completion = fit_completion(group, *messages, *one_way, network_at(network), base_);
  }
  if (!completion) {
    notes_.push_back(group.path + ": told only beside messages and windows one way of the same sizes; it stays");
    return;
  }
  set_fit(edit_, group.path, *completion, group, probes_);
  network_at(network).completion = platforms::Sourced<platforms::Piecewise>{*completion, {}};
  if (const auto sent = fit_send_completion(group, network_at(network))) {
    set_fit(edit_, network + ".send_completion", *sent, group, probes_);
  } else if (network_at(network).send_completion) {
    notes_.push_back(network + ".send_completion: the CPUs wait for messages, which tells nothing of it; it stays");
  }
}

/// Sending takes no more of the CPU than the shortest message as a whole.
void MessageFits::limit_posting(const Group& messages) {
  platforms::NetworkCosts& costs = network_at(messages.path);
  const Seconds most = messages.shortest();
  std::vector<platforms::Piecewise::Knot> knots = costs.send_overhead.value.knots();
  if (knots.front().cost <= most) return;
  const std::string path = messages.path + ".send_overhead";
  const bool probed = find_group(groups_, path) != nullptr;
  notes_.push_back(fmt::format("{}: {} {}, but all takes only {}", path, format_seconds(knots.front().cost),
                               probed ? "measured" : "in the base", format_seconds(most)));
  for (auto& knot : knots) knot.cost = std::min(knot.cost, most);
  costs.send_overhead.value = platforms::Piecewise(knots);
  edit_.set(path, costs.send_overhead.value, platforms::Quality::derived,
            "no more than the shortest probe takes as a whole");
}

std::vector<Observation> MessageFits::observations_beside_cpu(const Group& messages) {
  limit_posting(messages);
  const platforms::NetworkCosts& costs = network_at(messages.path);
  std::vector<Observation> observations;
  for (const GroupedProbe& grouped : messages.lines) {
    Observation& o = observations.emplace_back(observation_of(grouped));
    o.busy = message_way(grouped.primitive, o.size, base_) + costs.posting(o.size) + costs.taking_in(o.size);
    o.again = costs.last_fragment(o.size) - costs.first_part(o.size);
  }
  return observations;
}

}  // namespace twinlink::validate
