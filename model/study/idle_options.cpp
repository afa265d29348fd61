#include "model/study/idle_options.hpp"

#include <algorithm>
#include <iostream>
#include <set>

#include <fmt/format.h>

#include "protocols/core/options.hpp"
#include "protocols/cuda_aware.hpp"
#include "protocols/registry.hpp"

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
  const Bytes chunk = settings.chunk_or_whole();
  const bool cuts = chunk != Bytes{} && chunk < largest;
  if (!asked.depth || messages.window > 1 || cuts || chooses) return {};
  return {"--depth has no effect: no message is cut, as --chunk does, and one is under way at a time"};
}

std::vector<std::string> idle_buffers(const bench::Series& series) {
  // A symmetric heap tells the peer whenever its messages lie elsewhere than before.
  if (series.facts.buffers == 1 || series.protocol == "symmetric-put") return {};
  const bool let_go = std::ranges::any_of(series.counters, [](const Counter& counter) {
    return counter.value > 0 && counter.name.find("evicted") != std::string::npos;
  });
  if (let_go) return {};
  return {
      fmt::format("--buffers {} makes no difference beyond what the caches of host memories hold: no cache of "
                  "handles or registrations has let one go",
                  series.facts.buffers)};
}

void note_all(std::span<const std::string> notes) {
  for (const std::string& note : notes) std::cerr << fmt::format("twinlink-sim: note: {}\n", note);
}

}  // namespace twinlink::model
