#include "model/engine/rank/operation.hpp"

#include "model/engine/rank/transport.hpp"

namespace twinlink::model {

void Operation::happen() { transport.latency_is_over(shared_from_this()); }

void Operation::flow_has_ended() {
  if (state == State::flowing) transport.flow_has_ended(shared_from_this());
}

void Operation::hold() const {
  from.hold();
  to.hold();
  for (const Part& other : others) other.hold();
}

void Operation::let_go() const {
  from.let_go();
  to.let_go();
  for (const Part& other : others) other.let_go();
}

Content Operation::content_of(const Block& block) const {
  return from.allocation->content.slice(from.offset + block.from, block.length);
}

void Operation::take_snapshot() {
  if (blocks.empty()) {
    snapshot = from.content();
    return;
  }
  snapshots.clear();
  for (const Block& block : blocks) snapshots.push_back(content_of(block));
}

void Operation::tear_what_has_changed() {
  if (blocks.empty() && snapshot != from.content()) snapshot.tear();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (snapshots[i] != content_of(blocks[i])) snapshots[i].tear();
  }
}

void Operation::write() const {
  const auto put = [this](Bytes at, const Content& what) {
    to.allocation->content.write(at, what);
    to.allocation->was_written(at, what.size(), occupies_cpu);
  };
  if (adds) {
    Content sum = to.content();
    sum.add(snapshot);
    return put(to.offset, sum);
  }
  if (blocks.empty()) return put(to.offset, snapshot);
  for (std::size_t i = 0; i < blocks.size(); ++i) put(to.offset + blocks[i].to, snapshots[i]);
}

Seconds Operation::time_of_written_source() const {
  WrittenBytes& source = from.allocation->written;
  Bytes amount{};
  if (blocks.empty()) amount = source.take(from.offset, from.length);
  for (const Block& b : blocks) amount += source.take(from.offset + b.from, b.length);
  return written == nullptr || amount == Bytes{} ? Seconds{} : written->at(amount);
}

const OpReport& Operation::ended_report() {
  if (!is_copy()) {  // a put has told whom it signals
    report.peer = peer;
    report.tag = tag;
  }
  return report;
}

}  // namespace twinlink::model
