#include "protocols/gpu/choice.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "protocols/core/enum_table.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::gpu {
namespace {

/// Row and column of a limit on one node, or between several.
std::size_t column(const Ground& ground) { return static_cast<std::size_t>(std::clamp(ground.nodes, 1, 3) - 1); }
double of(const Limits& limits, const Ground& ground) {
  return limits[ground.generation()][column(ground)].bytes_per_second();
}

/// Between nodes CPUs carry lines of LL.
double most_of_ll(const Ground& ground) {
  const std::size_t row = ground.nodes == 1 ? ground.generation() : ground.cpu == Cpu::amd ? 1 : 0;
  return ground.release->ll[row][column(ground)].bytes_per_second();
}

/// Bytes that a channel is worth, by which a small message has fewer of them. Rings that are no faster than a slot of
/// PCIe have half of the threads.
std::uint64_t worth(const Ground& ground, LineFormat format, Algorithm algorithm, int ranks) {
  const std::uint64_t each = ground.release->worth.at(format).count();
  if (algorithm != Algorithm::ring) return each;
  if (format == LineFormat::ll) return each * static_cast<std::uint64_t>(ranks);
  const Rate carried = ground.nodes > 1 ? ground.network : ground.ring;
  return format == LineFormat::simple && carried <= ground.release->pcie ? each / 2 : each;
}

/// What goes from one to all goes through all.
bool is_rooted(Operation operation) { return operation == Operation::broadcast || operation == Operation::reduce; }

int steps_of(Operation operation, int ranks) {
  if (is_rooted(operation)) return ranks;
  return (operation == Operation::all_reduce ? 2 : 1) * (ranks - 1);
}

/// How often nodes can be halved.
int doublings(int nodes) { return static_cast<int>(std::bit_width(static_cast<unsigned>(nodes))) - 1; }

bool is_messages(Operation operation) { return operation == Operation::exchange || operation == Operation::all_to_all; }

/// Is each rank alone on its node?
bool is_alone(const Ground& ground) { return ground.nodes > 1 && ground.per_node == 1; }

struct Candidate {
  Algorithm algorithm = Algorithm::ring;
  LineFormat format = LineFormat::simple;
};

/// All channels of a ring or of trees. Over two nodes a tree's are as fast as within one, up to twice what they get of
/// the network.
double channels_rate(const Ground& ground, bool tree) {
  const double within = ground.ring.bytes_per_second();
  if (ground.nodes == 1) return within;
  const double network = ground.network.bytes_per_second();
  return std::min(within, tree && ground.nodes == 2 ? 2 * network : network);
}

/// A rank alone on its node has all that is above and below it at one adapter.
double bus_rate(const Ground& ground, Candidate candidate) {
  const Release& release = *ground.release;
  const bool tree = candidate.algorithm == Algorithm::tree;
  double bus = channels_rate(ground, tree);
  const int channels = ground.searched.count;
  if (tree) bus = std::min(bus * 0.92, channels * of(release.tree, ground));
  switch (candidate.format) {
    case LineFormat::ll:
      return std::min(most_of_ll(ground), tree ? bus / 3.8 : bus / 2);
    case LineFormat::ll128: {
      const double each = of(tree ? release.tree_ll128 : release.ring_ll128, ground);
      const double ring = is_alone(ground) ? release.alone_ll128 : 0.92;
      const double share = !tree ? ring : ground.nodes == 1 ? 7.0 / 9 : 120.0 / 128;
      return std::min(share * bus, channels * each);
    }
    case LineFormat::simple:
      break;
  }
  return bus;
}

double tree_share(const Ground& ground) { return is_alone(ground) ? 0.85 : 1; }

/// Work is given out in cells, and a channel has a whole number of them: so the last ones may be left without any.
int channels_with_cells(std::uint64_t most, Operation operation, Candidate candidate, Bytes bytes, int ranks) {
  constexpr std::uint64_t kLeastTraffic = 16384;
  constexpr std::uint64_t kGrain = 16;
  const bool parts = operation == Operation::all_gather || operation == Operation::reduce_scatter;
  std::uint64_t each = operation == Operation::all_reduce ? 2 : parts ? number(ranks) : 1;
  if (candidate.format == LineFormat::ll) each *= 4;
  const std::uint64_t own = parts ? bytes.count() / number(ranks) : bytes.count();
  const std::uint64_t of_channel = std::max(kLeastTraffic, own * each / most);
  const std::uint64_t cell = turns(turns(kLeastTraffic, each), kGrain) * kGrain;
  const std::uint64_t cells = turns(own, cell);
  return static_cast<int>(std::max<std::uint64_t>(turns(cells, std::min(cells, turns(of_channel, cell * each))), 1));
}

struct Counted {
  int count = 1;
  std::string why{};
};

Counted channels_for(const Ground& ground, Operation operation, Candidate candidate, Bytes bytes, int ranks,
                     const Fixed& fixed) {
  if (fixed.channels) return {*fixed.channels, "the user's"};
  const bool switched = is_by_switch(candidate.algorithm);
  const auto all = static_cast<std::uint64_t>(switched ? ground.switch_channels : ground.channels);
  const std::string all_by = switched ? "as many as the release has for a switch" : ground.channels_by;
  const std::uint64_t each = worth(ground, candidate.format, candidate.algorithm, ranks);
  // Nothing says how many threads parallel trees have, and so bytes are no less than these are worth.
  const bool takes_all = switched || candidate.algorithm == Algorithm::pat;
  const std::uint64_t most = takes_all ? all : std::clamp<std::uint64_t>(bytes.count() / each, 1, all);
  const int used =
      ground.release->in_cells ? channels_with_cells(most, operation, candidate, bytes, ranks) : static_cast<int>(most);
  if (used < ground.least_channels) return {ground.least_channels, "as many as there are to be at the least"};
  if (number(used) == all) return {used, all_by};
  std::string why = "one for each " + std::to_string(each) + " B";
  if (number(used) != most) why = "whole cells of bytes, at most " + (most == all ? all_by : why);
  return {used, std::move(why)};
}

/// What a proxy takes for each step.
Seconds proxy_step(const Ground& ground) {
  return ground.cpu == Cpu::amd ? ground.release->network_overhead_amd : ground.release->network_overhead;
}

double latency_us(const Ground& ground, Operation operation, Candidate candidate, int ranks) {
  const Release& release = *ground.release;
  const bool tree = candidate.algorithm == Algorithm::tree;
  const auto of = [&](const Latencies& latencies, bool of_tree) {
    return (of_tree ? latencies.tree : latencies.ring).at(candidate.format).microseconds();
  };
  const double base = of(release.base, tree);
  double inside = of(ground.links() ? release.over_links : release.over_pcie, tree);
  const double hop = of(release.over_network, tree || (ground.per_node == 1 && release.tree_latency_alone));
  if (tree) {
    const int hops = doublings(ground.nodes);
    const int together = ground.nodes == 1 ? ranks : ground.per_node;
    return base + 2 * ((together - 1) * inside + hops * hop);
  }
  const int steps = steps_of(operation, ranks);
  if (is_rooted(operation)) {
    // Chunks follow each other, and in rings of one order all hops are one.
    const bool as_trees = !ground.one_order && candidate.format == LineFormat::simple;
    const Latencies& each = ground.nodes > 1 ? release.over_network
                            : ground.links() ? release.over_links
                                             : release.over_pcie;
    return base + (ground.one_order ? 1 : steps) * of(each, as_trees);
  }
  const bool twice = operation == Operation::all_reduce;
  const int crossed = twice && release.all_nodes_left ? ground.nodes : ground.nodes - 1;
  const int between = ground.nodes == 1 ? 0 : (twice ? 2 : 1) * crossed;
  // Of each step the proxies take their part.
  const double overhead = (candidate.format == LineFormat::simple ? 3 : 1) * proxy_step(ground).microseconds();
  if (ground.nodes > 1) inside = std::max(inside, overhead);
  return base + (steps - between) * inside + between * hop;
}

/// A read brings the sum of all, and a store goes to all; one channel is counted for what ranks tell each other.
double predicted_of_switch_us(const Ground& ground, Candidate candidate, Bytes bytes, int ranks) {
  const Release& release = *ground.release;
  const bool tree = candidate.algorithm == Algorithm::nvls_tree;
  const double heads = std::max(ground.heads.count, 2);
  double each =
      ground.heads.within.bytes_per_second() * release.switch_share[ground.generation()] * (heads - 1) / heads;
  each = std::min(2 * each, ground.heads.between.bytes_per_second() * (tree && ground.nodes == 2 ? 2 : 1));
  double us = release.switched.microseconds();
  if (tree) us += 2 * doublings(ground.nodes) * release.switch_hop.microseconds();
  if (!tree && ground.nodes > 1) us += release.switch_hop.microseconds();
  if (release.switch_flat > 0) {
    const double between = ground.heads.between.bytes_per_second() / (tree && ground.nodes > 2 ? 2 : 1);
    each = std::min(ground.heads.within.bytes_per_second(), between);
    return us + static_cast<double>(bytes.count()) / (heads * each * release.switch_flat) * 1e6;
  }
  if (tree) {
    const auto& most = of_capability(release.switch_tree, ground.capability);
    each = std::min(each, most[ground.nodes == 2 ? 0 : 1].bytes_per_second());
  }
  const double rate = heads * each * ranks / (2.0 * (ranks - 1));
  return us + static_cast<double>(bytes.count()) / rate * 1e6;
}

double predicted_us(const Ground& ground, Operation operation, Candidate candidate, Bytes bytes, int ranks,
                    int channels) {
  if (is_by_switch(candidate.algorithm)) return predicted_of_switch_us(ground, candidate, bytes, ranks);
  if (candidate.algorithm == Algorithm::pat) {
    const auto& [all, doubling, rank] = ground.release->pat;
    const double rate = channels_rate(ground, true) * ground.release->pat_share;
    return (all + doubling * doublings(ground.nodes) + rank * ranks).microseconds() +
           static_cast<double>(bytes.count()) / rate * 1e6;
  }
  const bool tree = candidate.algorithm == Algorithm::tree;
  const auto size = static_cast<double>(bytes.count());
  double us = latency_us(ground, operation, candidate, ranks);
  double rate = bus_rate(ground, candidate);
  rate *= tree ? 0.5 * tree_share(ground) : static_cast<double>(ranks) / steps_of(operation, ranks);
  if (tree && bytes.count() >= 64) {
    const auto doublings = static_cast<std::size_t>(std::bit_width(bytes.count() / 64) - 1);
    const auto& shares = ground.release->tree_share;
    const std::size_t row = candidate.format == LineFormat::ll ? 0 : candidate.format == LineFormat::ll128 ? 1 : 2;
    if (doublings < shares[row].size()) rate *= shares[row][doublings];
  }
  // Rings over several nodes reach a plateau.
  constexpr double kPlateau = 64;
  if (!tree && candidate.format == LineFormat::simple && ground.nodes > 1 && operation == Operation::all_reduce &&
      size / (channels * static_cast<double>(ranks)) >= kPlateau) {
    constexpr int kAmpere = 80;
    us *= ground.capability < kAmpere ? 1.9 : 1.4;
  }
  return us + size / rate * 1e6;
}

std::string two_digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  return text.data();
}

