#include "protocols/cuda_ipc/ipc_handshake.hpp"

#include <algorithm>

#include "protocols/core/enum_table.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::handshake {
namespace {

constexpr unsigned of(std::initializer_list<Fidelity> fidelities) {
  unsigned bits = 0;
  for (const Fidelity fidelity : fidelities) bits |= 1U << static_cast<unsigned>(fidelity);
  return bits;
}

using enum Fidelity;
constexpr unsigned kDocument = of({design, repaired});
constexpr unsigned kCode = of({openmpi_4_1, openmpi_5});
constexpr unsigned kSilent = of({design, openmpi_4_1, openmpi_5});
constexpr unsigned kNotReady = of({design, openmpi_4_1, repaired});
constexpr unsigned kAll = kDocument | kCode;

using S = State;
using E = HandshakeEvent;
using A = Action;

// clang-format off
constexpr std::array kTable{
    // ---- INIT: nothing has happened ---------------------------------------------------------------------------------
    Row{kDocument, S::init, E::send, kGpuBuffer | kTriesLeft, {A::send_request}, S::sent,
        "a send of a GPU buffer asks"},
    Row{kDocument, S::init, E::send, kGpuBuffer | kNoTriesLeft, {}, S::bad,
        "after five tries the rank gives up"},
    Row{of({openmpi_4_1}), S::init, E::send, kCudaInUse | kTriesLeft, {A::send_request}, S::sent,
        "any send asks, of host memory too"},
    Row{of({openmpi_4_1}), S::init, E::send, kCudaInUse | kNoTriesLeft, {}, S::bad,
        "after five tries the rank gives up"},
    Row{of({openmpi_5}), S::init, E::send, kTriesLeft, {A::send_request}, S::sent,
        "the very first message asks: the library takes CUDA into use itself"},
    Row{of({openmpi_5}), S::init, E::send, kNoTriesLeft, {}, S::bad,
        "after five tries the rank gives up; without NOTREADY it never comes to that"},
    Row{kNotReady, S::init, E::request, kCudaNotInUse, {A::send_not_ready}, S::init,
        "the peer may try again; this rank's own tries stay"},
    Row{kNotReady, S::init, E::request, kCudaInUse, {A::check_access}, S::acking, ""},
    Row{of({openmpi_5}), S::init, E::request, kAlways, {A::check_access}, S::acking,
        "nobody says NOTREADY any more"},

    // ---- SENT: a request is under way -------------------------------------------------------------------------------
    Row{kDocument, S::sent, E::request, kAlways, {A::check_access}, S::acking,
        "both have asked: every request is answered; the document does not mention the case"},
    Row{kCode, S::sent, E::request, kOutranksPeer, {A::check_access}, S::acking,
        "both have asked: the higher rank answers"},
    Row{kCode, S::sent, E::request, kOutranked, {}, S::sent,
        "both have asked: the lower rank drops the request and waits for the answer to its own"},
    Row{kDocument, S::sent, E::ack, kAlways, {A::enable_get}, S::ok, ""},
    Row{kCode, S::sent, E::ack, kAlways, {A::enable_get}, S::acked, "the code never assigns OK"},
    Row{kNotReady, S::sent, E::not_ready, kAlways, {}, S::init, "the next send tries again"},
    Row{of({repaired}), S::sent, E::refusal, kAlways, {}, S::bad, "the repair: both ends know"},

    // ---- ACKING: within one callback --------------------------------------------------------------------------------
    Row{kAll, S::acking, E::access_granted, kAlways, {A::enable_get, A::send_ack}, S::acked,
        "GET is on here before the peer knows"},
    Row{kSilent, S::acking, E::access_refused, kAlways, {}, S::bad, "no reply: the peer stays SENT"},
    Row{of({repaired}), S::acking, E::access_refused, kAlways, {A::send_refusal}, S::bad, "the repair: a refusal is sent"},

    // ---- ACKED and OK: IPC is on ------------------------------------------------------------------------------------
    Row{kAll, S::acked, E::request, kAlways, {}, S::acked, "dropped"},
    Row{kDocument, S::acked, E::ack, kAlways, {}, S::ok, "both had asked, and both have answered"},

    // ---- BAD: for good; all is ignored ------------------------------------------------------------------------------
    Row{kSilent, S::bad, E::request, kAlways, {}, S::bad, "ignored: the peer stays SENT"},
    Row{of({repaired}), S::bad, E::request, kAlways, {A::send_refusal}, S::bad, "the repair: who has given up says so"},
};
// clang-format on

}  // namespace

std::span<const Row> table() { return kTable; }

bool Endpoint::holds(Condition condition, const Facts& facts) const {
  const auto asks = [condition](Condition one) { return (condition & one) != 0; };
  if (asks(kGpuBuffer) && !facts.gpu_buffer) return false;
  if (asks(kCudaInUse) && !facts.cuda_in_use) return false;
  if (asks(kCudaNotInUse) && facts.cuda_in_use) return false;
  if (asks(kTriesLeft) && tries_ >= kMaxTries) return false;
  if (asks(kNoTriesLeft) && tries_ < kMaxTries) return false;
  if (asks(kOutranksPeer) && !outranks_peer_) return false;
  return !asks(kOutranked) || !outranks_peer_;
}

Reaction Endpoint::react(HandshakeEvent event, const Facts& facts) {
  for (const Row& row : kTable) {
    if (!row.applies_to(fidelity_) || row.from != state_ || row.on != event || !holds(row.condition, facts)) continue;
    for (const Action action : row.actions.list()) {
      if (action == Action::send_request) ++tries_;
      if (action == Action::enable_get) get_enabled_ = true;
    }
    state_ = row.to;
    return {row.actions.list(), &row};
  }
  return {};
}

// ---- words ----------------------------------------------------------------------------------------------------------

static_assert(kFidelities.size() == count_of<Fidelity>() && kStates.size() == count_of<State>() &&
              kEvents.size() == count_of<HandshakeEvent>());

std::string_view to_string(Fidelity fidelity) {
  return std::ranges::find(kFidelityNames, fidelity, &OptionChoice<Fidelity>::value)->name;
}

std::string_view describe(Fidelity fidelity) {
  constexpr Words<Fidelity> kTexts{"the smcuda design document of 2013, to the letter", "the code of Open MPI 4.1",
                                   "the code of Open MPI 5",
                                   "the design document, and a refusal is sent, so that nobody waits for ever"};
  return kTexts[fidelity];
}

Fidelity parse_fidelity(std::string_view name) {
  std::string all;
  for (const auto& [known, fidelity] : kFidelityNames) {
    if (known == name) return fidelity;
    all += " " + std::string(known);
  }
  throw UsageError("unknown fidelity '" + std::string(name) + "' (there are:" + all + ")");
}

std::string_view to_string(State state) {
  constexpr Words<State> kNames{"INIT", "SENT", "ACKING", "ACKED", "OK", "BAD"};
  return kNames[state];
}

std::string_view to_string(HandshakeEvent event) {
  constexpr Words<HandshakeEvent> kNames{"send", "REQ", "ACK", "NOTREADY", "REFUSED", "access", "no access"};
  return kNames[event];
}

std::string_view to_string(Action action) {
  constexpr Words<Action> kWords{"send REQ",       "answer ACK",   "answer NOTREADY",
                                 "answer REFUSED", "check access", "enable GET"};
  return kWords[action];
}

}  // namespace twinlink::handshake
