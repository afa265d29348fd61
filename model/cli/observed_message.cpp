#include "model/cli/observed_message.hpp"

#include <algorithm>
#include <functional>

#include "model/engine/flows/machine.hpp"
#include "model/engine/simulation.hpp"
#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/measure/warm_up.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {

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

}  // namespace twinlink::model
