#include "protocols/workloads/patterns.hpp"

#include <algorithm>
#include <functional>

namespace twinlink::workloads {
namespace {

/// A message from a rank to another, told apart from all others of the pattern.
std::uint64_t value_of(const Shape& shape, int sender, int number) {
  return static_cast<std::uint64_t>(shape.content_of(sender)) * 64 + static_cast<std::uint64_t>(number) + 1;
}

/// The messages of one rank. What it sends lies before what it receives.
class Messages {
 public:
  explicit Messages(std::uint64_t elements) : each_(elements) {}

  void exchange(int peer, std::uint64_t sent, std::uint64_t received) { add(peer, sent, received); }
  void send(int peer, std::uint64_t value) { add(peer, value, 0); }
  void receive(int peer, std::uint64_t value) { add(peer, 0, value); }

  [[nodiscard]] Schedule take() const {
    Schedule schedule;
    Step step;
    const auto next = [&] {
      const Slice slice{Where::data, schedule.data, each_};
      schedule.data += each_;
      return slice;
    };
    for (const Message& message : messages_) {
      Transfer transfer{.peer = message.peer};
      if (message.sent != 0) {
        transfer.send = next();
        schedule.before.push_back({transfer.send, message.sent});
      }
      if (message.received != 0) {
        transfer.receive = next();
        schedule.after.push_back({transfer.receive, message.received});
      }
      step.transfers.push_back(transfer);
    }
    schedule.steps = {step};
    return schedule;
  }

 private:
  struct Message {
    int peer;
    std::uint64_t sent;      ///< zero: nothing
    std::uint64_t received;  ///< likewise
  };
  void add(int peer, std::uint64_t sent, std::uint64_t received) { messages_.push_back({peer, sent, received}); }

  std::uint64_t each_;
  std::vector<Message> messages_;
};

/// Rank 0 is the first, its neighbours along the last side follow it.
Schedule halo(const Shape& shape, int rank, std::uint64_t elements, int dimensions) {
  const std::vector<int> sides = grid_of(shape.ranks, dimensions);
  Messages messages(elements);
  int stride = 1;
  for (std::size_t d = sides.size(); d-- > 0; stride *= sides[d]) {
    const int side = sides[d];
    if (side == 1) continue;
    const int at = rank / stride % side;
    const auto neighbour = [&](int step) { return rank + ((at + step + side) % side - at) * stride; };
    const int up = neighbour(1);
    const int down = neighbour(-1);
    const int axis = 2 * static_cast<int>(d);
    if (up == down) {  // two ranks share both faces, whose messages come in the order in which they are sent
      messages.exchange(up, value_of(shape, rank, axis), value_of(shape, up, axis));
      messages.exchange(up, value_of(shape, rank, axis + 1), value_of(shape, up, axis + 1));
    } else {
      messages.exchange(up, value_of(shape, rank, axis), value_of(shape, up, axis + 1));
      messages.exchange(down, value_of(shape, rank, axis + 1), value_of(shape, down, axis));
    }
  }
  return messages.take();
}

}  // namespace

std::vector<int> grid_of(int ranks, int dimensions) {
  std::vector<int> sides(static_cast<std::size_t>(dimensions), 1);
  // The largest factors first, each to the side that is shortest so far.
  std::vector<int> factors;
  for (int factor = 2; ranks > 1; ++factor) {
    for (; ranks % factor == 0; ranks /= factor) factors.push_back(factor);
  }
  std::ranges::reverse(factors);
  for (const int factor : factors) *std::ranges::min_element(sides) *= factor;
  std::ranges::sort(sides, std::greater());
  return sides;
}

Schedule incast(const Shape& shape, int rank, std::uint64_t elements) {
  Messages messages(elements);
  if (rank != 0) messages.send(0, value_of(shape, rank, 0));
  for (int other = 1; rank == 0 && other < shape.ranks; ++other) messages.receive(other, value_of(shape, other, 0));
  return messages.take();
}

Schedule fan_out(const Shape& shape, int rank, std::uint64_t elements) {
  Messages messages(elements);
  if (rank != 0) messages.receive(0, value_of(shape, rank, 0));
  for (int other = 1; rank == 0 && other < shape.ranks; ++other) messages.send(other, value_of(shape, other, 0));
  return messages.take();
}

Schedule bisection(const Shape& shape, int rank, std::uint64_t elements) {
  Messages messages(elements);
  const int half = shape.ranks / 2;
  if (rank < 2 * half) {  // of an odd number the last stands by
    const int peer = rank < half ? rank + half : rank - half;
    messages.exchange(peer, value_of(shape, rank, 0), value_of(shape, peer, 0));
  }
  return messages.take();
}

Schedule shift(const Shape& shape, int rank, std::uint64_t elements) {
  Messages messages(elements);
  const int to = (rank + 1) % shape.ranks;
  const int from = (rank + shape.ranks - 1) % shape.ranks;
  if (to == from) {
    messages.exchange(to, value_of(shape, rank, 0), value_of(shape, from, 0));
  } else {
    messages.send(to, value_of(shape, rank, 0));
    messages.receive(from, value_of(shape, from, 0));
  }
  return messages.take();
}

Schedule halo_2d(const Shape& shape, int rank, std::uint64_t elements) { return halo(shape, rank, elements, 2); }
Schedule halo_3d(const Shape& shape, int rank, std::uint64_t elements) { return halo(shape, rank, elements, 3); }

}  // namespace twinlink::workloads
