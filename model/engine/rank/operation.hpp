// Operation: one copy, put, message or control message of a simulated rank, from its start to its end.
//
//   SimRank::make_copy(), send(), ...    what it is and costs
//   Transport::start()                   delayed: its latency runs
//   Transport::latency_is_over()         queued: until those before it in its queue have flowed
//   Transport::start_flow()              flowing
//   Transport::flow_has_ended()          ended; Poller finds it, and wait_any() returns it
//
// A receive and a control message have no flow of their own: they are unmatched until what they wait for has come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "model/engine/flows/flow.hpp"
#include "model/engine/memory/content.hpp"
#include "model/engine/memory/sim_memory.hpp"
#include "model/engine/rank/event_queue.hpp"
#include "protocols/core/rank.hpp"
#include "protocols/trace/op_report.hpp"

namespace twinlink::model {

class NumberWaiter;
class SimProgram;
class Transport;
struct Operation;
using OperationPtr = std::shared_ptr<Operation>;

/// Operations whose flows follow each other: the copies of a stream, the messages to one peer. The latency of one
/// overlaps the flow of the one before it, for commands are queued ahead of the data. A message that CPUs copy in
/// pieces waits here until the first one has been copied, and then takes turns with those after it.
struct Queue {
  std::vector<OperationPtr> operations{};
  std::vector<OperationPtr> behind{};     ///< puts that have left it, whose rank cannot know it yet
  Seconds last_end = Seconds{} - kNever;  ///< of the last flow, and of the signal behind it
};

/// A part of an operation's way. There is one, but for messages that CPUs copy in pieces: the sender's CPU copies the
/// first piece in, then both CPUs copy, then the receiver's copies the last piece out.
struct Stage {
  boost::container::small_vector<RankId, 2> copying{};  ///< whose CPUs copy the bytes, if any
  double share = 1;                                     ///< of the bytes
  boost::container::small_vector<FlowId, 1> flows{};    ///< one for each way that the bytes take side by side
  std::size_t flowing = 0;                              ///< of these, what has not ended
};
using Stages = boost::container::small_vector<Stage, 1>;

/// Whoever starts it fills in what it is; Transport carries its bytes; Mailbox finds its partner.
struct Operation final : FlowListener, QueuedEvent, std::enable_shared_from_this<Operation> {
  enum class State {
    unmatched,  ///< it has no flow of its own, or its partner has not come
    delayed,    ///< its latency runs until `due`
    queued,     ///< ready, but behind another flow of its queue
    flowing,
    ended
  };
  enum class Kind { copy, put, send, receive, send_control, recv_control, host_work };

  /// `of` is the rank's that starts it, and outlives it.
  explicit Operation(Transport& of) : transport(of) {}

  Transport& transport;
  Op op{};
  Kind kind = Kind::copy;
  State state = State::unmatched;
  Status status = Status::delivered;
  bool abandoned = false;
  bool occupies_cpu = false;  ///< the calling CPU, until the copy has ended
  bool by_event = false;      ///< the rank learns of its end by an event, and not by a word in memory

  // Which bytes.
  Part from{};
  Part to{};
  Bytes size{};                           ///< what flows
  std::vector<Block> blocks{};            ///< of a copy of blocks
  std::shared_ptr<SimProgram> program{};  ///< instead of bytes
  std::shared_ptr<NumberWaiter> slot{};   ///< that it waits for
  std::vector<Part> others{};             ///< what it uses beside `from` and `to`
  bool adds = false;                      ///< a copy that adds to what is there
  Content snapshot{Bytes{}};              ///< of `from`, when the operation began to read it
  std::vector<Content> snapshots{};       ///< the same of each block, if there are blocks

  // Copies and puts.
  Engine engine = Engine::dma;
  bool by_adapter = false;  ///< a put into memory that is not mapped here
  End from_end{};           ///< as the engine sees them
  End to_end{};
  std::optional<Signal> signal{};
  Seconds until_signal{};  ///< from the end of the flow until it is seen
  Seconds until_event{};   ///< and until the event is reached that its rank asks for

  // Messages, control messages and signals.
  RankId peer{};
  Tag tag{};
  AdapterTurn turn{};  ///< of the adapters that it takes
  bool eager = false;
  bool acknowledged = false;              ///< the receiver of a send answers when it has begun to receive
  Seconds fetching{};                     ///< a receive into device memory, of what lies in the library's buffer
  OperationPtr partner{};                 ///< the receive of a send
  ControlMessage* into = nullptr;         ///< where a control message goes
  std::uint64_t* signal_value = nullptr;  ///< or the value of a signal

  // The passage of its bytes.
  Queue* queue = nullptr;              ///< the stream of a copy, the wire of a send
  Seconds due{};                       ///< the end of its latency
  Seconds gap{};                       ///< after the one before it in its queue; zero once it is over
  Seconds unhidden{};                  ///< what blocks that lie apart and a kernel's signal add; zero once they have
  const Piecewise* written = nullptr;  ///< what it adds if a CPU has just written the source; null: nothing
  bool had_its_turn = false;           ///< in its queue
  Seconds until_next{};                ///< from the end of the flow until its queue turns to the next operation
  Stages stages{};                     ///< in turn; none of what has no flow
  std::size_t stage = 0;               ///< where it is
  Seconds flow_began{};
  Bytes flowing{};         ///< on all stages together
  Bytes lacking{};         ///< of its bytes, what the caches do not hold
  Seconds beside_bytes{};  ///< what the CPUs that copy the first stage have to do on it beside its bytes

  OpReport report{};

  /// Its latency is over.
  void happen() override;
  void flow_has_ended() override;

  [[nodiscard]] bool is_message() const { return kind == Kind::send || kind == Kind::receive; }
  /// Reads and writes memory that this rank has, its own or opened.
  [[nodiscard]] bool is_copy() const { return kind == Kind::copy || kind == Kind::put; }
  /// Counts it among the operations that use the memory of its ends, so that this cannot be released. let_go() takes
  /// that back.
  void hold() const;
  void let_go() const;

  /// The source is read now.
  void take_snapshot();
  /// The source must not have changed while it was read: then the hardware would have sent a mixture.
  void tear_what_has_changed();
  /// Puts what a copy has read where it belongs.
  void write() const;
  /// What it takes longer because a CPU has just written its source (Cost::cpu_written). The source counts as read from
  /// then on, so a second call says zero.
  [[nodiscard]] Seconds time_of_written_source() const;
  const OpReport& ended_report();

 private:
  [[nodiscard]] Content content_of(const Block& block) const;
};

}  // namespace twinlink::model