std::string name_of(Candidate candidate, bool of_trees) {
  const std::string format(to_string(candidate.format));
  return of_trees ? std::string(to_string(candidate.algorithm)) + " " + format : format;
}

Verdict trees(const Ground& ground, Operation operation) {
  if (operation != Operation::all_reduce) return {false, "of an all-reduce alone"};
  if (ground.nodes == 1) return {true, "a chain of all ranks"};
  return {true, "a binary tree of " + std::to_string(ground.nodes) + " nodes, within which ranks are chains"};
}

/// Slots of simple alone: of one node or domain, or of several with trees between them.
Verdict switches(const Ground& ground, Operation operation) {
  if (operation != Operation::all_reduce) return {false, "of an all-reduce alone"};
  if (!ground.reduces.open) return ground.reduces;
  if (ground.heads.count < 2) return {false, "links of a GPU have no room for two sums at once"};
  return {true, ground.reduces.why + ", whose sums " + std::to_string(ground.heads.count) + " GPUs read at " +
                    in_gigabytes(ground.heads.within)};
}

/// Of each rank's part, where each is alone on its node.
Verdict parallel_trees(const Ground& ground) {
  if (ground.release->pat_share == 0) return {false, "the release has no parallel trees"};
  if (!is_alone(ground)) return {false, "nodes have several ranks, or there is one node"};
  return {true, "each rank is alone on its node"};
}

