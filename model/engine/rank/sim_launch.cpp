// SimRank's launches: what a program's memory is, and which links its blocks cross.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/engine/rank/copies.hpp"
#include "model/engine/rank/sim_rank.hpp"
#include "platforms/costs/kernel_costs.hpp"
#include "platforms/costs/transfer_costs.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {

Part SimRank::program_memory(const View& view, bool opened) const {
  Part part = memory_.part(view);
  if (opened == (part.opening != nullptr)) return part;
  throw UsageError(opened ? "a launch fills FIFOs that were opened from a peer"
                          : "a program's buffers and the FIFOs that it reads are the launching rank's own");
}

/// Stores go to the peer's slots, and loads come from the rank's own, which may lie in host memory. A link that CPUs
/// carry has both slots here, and its counters in host memory, whatever memory has the slots.
SimProgram::Link SimRank::program_link(const gpu::Link& link, Rate rate, Rate passing) {
  const auto copied = [](std::span<const std::uint64_t> counts) {
    return std::vector<std::uint64_t>(counts.begin(), counts.end());
  };
  SimProgram::Link result{.mine = program_memory(link.mine, false),
                          .sent = copied(link.sent),
                          .received = copied(link.received),
                          .sent_each = copied(link.sent_each),
                          .received_each = copied(link.received_each)};
  const std::size_t gpu = world_.gpu_of(id_);
  const End own = end_of(memory_.part(View(nothing_)), Engine::kernel, gpu);
  if (link.theirs.buffer.id != 0) {
    result.theirs = program_memory(link.theirs, !link.carried);
    const End there = end_of(result.theirs, Engine::kernel, gpu);
    const RankId peer = result.theirs.owner();
    if (result.theirs.opening && !path_to(peer).device_mapping) {
      drive_adapter(peer, there.location, result);
      return result;
    }
    result.out = world_.machine.block(place(id_).node, own, there, rate);
    result.passing = passing == rate ? result.out : world_.machine.block(place(id_).node, own, there, passing);
    result.way_out = world_.topology.latency(own.location, there.location);
  }
  if (link.window.buffer.id != 0) result.window = program_memory(link.window, true);
  const End here = end_of(result.mine, Engine::kernel, gpu);
  const Location counters = link.carried ? world_.topology.host_buffers(gpu) : here.location;
  result.way_in = loading(world_.topology, counters, own.location);
  if (link.carried) result.way_out = world_.topology.latency(own.location, counters);
  if (here.memory == Memory::device) return result;
  result.in = world_.machine.block(result.mine.site().node, here, own, rate);
  return result;
}

/// The block writes a request into its memory and rings the adapter's bell, which reads the request, and the bytes.
void SimRank::drive_adapter(RankId peer, Location there, SimProgram::Link& link) const {
  if (const Answer drives = path_to(peer).gpu_drives_adapter; !drives) throw UnavailableError(drives.reason);
  require_registered(link.theirs);
  const Topology& topology = world_.topology;
  const int node = place(id_).node;
  const Location own{Location::Kind::gpu, world_.gpu_of(id_)};
  link.by_adapter = true;
  link.adapters = ways_.adapters(peer, own, own, Bytes{});
  link.out = world_.machine.transfer({node, own}, link.adapters, {place(peer).node, there});
  constexpr Bytes kTail{8};
  const Seconds to_adapter = topology.latency(topology.to_nic_route(own, link.adapters.front().from));
  link.way_out = to_adapter * 3 + ways_.costs(peer).latency_read(kTail) +
                 platforms::latency(topology, node, own, link.adapters, place(peer).node, there);
}

Op SimRank::launch(const gpu::Work& work, Stream stream) {
  require_stream(stream);
  gpu::require_work(work);
  const GpuType& type = world_.topology.type_of(world_.gpu_of(id_));
  const std::optional<BlockCosts>& costs = work.library && type.library_blocks ? type.library_blocks : type.blocks;
  if (!costs) {
    throw UnavailableError("the platform does not say what thread blocks do: the GPU type of rank " +
                           std::to_string(id_.value) + " has no 'blocks'");
  }
  const OperationPtr operation = make_kernel(stream);
  const End own = end_of(operation->from, Engine::kernel, world_.gpu_of(id_));
  const auto channels = static_cast<std::size_t>(work.program.channels);
  SimProgram::Parts parts{.positions = {work.positions.begin(), work.positions.end()},
                          .orders = {work.orders.begin(), work.orders.end()},
                          .numbers = {work.numbers.begin(), work.numbers.end()},
                          .own = world_.machine.block(place(id_).node, own, own, std::nullopt),
                          .own_alone = world_.machine.block(place(id_).node, own, own, costs->rate.value),
                          .times = work.times,
                          .library = work.library,
                          .gap = or_none(costs->next),
                          .fetch = gpu::moves_nothing(work.program) ? Seconds{} : costs->fetch_of(work.program.format)};
  if (work.times == 1 && !gpu::moves_nothing(work.program)) parts.fetch += or_none(costs->cold);
  if (parts.positions.empty()) parts.positions.assign(channels, gpu::usual_position(work.program));
  for (const View* view : {&work.input, &work.output}) {
    if (view->buffer.id == 0) continue;
    const Part part = program_memory(*view, false);
    (view == &work.input ? parts.input : parts.output) = part;
    operation->others.push_back(part);
  }
  for (const gpu::Link& link : work.links) {
    parts.links.push_back(
        program_link(link, costs->rate_of(work.program.format), costs->passing_of(work.program.format)));
    operation->others.push_back(parts.links.back().mine);
    for (const Part& part : {parts.links.back().theirs, parts.links.back().window}) {
      if (part.allocation) operation->others.push_back(part);
    }
  }
  if (gpu::is_switched(work.program))
    add_switch(gpu::number(gpu::group_of(work.program)) - 1, costs->rate.value, parts);
  operation->report.verb = "launch";
  operation->report.size = Bytes{work.program.bytes};
  operation->program = std::make_shared<SimProgram>(world_, event_queue_, id_, work.program, std::move(parts), *costs);
  operation->report.launch = operation->program->launch();
  // What the platform says of launches takes the place of what a kernel's copy costs.
  take_copy_cost(world_, *operation);
  operation->gap = or_none(costs->next);
  const bool as_graph = work.times > 1;
  const Seconds call = launching(world_.topology, world_.gpu_of(id_), as_graph).value();
  operation->report.overhead = call * static_cast<double>(work.launches_before + 1);
  operation->report.latency = starting_blocks(world_.topology, world_.gpu_of(id_), as_graph).value();
  get_under_way(operation, operation->report.latency);
  if (work.launches_behind > 0) cpu_.be_busy(call * static_cast<double>(work.launches_behind));
  return operation->op;
}

