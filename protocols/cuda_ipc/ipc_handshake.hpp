// The handshake that finds out whether two ranks of a node may use CUDA IPC: one endpoint as a pure state machine.
//
// An event goes in, actions and the next state come out. No message is sent here and nothing is waited for: the
// cuda-ipc protocol carries the actions out, and tests run two machines through all interleavings. The rules are one
// table of rows (ipc_handshake.cpp), which describes Open MPI's smcuda transport as its design document wants it and as
// two of its releases do it.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/core/choices.hpp"

namespace twinlink::handshake {

/// Whose rules are followed.
enum class Fidelity {
  design,       ///< the smcuda design document of 2013, to the letter
  openmpi_4_1,  ///< the code of Open MPI 4.1 (read at 4.1.4)
  openmpi_5,    ///< the code of Open MPI 5 (read at 5.0.10)
  repaired      ///< the design document, and a refusal is sent
};
inline constexpr std::array kFidelities{Fidelity::design, Fidelity::openmpi_4_1, Fidelity::openmpi_5,
                                        Fidelity::repaired};
inline constexpr Choices kFidelityNames{
    OptionChoice<Fidelity>{"design", Fidelity::design}, OptionChoice<Fidelity>{"openmpi-4.1", Fidelity::openmpi_4_1},
    OptionChoice<Fidelity>{"openmpi-5", Fidelity::openmpi_5}, OptionChoice<Fidelity>{"repaired", Fidelity::repaired}};

/// "design", "openmpi-4.1", "openmpi-5", "repaired".
std::string_view to_string(Fidelity fidelity);
/// One line for people.
std::string_view describe(Fidelity fidelity);
/// The fidelity of that name. A UsageError that lists all.
Fidelity parse_fidelity(std::string_view name);

/// How far one endpoint is. The names are the document's.
enum class State {
  init,    ///< nothing has happened
  sent,    ///< a request is under way, or was never answered
  acking,  ///< a request has come, and the answer is being found out: lasts as long as one callback
  acked,   ///< an acknowledgement was sent; in Open MPI's code also: was received
  ok,      ///< an acknowledgement was received; Open MPI's code never assigns it
  bad      ///< no IPC with this peer
};
inline constexpr std::array kStates{State::init, State::sent, State::acking, State::acked, State::ok, State::bad};
/// "INIT", "SENT", ...
std::string_view to_string(State state);

/// What may happen to an endpoint.
enum class HandshakeEvent {
  send,            ///< the rank is about to send a message to this peer
  request,         ///< REQ has come
  ack,             ///< ACK has come
  not_ready,       ///< NOTREADY has come
  refusal,         ///< REFUSED has come: `repaired` only
  access_granted,  ///< the answer to Action::check_access
  access_refused   ///< the same, if there is no access, or if asking for it failed
};
inline constexpr std::array kEvents{
    HandshakeEvent::send,    HandshakeEvent::request,        HandshakeEvent::ack,           HandshakeEvent::not_ready,
    HandshakeEvent::refusal, HandshakeEvent::access_granted, HandshakeEvent::access_refused};
/// "send", "REQ", "ACK", ...
std::string_view to_string(HandshakeEvent event);

/// What the endpoint's owner must do, in this order.
enum class Action {
  send_request,    ///< send REQ with this rank's device
  send_ack,        ///< send ACK
  send_not_ready,  ///< send NOTREADY
  send_refusal,    ///< send REFUSED
  check_access,    ///< ask the driver for peer access; react to access_granted or access_refused before anything else
  enable_get       ///< from now on messages to this peer go by IPC
};
/// "send REQ", "answer ACK", ...: the words of the cuda-ipc protocol's trace.
std::string_view to_string(Action action);

/// What the endpoint's owner knows when an event happens.
struct Facts {
  bool gpu_buffer = true;   ///< HandshakeEvent::send: the message lies in GPU memory
  bool cuda_in_use = true;  ///< this rank has initialised CUDA
};

/// What must hold for a row to apply; several are joined by |.
using Condition = unsigned;
inline constexpr Condition kAlways = 0;
inline constexpr Condition kGpuBuffer = 1U << 0U;
inline constexpr Condition kCudaInUse = 1U << 1U;
inline constexpr Condition kCudaNotInUse = 1U << 2U;
inline constexpr Condition kTriesLeft = 1U << 3U;
inline constexpr Condition kNoTriesLeft = 1U << 4U;
inline constexpr Condition kOutranksPeer = 1U << 5U;
inline constexpr Condition kOutranked = 1U << 6U;

/// A rank asks at most so often.
inline constexpr int kMaxTries = 5;

/// Up to two actions.
class Actions {
 public:
  constexpr Actions(std::initializer_list<Action> list) : count_(list.size()) {
    std::size_t i = 0;
    for (const Action action : list) actions_[i++] = action;
  }
  [[nodiscard]] constexpr std::span<const Action> list() const { return std::span(actions_).first(count_); }

 private:
  std::array<Action, 2> actions_{};
  std::size_t count_ = 0;
};

/// One rule: in this state, on this event, under this condition, do this and go there.
struct Row {
  unsigned fidelities;  ///< bit n: kFidelities[n] has this row
  State from;
  HandshakeEvent on;
  Condition condition;
  Actions actions;
  State to;
  std::string_view note;  ///< what is worth knowing about the rule

  [[nodiscard]] constexpr bool applies_to(Fidelity fidelity) const {
    return (fidelities >> static_cast<unsigned>(fidelity) & 1U) != 0;
  }
};

/// All rules of all fidelities. At most one applies to an endpoint; if none does, the event is ignored.
std::span<const Row> table();

/// What an event led to.
struct Reaction {
  std::span<const Action> actions{};  ///< to be carried out now, in this order
  const Row* row = nullptr;           ///< the rule that applied; null where the event is ignored
};

/// One endpoint: this rank's side of the handshake with one peer. A value: may be copied and compared.
class Endpoint {
 public:
  /// Where two ranks both ask, Open MPI's code lets the higher one answer: `outranks_peer`.
  Endpoint(Fidelity fidelity, bool outranks_peer) : fidelity_(fidelity), outranks_peer_(outranks_peer) {}

  /// Goes to the next state and says what must be done now.
  Reaction react(HandshakeEvent event, const Facts& facts = {});

  [[nodiscard]] State state() const { return state_; }
  /// How often this rank has asked.
  [[nodiscard]] int tries() const { return tries_; }
  /// Has this rank asked, and will it hear an answer or ask again?
  [[nodiscard]] bool under_way() const {
    return state_ == State::sent || (state_ == State::init && tries_ > 0 && tries_ < kMaxTries);
  }
  /// Do messages to this peer go by IPC?
  [[nodiscard]] bool get_enabled() const { return get_enabled_; }
  [[nodiscard]] Fidelity fidelity() const { return fidelity_; }

  auto operator<=>(const Endpoint&) const = default;

 private:
  [[nodiscard]] bool holds(Condition condition, const Facts& facts) const;

  Fidelity fidelity_;
  bool outranks_peer_;
  State state_ = State::init;
  int tries_ = 0;
  bool get_enabled_ = false;
};

/// The rules of one fidelity in words, below the names of the columns.
using TextRow = std::array<std::string, 6>;
std::vector<TextRow> table_rows(Fidelity fidelity);
/// The same as a table for people.
std::string table_text(Fidelity fidelity);
/// The same as a graph in the language of graphviz.
std::string dot_text(Fidelity fidelity);

}  // namespace twinlink::handshake