/// What is left to choose from, rings first, and why.
struct Offered {
  std::vector<Candidate> all{};
  std::vector<std::string> facts{};

  void tell(const std::string& what, const Verdict& verdict) {
    facts.push_back(what + (verdict.open ? " on: " : " off: ") + verdict.why);
  }
};

Offered candidates(const Ground& ground, Operation operation, const Fixed& fixed) {
  Offered offered;
  const Verdict user{true, "the user's"};
  const Verdict ll128 = fixed.formats.empty() ? ground.ll128() : user;
  offered.tell(fixed.formats.empty() ? "LL128" : "formats", ll128);
  const auto add = [&](Algorithm algorithm) {
    for (const LineFormat format : {LineFormat::ll, LineFormat::ll128, LineFormat::simple}) {
      const bool off = format == LineFormat::ll128 && !ll128.open;
      if (fixed.leaves(format) && !off) offered.all.push_back({algorithm, format});
    }
  };
  const bool sums = operation == Operation::all_reduce;
  // Who wants one of those alone that are of an all-reduce has rings of what is none.
  const bool parts = operation == Operation::all_gather || operation == Operation::reduce_scatter;
  const bool wants_pat = parts && !fixed.algorithms.empty() && fixed.leaves(Algorithm::pat);
  if (fixed.leaves(Algorithm::ring) || (!sums && !wants_pat)) add(Algorithm::ring);
  const Verdict tree = trees(ground, operation);
  if (fixed.leaves(Algorithm::tree) && tree.open) add(Algorithm::tree);
  if (sums && !fixed.algorithms.empty()) offered.tell("algorithms", user);
  if (sums && fixed.leaves(Algorithm::tree)) offered.tell("trees", tree);
  const Verdict switched = switches(ground, operation);
  for (const Algorithm algorithm : {Algorithm::nvls, Algorithm::nvls_tree}) {
    const bool fits = (ground.nodes == 1) == (algorithm == Algorithm::nvls);
    const bool alone = fixed.algorithms.size() == 1;  // who wants nothing else has been told where it cannot be
    if (!sums || !fixed.leaves(algorithm) || !(fits || alone)) continue;
    offered.tell("NVLS", switched);
    if (fixed.leaves(LineFormat::simple) && (switched.open || alone)) {
      offered.all.push_back({algorithm, LineFormat::simple});
    }
  }
  if (!sums) offered.facts.emplace_back("trees off: " + tree.why);
  if (parts && fixed.leaves(Algorithm::pat)) {
    const Verdict pat = parallel_trees(ground);
    offered.tell("PAT", pat);
    if (pat.open && fixed.leaves(LineFormat::simple)) offered.all.push_back({Algorithm::pat, LineFormat::simple});
  }
  if (ground.nodes > 1) {
    offered.facts.push_back("proxies: " + two_digits(proxy_step(ground).microseconds()) + " us a step, beside CPUs " +
                            (ground.cpu == Cpu::amd ? "of AMD" : "of others than AMD"));
  }
  return offered;
}

