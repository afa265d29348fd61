// Probes of programs of thread blocks: what a launch takes, how long a peer's block waits for a line or a slot, and
// what blocks move together. What a launch takes is in none of the latter two, for they are differences of two
// programs.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
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

// ---- programs of two ranks ------------------------------------------------------------------------------------------

constexpr Bytes kSlot = 512_KiB;  ///< as NCCL has them
constexpr Bytes kSlotOfLl = 32_KiB;
constexpr std::uint64_t kSlots = 8;
constexpr std::array kBlocks{1, 2, 4, 8, 16, 32};

/// Where a rank's FIFO for its peer lies, and the peer's.
class ProgramEnd {
 public:
  /// For programs of this shape, at the most.
  ProgramEnd(Prober& prober, RankId peer, bool leading, Memory memory, const gpu::Program& largest)
      : prober_(prober),
        peer_(peer),
        leading_(leading),
        fifo_(prober.rank(), memory, Bytes{gpu::fifo_room(largest) * gpu::number(largest.channels)}),
        sent_(gpu::number(largest.channels)),
        received_(gpu::number(largest.channels)) {
    gpu::Program clear = largest;
    clear.operation = gpu::Operation::clear;
    clear.bytes = 0;
    const gpu::Link own{.mine = View(fifo_.buffer())};
    prober.finish(prober.rank().launch({.program = clear, .links = {&own, 1}}, Stream{0}), kPrograms, Bytes{});
    send_control_now(prober.rank(), peer, ControlMessage(prober.rank().export_memory(fifo_.buffer())),
                     prober.patience());
    const auto handle = recv_control_now(prober.rank(), peer, prober.patience()).as<IpcHandle>();
    theirs_ = prober.rank().open_memory(peer, handle);
  }

  /// Runs it, and waits for this rank's end of it.
  void run(const gpu::Program& program, View in, View out) {
    const gpu::Link link{.mine = View(fifo_.buffer()), .theirs = View(theirs_), .sent = sent_, .received = received_};
    const Op op =
        prober_.rank().launch({.program = program, .input = in, .output = out, .links = {&link, 1}}, Stream{0});
    for (std::int32_t channel = 0; channel < program.channels; ++channel) {
      const gpu::SlotList slots = gpu::list_slots(program, channel, {}, {}, 1);
      sent_[gpu::number(channel)] += slots.sent.front().size();
      received_[gpu::number(channel)] += slots.received.front().size();
    }
    prober_.finish(op, kPrograms, Bytes{program.bytes});
  }
  /// Both ends close before either releases.
  void close() {
    prober_.rank().close_memory(theirs_);
    synchronize(prober_.rank(), peer_, prober_.patience());
  }
  [[nodiscard]] bool leading() const { return leading_; }
  [[nodiscard]] RankId peer() const { return peer_; }

 private:
  Prober& prober_;
  RankId peer_;
  bool leading_;
  ScopedBuffer fifo_;
  Buffer theirs_{};
  std::vector<std::uint64_t> sent_;
  std::vector<std::uint64_t> received_;
};

Memory memory_of(bool direct) { return direct ? Memory::device : Memory::shared_pinned; }

/// One element there and back, in one program: what so many times more of it take longer.
void probe_hop(Prober& prober, RankId peer, bool leading, LineFormat format, bool direct) {
  const std::string name = to_string({.what = Probed::What::hop, .direct = direct, .format = format});
  if (!prober.wants(name)) return;
  constexpr std::uint64_t kFew = 8;
  constexpr std::uint64_t kMore = 64;
  constexpr Bytes kElement{gpu::kElementBytes};
  gpu::Program program{.operation = gpu::Operation::echo,
                       .format = format,
                       .rank = leading ? 0 : 1,
                       .ranks = 2,
                       .bytes = kElement.count(),
                       .slot = 128,
                       .slots = kSlots};
  MeasuredRank& rank = prober.rank();
  ProgramEnd end(prober, peer, leading, memory_of(direct), program);
  const ScopedBuffer in(rank, Memory::device, kElement);
  const ScopedBuffer out(rank, Memory::device, kElement);
  const twinlink::Payload leaders{kFew};
  rank.fill(in.first(kElement), leaders);
  rank.fill(out.first(kElement), kSentinel);
  synchronize(rank, peer, prober.patience());
  const auto time = [&](std::uint64_t echoes) {
    program.echoes = echoes;
    return time_round(rank, [&] { end.run(program, in.first(kElement), out.first(kElement)); });
  };
  Rounds rounds = prober.sample_timed_with(peer, leading, kElement, [&] {
    const double few = time(kFew);
    return std::max(time(kFew + kMore) - few, 0.0);
  });
  rounds /= 2.0 * kMore;
  if (prober.plan().verify) prober.expect(out.first(kElement), leaders, name);
  if (leading) prober.record(name, to_string(rank.place(peer)), kElement, std::move(rounds), true);
  end.close();
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
  const Bytes most = format == LineFormat::ll ? kSlotOfLl : kSlot;
  gpu::Program program{.operation = gpu::Operation::exchange,
                       .format = format,
                       .channels = kBlocks.back(),
                       .slot = std::min(part, most.count()),
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
      probe_blocks_in(prober, peer, leading, format);
    }
    probe_hop(prober, peer, leading, format, false);
  }
}

}  // namespace twinlink::bench
