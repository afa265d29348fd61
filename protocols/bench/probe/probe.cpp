#include "protocols/bench/probe/probe.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "protocols/bench/measure/pairs.hpp"
#include "protocols/bench/probe/probe_lines.hpp"
#include "protocols/bench/probe/prober.hpp"
#include "protocols/bench/results/files.hpp"

namespace twinlink::bench {
namespace {

/// The first rank after rank 0 that is on its node, or on another. The same answer on every rank.
std::optional<RankId> partner_of_first(const Rank& rank, bool same_node) {
  for (int other = 1; other < rank.ranks(); ++other) {
    if ((rank.place(RankId{other}).node == rank.place(RankId{0}).node) == same_node) return RankId{other};
  }
  return std::nullopt;
}

/// The part that this rank plays in a measurement between two: none, or its peer.
std::optional<RankId> other_of(RankId me, RankId leader, RankId follower) {
  if (me == leader) return follower;
  if (me == follower) return leader;
  return std::nullopt;
}

/// What each GPU measures by itself, in parts of which progress is told.
constexpr std::array kLocalParts{probe_local, probe_blocks, probe_load, probe_written, probe_launches};

/// Ranks with a GPU of their own.
std::vector<RankId> leaders_of(const Rank& rank) {
  std::vector<RankId> leaders;
  for (RankId id{0}; id.value < rank.ranks(); ++id.value) {
    if (!repeats_a_place(rank, id)) leaders.push_back(id);
  }
  return leaders;
}

/// What messages between two ranks cost.
void probe_messages_with(Prober& prober, RankId peer, bool leading) {
  probe_messages(prober, peer, leading);
  probe_windows(prober, peer, leading);
  probe_signals(prober, peer, leading);
  probe_programs(prober, peer, leading);
}

/// All primitives once, one part after the other, so that nobody else's traffic is measured. All ranks call it; what
/// each has measured is with its prober. `on_part` is told when one is over.
void probe_all(MeasuredRank& rank, Prober& prober, const Patience& turn, const std::function<void()>& on_part) {
  const auto part = [&](const std::function<void()>& work) {
    meet_all(rank, turn);
    work();
    on_part();
  };
  const std::vector<RankId> leaders = leaders_of(rank);
  for (const RankId leader : leaders) {
    for (const auto& probe_part : kLocalParts) {
      part([&] {
        if (rank.id() == leader) probe_part(prober);
      });
    }
    for (const RankId follower : leaders) {
      if (follower == leader) continue;
      part([&] {
        const auto peer = other_of(rank.id(), leader, follower);
        if (peer) probe_peer_copies(prober, *peer, rank.id() == leader);
      });
    }
  }
  part([&] { probe_together(prober); });
  for (const bool same_node : {true, false}) {
    part([&] {
      const auto partner = partner_of_first(rank, same_node);
      const auto peer = partner ? other_of(rank.id(), RankId{0}, *partner) : std::nullopt;
      if (peer) probe_messages_with(prober, *peer, rank.id() == RankId{0});
    });
  }
}

/// How many parts probe_all() has.
std::size_t parts_of(const Rank& rank) {
  const std::size_t gpus = leaders_of(rank).size();
  return gpus * (kLocalParts.size() + gpus - 1) + 3;
}

}  // namespace

ProbeFindings probe(MeasuredRank& rank, const ProbePlan& plan) {
  if (plan.sizes.empty() || !std::ranges::is_sorted(plan.sizes)) {
    throw UsageError("the sizes of the probes must ascend, and there must be one");
  }
  check_repeats(plan.small);
  check_repeats(plan.large);
  check_passes(plan.passes);
  Prober prober(rank, plan);
  const Patience turn = Patience::of_turn(plan.timeout);

  const std::size_t parts = parts_of(rank) * static_cast<std::size_t>(plan.passes);
  std::size_t done = 0;
  const auto on_part = [&] {
    ++done;
    if (plan.on_progress && rank.id() == RankId{0}) plan.on_progress(done, parts);
  };
  for (int pass = 0; pass < plan.passes; ++pass) probe_all(rank, prober, turn, on_part);
  meet_all(rank, turn);

  ProbeFindings all;
  for (const std::string& text : gather(rank, to_text(to_json(prober.take())), turn)) {
    const nlohmann::json json = nlohmann::json::parse(text);
    Members members(json, "a rank's probes");
    ProbeFindings findings = read_findings(members);
    std::ranges::move(findings.notes, std::back_inserter(all.notes));
    std::ranges::move(findings.lines, std::back_inserter(all.lines));
  }
  return all;
}

void require_found(const ProbeFindings& findings, const ProbePlan& plan) {
  if (plan.only.empty() || !findings.lines.empty()) return;
  std::string reasons;  // of a primitive that this machine lacks
  for (const std::string& note : findings.notes) {
    if (note.find(plan.only) != std::string::npos) reasons += "; " + note;
  }
  throw UsageError("no primitive has '" + plan.only + "' in its name" + reasons);
}

}  // namespace twinlink::bench
