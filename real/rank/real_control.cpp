// RealRank's control plane: small messages and signals. Between ranks of a node they lie in memory that both map; from
// node to node, messages go through MPI.
#include <algorithm>

#include "real/rank/real_rank.hpp"

namespace twinlink::real {

void RealRank::WaitingLists::add(RankId peer, Tag tag, Slot slot) {
  auto list = std::ranges::find_if(lists, [&](const Waiting& w) { return w.peer == peer && w.tag == tag; });
  if (list == lists.end()) list = lists.insert(list, Waiting{.peer = peer, .tag = tag, .slots = {}});
  list->slots.push_back(slot);
  ++waiting;
}

void RealRank::WaitingLists::remove(Slot slot) {
  for (Waiting& list : lists) waiting -= std::erase(list.slots, slot);
}

template <class Comes>
void RealRank::poll_lists(WaitingLists& lists, Comes comes) {
  for (Waiting& list : lists.lists) {
    while (!list.slots.empty() && comes(list, operations_[list.slots.front()])) {
      end(list.slots.front());
      list.slots.pop_front();
      --lists.waiting;
    }
  }
}

bool RealRank::by_control_message(RankId peer) const {
  return control_messages_ != nullptr && shares_memory_with(path_to(peer));
}

Op RealRank::send_control(RankId peer, Tag tag, const ControlMessage& message) {
  require_address(peer, tag);
  if (by_control_message(peer)) return send_in_memory(peer, tag, message);
  const Slot slot = start(Kind::send_control, {}, {});
  MPI_Request request = MPI_REQUEST_NULL;
  Operation& operation = operations_[slot];
  std::ranges::copy(message.bytes(), operation.message.begin());
  check_mpi(MPI_Isend(operation.message.data(), static_cast<int>(message.bytes().size()), MPI_BYTE, peer.value,
                      tag.value, mpi_.control(), &request),
            "MPI_Isend");
  await_request(slot, request);
  return op_of(slot);
}

Op RealRank::recv_control(RankId peer, Tag tag, ControlMessage& into) {
  require_address(peer, tag);
  if (by_control_message(peer)) {
    const Slot slot = start(Kind::control_in, {}, {});
    operations_[slot].into = &into;
    control_receives_.add(peer, tag, slot);
    return op_of(slot);
  }
  const Slot slot = start(Kind::recv_control, {}, {});
  MPI_Request request = MPI_REQUEST_NULL;
  Operation& operation = operations_[slot];
  operation.into = &into;
  check_mpi(MPI_Irecv(operation.message.data(), static_cast<int>(operation.message.size()), MPI_BYTE, peer.value,
                      tag.value, mpi_.control(), &request),
            "MPI_Irecv");
  await_request(slot, request);
  return op_of(slot);
}

Op RealRank::send_in_memory(RankId peer, Tag tag, const ControlMessage& message) {
  const Slot slot = start(Kind::control_out, {}, {});
  const auto before = unposted_.find(peer);
  if (before == unposted_.end() && control_messages_->post(peer, tag, message)) {
    states_[slot].ended = true;
  } else {
    unposted_[peer].push_back({slot, states_[slot].generation, tag, message});
  }
  return op_of(slot);
}

void RealRank::post_control() {
  for (auto& [peer, queue] : unposted_) {
    while (!queue.empty() && control_messages_->post(peer, queue.front().tag, queue.front().message)) {
      const Unposted& posted = queue.front();
      if (states_[posted.slot].generation == posted.generation) end(posted.slot);
      queue.pop_front();
    }
  }
  std::erase_if(unposted_, [](const auto& entry) { return entry.second.empty(); });
}

void RealRank::poll_control() {
  poll_lists(control_receives_, [this](const Waiting& list, Operation& receiver) {
    return control_messages_->take(list.peer, list.tag, *receiver.into);
  });
}

Op RealRank::await_signal(RankId peer, Tag tag, std::uint64_t& value) {
  static_cast<void>(path_to(peer));
  require_signal({tag, 0});
  const Slot slot = start(Kind::signal, {}, {});
  operations_[slot].signal_value = &value;
  awaits_.add(peer, tag, slot);
  return op_of(slot);
}

void RealRank::poll_signals() {
  poll_lists(awaits_, [this](Waiting& list, Operation& await) {
    const auto value = signals_.look(list.peer, list.tag, list.taken);
    if (!value) return false;
    ++list.taken;
    *await.signal_value = *value;
    return true;
  });
}

/// What `slot` waited for goes to whoever waits next. A control message that it is to post is still posted while the
/// rank lives: the peer may count on it.
void RealRank::stop_awaiting(Slot slot) {
  control_receives_.remove(slot);
  awaits_.remove(slot);
}

}  // namespace twinlink::real
