// Probes of messages and control messages that go many at once, one way and both ways, and of what CPUs do for each.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "protocols/bench/probe/probed.hpp"
#include "protocols/bench/probe/prober.hpp"
#include "protocols/core/tags.hpp"

namespace twinlink::bench {
namespace {

/// Largest message whose time CPUs decide; beyond it bytes do.
constexpr Bytes kLargestByCpu = 64_KiB;
constexpr Tag kWindowTag{tags::kFirstFree.value + 2};

/// One end of such a window: the leader sends, the follower receives, and answers when it has all.
class WindowEnd {
 public:
  WindowEnd(Prober& prober, RankId peer, bool leading)
      : prober_(prober),
        peer_(peer),
        leading_(leading),
        memory_(prober.rank(), Memory::pageable, room_for(prober.plan().sizes)) {}

  /// A line for every size: the share of one message. Each has memory of its own, as messages that are under way at
  /// once must have: what caches hold of one does not count for the next.
  void probe_queued(const std::string& name) {
    if (!prober_.wants(name)) return;
    for (const Bytes size : prober_.plan().sizes) {
      if (size * kQueuedCopies > kMaxWindowMemory) return;
      const View window = memory_.first(size * kQueuedCopies);
      const twinlink::Payload pattern{size.count()};
      // Also where nothing is verified: of memory that nobody has written, all pages are one page of zeros.
      prober_.rank().fill(window, leading_ ? pattern : kSentinel);
      record(name, size, true, prober_.sample_with(peer_, leading_, size, [&] {
        std::array<Op, kQueuedCopies> ops{};
        for (std::size_t i = 0; i < ops.size(); ++i) ops[i] = start(window.slice(size * i, size));
        end_round(ops, name, size);
      }) /= kQueuedCopies);
      if (prober_.plan().verify && !leading_) prober_.expect(window, pattern, name);
    }
  }

  /// The same with as many messages the other way at the same time, of sizes whose bytes are not all that counts.
  void probe_both_ways(const std::string& name) {
    if (!prober_.wants(name)) return;
    const Bytes largest = std::min(kLargestByCpu, prober_.largest());
    const ScopedBuffer in(prober_.rank(), Memory::pageable, largest * kQueuedCopies);
    for (const Bytes size : prober_.plan().sizes) {
      if (size > kLargestByCpu) return;
      record(name, size, true, prober_.sample_with(peer_, leading_, size, [&] {
        std::array<Op, kQueuedCopies> received{};
        std::array<Op, kQueuedCopies> sent{};
        const auto place = [size](const ScopedBuffer& memory, std::size_t i) {
          return View(memory.buffer(), size * i, size);
        };
        for (std::size_t i = 0; i < received.size(); ++i) {
          received[i] = prober_.rank().receive(peer_, kWindowTag, place(in, i));
        }
        for (std::size_t i = 0; i < sent.size(); ++i) {
          sent[i] = prober_.rank().send(peer_, kWindowTag, place(memory_, i));
        }
        for (const Op op : received) prober_.finish(op, name, size);
        end_round(sent, name, size);
      }) /= kQueuedCopies);
    }
  }

  /// What the CPU does to send a message to a peer that awaits it.
  void probe_start(const std::string& name) {
    if (!prober_.wants(name)) return;
    for (const Bytes size : prober_.plan().sizes) {
      if (size > kLargestByCpu) return;
      record(name, size, false, prober_.sample_timed_with(peer_, leading_, size, [&] {
        Op op;
        if (!leading_) op = start(memory_.first(size));
        answer(prober_.rank(), peer_, leading_, prober_.patience());
        const double time_us = leading_ ? time_round(prober_.rank(), [&] { op = start(memory_.first(size)); }) : 0;
        prober_.finish(op, name, size);
        return time_us;
      }));
    }
  }

  /// What the CPU does to await the smallest message, which has not been sent.
  void probe_await(const std::string& name) {
    if (!prober_.wants(name)) return;
    const Bytes size = prober_.plan().sizes.front();
    const View view = memory_.first(size);
    record(name, size, false, prober_.sample_timed_with(peer_, leading_, size, [&] {
      if (!leading_) {
        recv_control_now(prober_.rank(), peer_, prober_.patience());
        prober_.finish(prober_.rank().send(peer_, kWindowTag, view), name, size);
        return 0.0;
      }
      Op receive;
      const double time_us =
          time_round(prober_.rank(), [&] { receive = prober_.rank().receive(peer_, kWindowTag, view); });
      send_control_now(prober_.rank(), peer_, ControlMessage(), prober_.patience());
      prober_.finish(receive, name, size);
      return time_us;
    }));
  }

  /// Control messages both ways: the share of one each way.
  void probe_control_both_ways(const std::string& name) {
    if (!prober_.wants(name)) return;
    record(name, kControlSize, false, prober_.sample_with(peer_, leading_, kControlSize, [&] {
      std::array<Op, kQueuedCopies> sent{};
      std::array<Op, kQueuedCopies> received{};
      for (Op& op : sent) op = prober_.rank().send_control(peer_, kWindowTag, ControlMessage(std::uint64_t{}));
      for (Op& op : received) op = prober_.rank().recv_control(peer_, kWindowTag, received_);
      for (const Op op : sent) prober_.finish(op, name, kControlSize);
      end_round(received, name, kControlSize);
    }) /= kQueuedCopies);
  }

 private:
  static constexpr Bytes kControlSize{sizeof(std::uint64_t)};
  /// For the largest window that is not too large, and for one message of the smallest size.
  static Bytes room_for(const std::vector<Bytes>& sizes) {
    Bytes room = sizes.front();
    for (const Bytes size : sizes) {
      if (size * kQueuedCopies <= kMaxWindowMemory) room = std::max(room, size * kQueuedCopies);
    }
    return room;
  }
  /// Waits for `ops` and for the other end.
  void end_round(std::span<const Op> ops, const std::string& name, Bytes size) {
    for (const Op op : ops) prober_.finish(op, name, size);
    answer(prober_.rank(), peer_, leading_, prober_.patience());
  }
  Op start(View view) {
    return leading_ ? prober_.rank().send(peer_, kWindowTag, view) : prober_.rank().receive(peer_, kWindowTag, view);
  }
  void record(const std::string& name, Bytes size, bool moves_bytes, Rounds rounds) {
    if (leading_) prober_.record(name, to_string(prober_.rank().place(peer_)), size, std::move(rounds), moves_bytes);
  }

  Prober& prober_;
  RankId peer_;
  bool leading_;
  ScopedBuffer memory_;
  ControlMessage received_{};
};

}  // namespace

void probe_windows(Prober& prober, RankId peer, bool leading) {
  using enum Probed::What;
  using enum Probed::How;
  const auto name = [same_node = prober.rank().path_to(peer).same_node](Probed::What what, Probed::How how) {
    return to_string({.what = what, .how = how, .same_node = same_node});
  };
  WindowEnd end(prober, peer, leading);
  end.probe_start(name(message, start));
  end.probe_queued(name(message, queued));
  end.probe_both_ways(name(message, queued_both_ways));
  end.probe_await(name(receive, start));
  end.probe_control_both_ways(name(control, queued_both_ways));
}

}  // namespace twinlink::bench
