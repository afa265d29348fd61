#include "protocols/bench/probe/probe.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/measure/pairs.hpp"
#include "protocols/bench/probe/prober.hpp"

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

/// All primitives once, one part after the other, so that nobody else's traffic is measured. All ranks call it.
void probe_all(MeasuredRank& rank, Prober& prober, const std::function<void(const std::function<void()>& work)>& part) {
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
  const bool writes = rank.id() == RankId{0};
  const std::size_t known = most_of_all(rank, writes ? std::min(plan.done.size(), parts) : 0, turn);
  std::size_t done = 0;
  ProbeParts all(rank.ranks());
  const auto add = [&](const std::string& text) {
    std::vector<ProbePart> of_ranks;
    for (const nlohmann::json& of_rank : nlohmann::json::parse(text)) {
      of_ranks.push_back(read_part(of_rank, fmt::format("part {} of the probes", done)));
    }
    if (of_ranks.size() != static_cast<std::size_t>(rank.ranks())) {
      throw InputError(fmt::format("part {} of the probes: error: not of {} ranks", done, rank.ranks()));
    }
    all.add(std::move(of_ranks));
  };
  const auto part = [&](const std::function<void()>& work) {
    if (done < known) {
      if (writes) add(plan.done[done]);
    } else {
      meet_all(rank, turn);
      work();
      const std::vector<std::string> texts = gather(rank, to_text(prober.take()), turn);
      if (writes) {
        const std::string text = fmt::format("[{}]", fmt::join(texts, ","));
        add(text);
        if (plan.on_part) plan.on_part(text);
      }
    }
    ++done;
    if (plan.on_progress && writes) plan.on_progress(done, parts);
  };
  for (int pass = 0; pass < plan.passes; ++pass) probe_all(rank, prober, part);
  meet_all(rank, turn);
  return all.take(plan.keep_samples);
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
