// The handshake's rules one by one, and every ending that two machines can come to.
#include "protocols/cuda_ipc/ipc_handshake.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/protocols/handshake_exploration.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::handshake {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Action> actions(Endpoint& endpoint, HandshakeEvent event, const Facts& facts = {}) {
  const Reaction reaction = endpoint.react(event, facts);
  return {reaction.actions.begin(), reaction.actions.end()};
}

constexpr Facts kHostBuffer{.gpu_buffer = false};
constexpr Facts kWithoutCuda{.gpu_buffer = false, .cuda_in_use = false};

// ---- the rules ------------------------------------------------------------------------------------------------------

TEST(Handshake, AGpuBufferAsksInTheDesignAndAnySendInTheCode) {
  for (const Fidelity fidelity : kFidelities) {
    Endpoint endpoint(fidelity, false);
    const bool document = fidelity == Fidelity::design || fidelity == Fidelity::repaired;
    const auto asked = actions(endpoint, HandshakeEvent::send, kHostBuffer);
    if (document) {
      EXPECT_THAT(asked, IsEmpty()) << to_string(fidelity);
      EXPECT_THAT(actions(endpoint, HandshakeEvent::send), ElementsAre(Action::send_request)) << to_string(fidelity);
    } else {
      EXPECT_THAT(asked, ElementsAre(Action::send_request)) << to_string(fidelity);
    }
    EXPECT_EQ(endpoint.state(), State::sent);
    EXPECT_THAT(actions(endpoint, HandshakeEvent::send), IsEmpty()) << "one request at a time";
  }
}

TEST(Handshake, OnlyOpenMpi5AsksBeforeCudaIsInUse) {
  for (const Fidelity fidelity : kFidelities) {
    Endpoint endpoint(fidelity, false);
    EXPECT_EQ(actions(endpoint, HandshakeEvent::send, kWithoutCuda).empty(), fidelity != Fidelity::openmpi_5);
  }
}

TEST(Handshake, WithoutCudaARequestIsAnsweredNotReadyUntilOpenMpi5) {
  for (const Fidelity fidelity : kFidelities) {
    Endpoint endpoint(fidelity, false);
    const auto answer = actions(endpoint, HandshakeEvent::request, kWithoutCuda);
    if (fidelity == Fidelity::openmpi_5) {
      EXPECT_THAT(answer, ElementsAre(Action::check_access));
    } else {
      EXPECT_THAT(answer, ElementsAre(Action::send_not_ready));
      EXPECT_EQ(endpoint.state(), State::init);
      EXPECT_EQ(endpoint.tries(), 0) << "the other side's try";
    }
  }
}

TEST(Handshake, AnAcknowledgementEndsInOkInTheDesignAndInAckedInTheCode) {
  for (const Fidelity fidelity : kFidelities) {
    Endpoint endpoint(fidelity, false);
    actions(endpoint, HandshakeEvent::send);
    EXPECT_FALSE(endpoint.get_enabled());
    EXPECT_THAT(actions(endpoint, HandshakeEvent::ack), ElementsAre(Action::enable_get));
    const bool document = fidelity == Fidelity::design || fidelity == Fidelity::repaired;
    EXPECT_EQ(endpoint.state(), document ? State::ok : State::acked) << to_string(fidelity);
    EXPECT_TRUE(endpoint.get_enabled());
  }
}

TEST(Handshake, WhoAnswersEnablesGetFirst) {
  for (const Fidelity fidelity : kFidelities) {
    Endpoint endpoint(fidelity, false);
    EXPECT_THAT(actions(endpoint, HandshakeEvent::request), ElementsAre(Action::check_access));
    EXPECT_EQ(endpoint.state(), State::acking);
    EXPECT_THAT(actions(endpoint, HandshakeEvent::send), IsEmpty()) << "no new request meanwhile";
    EXPECT_THAT(actions(endpoint, HandshakeEvent::access_granted), ElementsAre(Action::enable_get, Action::send_ack));
    EXPECT_EQ(endpoint.state(), State::acked);
  }
}

