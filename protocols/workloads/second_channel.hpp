// SecondChannel: a rank as a second channel to the same peer sees it. Its tags are others, so that neither takes what
// is meant for the other one.
#pragma once

#include "protocols/core/tags.hpp"
#include "protocols/trace/decorated_rank.hpp"

namespace twinlink {

/// Only what a protocol does. Of a message in pieces the tag stays, so only one of two channels may have those of a
/// direction.
class SecondChannel final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;

  Op put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) override {
    if (signal) signal->tag.value += kSignalShift;
    return inner().put(to, from, stream, engine, signal);
  }
  Op await_signal(RankId peer, Tag tag, std::uint64_t& value) override {
    return inner().await_signal(peer, Tag{tag.value + kSignalShift}, value);
  }
  Op send(RankId peer, Tag tag, View from) override { return inner().send(peer, shifted(tag), from); }
  Op send_synchronously(RankId peer, Tag tag, View from) override {
    return inner().send_synchronously(peer, shifted(tag), from);
  }
  Op receive(RankId peer, Tag tag, View to) override { return inner().receive(peer, shifted(tag), to); }
  Op send_control(RankId peer, Tag tag, const ControlMessage& message) override {
    return inner().send_control(peer, shifted(tag), message);
  }
  Op recv_control(RankId peer, Tag tag, ControlMessage& into) override {
    return inner().recv_control(peer, shifted(tag), into);
  }

 private:
  static constexpr int kShift = tags::kFirstFree.value / 2;
  static constexpr int kSignalShift = kSignalTags / 2;
  static_assert(tags::kConnect.value < kShift && tags::kSymmetricSignal.value < kSignalShift);

  static Tag shifted(Tag tag) { return tag < tags::kFirstFree ? Tag{tag.value + kShift} : tag; }
};

}  // namespace twinlink
