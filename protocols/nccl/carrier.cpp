#include "protocols/nccl/carrier.hpp"

#include <utility>

namespace twinlink::nccl {

using gpu::FifoSlot;

Carrier::~Carrier() {
  // The program first: who waits for slots waits for it.
  for (const Op op : ops_) rank_.abandon(op);
}

void Carrier::add(Passage passage, bool outward) {
  const std::size_t slots = passage.bytes.size();
  for (Course& course : courses_) {
    if (course.outward != outward || course.passage.tag != passage.tag || course.passage.peer != passage.peer) continue;
    course.passage.bytes.insert(course.passage.bytes.end(), passage.bytes.begin(), passage.bytes.end());
    course.passed.resize(course.passage.bytes.size());
    return;
  }
  courses_.push_back({.passage = std::move(passage), .outward = outward, .passed = std::vector<bool>(slots)});
}

void Carrier::add_up(Passage out, Passage in, std::vector<RankId> members) {
  const std::size_t first = courses_.size();
  const std::vector<bool> none(out.bytes.size());
  courses_.push_back(
      {.passage = std::move(out), .passed = none, .members = members, .other = first + 1, .ready = none});
  courses_.push_back({.passage = std::move(in),
                      .outward = false,
                      .passed = none,
                      .members = std::move(members),
                      .other = first,
                      .ready = none});
}

void Carrier::add(Op op, Pending what) {
  ops_.push_back(op);
  pending_.push_back(what);
}

FifoSlot Carrier::slot_of(const Course& course, std::size_t slot, FifoSlot::Event event) const {
  const Passage& passage = course.passage;
  return {.fifo = event == FifoSlot::Event::filled ? passage.filled : passage.read,
          .program = passage.program,
          .step = passage.first + slot,
          .bytes = passage.bytes[slot],
          .event = event};
}

/// One slot of a course is waited for at a time: they come in order.
void Carrier::await_next(std::size_t index) {
  Course& course = courses_[index];
  while (course.awaited < course.passage.bytes.size()) {
    const std::size_t slot = course.awaited++;
    const auto slots = static_cast<std::size_t>(course.passage.program.slots);
    // What came before the program has been read: it has ended.
    if (!course.outward && slot < slots) {
      pass(index, slot);
      continue;
    }
    rank_.step("proxy: await slot");
    const FifoSlot awaited = course.outward ? slot_of(course, slot, FifoSlot::Event::filled)
                                            : slot_of(course, slot - slots, FifoSlot::Event::read);
    return add(rank_.await_slot(awaited), {Kind::slot, index, slot});
  }
}

View Carrier::bytes_of(const Course& course, std::size_t slot) {
  const Passage& passage = course.passage;
  const gpu::Program& program = passage.program;
  const std::uint64_t step = passage.first + slot;
  return passage.filled.slice(Bytes{gpu::kSlotsAt + step % program.slots * gpu::slot_room(program)},
                              Bytes{gpu::stored(program.format, passage.bytes[slot])});
}

/// Once the slot is ready both ways.
void Carrier::sum(std::size_t index, std::size_t slot) {
  Course& course = courses_[index];
  course.ready[slot] = true;
  const Course& other = courses_[course.other];
  if (!other.ready[slot]) return;
  const Course& out = course.outward ? course : other;
  const Course& in = course.outward ? other : course;
  rank_.step("proxy: add up");
  add(rank_.add_up(out.members, out.passage.tag, bytes_of(in, slot), bytes_of(out, slot)), {Kind::sum, index, slot});
}

void Carrier::pass(std::size_t index, std::size_t slot) {
  const Course& course = courses_[index];
  const Passage& passage = course.passage;
  if (passage.bytes[slot] == 0) return has_passed(index, slot);
  if (!course.members.empty()) return sum(index, slot);
  const View bytes = bytes_of(course, slot);
  rank_.step(course.outward ? "proxy: send" : "proxy: receive");
  // NCCL's network takes the adapter of the channel, where an MPI library may spread a message.
  if (course.outward) rank_.take_adapters({.alone = true});
  const Op op =
      course.outward ? rank_.send(passage.peer, passage.tag, bytes) : rank_.receive(passage.peer, passage.tag, bytes);
  if (course.outward) rank_.take_adapters({});
  add(op, {Kind::message, index, slot});
}

/// The program is told in order.
void Carrier::has_passed(std::size_t index, std::size_t slot) {
  Course& course = courses_[index];
  course.passed[slot] = true;
  for (; course.raised < course.passed.size() && course.passed[course.raised]; ++course.raised) {
    rank_.step("proxy: raise");
    rank_.raise_slot(slot_of(course, course.raised, course.outward ? FifoSlot::Event::read : FifoSlot::Event::filled));
  }
}

Outcome Carrier::run(Seconds deadline, const std::function<Outcome(Op, Status)>& ended) {
  for (std::size_t i = 0; i < courses_.size(); ++i) await_next(i);
  while (!ops_.empty()) {
    rank_.step("wait");
    const auto completion = rank_.wait_any(ops_, deadline);
    if (!completion) return {Status::timed_out, "step 'wait': a kernel of another rank has not come along"};
    const auto at = static_cast<std::ptrdiff_t>(completion->index);
    const Op op = ops_[completion->index];
    const Pending what = pending_[completion->index];
    ops_.erase(ops_.begin() + at);
    pending_.erase(pending_.begin() + at);
    if (what.kind == Kind::other && ended) {
      if (Outcome outcome = ended(op, completion->status); !outcome.ok()) return outcome;
    } else if (completion->status != Status::delivered) {
      const bool between = what.kind == Kind::message || what.kind == Kind::sum;
      return {completion->status, between ? "a slot between nodes" : "step 'wait'"};
    }
    if (what.kind == Kind::slot) {
      pass(what.course, what.slot);
      await_next(what.course);
    } else if (what.kind == Kind::message) {
      has_passed(what.course, what.slot);
    } else if (what.kind == Kind::sum) {
      has_passed(what.course, what.slot);
      has_passed(courses_[what.course].other, what.slot);
    }
  }
  return {};
}

}  // namespace twinlink::nccl
