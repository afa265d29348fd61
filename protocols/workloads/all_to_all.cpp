// All-to-all: the data buffer is what a rank sends, a block for each rank, and behind it what it receives. Blocks are
// equal: the size is rounded down to a multiple of the ranks, and no block is empty.
#include <algorithm>

#include "protocols/workloads/collectives.hpp"
#include "protocols/workloads/groups.hpp"

namespace twinlink::workloads {
namespace {

class Blocks {
 public:
  Blocks(const Shape& shape, int rank, std::uint64_t elements)
      : shape_(shape),
        ranks_(static_cast<std::uint64_t>(shape.ranks)),
        self_(rank),
        each_(std::max<std::uint64_t>(1, elements / ranks_)) {}

  [[nodiscard]] std::uint64_t each() const { return each_; }
  [[nodiscard]] std::uint64_t all() const { return each_ * ranks_; }
  [[nodiscard]] Slice to(int rank) const { return {Where::data, each_ * static_cast<std::uint64_t>(rank), each_}; }
  [[nodiscard]] Slice from(int rank) const {
    return {Where::data, all() + each_ * static_cast<std::uint64_t>(rank), each_};
  }
  [[nodiscard]] Schedule schedule() const {
    Schedule schedule{.data = 2 * all()};
    for (int r = 0; r < static_cast<int>(ranks_); ++r) {
      schedule.before.push_back({to(r), value(self_, r)});
      schedule.after.push_back({from(r), value(r, self_)});
    }
    return schedule;
  }
  [[nodiscard]] Local own() const { return {Local::Kind::copy, from(self_), to(self_)}; }

 private:
  [[nodiscard]] std::uint64_t value(int sender, int receiver) const {
    return static_cast<std::uint64_t>(shape_.content_of(sender)) * ranks_ +
           static_cast<std::uint64_t>(shape_.content_of(receiver)) + 1;
  }

  const Shape& shape_;
  std::uint64_t ranks_;
  int self_;
  std::uint64_t each_;
};

}  // namespace

Schedule pairwise_all_to_all(const Shape& shape, int rank, std::uint64_t elements) {
  const Blocks blocks(shape, rank, elements);
  Schedule schedule = blocks.schedule();
  schedule.steps.push_back({.locals = {blocks.own()}});
  const Group group = everyone(shape, rank);
  for (int distance = 1; distance < shape.ranks; ++distance) {
    const int to = group.rank_at(distance);
    const int from = group.rank_at(-distance);
    schedule.steps.push_back({.transfers = in_and_out(to, blocks.to(to), from, blocks.from(from))});
  }
  return schedule;
}

Schedule direct_all_to_all(const Shape& shape, int rank, std::uint64_t elements) {
  const Blocks blocks(shape, rank, elements);
  Schedule schedule = blocks.schedule();
  Step step{.locals = {blocks.own()}};
  for (const int peer : partners(shape, rank)) step.transfers.push_back({peer, blocks.to(peer), blocks.from(peer)});
  schedule.steps.push_back(step);
  return schedule;
}

Schedule bruck_all_to_all(const Shape& shape, int rank, std::uint64_t elements) {
  const Blocks blocks(shape, rank, elements);
  Schedule schedule = blocks.schedule();
  const Group group = everyone(shape, rank);
  const std::uint64_t each = blocks.each();
  // The scratch buffer: blocks by how far they still have to go, then those that are sent, then those that arrive.
  const auto place = [&](int region, int block) {
    return Slice{Where::scratch,
                 blocks.all() * static_cast<std::uint64_t>(region) + each * static_cast<std::uint64_t>(block), each};
  };
  schedule.scratch = 3 * blocks.all();
  Step turned;
  for (int far = 0; far < shape.ranks; ++far) {
    turned.locals.push_back({Local::Kind::copy, place(0, far), blocks.to(group.rank_at(far))});
  }
  schedule.steps.push_back(turned);
  for (int distance = 1; distance < shape.ranks; distance *= 2) {
    Step packed;
    Step moved;
    int count = 0;
    for (int far = 0; far < shape.ranks; ++far) {
      if ((far & distance) == 0) continue;
      packed.locals.push_back({Local::Kind::copy, place(1, count), place(0, far)});
      moved.locals.push_back({Local::Kind::copy, place(0, far), place(2, count)});
      ++count;
    }
    Slice send = place(1, 0);
    Slice receive = place(2, 0);
    send.length = receive.length = each * static_cast<std::uint64_t>(count);
    moved.transfers = in_and_out(group.rank_at(distance), send, group.rank_at(-distance), receive);
    schedule.steps.push_back(packed);
    schedule.steps.push_back(moved);
  }
  Step sorted;
  for (int far = 0; far < shape.ranks; ++far) {
    sorted.locals.push_back({Local::Kind::copy, blocks.from(group.rank_at(-far)), place(0, far)});
  }
  schedule.steps.push_back(sorted);
  return schedule;
}

}  // namespace twinlink::workloads