TEST(Handshake, ARefusalIsSilentExceptInTheRepairedOne) {
  for (const Fidelity fidelity : kFidelities) {
    Endpoint endpoint(fidelity, false);
    actions(endpoint, HandshakeEvent::request);
    const auto answer = actions(endpoint, HandshakeEvent::access_refused);
    EXPECT_EQ(endpoint.state(), State::bad);
    EXPECT_EQ(answer.empty(), fidelity != Fidelity::repaired) << to_string(fidelity);
    EXPECT_EQ(actions(endpoint, HandshakeEvent::request).empty(), fidelity != Fidelity::repaired) << "BAD is for good";
    EXPECT_THAT(actions(endpoint, HandshakeEvent::send), IsEmpty());
    EXPECT_EQ(endpoint.state(), State::bad);
  }
}

TEST(Handshake, OfTwoThatAskTheHigherRankAnswersInTheCodeAndBothInTheDesign) {
  for (const Fidelity fidelity : kFidelities) {
    const bool document = fidelity == Fidelity::design || fidelity == Fidelity::repaired;
    for (const bool outranks : {false, true}) {
      Endpoint endpoint(fidelity, outranks);
      actions(endpoint, HandshakeEvent::send);
      EXPECT_EQ(actions(endpoint, HandshakeEvent::request).empty(), !document && !outranks) << to_string(fidelity);
    }
  }
}

TEST(Handshake, AfterFiveTriesItIsBad) {
  for (const Fidelity fidelity : {Fidelity::design, Fidelity::openmpi_4_1, Fidelity::repaired}) {
    Endpoint endpoint(fidelity, false);
    EXPECT_FALSE(endpoint.under_way()) << "nobody has asked";
    for (int i = 1; i <= kMaxTries; ++i) {
      EXPECT_THAT(actions(endpoint, HandshakeEvent::send), ElementsAre(Action::send_request));
      EXPECT_EQ(endpoint.tries(), i);
      EXPECT_TRUE(endpoint.under_way()) << i;
      actions(endpoint, HandshakeEvent::not_ready);
      EXPECT_EQ(endpoint.state(), State::init);
      EXPECT_EQ(endpoint.under_way(), i < kMaxTries) << i << ": it will ask again";
    }
    EXPECT_THAT(actions(endpoint, HandshakeEvent::send), IsEmpty());
    EXPECT_EQ(endpoint.state(), State::bad);
    EXPECT_FALSE(endpoint.under_way());
  }
}

TEST(Handshake, NoTwoRulesApplyAtOnce) {
  for (const Fidelity fidelity : kFidelities) {
    for (const Row& one : table()) {
      for (const Row& other : table()) {
        if (&one == &other || !one.applies_to(fidelity) || !other.applies_to(fidelity)) continue;
        if (one.from != other.from || one.on != other.on) continue;
        const Condition both = one.condition | other.condition;
        const auto excluded = [both](Condition a, Condition b) { return (both & (a | b)) == (a | b); };
        EXPECT_TRUE(excluded(kCudaInUse, kCudaNotInUse) || excluded(kTriesLeft, kNoTriesLeft) ||
                    excluded(kOutranksPeer, kOutranked))
            << to_string(fidelity) << ": " << to_string(one.from) << ", " << to_string(one.on);
      }
    }
  }
}

// ---- all interleavings ----------------------------------------------------------------------------------------------

using Endings = std::set<std::pair<State, State>>;

Endings endings(Fidelity fidelity, bool access, bool late) {
  return Exploration({.fidelity = fidelity, .peer_access = access, .late = {late, late}}).endings();
}

constexpr bool kInTime = false;
constexpr bool kLate = true;