/// Messages to all ranks go at once. Buffers between nodes are shared by all of them, and have no lines.
Choice choose_for_messages(const Ground& ground, Operation operation, Bytes bytes, int ranks, const Fixed& fixed) {
  const bool alone = operation == Operation::exchange;
  const Bytes each = alone ? bytes : Bytes{bytes.count() / static_cast<std::uint64_t>(ranks)};
  MessageChannels channels = message_channels(ground, each, ranks, false);
  const int counted = fixed.channels.value_or(ground.release->ll_by_most ? channels.most : channels.parts);
  const Bytes most{ground.nodes > 1 ? 0 : ground.release->most_by_ll.count() * static_cast<std::uint64_t>(counted)};
  Choice choice{.format = each <= most ? LineFormat::ll : LineFormat::simple, .why = "by " + ground.release->name};
  std::string format = most == Bytes{} ? "between nodes messages go by simple"
                                       : "messages of up to " + std::to_string(most.count() / 1024) + " KiB go by ll";
  if (!fixed.leaves(choice.format)) {
    choice.format = fixed.leaves(LineFormat::simple) ? LineFormat::simple : fixed.formats.front();
    format = "the user's";
  }
  choice.facts = {"format: " + format, "channels: " + (fixed.channels ? "the user's" : channels.why)};
  if (choice.format != LineFormat::simple) channels = message_channels(ground, each, ranks, true);
  choice.parts = fixed.channels.value_or(channels.parts);
  choice.channels = fixed.channels.value_or(alone ? channels.parts : channels.all);
  return choice;
}

}  // namespace

