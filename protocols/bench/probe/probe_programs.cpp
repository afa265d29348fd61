// Probes of programs of thread blocks: what a launch takes, how long a peer's block waits for a line or a slot, what
// it passes on, what blocks move together, and rings. What a launch takes is in none but the first and the last, for
// the others are differences of two programs.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "protocols/bench/probe/probed.hpp"
#include "protocols/bench/probe/prober.hpp"
#include "protocols/gpu/slot_list.hpp"
#include "protocols/gpu/work.hpp"

namespace twinlink::bench {
namespace {

using gpu::LineFormat;

constexpr std::array kFormats{LineFormat::simple, LineFormat::ll, LineFormat::ll128};
constexpr std::string_view kPrograms = "programs of thread blocks";

// ---- launches -------------------------------------------------------------------------------------------------------

/// The slope between them is what lies between two programs of a graph.
constexpr std::array<std::uint64_t, 3> kProgramsOfAGraph{1, 2, kQueuedCopies};

/// A program of one block that moves nothing, through a FIFO that only it knows.
class IdleProgram {
 public:
  explicit IdleProgram(Prober& prober)
      : prober_(prober), fifo_(prober.rank(), Memory::device, Bytes{gpu::fifo_room(kIdle)}) {}

  Op launch(std::uint64_t times) {
    const gpu::Link link{.mine = View(fifo_.buffer()),
                         .theirs = View(fifo_.buffer()),
                         .carried = true,
                         .sent = kNothing,
                         .received = kNothing,
                         .sent_each = kNothing,
                         .received_each = kNothing};
    return prober_.rank().launch({.program = kIdle, .links = {&link, 1}, .times = static_cast<int>(times)}, Stream{0});
  }

 private:
  static constexpr gpu::Program kIdle{
      .operation = gpu::Operation::exchange, .format = LineFormat::ll, .slot = 128, .slots = 2};
  static constexpr std::array<std::uint64_t, 1> kNothing{};

  Prober& prober_;
  ScopedBuffer fifo_;
};

/// The call alone, and the whole of it.
void probe_launches_of(Prober& prober, IdleProgram& idle, std::uint64_t times) {
  const Bytes none = prober.plan().sizes.front();
  const std::string whole = to_string({.what = Probed::What::program, .programs = times});
  if (prober.wants(whole)) {
    prober.record(whole, {}, none, prober.sample(none, [&] { prober.finish(idle.launch(times), whole, none); }), false);
  }
  const std::string call = to_string({.what = Probed::What::program, .how = Probed::How::start, .programs = times});
  if (!prober.wants(call) || times == 2) return;
  std::optional<Op> last;
  const auto end_last = [&] {
    if (last) prober.finish(*std::exchange(last, std::nullopt), call, none);
  };
  prober.record(call, {}, none, prober.sample_after(none, end_last, [&] { last = idle.launch(times); }), false);
  end_last();
}

// ---- programs of several ranks --------------------------------------------------------------------------------------

constexpr Bytes kSlot = 512_KiB;  ///< as NCCL has them
constexpr Bytes kSlotOfLl = 32_KiB;
constexpr Bytes kSlotOfAnElement{128};
constexpr std::uint64_t kSlots = 8;
constexpr std::array kBlocks{1, 2, 4, 8, 16, 32};

/// A rank's FIFOs for its peers, and theirs: for one, or of a ring for the rank before and the one behind.
class Fifos {
 public:
  /// For programs of this shape, at the most.
  Fifos(Prober& prober, std::vector<RankId> peers, Memory memory, const gpu::Program& largest)
      : prober_(prober), peers_(std::move(peers)) {
    gpu::Program clear = largest;
    clear.operation = gpu::Operation::clear;
    clear.bytes = 0;
    for (const RankId peer : peers_) {
      const std::vector<std::uint64_t> none(gpu::number(largest.channels));
      ends_.push_back({.mine = std::make_unique<ScopedBuffer>(
                           prober.rank(), memory, Bytes{gpu::fifo_room(largest) * gpu::number(largest.channels)}),
                       .sent = none,
                       .received = none,
                       .sent_each = none,
                       .received_each = none});
      const Buffer mine = ends_.back().mine->buffer();
      const gpu::Link own{.mine = View(mine)};
      prober.finish(prober.rank().launch({.program = clear, .links = {&own, 1}}, Stream{0}), kPrograms, Bytes{});
      send_control_now(prober.rank(), peer, ControlMessage(prober.rank().export_memory(mine)), prober.patience());
    }
    // Who is behind this rank has it before itself. Of two ranks that is the same one, who names its FIFOs in order.
    for (std::size_t i = peers_.size(); i-- > 0;) {
      const auto handle = recv_control_now(prober.rank(), peers_[i], prober.patience()).as<IpcHandle>();
      ends_[i].theirs = prober.rank().open_memory(peers_[i], handle);
    }
  }

