#include "protocols/bench/probe/probe.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include <nlohmann/json.hpp>

#include "protocols/bench/measure/all_pairs.hpp"
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

/// All primitives once. All ranks call it; what each has measured is with its prober.
void probe_all(Rank& rank, Prober& prober, const Patience& turn) {
  // One at a time, so that nobody else's traffic is measured.
  for (RankId leader{0}; leader.value < rank.ranks(); ++leader.value) {
    if (repeats_a_place(rank, leader)) continue;
    meet_all(rank, turn);
    if (rank.id() == leader) {
      probe_local(prober);
      probe_blocks(prober);
      probe_load(prober);
      probe_written(prober);
    }
    for (RankId follower{0}; follower.value < rank.ranks(); ++follower.value) {
      if (follower == leader || repeats_a_place(rank, follower)) continue;
      meet_all(rank, turn);
      const auto peer = other_of(rank.id(), leader, follower);
      if (peer) probe_peer_copies(prober, *peer, rank.id() == leader);
    }
  }
  probe_together(prober);
  for (const bool same_node : {true, false}) {
    meet_all(rank, turn);
    const auto partner = partner_of_first(rank, same_node);
    const auto peer = partner ? other_of(rank.id(), RankId{0}, *partner) : std::nullopt;
    if (!peer) continue;
    probe_messages(prober, *peer, rank.id() == RankId{0});
    probe_windows(prober, *peer, rank.id() == RankId{0});
    probe_signals(prober, *peer, rank.id() == RankId{0});
  }
}

}  // namespace

ProbeFindings probe(Rank& rank, const ProbePlan& plan) {
  if (plan.sizes.empty() || !std::ranges::is_sorted(plan.sizes)) {
    throw UsageError("the sizes of the probes must ascend, and there must be one");
  }
  check_repeats(plan.small);
  check_repeats(plan.large);
  check_passes(plan.passes);
  Prober prober(rank, plan);
  const Patience turn{plan.patience};

  for (int pass = 0; pass < plan.passes; ++pass) probe_all(rank, prober, turn);
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

}  // namespace twinlink::bench
