#include "protocols/gpudirect_v2/batch_places.hpp"

#include "protocols/core/tags.hpp"
#include "protocols/gpudirect_v2/batches.hpp"

namespace twinlink {

Started send_batch(PeerEnd& end, std::span<const View> batch) {
  const auto distance = distance_of(batch);
  const std::uint64_t name = batch_name(batch);
  // Made first: it is what the mover reads first, and so it has the handle of a new buffer.
  const ControlMessage ready = ready_message(end.shared, batch.front(), distance.value_or(Bytes{}), name);
  if (!distance) {
    for (const View& message : batch.subspan(1)) {
      const ControlMessage place = ready_message(end.shared, message, message.length, name);
      const Status status = wait(end.rank, end.rank.send_control(end.peer, tags::kPlace, place), end.deadline);
      if (status != Status::delivered) return Outcome{status, "the places of a batch were not taken in time"};
    }
  }
  return end.rank.send_control(end.peer, tags::kReady, ready);
}

Outcome recv_places(PeerEnd& end, const Ready& ready, std::span<const View> mine, std::vector<ReceivedReady>& places) {
  const bool each = mine.size() > 1 && ready.length == 0;
  while (each && places.size() < mine.size() - 1) {
    ControlMessage place;
    const Status status = wait(end.rank, end.rank.recv_control(end.peer, tags::kPlace, place), end.deadline);
    if (status != Status::delivered) return {status, "the places of a batch were not received in time"};
    places.push_back(received_ready(place));
  }
  return {};
}

}  // namespace twinlink
