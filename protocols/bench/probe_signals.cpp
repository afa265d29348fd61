// Probes of one-sided puts that raise a signal.
#include <array>

#include <fmt/format.h>

#include "protocols/bench/prober.hpp"

namespace twinlink::bench {
namespace {

constexpr Tag kProbeSignal{0};

/// Who writes the bytes and raises the signal behind them.
struct Writer {
  Engine engine = Engine::dma;
  std::string_view words{};  ///< in the line's name, behind "put and signal"
};
constexpr std::array kWriters{Writer{Engine::dma, ""}, Writer{Engine::kernel, " by kernel"},
                              Writer{Engine::resident, " by resident kernel"}};

/// One end: memory that the peer writes, and the peer's, opened.
class SignalEnd {
 public:
  SignalEnd(Prober& prober, RankId peer)
      : prober_(prober),
        peer_(peer),
        own_(prober.rank(), Memory::device, size()),
        written_(prober.rank(), Memory::device, size()) {
    tell_now(prober.rank(), peer, Message(prober.rank().export_memory(written_.buffer())), prober.patience());
    const auto handle = hear_now(prober.rank(), peer, prober.patience()).as<IpcHandle>();
    theirs_ = prober.rank().open_memory(peer, handle);
  }

  [[nodiscard]] Bytes size() const { return prober_.plan().sizes.front(); }
  Op start(Engine engine) {
    return prober_.rank().put(View(theirs_), own_.first(size()), Stream{0}, engine, Signal{kProbeSignal});
  }
  void put(Engine engine) { prober_.finish(start(engine), "put and signal", size()); }
  void take() {
    std::uint64_t value = 0;
    prober_.finish(prober_.rank().await_signal(peer_, kProbeSignal, value), "put and signal", size());
  }
  /// Before the puts, and after them.
  void fill(twinlink::Pattern sent) {
    prober_.rank().fill(own_.first(size()), sent);
    prober_.rank().fill(written_.first(size()), kSentinel);
  }
  void expect(twinlink::Pattern received) { prober_.expect(written_.first(size()), received, "put and signal"); }
  /// Both ends close before either releases.
  void close() {
    prober_.rank().close_memory(theirs_);
    meet(prober_.rank(), peer_, prober_.patience());
  }

 private:
  Prober& prober_;
  RankId peer_;
  ScopedBuffer own_;
  ScopedBuffer written_;
  Buffer theirs_;
};

/// What one put with its signal costs that waits behind others of its stream.
void probe_queued(Prober& prober, RankId peer, bool leading, SignalEnd& end, const Writer& writer) {
  const std::string name = fmt::format("queued put and signal{} same-node", writer.words);
  Rounds rounds = prober.sample_with(peer, leading, end.size(), [&] {
    if (leading) {
      std::array<Op, kQueuedCopies> ops{};
      for (Op& op : ops) op = end.start(writer.engine);
      for (const Op op : ops) prober.finish(op, name, end.size());
    } else {
      for (int i = 0; i < kQueuedCopies; ++i) end.take();
    }
    answer(prober.rank(), peer, leading, prober.patience());
  });
  rounds /= kQueuedCopies;
  if (leading) prober.record(name, to_string(prober.rank().place(peer)), end.size(), std::move(rounds), true);
}

void probe_writer(Prober& prober, RankId peer, bool leading, SignalEnd& end, const Writer& writer) {
  Rank& rank = prober.rank();
  const auto put = [&] { end.put(writer.engine); };
  const bool possible = leading && can(prober, fmt::format("signals{}", writer.words), put);
  if (agree(rank, peer, leading, possible ? 1 : 0, prober.patience()) == 0) return;
  if (!leading) end.take();
  constexpr twinlink::Pattern kLeaders{1};
  constexpr twinlink::Pattern kFollowers{2};
  end.fill(leading ? kLeaders : kFollowers);
  meet(rank, peer, prober.patience());
  Rounds rounds = prober.sample_with(peer, leading, end.size(), [&] {
    if (leading) put();
    end.take();
    if (!leading) put();
  });
  rounds /= 2;
  if (prober.plan().verify) end.expect(leading ? kFollowers : kLeaders);
  const std::string name = fmt::format("put and signal{} same-node", writer.words);
  if (leading) prober.record(name, to_string(rank.place(peer)), end.size(), std::move(rounds), true);
  probe_queued(prober, peer, leading, end, writer);
}

}  // namespace

void probe_signals(Prober& prober, RankId peer, bool leading) {
  const Path& path = prober.rank().path_to(peer);
  if (!path.same_node || !path.one_sided) return;
  SignalEnd end(prober, peer);
  for (const Writer& writer : kWriters) {
    // A kernel reaches a peer's memory, not one that the driver copies to through the host.
    if (writer.engine != Engine::dma && !path.peer_access) continue;
    probe_writer(prober, peer, leading, end, writer);
  }
  end.close();
}

}  // namespace twinlink::bench
