// Probes of one-sided puts that raise a signal.
#include "protocols/bench/prober.hpp"

namespace twinlink::bench {
namespace {

constexpr Tag kProbeSignal{0};

/// One end: memory that the peer writes, and the peer's, opened.
class SignalEnd {
 public:
  SignalEnd(Prober& prober, RankId peer, std::string name)
      : prober_(prober),
        peer_(peer),
        name_(std::move(name)),
        own_(prober.rank(), Memory::device, size()),
        written_(prober.rank(), Memory::device, size()) {
    tell_now(prober.rank(), peer, Message(prober.rank().export_memory(written_.buffer())), prober.patience());
    const auto handle = hear_now(prober.rank(), peer, prober.patience()).as<IpcHandle>();
    theirs_ = prober.rank().open_memory(peer, handle);
  }

  [[nodiscard]] Bytes size() const { return prober_.plan().sizes.front(); }
  void put() {
    prober_.finish(prober_.rank().put(View(theirs_), own_.first(size()), Stream{0}, Engine::dma, Signal{kProbeSignal}),
                   name_, size());
  }
  void take() {
    std::uint64_t value = 0;
    prober_.finish(prober_.rank().await_signal(peer_, kProbeSignal, value), name_, size());
  }
  /// Before the puts, and after them.
  void fill(twinlink::Pattern sent) {
    prober_.rank().fill(own_.first(size()), sent);
    prober_.rank().fill(written_.first(size()), kSentinel);
  }
  void expect(twinlink::Pattern received) { prober_.expect(written_.first(size()), received, name_); }
  /// Both ends close before either releases.
  void close() {
    prober_.rank().close_memory(theirs_);
    meet(prober_.rank(), peer_, prober_.patience());
  }

 private:
  Prober& prober_;
  RankId peer_;
  std::string name_;
  ScopedBuffer own_;
  ScopedBuffer written_;
  Buffer theirs_;
};

}  // namespace

void probe_signals(Prober& prober, RankId peer, bool leading) {
  Rank& rank = prober.rank();
  const Path& path = rank.path_to(peer);
  if (!path.same_node || !path.one_sided) return;
  const std::string name = "put and signal same-node";
  SignalEnd end(prober, peer, name);
  const bool possible = leading && can(prober, "signals", [&] { end.put(); });
  if (agree(rank, peer, leading, possible ? 1 : 0, prober.patience()) != 0) {
    if (!leading) end.take();
    constexpr twinlink::Pattern kLeaders{1};
    constexpr twinlink::Pattern kFollowers{2};
    end.fill(leading ? kLeaders : kFollowers);
    meet(rank, peer, prober.patience());
    std::vector<double> times_us = prober.sample_with(peer, leading, end.size(), [&] {
      if (leading) end.put();
      end.take();
      if (!leading) end.put();
    });
    for (double& time : times_us) time /= 2;
    if (prober.plan().verify) end.expect(leading ? kFollowers : kLeaders);
    if (leading) prober.record(name, to_string(rank.place(peer)), end.size(), std::move(times_us), true);
  }
  end.close();
}

}  // namespace twinlink::bench
