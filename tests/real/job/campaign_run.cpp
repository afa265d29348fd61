// One job of the fault campaign: campaign_run PROTOCOL[.ENGINE] MOMENT FAULT AFTER, under mpirun with two ranks. Rank 1
// meets the fault at the operation number AFTER of the moment. Both verify each message that was reported as delivered.
//
// Moments: connect, first, window, end. Faults: none, killed, stopped, slow, no_memory, refused_handle, lost_control,
// doubled_control, lost_copy. A fault that the protocol has no operation for is said on standard output as "no such
// operation"; the job then goes on. TWINLINK_FAULT_MARK=FILE is made when the fault happens.
//
// Exit codes: 0 all went well; 1 the fault was met. Where a message was reported as delivered and is not what was sent,
// the error says "verify".
#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "protocols/bench/measure/collectives.hpp"
#include "protocols/core/options.hpp"
#include "protocols/registry.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "real/job/job.hpp"
#include "real/system/launch.hpp"

namespace twinlink::real {
namespace {

constexpr Seconds kTimeout{0.5};
constexpr Bytes kSize = 96_KiB;
constexpr int kMessages = 6;   // of an exchange, each way
constexpr int kExchanges = 4;  // the first, and windows
constexpr Tag kNobody{4711};

void leave_mark() {
  const char* const file = std::getenv("TWINLINK_FAULT_MARK");
  if (file == nullptr) return;
  const int mark = ::creat(file, 0644);
  if (mark >= 0) ::close(mark);
}

/// Meets one fault, at an operation that it applies to.
class BrokenRank final : public DecoratedRank {
 public:
  BrokenRank(MeasuredRank& inner, std::string fault, int after)
      : DecoratedRank(inner), fault_(std::move(fault)), after_(after) {}

  /// From here on operations count.
  void arm() { armed_ = true; }
  void disarm() { armed_ = false; }
  [[nodiscard]] bool happened() const { return happened_; }

  Buffer allocate(Memory kind, Bytes size, Locality locality) override {
    if (meets("no_memory")) throw EnvironmentError("allocate", "out of device memory, as the campaign wants");
    return inner().allocate(kind, size, locality);
  }
  Buffer open_memory(RankId owner, const IpcHandle& handle) override {
    if (meets("refused_handle")) throw EnvironmentError("open", "refused, as the campaign wants");
    return inner().open_memory(owner, handle);
  }
  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override {
    meet_in_passing();
    if (!meets("lost_copy")) return inner().start_copy(to, from, blocks, stream, engine);
    return inner().copy(to.slice({}, {}), from.slice({}, {}), stream, engine);
  }
  Op put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) override {
    meet_in_passing();
    if (!meets("lost_copy")) return inner().put(to, from, stream, engine, signal);
    return inner().put(to.slice({}, {}), from.slice({}, {}), stream, engine, signal);
  }
  Op send(RankId peer, Tag tag, View from) override {
    meet_in_passing();
    return inner().send(peer, tag, from);
  }
  Op receive(RankId peer, Tag tag, View to) override {
    meet_in_passing();
    return inner().receive(peer, tag, to);
  }
  Op send_control(RankId peer, Tag tag, const ControlMessage& message) override {
    meet_in_passing();
    if (meets("lost_control")) return inner().send_control(peer, kNobody, message);
    if (meets("doubled_control")) {
      const Op once = inner().send_control(peer, tag, message);
      static_cast<void>(wait(inner(), once, inner().now() + Seconds{5}));  // the peer may have ended
    }
    return inner().send_control(peer, tag, message);
  }

 private:
  bool meets(std::string_view fault) {
    if (!armed_ || happened_ || fault_ != fault || after_-- > 0) return false;
    happened_ = true;
    leave_mark();
    return true;
  }
  /// What may happen at any operation.
  void meet_in_passing() {
    if (meets("killed")) ::raise(SIGKILL);
    if (meets("stopped")) ::raise(SIGSTOP);
    if (meets("slow")) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }

  std::string fault_;
  int after_;
  bool armed_ = false;
  bool happened_ = false;
};

Payload content(int from, int exchange, std::size_t message) {
  return Payload{static_cast<std::uint64_t>(1000 * from + 100 * exchange) + message + 1};
}

void run_job(BrokenRank& rank, const std::string& name, std::string_view moment) {
  const std::size_t dot = name.find('.');
  const Protocol& protocol = find_protocol(name.substr(0, dot));
  const int self = rank.id().value;
  const RankId peer{1 - self};
  const auto at = [&](std::string_view now, bool mine) {
    if (mine && self == 1 && moment == now) rank.arm();
  };
  std::vector<View> outgoing;
  std::vector<View> incoming;
  for (int i = 0; i < kMessages; ++i) {
    outgoing.emplace_back(rank.allocate(protocol.message_memory(), kSize, Locality::near));
    incoming.emplace_back(rank.allocate(protocol.message_memory(), kSize, Locality::near));
  }
  Settings settings = protocol.defaults();
  settings.timeout = kTimeout;
  if (dot != std::string::npos) set_option(protocol, settings, "engine", name.substr(dot + 1));
  at("connect", true);
  auto channel = protocol.connect(rank, peer, settings);
  if (moment == "connect") rank.disarm();
  for (int exchange = 0; exchange < kExchanges; ++exchange) {
    for (std::size_t m = 0; m < outgoing.size(); ++m) {
      rank.fill(outgoing[m], content(self, exchange, m));
      rank.fill(incoming[m], kSentinel);
    }
    bench::synchronize(rank, peer, bench::Patience::of_peer(kTimeout));
    at("first", exchange == 0);
    at("window", exchange == 2);
    const Outcome outcome = channel->exchange(outgoing, incoming);
    if (moment != "end" && exchange == 2) rank.disarm();
    if (!outcome.ok()) throw EnvironmentError("exchange", outcome.reason);
    for (std::size_t m = 0; m < incoming.size(); ++m) {
      const Verdict verdict = rank.check(incoming[m], content(peer.value, exchange, m));
      if (!verdict.intact()) throw EnvironmentError("verify", to_string(verdict));
    }
  }
  at("end", true);
  channel.reset();
  bench::synchronize(rank, peer, bench::Patience::of_peer(kTimeout));
}

int main(const std::string& protocol, const std::string& moment, const std::string& fault, int after) {
  try {
    if (moment == "start" && launcher_rank() == 1) {
      leave_mark();
      ::raise(fault == "killed" ? SIGKILL : SIGSTOP);
    }
    Job job({.host_memory = 1_GiB, .timeout = kTimeout});
    job.run([&](MeasuredRank& inner) {
      BrokenRank rank(inner, fault, after);
      run_job(rank, protocol, moment);
      if (inner.id().value == 1 && fault != "none" && !rank.happened()) fmt::print("no such operation\n");
    });
    return 0;
  } catch (const Error& error) {
    return static_cast<int>(error.exit_code());
  }
}

}  // namespace
}  // namespace twinlink::real

int main(int argc, char** argv) {
  if (argc != 5) return static_cast<int>(twinlink::ExitCode::bad_usage);
  return twinlink::real::main(argv[1], argv[2], argv[3], std::atoi(argv[4]));
}
