// SimRank's launches: what a program's memory is, and which links its blocks cross.
#include <optional>

#include "model/engine/rank/copies.hpp"
#include "model/engine/rank/sim_rank.hpp"

namespace twinlink::model {

Part SimRank::program_memory(const View& view, bool opened) const {
  Part part = memory_.part(view);
  if (opened == (part.opening != nullptr)) return part;
  throw UsageError(opened ? "a launch fills FIFOs that were opened from a peer"
                          : "a program's buffers and the FIFOs that it reads are the launching rank's own");
}

/// Stores go to the peer's slots, and loads come from the rank's own, which may lie in host memory.
SimProgram::Link SimRank::program_link(const gpu::Link& link, Rate rate) {
  SimProgram::Link result{.mine = program_memory(link.mine, false),
                          .sent = {link.sent.begin(), link.sent.end()},
                          .received = {link.received.begin(), link.received.end()}};
  const std::size_t gpu = world_.gpu_of(id_);
  const End own = end_of(memory_.part(View(nothing_)), Engine::kernel, gpu);
  if (link.theirs.buffer.id != 0) {
    result.theirs = program_memory(link.theirs, true);
    const End there = end_of(result.theirs, Engine::kernel, gpu);
    result.out = world_.machine.block(place(id_).node, own, there, rate);
    result.way_out = world_.topology.latency_of_store(own.location, there.location);
  }
  const End here = end_of(result.mine, Engine::kernel, gpu);
  if (here.memory == Memory::device) return result;
  result.in = world_.machine.block(result.mine.allocation->site.node, here, own, rate);
  result.way_in = world_.topology.latency_of_store(here.location, own.location) * 2;  // the request, and what it brings
  return result;
}

Op SimRank::launch(const gpu::Work& work, Stream stream) {
  require_stream(stream);
  gpu::require_work(work);
  const std::optional<BlockCosts>& costs = world_.topology.type_of(world_.gpu_of(id_)).blocks;
  if (!costs) {
    throw UnavailableError("the platform does not say what thread blocks do: the GPU type of rank " +
                           std::to_string(id_.value) + " has no 'blocks'");
  }
  const OperationPtr operation = make_kernel(stream);
  const End own = end_of(operation->from, Engine::kernel, world_.gpu_of(id_));
  SimProgram::Parts parts{.own = world_.machine.block(place(id_).node, own, own, std::nullopt)};
  for (const View* view : {&work.input, &work.output}) {
    if (view->buffer.id == 0) continue;
    const Part part = program_memory(*view, false);
    (view == &work.input ? parts.input : parts.output) = part;
    operation->others.push_back(part);
  }
  for (const gpu::Link& link : work.links) {
    parts.links.push_back(program_link(link, costs->rate.value));
    operation->others.push_back(parts.links.back().mine);
    if (parts.links.back().theirs.allocation) operation->others.push_back(parts.links.back().theirs);
  }
  operation->report.verb = "launch";
  operation->report.size = Bytes{work.program.bytes};
  operation->program = std::make_shared<SimProgram>(world_, agenda_, work.program, std::move(parts), *costs);
  return run_copy(operation);
}

}  // namespace twinlink::model