  /// Runs it, `times` in a row as one graph, and waits for this rank's end of it.
  void run(const gpu::Program& program, View in, View out, std::uint64_t times = 1) {
    for (std::int32_t channel = 0; channel < program.channels; ++channel) {
      const gpu::SlotList slots = gpu::list_slots(program, channel, gpu::usual_position(program), {}, ends_.size());
      for (std::size_t i = 0; i < ends_.size(); ++i) {
        ends_[i].sent_each[gpu::number(channel)] = slots.sent[i].size();
        ends_[i].received_each[gpu::number(channel)] = slots.received[i].size();
      }
    }
    std::vector<gpu::Link> links;
    for (const End& end : ends_) {
      links.push_back({.mine = View(end.mine->buffer()),
                       .theirs = View(end.theirs),
                       .sent = end.sent,
                       .received = end.received,
                       .sent_each = end.sent_each,
                       .received_each = end.received_each});
    }
    const Op op = prober_.rank().launch(
        {.program = program, .input = in, .output = out, .links = links, .times = static_cast<int>(times)}, Stream{0});
    for (End& end : ends_) {
      for (std::size_t channel = 0; channel < gpu::number(program.channels); ++channel) {
        end.sent[channel] += times * end.sent_each[channel];
        end.received[channel] += times * end.received_each[channel];
      }
    }
    prober_.finish(op, kPrograms, Bytes{program.bytes});
  }
  /// All of the group close before any of them releases.
  void close(std::span<const RankId> group) {
    for (const End& end : ends_) prober_.rank().close_memory(end.theirs);
    meet_in(prober_.rank(), group, prober_.patience());
  }

 private:
  struct End {
    std::unique_ptr<ScopedBuffer> mine{};
    Buffer theirs{};
    std::vector<std::uint64_t> sent{};
    std::vector<std::uint64_t> received{};
    std::vector<std::uint64_t> sent_each{};  ///< by the program that is next
    std::vector<std::uint64_t> received_each{};
  };

  Prober& prober_;
  std::vector<RankId> peers_;
  std::vector<End> ends_;
};

/// FIFOs of two ranks.
class ProgramEnd {
 public:
  ProgramEnd(Prober& prober, RankId peer, bool leading, Memory memory, const gpu::Program& largest)
      : rank_(prober.rank()), peer_(peer), leading_(leading), fifos_(prober, {peer}, memory, largest) {}

  void run(const gpu::Program& program, View in, View out) { fifos_.run(program, in, out); }
  void close() { fifos_.close(leader_first(rank_.id(), peer_, leading_)); }
  [[nodiscard]] bool leading() const { return leading_; }
  [[nodiscard]] RankId peer() const { return peer_; }