TEST(HandshakeEndings, OfTheDesign) {
  EXPECT_EQ(to_text(endings(Fidelity::design, true, kInTime)), "(INIT, INIT) (ACKED, OK) (OK, ACKED) (OK, OK)");
  EXPECT_EQ(to_text(endings(Fidelity::design, true, kLate)),
            "(INIT, INIT) (INIT, BAD) (SENT, BAD) (ACKED, OK) (OK, ACKED) (OK, OK) (BAD, INIT) (BAD, SENT)");
  EXPECT_EQ(to_text(endings(Fidelity::design, false, kInTime)), "(INIT, INIT) (SENT, BAD) (BAD, SENT) (BAD, BAD)");
  EXPECT_EQ(to_text(endings(Fidelity::design, false, kLate)),
            "(INIT, INIT) (INIT, BAD) (SENT, BAD) (BAD, INIT) (BAD, SENT) (BAD, BAD)");
}

TEST(HandshakeEndings, OfOpenMpi41) {
  EXPECT_EQ(to_text(endings(Fidelity::openmpi_4_1, true, kInTime)), "(INIT, INIT) (ACKED, ACKED)");
  EXPECT_EQ(to_text(endings(Fidelity::openmpi_4_1, true, kLate)),
            "(INIT, INIT) (INIT, BAD) (SENT, BAD) (ACKED, ACKED) (BAD, INIT) (BAD, SENT)");
  EXPECT_EQ(to_text(endings(Fidelity::openmpi_4_1, false, kInTime)), "(INIT, INIT) (SENT, BAD) (BAD, SENT)")
      << "never (BAD, BAD): of two that ask, one never looks at the request";
  EXPECT_EQ(to_text(endings(Fidelity::openmpi_4_1, false, kLate)),
            "(INIT, INIT) (INIT, BAD) (SENT, BAD) (BAD, INIT) (BAD, SENT)");
}

TEST(HandshakeEndings, OfOpenMpi5) {
  for (const bool late : {kInTime, kLate}) {
    EXPECT_EQ(to_text(endings(Fidelity::openmpi_5, true, late)), "(INIT, INIT) (ACKED, ACKED)");
    EXPECT_EQ(to_text(endings(Fidelity::openmpi_5, false, late)), "(INIT, INIT) (SENT, BAD) (BAD, SENT)");
  }
}

TEST(HandshakeEndings, OfTheRepairedOneLeaveNobodyWaiting) {
  EXPECT_EQ(to_text(endings(Fidelity::repaired, true, kInTime)), "(INIT, INIT) (ACKED, OK) (OK, ACKED) (OK, OK)");
  EXPECT_EQ(to_text(endings(Fidelity::repaired, true, kLate)),
            "(INIT, INIT) (INIT, BAD) (ACKED, OK) (OK, ACKED) (OK, OK) (BAD, INIT) (BAD, BAD)");
  EXPECT_EQ(to_text(endings(Fidelity::repaired, false, kInTime)), "(INIT, INIT) (BAD, BAD)");
  EXPECT_EQ(to_text(endings(Fidelity::repaired, false, kLate)), "(INIT, INIT) (INIT, BAD) (BAD, INIT) (BAD, BAD)");
}

TEST(HandshakeEndings, BothSidesAgreeOnWhetherIpcIsOn) {
  for (const Fidelity fidelity : kFidelities) {
    for (const bool access : {true, false}) {
      const Exploration all({.fidelity = fidelity, .peer_access = access, .late = {true, true}});
      EXPECT_EQ(to_text(all.disagreements()), "") << to_string(fidelity);
    }
  }
}

TEST(HandshakeEndings, WhoWaitsWhenNothingIsUnderWayWaitsForEver) {
  for (const Fidelity fidelity : kFidelities) {
    for (const bool access : {true, false}) {
      const Exploration all({.fidelity = fidelity, .peer_access = access, .late = {true, true}});
      EXPECT_FALSE(all.somebody_stops_waiting()) << to_string(fidelity);
    }
  }
}

TEST(HandshakeEndings, ASilentRefusalLeavesTheAskerWaiting) {
  const std::vector<std::string> story{"rank 0: sends a GPU buffer, send REQ",
                                       "rank 1: receives REQ, check access: no access"};
  for (const Fidelity fidelity : {Fidelity::design, Fidelity::openmpi_4_1, Fidelity::openmpi_5}) {
    const Exploration all({.fidelity = fidelity, .peer_access = false});
    EXPECT_EQ(all.story(State::sent, State::bad), story) << to_string(fidelity);
  }
}

