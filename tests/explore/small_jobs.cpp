#include "tests/explore/small_jobs.hpp"

#include <array>
#include <functional>
#include <vector>

#include "tests/explore/explorer/hash.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::explore {

void send_control(Rank& rank, int peer, Tag tag, int value) {
  finish(rank, rank.send_control(RankId{peer}, tag, ControlMessage(value)), kLong);
}

int recv_control(Rank& rank, int peer, Tag tag) {
  ControlMessage received;
  finish(rank, rank.recv_control(RankId{peer}, tag, received), kLong);
  return received.as<int>();
}

void say_first(Rank& rank, Witness& witness, Op a, Op b) {
  std::vector<Op> ops{a, b};
  const auto first = rank.wait_any(ops, kLong);
  witness.ending(first->index == 0 ? "first" : "second");
  ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(first->index));
  rank.wait_any(ops, kLong);
}

Scenario messages_of_two_tags() {
  return {.bodies = {[](Rank& rank, Witness&) {
                       send_control(rank, 1, kA);
                       send_control(rank, 1, kB);
                     },
                     [](Rank& rank, Witness& witness) {
                       std::array<ControlMessage, 2> received;
                       const Op a = rank.recv_control(RankId{0}, kA, received[0]);
                       say_first(rank, witness, a, rank.recv_control(RankId{0}, kB, received[1]));
                     }}};
}

Scenario messages_of_one_tag() {
  return {.bodies = {[](Rank& rank, Witness&) {
                       send_control(rank, 1, kA);
                       send_control(rank, 1, kA);
                     },
                     [](Rank& rank, Witness& witness) {
                       std::array<ControlMessage, 2> received;
                       const Op a = rank.recv_control(RankId{0}, kA, received[0]);
                       say_first(rank, witness, a, rank.recv_control(RankId{0}, kA, received[1]));
                     }}};
}

Scenario two_copies(Stream first, Stream second, bool reversed) {
  return {.bodies = {[=](Rank& rank, Witness& witness) {
            const View from(rank.allocate(Memory::pinned, 8_B));
            const View one(rank.allocate(Memory::device, 8_B));
            const View two(rank.allocate(Memory::device, 8_B));
            const Op a = rank.copy(one, from, first, Engine::dma);
            const Op b = rank.copy(two, from, second, Engine::dma);
            say_first(rank, witness, reversed ? b : a, reversed ? a : b);
          }}};
}

Scenario two_senders() {
  return {.bodies = {[](Rank& rank, Witness&) { send_control(rank, 2, kA); },
                     [](Rank& rank, Witness&) { send_control(rank, 2, kA); },
                     [](Rank& rank, Witness& witness) {
                       std::array<ControlMessage, 2> received;
                       const Op a = rank.recv_control(RankId{0}, kA, received[0]);
                       say_first(rank, witness, a, rank.recv_control(RankId{1}, kA, received[1]));
                     }}};
}

Scenario both_send_first(Bytes size, Bytes eager_limit) {
  const Body body = [=](Rank& rank, Witness& witness) {
    const RankId peer{1 - rank.id().value};
    const View out(rank.allocate(Memory::pinned, size));
    const View in(rank.allocate(Memory::pinned, size));
    rank.step("send");
    finish(rank, rank.send(peer, kA, out), kLong);
    rank.step("receive");
    finish(rank, rank.receive(peer, kA, in), kLong);
    witness.ending("through");
  };
  return {.bodies = {body, body}, .eager_limit = eager_limit};
}

Scenario overwrites_what_a_peer_reads(bool waits) {
  return {.bodies = {[](MeasuredRank& rank, Witness& witness) {
                       ControlMessage handle;
                       finish(rank, rank.recv_control(RankId{1}, kA, handle), kLong);
                       const Buffer theirs = rank.open_memory(RankId{1}, handle.as<IpcHandle>());
                       const View mine(rank.allocate(Memory::device, 8_B));
                       finish(rank, rank.copy(mine, View(theirs), Stream{0}, Engine::dma), kLong);
                       witness.ending(rank.check(mine, Payload{1}).intact() ? "old" : "new");
                       rank.close_memory(theirs);
                       send_control(rank, 1, kB);
                     },
                     [=](MeasuredRank& rank, Witness&) {
                       const View mine(rank.allocate(Memory::device, 8_B));
                       rank.fill(mine, Payload{1});
                       finish(rank, rank.send_control(RankId{0}, kA, ControlMessage(rank.export_memory(mine.buffer))),
                              kLong);
                       if (waits) recv_control(rank, 0, kB);
                       rank.fill(mine, Payload{2});
                     }}};
}

