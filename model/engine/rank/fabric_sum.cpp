#include "model/engine/rank/fabric_sum.hpp"

#include <algorithm>
#include <utility>

#include "model/engine/rank/sim_rank.hpp"
#include "model/engine/rank/sim_world.hpp"
#include "platforms/costs/transfer_costs.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {

bool FabricSum::has(RankId rank) const { return std::ranges::find(members_, rank, &Member::rank) != members_.end(); }

void FabricSum::join(Member member) {
  if (!members_.empty() && members_.front().from.length != member.from.length) {
    throw UsageError("ranks give switches of the network unequal lengths to add up");
  }
  members_.push_back(std::move(member));
}

void FabricSum::begin(EventQueue& events) {
  const Seconds ready = std::ranges::max(members_, {}, &Member::ready).ready;
  events.add(std::max(ready, world_.now()), shared_from_this());
}

void FabricSum::happen() {
  std::vector<Machine::SummedEnd> ends;
  for (const Member& member : members_) {
    const RankId other = member.rank == members_.front().rank ? members_.back().rank : members_.front().rank;
    const std::vector<Adapters> adapters =
        world_.topology.adapters(Location::Kind::gpu, world_.gpu_of(member.rank), world_.gpu_of(other), Bytes{});
    ends.push_back({member.from.site(), member.to.site().location, adapters.front().from});
  }
  const FlowRoute route = world_.machine.through_fabric(ends);
  if (world_.machine.is_cut(route)) return end(Status::peer_failed);
  flowing_ = shared_from_this();
  world_.loop.network().start(route, std::max(members_.front().from.length, 1_B), *this);
}

void FabricSum::flow_has_ended() {
  Content sum = members_.front().from.content();
  for (const Member& member : std::span(members_).subspan(1)) sum.add(member.from.content());
  for (const Member& member : members_) member.to.allocation->content.write(member.to.offset, sum);
  end(Status::delivered);
}

void FabricSum::end(Status status) {
  const std::shared_ptr<FabricSum> alive = std::move(flowing_);
  for (const Member& member : members_) member.ended(status);
}

/// As a put, whose bytes an adapter reads and another one writes; the sum comes down as far as it has gone up.
Op SimRank::add_up(std::span<const RankId> members, Tag tag, View to, View from) {
  const Part source = memory_.part(from);
  const Part target = memory_.part(to);
  if (members.size() < 2 || std::ranges::count(members, id_) != 1 || source.length != target.length) {
    throw UsageError("switches of the network add up views of one length of two ranks at least, each of them once");
  }
  const OperationPtr operation = make("add up");
  operation->kind = Operation::Kind::host_work;
  operation->from = source;
  operation->to = target;
  operation->hold();
  operation->report.size = source.length;
  Seconds way{};
  for (const RankId member : members) {
    if (member == id_) continue;
    if (const Answer& adds = path_to(member).fabric_reduces; !adds) throw UnavailableError(adds.reason);
    for (const Part* part : {&source, &target}) require_sendable(*part, member);
    const bool on_gpu = target.allocation->memory == Memory::device;
    const Location there = on_gpu ? Location{Location::Kind::gpu, world_.gpu_of(member)} : world_.memory_near(member);
    way = std::max(way,
                   platforms::latency(world_.topology, place(id_).node, source.site().location,
                                      ways_.adapters(member, source.site().location, source.site().location, Bytes{}),
                                      place(member).node, there));
  }
  const RankId other = members.front() == id_ ? members.back() : members.front();
  const NetworkCosts& costs = ways_.costs(other);
  const auto adapters = ways_.adapters(other, source.site().location, source.site().location, Bytes{});
  constexpr Bytes kLeast{8};
  operation->report.overhead = costs.posting(Bytes{});  // the adapter reads the bytes
  operation->report.latency = costs.latency_read(kLeast) + way + world_.take_adapter_turns(place(id_).node, adapters);
  cpu_.be_busy(operation->report.overhead);

  auto& begun = world_.sums[{{members.begin(), members.end()}, tag}];
  const auto found = std::ranges::find_if(begun, [&](const auto& sum) { return !sum->has(id_); });
  const std::shared_ptr<FabricSum> sum =
      found != begun.end() ? *found : begun.emplace_back(std::make_shared<FabricSum>(world_));
  const auto ended = [this, weak = std::weak_ptr(operation)](Status status) {
    const OperationPtr waiting = weak.lock();
    if (waiting && !waiting->abandoned) complete(waiting, status);
  };
  sum->join({id_, source, target, now() + operation->report.latency, ended});
  if (sum->members() == members.size()) {
    std::erase(begun, sum);
    sum->begin(event_queue_);
  }
  return operation->op;
}

}  // namespace twinlink::model