TEST(HandshakeEndings, WhoHasGivenUpLeavesALatePeerWaiting) {
  // The peer is late for five requests; then it asks itself, and nobody listens.
  std::vector<std::string> story;
  for (int i = 0; i < kMaxTries; ++i) {
    story.emplace_back("rank 0: sends a GPU buffer, send REQ");
    story.emplace_back("rank 1: receives REQ, answer NOTREADY");
    story.emplace_back("rank 0: receives NOTREADY");
  }
  story.insert(story.end(), {"rank 0: sends a GPU buffer", "rank 1: begins to use CUDA",
                             "rank 1: sends a GPU buffer, send REQ", "rank 0: receives REQ"});
  for (const Fidelity fidelity : {Fidelity::design, Fidelity::openmpi_4_1}) {
    const Exploration all({.fidelity = fidelity, .peer_access = true, .late = {false, true}});
    EXPECT_EQ(all.story(State::bad, State::sent), story) << to_string(fidelity);
  }
}

TEST(HandshakeEndings, SomeRulesAreNeverUsed) {
  std::vector<std::string> unused;
  for (const Fidelity fidelity : kFidelities) {
    std::set<const Row*> used;
    for (const bool access : {true, false}) {
      const Exploration all({.fidelity = fidelity, .peer_access = access, .late = {true, true}});
      used.insert(all.rows_used().begin(), all.rows_used().end());
    }
    for (const Row& row : table()) {
      if (!row.applies_to(fidelity) || used.contains(&row)) continue;
      unused.push_back(std::string(to_string(fidelity)) + ": " + std::string(to_string(row.from)) + ", " +
                       std::string(to_string(row.on)));
    }
  }
  // One request per side and one answer to each: ACKED never meets a request. Without NOTREADY nobody tries twice, and
  // who is BAD has received the only request there is.
  EXPECT_THAT(unused, ElementsAre("design: ACKED, REQ", "openmpi-4.1: ACKED, REQ", "openmpi-5: INIT, send",
                                  "openmpi-5: ACKED, REQ", "openmpi-5: BAD, REQ", "repaired: ACKED, REQ"));
}

// ---- words ----------------------------------------------------------------------------------------------------------

TEST(HandshakeText, NamesAreReadBack) {
  for (const Fidelity fidelity : kFidelities) EXPECT_EQ(parse_fidelity(to_string(fidelity)), fidelity);
  EXPECT_EQ(said_by([] { return parse_fidelity("openmpi"); }),
            "unknown fidelity 'openmpi' (there are: design openmpi-4.1 openmpi-5 repaired)");
}

TEST(HandshakeText, TheTableHasOneLinePerRule) {
  const std::string text = table_text(Fidelity::repaired);
  const auto rules = std::ranges::count_if(table(), [](const Row& row) { return row.applies_to(Fidelity::repaired); });
  // A title, a blank line, the headings; a blank line and a remark at the end.
  EXPECT_EQ(std::ranges::count(text, '\n'), rules + 5);
  EXPECT_THAT(text, HasSubstr("answer REFUSED"));
  EXPECT_THAT(table_text(Fidelity::openmpi_5), testing::Not(HasSubstr("answer NOTREADY")));
}

TEST(HandshakeText, TheGraphHasOneEdgePerRule) {
  for (const Fidelity fidelity : kFidelities) {
    const std::string text = dot_text(fidelity);
    std::ptrdiff_t edges = 0;
    for (std::size_t at = text.find(" -> "); at != std::string::npos; at = text.find(" -> ", at + 1)) ++edges;
    EXPECT_EQ(edges, std::ranges::count_if(table(), [&](const Row& row) { return row.applies_to(fidelity); }));
    EXPECT_TRUE(text.starts_with("digraph \"" + std::string(to_string(fidelity)) + "\" {"));
  }
  EXPECT_THAT(dot_text(Fidelity::design),
              HasSubstr("INIT -> SENT [label=\"send [of a GPU buffer, tries < 5] / send REQ\"]"));
}

}  // namespace
}  // namespace twinlink::handshake
