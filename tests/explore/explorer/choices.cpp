// What may happen next in an explored job.
#include <algorithm>
#include <string>

#include "tests/explore/explorer/machine.hpp"

namespace twinlink::explore {

const Parcel* Machine::parcel_of(int rank, const Operation& send) const {
  const Inbox* to_peer = find_channel(rank, send.peer, send.tag, Plane::data);
  for (const Parcel& parcel : to_peer->parcels) {
    if (parcel.number == send.number) return &parcel;
  }
  return nullptr;  // taken
}

bool Machine::is_raised(int rank, const Operation& await) const {
  const auto& raised = find_channel(await.peer, rank, await.tag, Plane::signal)->raised;
  return !raised.empty() && position(rank, await) < raised.size();
}

const Operation* Machine::raiser(int rank, const Operation& await) const {
  if (is_raised(rank, await)) return nullptr;
  const auto raises = [&](const Operation& op) {
    return !op.ended && op.signal && op.peer == rank && op.signal->tag.value == await.tag;
  };
  const auto& theirs = state(await.peer).operations;
  if (std::ranges::none_of(theirs, raises)) return nullptr;  // as a rule; a rank may await thousands of signals
  std::size_t before = position(rank, await) - find_channel(await.peer, rank, await.tag, Plane::signal)->raised.size();
  for (const Operation& op : theirs) {
    if (raises(op) && before-- == 0) return &op;
  }
  return nullptr;
}

bool Machine::can_end(int rank, const Operation& op) const {
  if (op.ended) return true;
  switch (op.verb) {
    case Verb::copy:
    case Verb::put:
    case Verb::send_control:
      return true;
    case Verb::send: {
      if (op.eager) return true;
      const Parcel* parcel = parcel_of(rank, op);
      return parcel == nullptr || parcel->matched;
    }
    case Verb::receive: {
      const Inbox* from_peer = find_channel(op.peer, rank, op.tag, Plane::data);
      return position(rank, op) < from_peer->parcels.size();
    }
    case Verb::recv_control: {
      const Inbox* from_peer = find_channel(op.peer, rank, op.tag, Plane::control);
      return position(rank, op) < from_peer->messages.size();
    }
    case Verb::await_signal:
      return is_raised(rank, op) || raiser(rank, op) != nullptr;
  }
  return false;
}

/// `op` can end: does `earlier`, which has not ended, end with it?
bool Machine::ends_with(const Operation& earlier, const Operation& op) {
  if (op.stream >= 0) return earlier.stream == op.stream && earlier.id < op.id;
  if (op.verb != Verb::recv_control && op.verb != Verb::await_signal) return false;
  return earlier.verb == op.verb && earlier.peer == op.peer && earlier.tag == op.tag && earlier.id < op.id;
}

void Machine::takes_of(int rank, std::vector<Choice>& into, bool first_only) const {
  const RankState& at_rank = state(rank);
  if (at_rank.finished) return;
  const std::span<const Op> span(at_rank.waits_for, at_rank.waits_for_count);
  for (std::size_t i = 0; i < span.size(); ++i) {
    const Operation& op = *find(rank, span[i].id);
    if (can_end(rank, op)) {
      const bool overtaken = !op.ended && std::ranges::any_of(span.first(i), [&](Op earlier) {
        return ends_with(*find(rank, earlier.id), op);
      });
      if (!overtaken) into.push_back({rank, Choice::Kind::take, op.id, i});
    }
    if (first_only && !into.empty()) return;
    if (op.ended) return;  // What comes behind it in the span is not returned before it.
  }
  if (at_rank.deadline <= at_rank.now) into.push_back({.rank = rank, .kind = Choice::Kind::nothing});
}

bool Machine::is_decided(int rank, const Operation& op) const {
  if (op.ended) return true;
  if (op.verb == Verb::await_signal) return is_raised(rank, op);
  if (op.stream < 0) return can_end(rank, op);
  // A peer that has got a later signal of the stream knows that this one has ended.
  return std::ranges::none_of(state(rank).operations, [&](const Operation& other) {
    return other.stream == op.stream && other.id >= op.id && !other.ended && other.signal;
  });
}

bool Machine::decided(int rank) const {
  const RankState& at_rank = state(rank);
  if (at_rank.deadline <= at_rank.now) return false;
  const std::span<const Op> span(at_rank.waits_for, at_rank.waits_for_count);
  for (std::size_t i = 0; i < span.size(); ++i) {
    const Operation& op = *find(rank, span[i].id);
    if (is_decided(rank, op)) {
      if (op.ended) return true;
      continue;
    }
    // What is behind another one of its pair and tag in the span is never returned before it.
    const bool behind = op.stream < 0 && std::ranges::any_of(span.first(i), [&](Op earlier) {
                          return ends_with(*find(rank, earlier.id), op);
                        });
    if (!behind) return false;
  }
  return true;
}

void Machine::single_steps_of(int rank, std::vector<Choice>& into) const {
  const RankState& at_rank = state(rank);
  for (const Operation& op : at_rank.operations) {
    if (op.ended || !can_end(rank, op)) continue;
    if (op.verb == Verb::await_signal && !is_raised(rank, op)) continue;
    const bool first = std::ranges::none_of(
        at_rank.operations, [&](const Operation& other) { return !other.ended && ends_with(other, op); });
    if (first) into.push_back({.rank = rank, .kind = Choice::Kind::end, .operation = op.id});
  }
  if (at_rank.finished) return;
  const std::span<const Op> span(at_rank.waits_for, at_rank.waits_for_count);
  for (std::size_t i = 0; i < span.size(); ++i) {
    if (!find(rank, span[i].id)->ended) continue;
    into.push_back({rank, Choice::Kind::take, span[i].id, i});
    return;
  }
  if (at_rank.deadline <= at_rank.now) into.push_back({.rank = rank, .kind = Choice::Kind::nothing});
}

/// What the rank may take next depends on who has got the signals of its puts already.
void Machine::note_signals(int rank) {
  const std::span<const Op> span(state(rank).waits_for, state(rank).waits_for_count);
  for (const Op waited : span) {
    const Operation& op = *find(rank, waited.id);

    if (op.stream < 0) continue;
    for (const Operation& other : state(rank).operations) {
      if (other.stream == op.stream && other.signal) footprint.signal(rank, other.peer, other.signal->tag.value);
    }
  }
}

std::optional<Completion> Machine::commit(const Choice& choice) {
  if (choice.kind == Choice::Kind::end) {
    end(choice.rank, choice.operation);
    return std::nullopt;
  }
  note_signals(choice.rank);
  if (choice.kind == Choice::Kind::nothing) return std::nullopt;
  end(choice.rank, choice.operation);
  auto& all = state(choice.rank).operations;
  const auto taken = std::ranges::lower_bound(all, choice.operation, {}, &Operation::id);
  const Completion completion{choice.index, taken->status};
  state(choice.rank).now = std::max(state(choice.rank).now, taken->ends);
  all.erase(taken);
  return completion;
}

std::string Machine::describe(int rank, const Operation& op) const {
  const std::string peer = "rank " + std::to_string(op.peer);
  switch (op.verb) {
    case Verb::copy:
      return "copy " + describe(op.from) + " -> " + describe(op.to);
    case Verb::put:
      return "put " + describe(op.from) + " -> " + describe(op.to);
    case Verb::send:
      return "send " + describe(op.from) + " -> " + peer;
    case Verb::receive:
      return "receive " + describe(op.to) + " <- " + peer;
    case Verb::send_control:
      return "send_control " + peer;
    case Verb::recv_control:
      return "recv_control " + peer;
    case Verb::await_signal:
      return "await signal of " + peer;
  }
  return std::to_string(rank);
}

std::string Machine::waits(int rank) const {
  const RankState& at_rank = state(rank);
  std::string text;
  for (const Op op : std::span(at_rank.waits_for, at_rank.waits_for_count)) {
    text += (text.empty() ? "" : ", ") + describe(rank, *find(rank, op.id));
  }
  return text;
}

}  // namespace twinlink::explore
