#include "tests/model/engine/ipc_pair.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cassert>
#include <memory>

#include "model/engine/simulation.hpp"
#include "protocols/core/options.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model::testing {
namespace {

constexpr Seconds kPatience{100};
constexpr Tag kConnect{tags::kFirstFree};
constexpr Tag kNothing{tags::kFirstFree.value + 1};

void connect_ends(Rank& rank, RankId peer) {
  ControlMessage message;
  EXPECT_EQ(wait(rank, rank.send_control(peer, kConnect, ControlMessage()), kPatience), Status::delivered);
  EXPECT_EQ(wait(rank, rank.recv_control(peer, kConnect, message), kPatience), Status::delivered);
}

}  // namespace

void IpcEnd::connect_ends() const { testing::connect_ends(rank, peer); }

void IpcEnd::sleep_until(Seconds when) const {
  assert(when >= rank.now());
  ControlMessage message;
  EXPECT_EQ(wait(rank, rank.recv_control(peer, kNothing, message), when), Status::timed_out);
}

Seconds IpcEnd::one_message(View message) const {
  static constexpr Payload kContent{7};
  rank.fill(message, sending() ? kContent : kSentinel);
  const Outcome outcome = sending() ? channel.send(message) : channel.receive(message);
  EXPECT_TRUE(outcome.ok()) << "rank " << rank.id().value << ": " << outcome.reason;
  const Seconds ended = rank.now();
  EXPECT_TRUE(rank.check(message, kContent).intact()) << "rank " << rank.id().value;
  return ended;
}

void IpcEnd::shake_hands() const {
  one_message(View(device(1_KiB)));
  connect_ends();
}

void run_ipc_pair(const IpcPair& pair, const std::function<void(const IpcEnd&)>& body, const Decorate& decorate) {
  const std::array places{Place{0, pair.peer_access ? 1 : 0, {}}, Place{0, 2, {}}};
  simulate(sample_platform(), places, [&](MeasuredRank& plain) {
    MeasuredRank& rank = decorate ? decorate(plain) : plain;
    const RankId peer{1 - rank.id().value};
    const Protocol& protocol = find_protocol("cuda-ipc");
    Settings settings = protocol.defaults();
    settings.timeout = pair.timeout;
    for (const auto& [name, value] : pair.options) set_option(protocol, settings, name, value);
    if (rank.id().value == 1) {
      for (const auto& [name, value] : pair.options_of_rank_1) set_option(protocol, settings, name, value);
    }
    {
      const auto channel = protocol.connect(rank, peer, settings);
      body({rank, peer, dynamic_cast<CudaIpcChannel&>(*channel)});
      testing::connect_ends(rank, peer);
    }
    testing::connect_ends(rank, peer);
  });
}

}  // namespace twinlink::model::testing
