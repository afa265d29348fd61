#include "model/engine/rank/mailbox.hpp"

#include <memory>

namespace twinlink::model {
namespace {

/// The first one, which goes out of the list; null: there is none.
OperationPtr take_first(std::vector<OperationPtr>& operations) {
  if (operations.empty()) return nullptr;
  OperationPtr first = std::move(operations.front());
  operations.erase(operations.begin());
  return first;
}

}  // namespace

Mailbox::Inbox& Mailbox::inbox(RankId source, Tag tag) {
  constexpr unsigned kTagBits = 32;
  const auto key = static_cast<std::uint64_t>(source.value) << kTagBits | static_cast<std::uint32_t>(tag.value);
  return inboxes_.try_emplace(key, *this).first->second;
}

void Mailbox::Arrivals::pop() {
  ++gone_;
  if (2 * gone_ < all_.size()) return;
  all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(gone_));
  gone_ = 0;
}

void Mailbox::post(RankId source, Tag tag, Seconds arrival, const ControlMessage& message) {
  Inbox& to = inbox(source, tag);
  to.arrivals.push({arrival, message});
  // Otherwise who will take it is still to come.
  if (to.awaiting.size() >= to.arrivals.size()) expect(to, arrival);
}

void Mailbox::await(const OperationPtr& operation) {
  Inbox& from = inbox(operation->peer, operation->tag);
  from.awaiting.push_back(operation);
  if (from.arrivals.size() >= from.awaiting.size()) expect(from, from.arrivals[from.awaiting.size() - 1].when);
}

/// Somebody waits for what comes at `arrival`.
void Mailbox::expect(Inbox& inbox, Seconds arrival) {
  event_queue_.add(arrival, std::shared_ptr<QueuedEvent>(std::shared_ptr<void>(), &inbox));  // which stays where it is
}

void Mailbox::take_arrivals(Inbox& inbox) {
  while (!inbox.awaiting.empty() && !inbox.arrivals.empty() && event_queue_.is_past(inbox.arrivals[0].when)) {
    const OperationPtr receiver = take_first(inbox.awaiting);
    const ControlMessage& message = inbox.arrivals[0].message;
    if (receiver->into != nullptr) *receiver->into = message;
    if (receiver->signal_value != nullptr) *receiver->signal_value = message.as<std::uint64_t>();
    inbox.arrivals.pop();
    heard_(receiver);
  }
}

OperationPtr Mailbox::match(RankId source, const OperationPtr& send) {
  Inbox& to = inbox(source, send->tag);
  OperationPtr receive = take_first(to.receives);
  if (!receive) to.sends.push_back(send);
  return receive;
}

OperationPtr Mailbox::match(const OperationPtr& receive) {
  Inbox& from = inbox(receive->peer, receive->tag);
  OperationPtr send = take_first(from.sends);
  if (!send) from.receives.push_back(receive);
  return send;
}

void Mailbox::withdraw(const OperationPtr& operation) {
  Inbox& from = inbox(operation->peer, operation->tag);
  std::erase(from.awaiting, operation);
  std::erase(from.receives, operation);
}

}  // namespace twinlink::model
