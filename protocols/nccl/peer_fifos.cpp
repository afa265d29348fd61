#include "protocols/nccl/peer_fifos.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "protocols/core/tags.hpp"

namespace twinlink::nccl {
namespace {

/// Both ends say it when they have closed the other's memory.
struct Closed {
  std::uint8_t closed = 1;
};

/// How long a peer may take to close what it has open.
constexpr Seconds kClosing{1.0};

/// The FIFO of a channel.
View channel_of(const Buffer& fifos, const gpu::Program& program, std::int32_t channel) {
  const Bytes room{gpu::fifo_room(program)};
  return {fifos, room * gpu::number(channel), room};
}

}  // namespace

gpu::Verdict meeting(const Path& path, const Geometry& geometry) {
  if (!path.peer_access) return {false, path.peer_access.reason};
  if (geometry.p2p == Level::loc) return {false, "GPUs may not meet in each other's memory"};
  return {path.level <= geometry.p2p, "GPUs are " + std::string(to_string(path.level)) +
                                          " apart, and meet in memory up to " + std::string(to_string(geometry.p2p))};
}

Way way_between(const Path& path, const Geometry& geometry) {
  if (meet_in_memory(path, geometry)) return Way::peer_memory;
  return path.same_node ? Way::host_memory : Way::network;
}

std::optional<RankId> beside_rail_of(Rank& rank, RankId peer) {
  const Place& own = rank.place(rank.id());
  const int rail = rank.place(peer).gpu;
  if (own.gpu == rail) return std::nullopt;
  for (int r = 0; r < rank.ranks(); ++r) {
    const Place& place = rank.place(RankId{r});
    if (place.node != own.node || place.gpu != rail) continue;
    const Path& path = rank.path_to(RankId{r});
    const Rate adapter = rank.path_to(peer).adapter_rate;
    const bool wide = path.peer_rate == Rate{} || path.peer_rate > adapter;
    return path.same_node && path.peer_access && wide ? std::optional(RankId{r}) : std::nullopt;
  }
  return std::nullopt;
}

std::string_view to_string(Way way) {
  switch (way) {
    case Way::peer_memory:
      return "P2P";
    case Way::host_memory:
      return "SHM";
    case Way::network:
      return "NET";
  }
  return "?";
}

PeerFifos::~PeerFifos() {
  // While an exception passes, a program may still use the memory; the rank frees it when it ends.
  if (failed_ || std::uncaught_exceptions() > 0) return;
  if (std::ranges::none_of(by_format_, [](const auto& fifos) { return fifos.has_value(); })) return;
  try {
    rank_.step("close");
    if (way_ != Way::network) {
      for (const auto& fifos : by_format_) {
        if (fifos && fifos->theirs.id != 0) rank_.close_memory(fifos->theirs);
      }
      const Seconds deadline = rank_.now() + kClosing;
      ControlMessage closed;
      const Op heard = rank_.recv_control(peer_, tags::kReady, closed);
      const bool told =
          wait(rank_, rank_.send_control(peer_, tags::kReady, ControlMessage(Closed{})), deadline) == Status::delivered;
      if (wait(rank_, heard, deadline) != Status::delivered || !told) return;
    }
    for (const auto& fifos : by_format_) {
      if (!fifos) continue;
      rank_.release(fifos->mine);
      if (way_ == Way::network) rank_.release(fifos->theirs);
    }
  } catch (const Error&) {
    return;  // the rank frees what is left
  }
}

void PeerFifos::shape(gpu::Program& program) const {
  constexpr std::uint64_t kLine = 16;
  constexpr std::uint64_t kMostLl = std::uint64_t{32} << 10;
  const std::uint64_t slot = gpu::turns(std::max<std::uint64_t>(geometry_.slot.count(), 1), kLine) * kLine;
  program.slot = program.format == gpu::LineFormat::ll ? std::min(slot, kMostLl) : slot;
  program.slots = gpu::number(geometry_.slots);
}

/// Fresh memory may hold anything, and what looks like a flag would be taken for one.
Outcome PeerFifos::clear(const Buffer& fifos, const gpu::Program& program, Seconds deadline) {
  const gpu::Link link{.mine = View(fifos)};
  rank_.step("clear");
  const Status status = wait(rank_, rank_.launch({.program = program, .links = {&link, 1}}, stream()), deadline);
  return {status, "step 'clear'"};
}

/// CPUs carry lines of LL, whose flags they look for, from host memory, as NCCL's do.
gpu::Verdict PeerFifos::direct(gpu::LineFormat format) const {
  if (format == gpu::LineFormat::ll) return {false, "CPUs carry lines of LL from host memory"};
  const Answer& reached = rank_.path_to(peer_).device_memory_on_network;
  if (!reached) return {false, "slots lie in host memory: " + reached.reason};
  const Level most = geometry_.gdr.value_or(geometry_.release->gdr);
  const Level here = rank_.place(rank_.id()).facts.adapter_level;
  const Level there = rank_.place(peer_).facts.adapter_level;
  const bool near = gpu::is_within(*geometry_.release, here, most) && gpu::is_within(*geometry_.release, there, most);
  return {near, "adapters are " + std::string(to_string(std::max(here, there))) +
                    " from their GPUs, and reach their memory up to " + std::string(to_string(most))};
}

Memory PeerFifos::memory_for(gpu::LineFormat format) const {
  const bool device = way_ == Way::peer_memory || (way_ == Way::network && direct(format).open);
  return device ? Memory::device : Memory::shared_pinned;
}

Outcome PeerFifos::open(gpu::LineFormat format, Seconds deadline) {
  std::optional<FormatFifos>& fifos = by_format_[index(format)];
  if (fifos) return {};
  gpu::Program program{.operation = gpu::Operation::clear, .format = format, .channels = geometry_.channels};
  shape(program);
  const auto channels = static_cast<std::size_t>(geometry_.channels);
  fifos.emplace();
  for (auto* counts : {&fifos->sent, &fifos->received, &fifos->sent_each, &fifos->received_each}) {
    counts->resize(channels);
  }
  const Memory memory = memory_for(format);
  const Bytes room{gpu::fifo_room(program) * gpu::number(program.channels)};
  rank_.step("make FIFOs");
  fifos->mine = rank_.allocate(memory, room);
  if (Outcome outcome = clear(fifos->mine, program, deadline); !outcome.ok()) return outcome;
  if (way_ != Way::network) return exchange_places(*fifos, deadline);
  fifos->theirs = crosses_to_rail(format) ? rank_.allocate_beside(*beside_rail_, room) : rank_.allocate(memory, room);
  if (memory == Memory::device) {
    for (const Buffer& each : {fifos->mine, fifos->theirs}) rank_.register_memory(each);
  }
  return clear(fifos->theirs, program, deadline);
}

Outcome PeerFifos::exchange_places(FormatFifos& fifos, Seconds deadline) {
  rank_.step("send place");
  const Op sent = rank_.send_control(peer_, tags::kReady, ControlMessage(rank_.export_memory(fifos.mine)));
  if (wait(rank_, sent, deadline) != Status::delivered) return {Status::timed_out, "step 'send place'"};
  rank_.step("receive place");
  ControlMessage place;
  const Status status = wait(rank_, rank_.recv_control(peer_, tags::kReady, place), deadline);
  if (status != Status::delivered) return {status, "step 'receive place': the peer has made no FIFOs"};
  try {
    fifos.theirs = rank_.open_memory(peer_, place.as<IpcHandle>());
  } catch (const Error& error) {
    // A forged or stale handle is the peer's fault, and a refusal of the driver nobody's.
    return {Status::peer_failed, std::string("step 'receive place': ") + error.what()};
  }
  return {};
}

gpu::Link PeerFifos::link(gpu::LineFormat format) const {
  const FormatFifos& fifos = of(format);
  return {.mine = View(fifos.mine),
          .theirs = View(fifos.theirs),
          .carried = way_ == Way::network,
          .sent = fifos.sent,
          .received = fifos.received,
          .sent_each = fifos.sent_each,
          .received_each = fifos.received_each};
}

void PeerFifos::expect(const gpu::Program& program, std::int32_t channel, std::uint64_t sends, std::uint64_t receives) {
  FormatFifos& fifos = of(program.format);
  const auto at = static_cast<std::size_t>(channel);
  fifos.sent_each[at] = sends;
  fifos.received_each[at] = receives;
}

Passage PeerFifos::passage(const gpu::Program& program, std::int32_t channel, bool outward,
                           std::vector<std::uint64_t> bytes) const {
  const FormatFifos& fifos = of(program.format);
  const auto at = static_cast<std::size_t>(channel);
  constexpr int kMostChannels = 64;
  const View mine = channel_of(fifos.mine, program, channel);
  const View theirs = channel_of(fifos.theirs, program, channel);
  return {.peer = peer_,
          .tag = Tag{tags::kSlots.value + static_cast<int>(index(program.format)) * kMostChannels + channel},
          .program = program,
          .filled = outward ? theirs : mine,
          .read = outward ? mine : theirs,
          .first = (outward ? fifos.sent : fifos.received)[at],
          .bytes = std::move(bytes)};
}

void PeerFifos::carry(Carrier& carrier, const gpu::Program& program, std::int32_t channel,
                      std::vector<std::uint64_t> sent, std::vector<std::uint64_t> received) const {
  if (way_ != Way::network) return;
  if (!sent.empty()) carrier.send(passage(program, channel, true, std::move(sent)));
  if (!received.empty()) carrier.receive(passage(program, channel, false, std::move(received)));
}

void PeerFifos::add_up(Carrier& carrier, const gpu::Program& program, std::int32_t channel, std::vector<RankId> members,
                       const std::vector<std::uint64_t>& chunks) const {
  carrier.add_up(passage(program, channel, true, chunks), passage(program, channel, false, chunks), std::move(members));
}

void PeerFifos::count(const gpu::Program& program, int times) {
  FormatFifos& fifos = of(program.format);
  for (std::int32_t channel = 0; channel < program.channels; ++channel) {
    const auto at = static_cast<std::size_t>(channel);
    fifos.sent[at] += fifos.sent_each[at] * gpu::number(times);
    fifos.received[at] += fifos.received_each[at] * gpu::number(times);
  }
}

}  // namespace twinlink::nccl
