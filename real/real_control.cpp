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
    hears_.push_back({peer, tag, slot});
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

/// Of several that wait for one peer and tag, the first comes first: what it does not find, the next does not either.
void RealRank::poll_letters() {
  std::erase_if(hears_, [this](const Waiting& hear) {
    Operation& operation = operations_[hear.slot];
    operation.ended = letters_->take(hear.peer, hear.tag, *operation.into);
    return operation.ended;
  });
}

Op RealRank::await_signal(RankId peer, Tag tag, std::uint64_t& value) {
  static_cast<void>(path_to(peer));
  require_signal({tag, 0});
  const Slot slot = start(Kind::signal, {}, {});
  operations_[slot].signal_value = &value;
  awaits_.push_back({peer, tag, slot});
  return op_of(slot);
}

void RealRank::poll_signals() {
  std::erase_if(awaits_, [this](const Waiting& await) {
    std::uint64_t& taken = taken_[{await.peer, await.tag}];
    const auto value = signals_.look(await.peer, await.tag, taken);
    if (!value) return false;
    ++taken;
    Operation& operation = operations_[await.slot];
    operation.ended = true;
    *operation.signal_value = *value;
    return true;
  });
}

/// What `slot` waited for goes to whoever waits next. A letter that it is to post is still posted: the peer may have
/// been told of it.
void RealRank::stop_awaiting(Slot slot) {
  const auto is_it = [slot](const Waiting& waiting) { return waiting.slot == slot; };
  std::erase_if(hears_, is_it);
  std::erase_if(awaits_, is_it);
}

}  // namespace twinlink::real
