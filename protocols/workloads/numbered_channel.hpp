// NumberedChannel: a rank as one of several channels to the same peer sees it. Its tags are others, so that none takes
// what is meant for another one.
#pragma once

#include "protocols/core/tags.hpp"
#include "protocols/trace/decorated_rank.hpp"

namespace twinlink {

/// The last one has no signals.
inline constexpr int kChannels = 9;

/// Only what a protocol does.
class NumberedChannel final : public DecoratedRank {
 public:
  /// The first one, 0, has the tags that a channel alone would have. Programs of thread blocks wait for each other:
  /// those of channels that wait for different peers, or in another order, want different streams.
  NumberedChannel(MeasuredRank& inner, int number, std::optional<Stream> programs = std::nullopt)
      : DecoratedRank(inner), number_(number), programs_(programs) {}

  /// What is sent from now on takes these adapters.
  void turn_to(AdapterTurn turn) { turn_ = turn; }

  Op launch(const gpu::Work& work, Stream stream) override { return inner().launch(work, programs_.value_or(stream)); }
  Op put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) override {
    if (signal) signal->tag.value += number_ * kSignalsOfOne;
    return turned([&] { return inner().put(to, from, stream, engine, signal); });
  }
  Op await_signal(RankId peer, Tag tag, std::uint64_t& value) override {
    return inner().await_signal(peer, Tag{tag.value + number_ * kSignalsOfOne}, value);
  }
  Op send(RankId peer, Tag tag, View from) override {
    return turned([&] { return inner().send(peer, own(tag), from); });
  }
  Op send_synchronously(RankId peer, Tag tag, View from) override {
    return turned([&] { return inner().send_synchronously(peer, own(tag), from); });
  }
  Op receive(RankId peer, Tag tag, View to) override { return inner().receive(peer, own(tag), to); }
  Op send_control(RankId peer, Tag tag, const ControlMessage& message) override {
    return inner().send_control(peer, own(tag), message);
  }
  Op recv_control(RankId peer, Tag tag, ControlMessage& into) override {
    return inner().recv_control(peer, own(tag), into);
  }

 private:
  static constexpr int kTagsOfOne = tags::kFirstFree.value / kChannels;
  static constexpr int kSlotsOfOne = (tags::kPieces.value - tags::kSlots.value) / kChannels;
  static constexpr int kSignalsOfOne = kSignalTags / (kChannels - 1);
  static constexpr int kPiecesOfOne = static_cast<int>(tags::kMostPieces) / kChannels;
  static_assert(tags::kConnect.value < kTagsOfOne && tags::kSymmetricSignal.value < kSignalsOfOne);

  /// The number of pieces is told modulo what a channel has of it.
  [[nodiscard]] Tag own(Tag tag) const {
    if (tag < tags::kFirstFree) return Tag{tag.value + number_ * kTagsOfOne};
    if (tag < tags::kSlots) return tag;
    if (tag < tags::kPieces) return Tag{tag.value + number_ * kSlotsOfOne};
    const int pieces = (tag.value - tags::kPieces.value) % kPiecesOfOne;
    return Tag{tags::kPieces.value + number_ * kPiecesOfOne + pieces};
  }

  template <class Start>
  Op turned(Start start) {
    if (turn_ == AdapterTurn{}) return start();
    inner().take_adapters(turn_);
    const Op op = start();
    inner().take_adapters({});
    return op;
  }

  int number_;
  std::optional<Stream> programs_;
  AdapterTurn turn_{};
};

}  // namespace twinlink