/// So many peers, the first ones, are behind one switch, as the paths to them say.
void SimRank::add_switch(std::size_t peers, Rate rate, SimProgram::Parts& parts) const {
  const auto self = world_.gpu_of(id_);
  std::vector<std::size_t> others;
  for (const SimProgram::Link& link : std::span(parts.links).first(peers)) {
    const RankId peer = link.theirs.owner();  // in a group of ranks not as the program counts
    if (const Answer reduces = path_to(peer).switch_reduces; !reduces) throw UnavailableError(reduces.reason);
    others.push_back(world_.gpu_of(peer));
  }
  const int node = place(id_).node;
  parts.sums = {world_.machine.through_switch(node, self, others, true, rate)};
  parts.spread = {world_.machine.through_switch(node, self, others, false, rate)};
  // The request goes to the switch and on to the GPUs, and what they send comes back so.
  const auto at = [](std::size_t gpu) { return Location{Location::Kind::gpu, gpu}; };
  parts.way_sum = world_.topology.latency(at(self), at(others.front())) * 2;
}

namespace {

/// The CPU looks for it where the counters are.
class SlotWait final : public NumberWaiter {
 public:
  SlotWait(EventQueue& event_queue, RaisedNumber& number, std::function<void()> ended)
      : event_queue_(event_queue), number_(number), ended_(std::move(ended)) {}
  ~SlotWait() override { number_.await_no_more(this); }
  void wake_at(Seconds when) override { event_queue_.add(when, std::make_shared<Once>(ended_)); }

 private:
  class Once final : public QueuedEvent {
   public:
    explicit Once(std::function<void()> ended) : ended_(std::move(ended)) {}
    void happen() override { ended_(); }

   private:
    std::function<void()> ended_;
  };

  EventQueue& event_queue_;
  RaisedNumber& number_;
  std::function<void()> ended_;
};

RaisedNumber& number_of(SimWorld& world, const Part& fifo, const gpu::FifoSlot& slot) {
  SimFifo& counters = world.programs.fifos[{fifo.allocation->serial, fifo.offset.count()}];
  return slot.event == gpu::FifoSlot::Event::filled ? counters.filled : counters.credit;
}

}  // namespace

Op SimRank::await_slot(const gpu::FifoSlot& slot) {
  gpu::require_slot(slot);
  const OperationPtr operation = make("await slot");
  operation->kind = Operation::Kind::host_work;
  operation->from = program_memory(slot.fifo, false);
  operation->hold();
  RaisedNumber& number = number_of(world_, operation->from, slot);
  const auto ended = [this, weak = std::weak_ptr(operation), &number, least = slot.step + 1] {
    const OperationPtr waiting = weak.lock();
    if (waiting && !waiting->abandoned && waiting->state != Operation::State::ended) {
      static_cast<void>(number.when(least, now()));
      const BlockStep hop{.channel = number.cause().channel, .what = "hop to the proxy", .ended = now()};
      waiting->report.blocks = world_.programs.tell(number.cause(), hop);
      complete(waiting, Status::delivered);
    }
  };
  operation->slot = std::make_shared<SlotWait>(event_queue_, number, ended);
  const Seconds when = number.when(slot.step + 1, now());
  if (when == kNever) {
    number.await(operation->slot.get(), slot.step + 1);
  } else {
    operation->slot->wake_at(std::max(when, now()));
  }
  return operation->op;
}

void SimRank::raise_slot(const gpu::FifoSlot& slot) {
  gpu::require_slot(slot);
  const Part fifo = program_memory(slot.fifo, false);
  SimFifo& counters = world_.programs.fifos[{fifo.allocation->serial, fifo.offset.count()}];
  const Cause by{.rank = id_, .at = now()};
  if (slot.event == gpu::FifoSlot::Event::filled) counters.begun.raise(now(), slot.step + 1, by);
  number_of(world_, fifo, slot).raise(now(), slot.step + 1, by);
}

}  // namespace twinlink::model