 private:
  MeasuredRank& rank_;
  RankId peer_;
  bool leading_;
  Fifos fifos_;
};

Memory memory_of(bool direct) { return direct ? Memory::device : Memory::shared_pinned; }

/// Bytes in one slot there and back, in one program: what so many times more of it take longer.
void probe_echo(Prober& prober, RankId peer, bool leading, const Probed& what, Bytes bytes) {
  const std::string name = to_string(what);
  if (!prober.wants(name)) return;
  constexpr std::uint64_t kFew = 8;
  constexpr std::uint64_t kMore = 64;
  gpu::Program program{.operation = gpu::Operation::echo,
                       .format = what.format,
                       .rank = leading ? 0 : 1,
                       .ranks = 2,
                       .bytes = bytes.count(),
                       .slot = std::max(bytes, kSlotOfAnElement).count(),
                       .slots = kSlots};
  MeasuredRank& rank = prober.rank();
  ProgramEnd end(prober, peer, leading, memory_of(what.direct), program);
  const ScopedBuffer in(rank, Memory::device, bytes);
  const ScopedBuffer out(rank, Memory::device, bytes);
  const twinlink::Payload leaders{kFew};
  rank.fill(in.first(bytes), leaders);
  rank.fill(out.first(bytes), kSentinel);
  synchronize(rank, peer, prober.patience());
  const auto time = [&](std::uint64_t echoes) {
    program.echoes = echoes;
    return time_round(rank, [&] { end.run(program, in.first(bytes), out.first(bytes)); });
  };
  Rounds rounds = prober.sample_timed_with(peer, leading, bytes, [&] {
    const double few = time(kFew);
    return std::max(time(kFew + kMore) - few, 0.0);
  });
  rounds /= 2.0 * kMore;
  if (prober.plan().verify) prober.expect(out.first(bytes), leaders, name);
  if (leading) prober.record(name, to_string(rank.place(peer)), bytes, std::move(rounds), true);
  end.close();
}

void probe_hop(Prober& prober, RankId peer, bool leading, LineFormat format, bool direct) {
  probe_echo(prober, peer, leading, {.what = Probed::What::hop, .direct = direct, .format = format},
             Bytes{gpu::kElementBytes});
}

Bytes slot_of(LineFormat format) { return format == LineFormat::ll ? kSlotOfLl : kSlot; }

// ---- rings ----------------------------------------------------------------------------------------------------------

/// An all-reduce of an element for each of the group by one block: launched by itself, and the share of one in a graph.
/// What both tell beside a program that moves nothing is a fetch of the kernel's text, and hops. The sums are not
/// looked at: they grow from round to round.
void probe_ring_of(Prober& prober, std::span<const RankId> group, LineFormat format) {
  Probed what{.what = Probed::What::ring, .gpus = group.size(), .format = format};
  const std::string alone = to_string(what);
  what.how = Probed::How::queued;
  const std::string queued = to_string(what);
  if (!prober.wants(queued)) return;  // which has the other name in it
  MeasuredRank& rank = prober.rank();
  const auto place = static_cast<std::size_t>(std::ranges::find(group, rank.id()) - group.begin());
  const RankId before = group[(place + group.size() - 1) % group.size()];
  const RankId behind = group[(place + 1) % group.size()];
  const Bytes bytes{gpu::kElementBytes * group.size()};
  const gpu::Program program{.operation = gpu::Operation::all_reduce,
                             .format = format,
                             .rank = static_cast<std::int32_t>(place),
                             .ranks = static_cast<std::int32_t>(group.size()),
                             .bytes = bytes.count(),
                             .slot = kSlotOfAnElement.count(),
                             .slots = kSlots};
  Fifos fifos(prober, {before, behind}, Memory::device, program);
  const ScopedBuffer data(rank, Memory::device, bytes);
  rank.fill(data.first(bytes), kSentinel);
  const auto run = [&](std::uint64_t times) { fifos.run(program, data.first(bytes), data.first(bytes), times); };
  const auto record = [&](const std::string& name, Rounds rounds) {
    if (place == 0) prober.record(name, to_string(rank.place(behind)), bytes, std::move(rounds), false);
  };
  record(alone, prober.sample_timed_in(group, bytes, [&] { return time_round(rank, [&] { run(1); }); }));
  constexpr std::uint64_t kFew = 2;
  constexpr std::uint64_t kMore = 14;
  Rounds rounds = prober.sample_timed_in(group, bytes, [&] {
    const double few = time_round(rank, [&] { run(kFew); });
    return std::max(time_round(rank, [&] { run(kFew + kMore); }) - few, 0.0);
  });
  record(queued, rounds /= kMore);
  fifos.close(group);
}

/// Sizes that take much longer than a launch varies, where there are any.
std::vector<Bytes> sizes_of_blocks(const ProbePlan& plan) {
  constexpr Bytes kLeast = 4_MiB;
  constexpr Bytes kMost = 16_MiB;
  std::vector<Bytes> sizes;
  std::ranges::copy_if(plan.sizes, std::back_inserter(sizes),
                       [&](Bytes size) { return size >= kLeast && size <= kMost; });
  if (sizes.empty()) sizes.push_back(std::min(plan.sizes.back(), kMost));
  return sizes;
}

/// A message of twice the bytes takes so much longer.
void probe_blocks_of(Prober& prober, ProgramEnd& end, gpu::Program program, Bytes size, View data) {
  const std::string name =
      to_string({.what = Probed::What::blocks, .format = program.format, .blocks = gpu::number(program.channels)});
  if (!prober.wants(name)) return;
  MeasuredRank& rank = prober.rank();
  const bool sends = end.leading();
  const twinlink::Payload pattern{size.count() + gpu::number(program.channels)};
  const View all = data.slice(Bytes{}, size * 2);
  rank.fill(all, sends ? pattern : kSentinel);
  synchronize(rank, end.peer(), prober.patience());
  const auto time = [&](Bytes bytes) {
    const View part = data.slice(Bytes{}, bytes);
    (sends ? program.bytes : program.received) = bytes.count();
    return time_round(rank, [&] {
      end.run(program, sends ? part : View{}, sends ? View{} : part);
      answer(rank, end.peer(), end.leading(), prober.patience());
    });
  };
  Rounds rounds = prober.sample_timed_with(end.peer(), end.leading(), size, [&] {
    const double once = time(size);
    return std::max(time(size * 2) - once, 0.0);
  });
  if (prober.plan().verify && !sends) prober.expect(all, pattern, name);
  if (sends) prober.record(name, to_string(rank.place(end.peer())), size, std::move(rounds), true);
}

void probe_blocks_in(Prober& prober, RankId peer, bool leading, LineFormat format) {
  const auto wanted = [&](int blocks) {
    return prober.wants(
        to_string({.what = Probed::What::blocks, .format = format, .blocks = static_cast<std::uint64_t>(blocks)}));
  };
  if (std::ranges::none_of(kBlocks, wanted)) return;
  const std::vector<Bytes> sizes = sizes_of_blocks(prober.plan());
  // Small messages have some slots, too.
  constexpr std::uint64_t kSlotsOfAMessage = 32;
  constexpr std::uint64_t kGrain = 128;
  const std::uint64_t part = gpu::turns(sizes.back().count(), kSlotsOfAMessage * kGrain) * kGrain;
  gpu::Program program{.operation = gpu::Operation::exchange,
                       .format = format,
                       .channels = kBlocks.back(),
                       .slot = std::min(part, slot_of(format).count()),
                       .slots = kSlots};
  ProgramEnd end(prober, peer, leading, Memory::device, program);
  const ScopedBuffer data(prober.rank(), Memory::device, sizes.back() * 2);
  for (const int blocks : kBlocks) {
    program.channels = blocks;
    for (const Bytes size : sizes) probe_blocks_of(prober, end, program, size, View(data.buffer()));
  }
  end.close();
}

}  // namespace

void probe_launches(Prober& prober) {
  const auto wanted = [&](std::uint64_t programs) {
    return prober.wants(to_string({.what = Probed::What::program, .how = Probed::How::start, .programs = programs}));
  };
  if (std::ranges::none_of(kProgramsOfAGraph, wanted)) return;  // which has the other name in it
  IdleProgram idle(prober);
  const Bytes none = prober.plan().sizes.front();
  if (!can(prober, std::string(kPrograms), [&] { prober.finish(idle.launch(1), kPrograms, none); })) return;
  for (const std::uint64_t programs : kProgramsOfAGraph) probe_launches_of(prober, idle, programs);
}

void probe_programs(Prober& prober, RankId peer, bool leading) {
  const Path& path = prober.rank().path_to(peer);
  if (!path.same_node || !path.gpu_programs) return;
  if (path.same_device) {
    if (leading) {
      prober.note(fmt::format("{}: no {} of two ranks: both use this GPU, where one would wait for the other's turn",
                              to_string(prober.rank().place(prober.rank().id())), kPrograms));
    }
    return;
  }
  for (const LineFormat format : kFormats) {
    if (path.peer_access) {
      probe_hop(prober, peer, leading, format, true);
      probe_echo(prober, peer, leading, {.what = Probed::What::pass, .format = format}, slot_of(format));
      probe_blocks_in(prober, peer, leading, format);
    }
    probe_hop(prober, peer, leading, format, false);
  }
}

void probe_rings(Prober& prober, std::span<const RankId> gpus) {
  for (std::size_t count = 2; count <= std::min<std::size_t>(gpus.size(), kMostOfARing); ++count) {
    const std::span<const RankId> group = gpus.first(count);
    if (std::ranges::find(group, prober.rank().id()) == group.end()) continue;
    const bool joined = std::ranges::all_of(group, [&](RankId other) {
      if (other == prober.rank().id()) return true;
      const Path& path = prober.rank().path_to(other);
      return path.gpu_programs && path.peer_access;
    });
    if (agree_in(prober.rank(), group, joined ? 1 : 0, prober.patience()) == 0) continue;
    for (const LineFormat format : kFormats) probe_ring_of(prober, group, format);
  }
}

}  // namespace twinlink::bench
