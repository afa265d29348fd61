// One message over one protocol on the sample machine: what closed forms are compared with.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/core/measured_rank.hpp"
#include "protocols/core/protocol.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model::testing {

inline constexpr Seconds kLong{10};
/// Nothing is fitted, so the tolerance is that of the arithmetic: far below the 0.1 % that is asked for.
inline constexpr double kTolerance_us = 1e-4;
void expect_near(Seconds actual, Seconds expected);
template <class T>
Sourced<T> made_up(T value) {
  return {value, {Quality::assumed, "round numbers for tests"}};
}
inline const Place kLoneGpu{0, 0, {}};
inline const Place kFirstPeer{0, 1, {}};
inline const Place kSecondPeer{0, 2, {}};
inline const Place kOtherNode{1, 0, {}};
inline constexpr Seconds kOverhead = kHost + kLatency;
/// What the adapter's learning of 1 MiB of pageable memory takes. Both ends do it at the same time, once.
inline constexpr Seconds kLearning = kRegister + kRegisterPerGib / 1024;
/// The handshake of a connection: request, reply and an epoch for each tag, which the CPU sends one after the other.
constexpr Seconds handshake_of(int tags) { return kControl * 3 + kHost * (tags - 1); }
/// A put of nothing that raises the epoch of the signals.
inline constexpr Seconds kRaisedEpoch = kOverhead + kSignal;
/// The two ends of gpudirect-v2 connect.
inline constexpr Seconds kPeersConnect = handshake_of(3);
/// And for flags: the mark, and the epoch that is raised by it.
inline constexpr Seconds kPeersConnectWithFlags = kPeersConnect + kControl + kRaisedEpoch;

/// Runs `work`, which simulates, in a process of its own, for a process has one simulation. An Error where that fails
/// what it expects.
void apart(const std::function<void()>& work);
/// The same of `body` on every rank: the time that they leave.
Seconds simulated(const Platform& platform, std::span<const Place> places,
                  const std::function<void(MeasuredRank&, Seconds& time)>& body);

/// When the first message of a new connection has arrived, byte for byte. Opening the connection is counted in.
Seconds one_message(const std::string& name, std::vector<Place> places, Bytes size, const Settings& settings);

struct Timed {
  Seconds cold{};                   ///< of the first message, from both ends' call until the receiver's call returns
  Seconds warm{};                   ///< of the second, from the sender's call on; the receiver waits already
  std::vector<Counter> counters{};  ///< of the sender's channel
};

/// Sends the same message twice from the first place to the second and checks what arrives.
Timed timed_message(const Platform& platform, const std::vector<Place>& places, const std::string& protocol, Bytes size,
                    const Settings& settings);

}  // namespace twinlink::model::testing