Scenario put_and_answer(Reuse reuse) {
  return {.bodies = {[](MeasuredRank& rank, Witness& witness) {
                       const View mine(rank.allocate(Memory::device, 8_B));
                       rank.fill(mine, kSentinel);
                       finish(rank, rank.send_control(RankId{1}, kA, ControlMessage(rank.export_memory(mine.buffer))),
                              kLong);
                       std::uint64_t value = 0;
                       finish(rank, rank.await_signal(RankId{1}, kSignal, value), kLong);
                       witness.ending(rank.check(mine, Payload{1}).intact() ? "new" : "old");
                       send_control(rank, 1, kA);
                     },
                     [=](MeasuredRank& rank, Witness& witness) {
                       ControlMessage handle;
                       finish(rank, rank.recv_control(RankId{0}, kA, handle), kLong);
                       const Buffer theirs = rank.open_memory(RankId{0}, handle.as<IpcHandle>());
                       const View source(rank.allocate(Memory::device, 8_B));
                       rank.fill(source, Payload{1});
                       const Op put = rank.put(View(theirs), source, Stream{0}, Engine::dma, Signal{kSignal, 7});
                       if (reuse == Reuse::after_the_put) finish(rank, put, kLong);
                       if (reuse == Reuse::at_once) rank.fill(source, Payload{2});
                       recv_control(rank, 0, kA);
                       if (reuse == Reuse::after_the_answer) rank.fill(source, Payload{2});
                       if (reuse != Reuse::after_the_put) {
                         witness.ending(rank.wait_any({&put, 1}, Seconds{0}) ? "ended" : "in flight");
                       }
                       rank.close_memory(theirs);
                     }}};
}

Scenario put_behind_a_copy(bool put_first) {
  return {.bodies = {[](Rank& rank, Witness& witness) {
                       const View mine(rank.allocate(Memory::device, 8_B));
                       finish(rank, rank.send_control(RankId{1}, kA, ControlMessage(rank.export_memory(mine.buffer))),
                              kLong);
                       ControlMessage received;
                       const Op receiving = rank.recv_control(RankId{1}, kB, received);
                       std::uint64_t value = 0;
                       say_first(rank, witness, receiving, rank.await_signal(RankId{1}, kSignal, value));
                       witness.require(value == 7, "a wrong signal");
                       send_control(rank, 1, kB);
                     },
                     [=](Rank& rank, Witness& witness) {
                       ControlMessage received;
                       finish(rank, rank.recv_control(RankId{0}, kA, received), kLong);
                       const Buffer theirs = rank.open_memory(RankId{0}, received.as<IpcHandle>());
                       const View one(rank.allocate(Memory::pinned, 8_B));
                       const View two(rank.allocate(Memory::device, 8_B));
                       const Op copy = rank.copy(two, one, Stream{0}, Engine::dma);
                       const Op put = rank.put(View(theirs), two, Stream{0}, Engine::dma, Signal{kSignal, 7});
                       std::vector<Op> ops{rank.recv_control(RankId{0}, kB, received), put_first ? put : copy,
                                           put_first ? copy : put, rank.send_control(RankId{0}, kB, ControlMessage())};
                       std::string order;
                       const std::function<std::uint64_t()> digest = [&] {
                         Hash hash;
                         hash.add(std::as_bytes(std::span<const char>(order)));
                         return hash.key().low;
                       };
                       witness.watch(digest);
                       while (!ops.empty()) {
                         const auto done = rank.wait_any(ops, kLong);
                         const Op ended = ops[done->index];
                         order += ended == put ? 'p' : ended == copy ? 'c' : ended == ops.back() ? 't' : 'h';
                         ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(done->index));
                       }
                       witness.ending(order);
                       rank.close_memory(theirs);
                     }}};
}

std::set<std::string> endings_of(const ExploreResult& result) {
  std::set<std::string> endings;
  for (const auto& [ending, count] : result.endings) endings.insert(ending);
  return endings;
}

std::set<std::string> findings_of(const ExploreResult& result) {
  std::set<std::string> findings;
  for (const Finding& finding : result.violations) findings.insert(finding.what);
  for (const Finding& finding : result.deadlocks) findings.insert(finding.what);
  return findings;
}

}  // namespace twinlink::explore
