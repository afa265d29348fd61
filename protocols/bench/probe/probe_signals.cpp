// Probes of one-sided puts that raise a signal.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "protocols/bench/probe/probed.hpp"
#include "protocols/bench/probe/prober.hpp"

namespace twinlink::bench {
namespace {

constexpr Tag kProbeSignal{0};
constexpr Bytes kLargestByKernel = 1_MiB;

/// Who writes the bytes and raises the signal behind them.
struct Writer {
  Engine engine = Engine::dma;
  std::string_view words{};  ///< in notes
};
constexpr std::array kWriters{Writer{Engine::dma, ""}, Writer{Engine::kernel, " by kernel"},
                              Writer{Engine::resident, " by resident kernel"}};

/// Name of the line of one put alone.
std::string name_of(const Writer& writer, Probed::How how = Probed::How::alone) {
  return to_string({.what = Probed::What::put_and_signal, .how = how, .engine = writer.engine});
}

/// One end: memory that the peer writes, and the peer's, opened.
class SignalEnd {
 public:
  SignalEnd(Prober& prober, RankId peer)
      : prober_(prober),
        peer_(peer),
        own_(prober.rank(), Memory::device, room(prober)),
        written_(prober.rank(), Memory::device, room(prober)) {
    const IpcHandle mine = prober.rank().export_memory(written_.buffer());
    send_control_now(prober.rank(), peer, ControlMessage(mine), prober.patience());
    const auto handle = recv_control_now(prober.rank(), peer, prober.patience()).as<IpcHandle>();
    theirs_ = prober.rank().open_memory(peer, handle);
  }

  /// For the smallest size, and those of a kernel's puts.
  static Bytes room(const Prober& prober) {
    return std::max(prober.plan().sizes.front(), std::min(prober.largest(), kLargestByKernel));
  }
  Op start(Engine engine, Bytes size) {
    return prober_.rank().put(View(theirs_, Bytes{}, size), own_.first(size), Stream{0}, engine, Signal{kProbeSignal});
  }
  void put(Engine engine, Bytes size) { prober_.finish(start(engine, size), "put and signal", size); }
  void take(Bytes size) {
    std::uint64_t value = 0;
    prober_.finish(prober_.rank().await_signal(peer_, kProbeSignal, value), "put and signal", size);
  }
  /// Before the puts, and after them.
  void fill(Bytes size, twinlink::Payload sent) {
    prober_.rank().fill(own_.first(size), sent);
    prober_.rank().fill(written_.first(size), kSentinel);
  }
  void expect(Bytes size, twinlink::Payload received) {
    prober_.expect(written_.first(size), received, "put and signal");
  }
  /// Both ends close before either releases.
  void close() {
    prober_.rank().close_memory(theirs_);
    synchronize(prober_.rank(), peer_, prober_.patience());
  }

 private:
  Prober& prober_;
  RankId peer_;
  ScopedBuffer own_;
  ScopedBuffer written_;
  Buffer theirs_;
};

/// What one put of the smallest size with its signal costs that waits behind others of its stream.
void probe_queued(Prober& prober, RankId peer, bool leading, SignalEnd& end, const Writer& writer) {
  const std::string name = name_of(writer, Probed::How::queued);
  if (!prober.wants(name)) return;
  const Bytes size = prober.plan().sizes.front();
  Rounds rounds = prober.sample_with(peer, leading, size, [&] {
    if (leading) {
      std::array<Op, kQueuedCopies> ops{};
      for (Op& op : ops) op = end.start(writer.engine, size);
      for (const Op op : ops) prober.finish(op, name, size);
    } else {
      for (int i = 0; i < kQueuedCopies; ++i) end.take(size);
    }
    answer(prober.rank(), peer, leading, prober.patience());
  });
  rounds /= kQueuedCopies;
  if (leading) prober.record(name, to_string(prober.rank().place(peer)), size, std::move(rounds), true);
}

/// There and back.
void probe_alone(Prober& prober, RankId peer, bool leading, SignalEnd& end, const Writer& writer, Bytes size) {
  if (!prober.wants(name_of(writer))) return;
  MeasuredRank& rank = prober.rank();
  // The same at both ends, which may have made different probes before.
  const twinlink::Payload leaders{size.count() * 2};
  const twinlink::Payload followers{size.count() * 2 + 1};
  end.fill(size, leading ? leaders : followers);
  synchronize(rank, peer, prober.patience());
  Rounds rounds = prober.sample_with(peer, leading, size, [&] {
    if (leading) end.put(writer.engine, size);
    end.take(size);
    if (!leading) end.put(writer.engine, size);
  });
  rounds /= 2;
  if (prober.plan().verify) end.expect(size, leading ? followers : leaders);
  if (leading) prober.record(name_of(writer), to_string(rank.place(peer)), size, std::move(rounds), true);
}

/// Kernels also put larger ones: the last of many blocks of threads waits for all others before it raises the signal.
void probe_writer(Prober& prober, RankId peer, bool leading, SignalEnd& end, const Writer& writer) {
  if (!prober.wants("queued " + name_of(writer))) return;  // which has the other name in it
  const Bytes least = prober.plan().sizes.front();
  const bool possible =
      leading && can(prober, fmt::format("signals{}", writer.words), [&] { end.put(writer.engine, least); });
  if (agree(prober.rank(), peer, leading, possible ? 1 : 0, prober.patience()) == 0) return;
  if (!leading) end.take(least);
  for (const Bytes size : prober.plan().sizes) {
    if (size == least || (writer.engine == Engine::kernel && size <= kLargestByKernel)) {
      probe_alone(prober, peer, leading, end, writer, size);
    }
  }
  probe_queued(prober, peer, leading, end, writer);
}

}  // namespace

void probe_signals(Prober& prober, RankId peer, bool leading) {
  const Path& path = prober.rank().path_to(peer);
  if (!path.same_node || !path.one_sided) return;
  if (path.same_device) {
    if (leading) {
      prober.note(
          fmt::format("{}: no puts with signals: both ranks use this GPU, and would measure how its driver shares it",
                      to_string(prober.rank().place(prober.rank().id()))));
    }
    return;
  }
  SignalEnd end(prober, peer);
  for (const Writer& writer : kWriters) {
    // A kernel reaches a peer's memory, not one that the driver copies to through the host.
    if (writer.engine != Engine::dma && !path.peer_access) continue;
    probe_writer(prober, peer, leading, end, writer);
  }
  end.close();
}

}  // namespace twinlink::bench
