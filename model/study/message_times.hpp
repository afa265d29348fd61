// The same messages on several platforms, each simulated in a process of its own.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/core/path.hpp"
#include "protocols/core/protocol.hpp"

namespace twinlink::model {

/// What is simulated: warm messages, as 'run' measures them.
struct TimesPlan {
  const Protocol* protocol = nullptr;
  Settings settings{};
  std::vector<Place> places{};  ///< two
  std::vector<Bytes> sizes{};   ///< ascending
  bench::Pattern pattern = bench::Pattern::pingpong;
  int window = 1;
};

struct MessageTimes {
  std::vector<double> us{};               ///< one-way, by size; empty if it was refused
  std::vector<std::string> ways{};        ///< that messages took, by size; of a job "FORM; WHY"
  std::string path{};                     ///< the way of the largest; of a job its protocols
  std::string refused{};                  ///< why the platform, the protocol or the way does not allow it
  std::vector<Bytes> sizes{};             ///< of a job: those of the times
  std::vector<std::string> algorithms{};  ///< of a job, by size
};

/// How `refused` begins where a message was not delivered.
inline constexpr std::string_view kNotDelivered = "not delivered";

/// What is timed on each platform, in another process. Its UsageError or UnavailableError says what is not
/// allowed.
struct Timed {
  std::function<MessageTimes(const Platform&)> simulate{};
  bool shares_process = false;      ///< may several be simulated in one process, one after the other?
  int at_once = 1;                  ///< simulations at a time
  bench::OnProgress on_progress{};  ///< told of simulations
};
Timed timed(const TimesPlan& plan, int at_once = 1, bench::OnProgress on_progress = {});

/// Times of each platform that `platforms` give, which are asked for in the process that simulates them. What is not
/// allowed on one of them is told, and is no error.
std::vector<MessageTimes> message_times(std::span<const std::function<Platform()>> platforms, const Timed& what);
/// Several of them on one platform.
std::vector<MessageTimes> times_on(const Platform& platform, std::span<const Timed> all, int at_once,
                                   const bench::OnProgress& on_progress);

}  // namespace twinlink::model
