// Mailbox: what peers have sent to a rank, and what that rank waits for from them. A sender puts its message into the
// receiver's mailbox itself, for all ranks are in one process.
//
//   rank(to).mailbox_.post(seen_by(to), tag, arrival, message);     // a control message, a signal, an acknowledgement
//   send->partner = rank(to).mailbox_.match(seen_by(to), send);     // a message: has the receive been posted?
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/engine/rank/event_queue.hpp"
#include "model/engine/rank/operation.hpp"
#include "protocols/core/rank.hpp"

namespace twinlink::model {

// Signals, and the answers to synchronous sends, come through the same queues as control messages: each tag beside the
// one of its number.
inline constexpr int kFirstSignalTag = 1 << 28;
inline Tag signal_tag(Tag tag) { return Tag{tag.value + kFirstSignalTag}; }
inline Tag acknowledgement_tag(Tag tag) { return Tag{tag.value + (1 << 29)}; }

/// From one peer with one tag, the first that comes is for the first that waits: messages for receives, control
/// messages for those who await one.
class Mailbox {
 public:
  /// `event_queue` is the rank's own and outlives it. `heard` is told who has got its control message.
  Mailbox(EventQueue& event_queue, std::function<void(const OperationPtr&)> heard)
      : event_queue_(event_queue), heard_(std::move(heard)) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// A control message of `source` comes at `arrival`, which is not before that of those sent earlier.
  void post(RankId source, Tag tag, Seconds arrival, const ControlMessage& message);
  /// `operation` waits for the next control message of its peer with its tag.
  void await(const OperationPtr& operation);

  /// A message of `source` looks for its receive. Null: it waits for it.
  OperationPtr match(RankId source, const OperationPtr& send);
  /// A receive looks for the message that it takes. Null: it waits for it.
  OperationPtr match(const OperationPtr& receive);

  /// A receive, or who waits for a control message, waits no more: what comes is for the next one.
  void withdraw(const OperationPtr& operation);

 private:
  struct Arrival {
    Seconds when;
    ControlMessage message;
  };
  /// In the order of their coming. A job has many, most of them with one at a time or none.
  class Arrivals {
   public:
    [[nodiscard]] std::size_t size() const { return all_.size() - gone_; }
    [[nodiscard]] bool empty() const { return size() == 0; }
    [[nodiscard]] const Arrival& operator[](std::size_t i) const { return all_[gone_ + i]; }
    void push(const Arrival& arrival) { all_.push_back(arrival); }
    /// The first is gone.
    void pop();

   private:
    std::vector<Arrival> all_;
    std::size_t gone_ = 0;  ///< of these
  };
  /// All from one peer with one tag.
  struct Inbox final : QueuedEvent {
    explicit Inbox(Mailbox& of) : mailbox(of) {}
    /// A control message may have come.
    void happen() override { mailbox.take_arrivals(*this); }

    Mailbox& mailbox;
    Arrivals arrivals;
    std::vector<OperationPtr> awaiting;  ///< control messages
    std::vector<OperationPtr> sends;     ///< of the peer, not yet matched
    std::vector<OperationPtr> receives;  ///< of this rank, not yet matched
  };
  [[nodiscard]] Inbox& inbox(RankId source, Tag tag);
  void expect(Inbox& inbox, Seconds arrival);
  void take_arrivals(Inbox& inbox);

  EventQueue& event_queue_;
  std::function<void(const OperationPtr&)> heard_;
  std::unordered_map<std::uint64_t, Inbox> inboxes_;  ///< by source and tag
};

}  // namespace twinlink::model
