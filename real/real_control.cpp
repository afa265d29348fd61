// RealRank's control plane: small messages and signals. Between ranks of a node they lie in memory that both map; from
// node to node, messages go through MPI.
#include <algorithm>

#include "real/real_rank.hpp"

namespace twinlink::real {

/// The same at both ends: paths are symmetric.
bool RealRank::by_letter(RankId peer) const {
  const Path& path = path_to(peer);
  return letters_ != nullptr && path.same_node && path.device_mapping.yes;
}

Op RealRank::tell(RankId peer, Tag tag, const Message& message) {
  require_address(peer, tag);
  if (by_letter(peer)) return tell_by_letter(peer, tag, message);
  const Slot slot = start(Kind::tell, {}, {});
  MPI_Request request = MPI_REQUEST_NULL;
  Operation& operation = operations_[slot];
  std::ranges::copy(message.bytes(), operation.letter.begin());
  check_mpi(MPI_Isend(operation.letter.data(), static_cast<int>(message.bytes().size()), MPI_BYTE, peer.value,
                      tag.value, mpi_.control(), &request),
            "MPI_Isend");
  await_request(slot, request);
  return op_of(slot);
}

Op RealRank::hear(RankId peer, Tag tag, Message& into) {
  require_address(peer, tag);
  if (by_letter(peer)) {
    const Slot slot = start(Kind::letter_in, {}, {});
    operations_[slot].into = &into;
    hears_[{peer, tag}].push_back(slot);
    return op_of(slot);
  }
  const Slot slot = start(Kind::hear, {}, {});
  MPI_Request request = MPI_REQUEST_NULL;
  Operation& operation = operations_[slot];
  operation.into = &into;
  check_mpi(MPI_Irecv(operation.letter.data(), static_cast<int>(operation.letter.size()), MPI_BYTE, peer.value,
                      tag.value, mpi_.control(), &request),
            "MPI_Irecv");
  await_request(slot, request);
  return op_of(slot);
}

Op RealRank::tell_by_letter(RankId peer, Tag tag, const Message& message) {
  const Slot slot = start(Kind::letter_out, {}, {});
  const auto before = unposted_.find(peer);
  if (before == unposted_.end() && letters_->post(peer, tag, message)) {
    operations_[slot].ended = true;
  } else {
    unposted_[peer].push_back({slot, operations_[slot].generation, tag, message});
  }
  return op_of(slot);
}

void RealRank::post_letters() {
  for (auto& [peer, queue] : unposted_) {
    while (!queue.empty() && letters_->post(peer, queue.front().tag, queue.front().message)) {
      Operation& operation = operations_[queue.front().slot];
      if (operation.generation == queue.front().generation) operation.ended = true;
      queue.pop_front();
    }
  }
  std::erase_if(unposted_, [](const auto& entry) { return entry.second.empty(); });
}

void RealRank::poll_letters() {
  for (auto& [key, slots] : hears_) {
    while (!slots.empty() && letters_->take(key.first, key.second, *operations_[slots.front()].into)) {
      operations_[slots.front()].ended = true;
      slots.pop_front();
    }
  }
}

Op RealRank::await_signal(RankId peer, Tag tag, std::uint64_t& value) {
  static_cast<void>(path_to(peer));
  require_signal({tag, 0});
  const Slot slot = start(Kind::signal, {}, {});
  operations_[slot].signal_value = &value;
  awaited_[{peer, tag}].slots.push_back(slot);
  return op_of(slot);
}

void RealRank::poll_signals() {
  for (auto& [key, awaited] : awaited_) {
    while (!awaited.slots.empty()) {
      const auto value = signals_.look(key.first, key.second, awaited.taken);
      if (!value) break;
      Operation& operation = operations_[awaited.slots.front()];
      operation.ended = true;
      *operation.signal_value = *value;
      awaited.slots.pop_front();
      ++awaited.taken;
    }
  }
}

/// What `slot` waited for goes to whoever waits next. A letter that it is to post is still posted: the peer may have
/// been told of it.
void RealRank::stop_awaiting(Slot slot) {
  for (auto& [key, awaited] : awaited_) std::erase(awaited.slots, slot);
  for (auto& [key, slots] : hears_) std::erase(slots, slot);
}

}  // namespace twinlink::real