Choice choose(const Ground& ground, Operation operation, Bytes bytes, int ranks, const Fixed& fixed) {
  if (is_messages(operation)) return choose_for_messages(ground, operation, bytes, ranks, fixed);
  Offered offered = candidates(ground, operation, fixed);
  if (offered.all.empty()) {
    std::string facts;
    for (const std::string& fact : offered.facts) facts += (facts.empty() ? "" : "; ") + fact;
    throw UnavailableError("protocol 'nccl' cannot run here: of what the user leaves nothing is on (" + facts + ")");
  }
  // Within a node without a choice the word "ring" says nothing.
  const bool trees = std::ranges::any_of(offered.all, [](Candidate each) { return each.algorithm != Algorithm::ring; });
  const int counted = fixed.channels.value_or(ground.channels);
  std::optional<Choice> best;
  std::string why;
  for (const Candidate& candidate : offered.all) {
    const Seconds time{1e-6 * predicted_us(ground, operation, candidate, bytes, ranks, counted)};
    why += (why.empty() ? "predicted us: " : ", ") + name_of(candidate, trees) + " " + two_digits(time.microseconds());
    if (!best || time < *best->predicted) {
      best = Choice{.format = candidate.format, .algorithm = candidate.algorithm, .predicted = time};
    }
  }
  Counted channels = channels_for(ground, operation, {best->algorithm, best->format}, bytes, ranks, fixed);
  best->channels = channels.count;
  best->why = (offered.all.size() == 1 ? "the user's" : why) + "; by " + ground.release->name;
  best->facts = std::move(offered.facts);
  best->facts.push_back("channels: " + channels.why);
  return *best;
}

const Choice& LastChoice::of(const Ground& ground, Operation operation, Bytes bytes, int ranks, const Fixed& fixed) {
  if (!choice_ || bytes_ != bytes) {
    choice_ = choose(ground, operation, bytes, ranks, fixed);
    bytes_ = bytes;
  }
  return *choice_;
}

}  // namespace twinlink::gpu
