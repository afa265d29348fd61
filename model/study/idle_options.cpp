#include "model/study/idle_options.hpp"

#include <algorithm>
#include <functional>
#include <iostream>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "model/study/shares.hpp"
#include "protocols/core/options.hpp"
#include "protocols/cuda_aware.hpp"
#include "protocols/parts/segment_channel.hpp"
#include "protocols/registry.hpp"
#include "protocols/workloads/connections.hpp"
#include "protocols/workloads/experts.hpp"

namespace twinlink::model {
namespace {

bool share_a_node(std::span<const Place> places) {
  std::set<int> nodes;
  return std::ranges::any_of(places, [&](const Place& place) { return !nodes.insert(place.node).second; });
}

/// The adapter takes a message up to both limits from where it lies, and puts it where it belongs.
bool adapters_take_whole(const Protocol& protocol, const Settings& settings, Bytes size) {
  if (protocol.name() != "gpudirect-v3") return false;
  const OptionReader options(protocol, settings);
  return size <= std::min(options.size("send_limit"), options.size("receive_limit"));
}

/// A library takes the user's chunk and depth for some of its ways only.
bool library_takes(const CutMessages& messages, const Settings& without) {
  const CudaAwareRules given = cuda_aware_rules(messages.settings);
  const CudaAwareRules plain = cuda_aware_rules(without);
  return std::ranges::any_of(messages.sizes, [&](Bytes size) {
    const CudaAwareChoice chosen = choose_protocol(given, messages.path, size);
    const Settings& a = chosen.settings;
    const Settings b = choose_protocol(plain, messages.path, size).settings;
    if (a.options == b.options && adapters_take_whole(find_protocol(chosen.protocol), a, size)) return false;
    // A depth is for what is cut.
    return a.chunk != b.chunk || a.options != b.options || (a.depth != b.depth && a.chunk_or_whole() < size);
  });
}

/// Do both paths have the same of all that a switch may take away?
bool as_open(const Path& a, const Path& b) {
  const auto answers = [](const Path& path) {
    return std::tuple(path.peer_access.yes, path.device_mapping.yes, path.one_sided.yes,
                      path.device_memory_on_network.yes, path.gpu_programs.yes, path.switch_reduces.yes);
  };
  return answers(a) == answers(b);
}

/// Does the protocol go the same way on both paths? Thread blocks ask more of a path than whether they may run there.
bool goes_alike(const UsedProtocol& used, const Path& a, const Path& b, std::span<const Bytes> sizes) {
  if (as_open(a, b)) return true;
  if (used.protocol == nullptr || used.protocol->does_collectives()) return false;
  if (!used.protocol->delegates()) return used.protocol->supports(a).kind == used.protocol->supports(b).kind;
  if (sizes.empty()) return false;
  const CudaAwareRules rules = cuda_aware_rules(*used.settings);
  return std::ranges::all_of(sizes, [&](Bytes size) {
    const CudaAwareChoice on_a = choose_protocol(rules, a, size);
    const CudaAwareChoice on_b = choose_protocol(rules, b, size);
    const Protocol& way = find_protocol(on_a.protocol);
    return on_a.protocol == on_b.protocol && on_a.settings.options == on_b.settings.options &&
           goes_alike({&way, &on_a.settings}, a, b, {});
  });
}

/// "--chunk and -o": what is said of a protocol beside its name.
std::string names_of(const bench::SettingsOptions& asked) {
  std::vector<std::string> names;
  if (!asked.preset.empty()) names.emplace_back("--preset");
  if (asked.chunk) names.emplace_back("--chunk");
  if (asked.depth) names.emplace_back("--depth");
  if (!asked.options.empty()) names.emplace_back("-o");
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    all += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return all;
}

/// Pieces of a message: at most so many are under way, however deep the pipeline is.
std::uint64_t pieces_of(const Settings& settings, Bytes message, bool chooses) {
  Bytes chunk = settings.chunk_or_whole();
  if (chunk == Bytes{} && chooses) chunk = automatic_chunk(message);
  return chunk == Bytes{} ? 1 : (message.count() + chunk.count() - 1) / chunk.count();
}

}  // namespace

std::vector<std::string> idle_within_node(const WithinNode& asked, const Platform& platform,
                                          std::span<const Place> places) {
  std::vector<std::string> notes;
  const bool alone = !share_a_node(places);
  const auto add = [&](const char* option, bool given, bool idle, const char* why) {
    if (given && idle) notes.push_back(fmt::format("{} has no effect: {}", option, why));
  };
  constexpr const char* kAlone = "no two ranks share a node";
  add("--intra-node loopback", asked.loopback, alone, kAlone);
  add("--intra-node smcuda", asked.smcuda, alone, kAlone);
  // Whoever has a single copy has lost it by now.
  add("--intra-node smcuda", asked.smcuda && !alone, !platform.within_node.single_copy_lost,
      "messages within a node of this platform have no single copy, KNEM or CMA, anyway");
  add("--smp-copy-size", asked.copy_size.has_value(), alone, kAlone);
  return notes;
}

std::vector<std::string> idle_pieces(const bench::SettingsOptions& asked, const CutMessages& messages) {
  if (!asked.chunk && !asked.depth) return {};
  const Settings& settings = messages.settings;
  const char* const what = asked.chunk && asked.depth ? "--chunk and --depth have"
                           : asked.chunk              ? "--chunk has"
                                                      : "--depth has";
  if (messages.protocol.name() == "cuda-aware") {
    bench::SettingsOptions plain = asked;
    plain.chunk.reset();
    plain.depth.reset();
    if (library_takes(messages, make_settings(messages.protocol, plain))) return {};
    return {fmt::format("{} no effect: the library takes ways that have pieces of their own", what)};
  }
  // Thread blocks cut by themselves: each its share, by slots of the line format.
  if (messages.protocol.delegates() || messages.protocol.does_collectives()) return {};
  const Bytes largest = *std::ranges::max_element(messages.sizes);
  const bool whole = (!messages.protocol.cuts_messages(settings) &&
                      messages.protocol.supports(messages.path).kind == Support::Kind::yes) ||
                     adapters_take_whole(messages.protocol, settings, largest);
  if (whole && (asked.chunk || messages.window == 1)) {
    return {fmt::format("{} no effect on warm messages: {} copies them whole", what, messages.protocol.name())};
  }
  const auto buffers = settings.options.find("buffers");
  const bool chooses = buffers != settings.options.end() && buffers->second == "shared";
  bench::SettingsOptions plain = asked;
  plain.chunk.reset();
  if (asked.chunk && (!asked.depth || messages.window == 1) && pieces_of(settings, largest, chooses) == 1 &&
      pieces_of(make_settings(messages.protocol, plain), largest, chooses) == 1) {
    return {fmt::format("{} no effect: no message is larger than a chunk", what)};
  }
  plain = asked;
  plain.depth.reset();
  const Settings without = make_settings(messages.protocol, plain);
  const std::uint64_t pieces = pieces_of(settings, largest, chooses);
  const std::uint64_t most = pieces * static_cast<std::uint64_t>(messages.window);
  const auto at_once = [&](const Settings& of) {
    return std::min(static_cast<std::uint64_t>(of.depth_or_one()), most);
  };
  if (!asked.depth || (most > 1 && at_once(settings) != at_once(without))) return {};
  if (most == 1) return {"--depth has no effect: no message is cut, as --chunk does, and one is under way at a time"};
  return {fmt::format("--depth has no effect: {} pieces are under way at most, and without it {} may be", most,
                      without.depth_or_one())};
}

std::vector<std::string> idle_switches(const Platform& platform,
                                       const std::function<std::vector<Path>(const Platform&)>& paths_on,
                                       std::span<const UsedProtocol> used, std::span<const Bytes> sizes) {
  std::vector<std::string> notes;
  const auto add = [&](bool Software::*off, const char* option, const char* what) {
    if (!(platform.software.*off)) return;
    Platform open = platform;
    open.software.*off = false;
    const std::vector<Path> closed_paths = paths_on(platform);
    const std::vector<Path> open_paths = paths_on(open);
    for (std::size_t i = 0; i < closed_paths.size(); ++i) {
      if (!goes_alike(used[i], closed_paths[i], open_paths[i], sizes)) return;
    }
    notes.push_back(fmt::format("{} has no effect: no message between these ranks takes {} anyway", option, what));
  };
  add(&Software::without_peers, "--without p2p", "peer-to-peer access");
  add(&Software::without_rdma, "--without rdma", "GPUDirect RDMA");
  return notes;
}

std::vector<UsedProtocol> used_on(std::span<const Path> paths, const workloads::Ways& ways, bool chosen) {
  if (chosen) return {paths.size(), UsedProtocol{}};
  std::vector<UsedProtocol> all;
  for (const Path& path : paths) {
    const bool across = ways.between_domains != nullptr && !workloads::in_one_domain(path);
    if (path.same_node) {
      all.push_back({ways.within, &ways.settings_within});
    } else if (across) {
      all.push_back({ways.between_domains, &ways.settings_between_domains});
    } else {
      all.push_back({ways.between, &ways.settings_between});
    }
  }
  return all;
}

bool are_alike(const Protocol& protocol, const Settings& a, const Settings& b) {
  const OptionReader of_a(protocol, a);
  const OptionReader of_b(protocol, b);
  const auto same = [&](const Option& option) { return of_a.text(option.name) == of_b.text(option.name); };
  return a.chunk == b.chunk && a.depth == b.depth && std::ranges::all_of(protocol.options(), same);
}

std::vector<std::string> idle_beside_others(const bench::WorkloadOptions& asked, const bench::WorkloadPlan& plan,
                                            std::span<const Path> paths) {
  const std::string names = names_of(asked.settings);
  if (names.empty() || (asked.between.empty() && asked.between_domains.empty())) return {};
  const workloads::Ways& ways = plan.ways;
  const auto is_first = [&](const Path& path) {
    return path.same_node || (asked.between.empty() && workloads::in_one_domain(path));
  };
  const auto first = std::ranges::count_if(paths, is_first);
  if (first == std::ssize(paths)) return {};
  const Protocol& other = asked.between.empty() ? *ways.between_domains : *ways.between;
  if (first == 0) {
    return {fmt::format("{} {} no effect: no pair of ranks takes -p, and {} has options of its own", names,
                        names.find(' ') == std::string::npos ? "has" : "have", other.name())};
  }
  return {fmt::format("{} {} of -p only: {} between the other ranks has options of its own, --between-{}option", names,
                      names.find(' ') == std::string::npos ? "is" : "are", other.name(),
                      asked.between.empty() ? "domains-" : "")};
}

std::vector<std::string> idle_shares(const bench::WorkloadOptions& asked, const bench::WorkloadPlan& plan,
                                     const Platform& platform, const std::vector<Place>& places) {
  std::vector<std::string> notes;
  if (const bench::Scheduled* const work = plan.scheduled()) {
    const auto ranks = work->training ? work->training->degrees.expert : static_cast<int>(places.size());
    const auto add = [&](const char* option, int workloads::Experts::*which) {
      workloads::Experts others = work->experts;
      others.*which = workloads::Experts{}.*which;
      if (asked.experts.*which == others.*which) return;
      if (expert_shares(work->experts, ranks) != expert_shares(others, ranks)) return;
      notes.push_back(fmt::format("{} has no effect: the experts of each rank get as many tokens without it", option));
    };
    add("--experts", &workloads::Experts::count);
    add("--top", &workloads::Experts::top);
    add("--seed", &workloads::Experts::seed);
  }
  if (plan.array() != nullptr && asked.array.shares == "machine") {
    const std::vector<double> shares = shares_by_machine(platform, places, *plan.array());
    if (std::ranges::adjacent_find(shares, std::not_equal_to{}) == shares.end()) {
      notes.emplace_back("--shares machine has no effect: all ranks can do as much");
    }
  }
  return notes;
}

std::vector<std::string> idle_buffers(std::span<const bench::Series> series) {
  // A symmetric heap tells the peer whenever its messages lie elsewhere than before, and a CPU starts other programs.
  const auto tells = [](const bench::Series& of) {
    return of.protocol == "symmetric-put" || find_protocol(of.protocol).does_collectives();
  };
  const auto lets_go = [](const bench::Series& of) {
    return std::ranges::any_of(of.counters, [](const Counter& counter) {
      return counter.value > 0 && counter.name.find("evicted") != std::string::npos;
    });
  };
  if (series.empty() || series.front().facts.buffers == 1) return {};
  if (std::ranges::any_of(series, tells) || std::ranges::any_of(series, lets_go)) return {};
  return {
      fmt::format("--buffers {} makes no difference beyond what the caches of host memories hold: no cache of "
                  "handles or registrations has let one go",
                  series.front().facts.buffers)};
}

void note_all(std::span<const std::string> notes) {
  for (const std::string& note : notes) std::cerr << fmt::format("twinlink-sim: note: {}\n", note);
}

}  // namespace twinlink::model
