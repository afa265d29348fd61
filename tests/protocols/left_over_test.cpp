// What a connection that has failed leaves under way: the next one of the two ranks takes none of it for its own.
// Nothing is reported as delivered that was not, and the former memory stays as it is.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "protocols/core/options.hpp"
#include "protocols/registry.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/support/alone.hpp"
#include "tests/support/ledger_rank.hpp"
#include "tests/support/test_name.hpp"

namespace twinlink {
namespace {

constexpr Bytes kLength = 8_B;

/// By which connections messages go, and which rank sends.
struct Connection {
  std::string protocol;
  std::map<std::string, std::string> options;
  int sender = 0;
  bool counts_above = false;  ///< see CountsAbove
  /// Of gpudirect-v2 rank 0 moves the bytes, and knows where to as soon as rank 1 has said so.
  [[nodiscard]] bool first_rank_moves_alone() const { return protocol == "gpudirect-v2"; }
  /// Who sends on a heap that the user orders asks nobody.
  [[nodiscard]] bool ordered_by_the_user() const { return options.contains("order"); }
};

std::string name_of(const Connection& way) {
  std::string name = way.protocol;
  for (const auto& [option, value] : way.options) name += "_" + option + "_" + value;
  return test_name(name) + "_from_" + std::to_string(way.sender) + (way.counts_above ? "_counted_above" : "");
}
void PrintTo(const Connection& way, std::ostream* out) { *out << name_of(way); }

/// Gives connections numbers that are alike in the lower bits, of which a signal has room for so many: some backends
/// count in the upper ones.
class CountsAbove final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Op recv_control(RankId peer, Tag tag, ControlMessage& into) override {
    const Op op = inner().recv_control(peer, tag, into);
    if (tag != tags::kConnect) return op;
    constexpr std::uint64_t kBits = 46;
    const std::uint64_t number = (counted_.size() + 1) << kBits;
    counted_[number] = op;
    return Op{number};
  }
  std::optional<Completion> wait_any(std::span<const Op> ops, Seconds deadline) override {
    std::vector<Op> inner_ops;
    for (const Op op : ops) inner_ops.push_back(inner_op(op));
    return inner().wait_any(inner_ops, deadline);
  }
  void abandon(Op op) override { inner().abandon(inner_op(op)); }

 private:
  [[nodiscard]] Op inner_op(Op op) const {
    const auto found = counted_.find(op.id);
    return found == counted_.end() ? op : found->second;
  }
  std::map<std::uint64_t, Op> counted_;
};

void run_pair(const Connection& way, const std::function<void(MeasuredRank&)>& body) {
  run_fake_world({}, [&](MeasuredRank& plain) {
    if (!way.counts_above) return body(plain);
    CountsAbove rank(plain);
    body(rank);
  });
}

/// One end of the connections that follow each other.
class End {
 public:
  End(MeasuredRank& rank, const Connection& way) : rank_(rank), way_(way), peer_{1 - rank.id().value} {}

  [[nodiscard]] bool sends() const { return rank_.id().value == way_.sender; }

  [[nodiscard]] std::unique_ptr<Channel> connect() const {
    const Protocol& protocol = find_protocol(way_.protocol);
    Settings settings = protocol.defaults();
    settings.timeout = Seconds{1};
    for (const auto& [option, value] : way_.options) set_option(protocol, settings, option, value);
    return protocol.connect(rank_, peer_, settings);
  }

  /// Messages that lie in buffers of their own, so that the places of a batch are sent one by one.
  [[nodiscard]] std::vector<View> window(std::size_t messages = 3) const {
    std::vector<View> views;
    while (views.size() < messages) views.emplace_back(rank_.allocate(Memory::device, kLength));
    return views;
  }
  void fill(const std::vector<View>& window, std::uint64_t seed) const {
    for (const View& view : window) rank_.fill(view, sends() ? Payload{seed++} : kSentinel);
  }
  [[nodiscard]] Outcome exchange(Channel& channel, const std::vector<View>& window) const {
    return sends() ? channel.exchange(window, {}) : channel.exchange({}, window);
  }
  /// Has every message of the window arrived? A sender has no say in it.
  [[nodiscard]] bool intact(const std::vector<View>& window, std::uint64_t seed) const {
    for (const View& view : window) {
      if (!sends() && !rank_.check(view, Payload{seed++}).intact()) return false;
    }
    return true;
  }
  [[nodiscard]] bool untouched(const std::vector<View>& window) const {
    for (const View& view : window) {
      if (!sends() && !rank_.check(view, kSentinel).intact()) return false;
    }
    return true;
  }

  /// Only one rank does it, while the other waits for its end: so it finds nobody.
  void alone(int who, const std::function<void()>& action) const { twinlink::alone(rank_, who, action); }
  /// As the users of a heap order their puts.
  void wait_for_the_other() const {
    alone(1, [] {});
  }
  void expect_failure_alone(Channel& channel, const std::vector<View>& window) const {
    alone(1, [&] { EXPECT_FALSE(exchange(channel, window).ok()); });
  }
  /// Unless it knows where to and asks nobody, rank 0 does not report as delivered what rank 1 has given up.
  void expect_nothing_delivered_alone(Channel& channel, const std::vector<View>& window) const {
    const bool knows = way_.first_rank_moves_alone() || way_.ordered_by_the_user();
    const Outcome outcome = exchange(channel, window);
    EXPECT_TRUE(knows || !outcome.ok());
    EXPECT_TRUE(!way_.first_rank_moves_alone() || outcome.ok()) << outcome.reason;
  }

 private:
  MeasuredRank& rank_;
  const Connection& way_;
  RankId peer_;
};

class LeftOver : public testing::TestWithParam<Connection> {
 protected:
  static void run(const std::function<void(const End&)>& body) {
    run_pair(GetParam(), [&](MeasuredRank& rank) { body(End(rank, GetParam())); });
  }
  /// A connection by which rank 1 alone has tried to move `former`; both have done so before if it is a `used` one.
  static std::unique_ptr<Channel> failed_connection(const End& end, const std::vector<View>& former, bool used) {
    end.fill(former, 1);
    auto channel = end.connect();
    if (used) {
      EXPECT_TRUE(end.exchange(*channel, former).ok());
    }
    end.expect_failure_alone(*channel, former);
    return channel;
  }
  /// By another connection, new memory and memory that has been used: `former` is not in it.
  static void expect_delivery(const End& end, const std::vector<View>& former) {
    if (!end.sends()) end.fill(former, 0);
    const auto channel = end.connect();
    const std::vector<View> fresh = end.window();
    for (const std::uint64_t seed : {100U, 200U}) {
      end.fill(fresh, seed);
      end.wait_for_the_other();
      const Outcome outcome = end.exchange(*channel, fresh);
      EXPECT_TRUE(outcome.ok()) << outcome.reason;
      EXPECT_TRUE(end.intact(fresh, seed)) << "reported as delivered";
    }
    EXPECT_TRUE(end.untouched(former)) << "written by another connection";
  }
};

/// The place and the handle of memory that was never written.
TEST_P(LeftOver, FirstReadyIsNotAnswered) {
  run([](const End& end) {
    const std::vector<View> former = end.window();
    const auto failing = failed_connection(end, former, false);
    expect_delivery(end, former);
  });
}

/// The same of memory that the peer has open.
TEST_P(LeftOver, ReadyIsNotAnswered) {
  run([](const End& end) {
    const std::vector<View> former = end.window();
    const auto failing = failed_connection(end, former, true);
    expect_delivery(end, former);
  });
}

/// More of them than the next connection has messages.
TEST_P(LeftOver, ManyAreNotAnswered) {
  run([](const End& end) {
    const std::vector<View> former = end.window(16);
    end.fill(former, 1);
    for (int i = 0; i < 2; ++i) {
      const auto failing = end.connect();
      end.expect_failure_alone(*failing, former);
    }
    expect_delivery(end, former);
  });
}

/// Rank 0 comes when the other has given up: what it says, or its flag, is for nobody.
TEST_P(LeftOver, DeliveredIsNotTakenForAnother) {
  run([](const End& end) {
    const std::vector<View> former = end.window();
    const auto failing = failed_connection(end, former, false);
    end.alone(0, [&] { end.expect_nothing_delivered_alone(*failing, former); });
    const std::vector<View> silent = end.window();
    end.fill(silent, 50);
    const auto next = end.connect();
    end.alone(1, [&] {
      EXPECT_FALSE(end.exchange(*next, silent).ok()) << "nobody has moved anything";
      EXPECT_TRUE(end.untouched(silent));
    });
    expect_delivery(end, former);
  });
}

/// The same behind an exchange that both have made: the memory at both ends is known.
TEST_P(LeftOver, LaterDeliveredIsNotTakenForAnother) {
  run([](const End& end) {
    const std::vector<View> former = end.window();
    const auto failing = failed_connection(end, former, true);
    end.alone(0, [&] {
      // Who comes late may still find what was sent, and the memory.
      const Outcome outcome = end.exchange(*failing, former);
      EXPECT_TRUE(!outcome.ok() || end.intact(former, 1)) << "reported as delivered";
    });
    expect_delivery(end, former);
  });
}

/// The same, of messages of another size.
TEST_P(LeftOver, RefusalIsNotTakenForAnother) {
  run([](const End& end) {
    const std::vector<View> former = end.window();
    const auto failing = failed_connection(end, former, false);
    end.alone(0, [&] {
      const Outcome outcome = end.exchange(*failing, {former.front().slice(0_B, 5_B)});
      if (GetParam().first_rank_moves_alone()) {
        EXPECT_FALSE(outcome.ok());
      }
    });
    expect_delivery(end, former);
  });
}

/// Of a connection, the first steps of which one side took alone.
TEST_P(LeftOver, MeetingIsNotTakenForAnother) {
  run([](const End& end) {
    const std::vector<View> former = end.window();
    end.fill(former, 1);
    for (int i = 0; i < 2; ++i) {
      end.alone(1, [&] {
        const auto nobody = end.connect();
        const Outcome outcome = end.exchange(*nobody, former);
        EXPECT_EQ(outcome.status, Status::timed_out) << outcome.reason;
      });
    }
    expect_delivery(end, former);
  });
}

/// Whatever ends an exchange, at either end.
TEST_P(LeftOver, NoOperationIsInFlightBehindAFailure) {
  for (const int lonely : {0, 1}) {
    for (const bool used : {false, true}) {
      run_pair(GetParam(), [&](MeasuredRank& plain) {
        LedgerRank rank(plain);
        const End end(rank, GetParam());
        const std::vector<View> window = end.window(used ? 1 : 6);
        auto channel = end.connect();
        if (used) {
          EXPECT_TRUE(end.exchange(*channel, window).ok());
        }
        end.alone(lonely, [&] { static_cast<void>(end.exchange(*channel, window)); });
        end.alone(1 - lonely, [&] { static_cast<void>(end.exchange(*channel, {window.front().slice(0_B, 5_B)})); });
        EXPECT_EQ(rank.in_flight(), "") << "rank " << rank.id().value;
        channel.reset();
        EXPECT_EQ(rank.in_flight(), "") << "rank " << rank.id().value;
      });
    }
  }
}

/// The second copy of this rank fails, and no other.
class FailsOnce final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override {
    if (++copies_ == 2) throw EnvironmentError("copy", "fails on purpose");
    return DecoratedRank::start_copy(to, from, blocks, stream, engine);
  }

 private:
  int copies_ = 0;
};

/// The sender has sent that all slots are filled when the receiver's copy fails.
TEST(LeftOverOfSharedBuffers, FilledIsNotTakenForAnother) {
  const Connection way{"gpudirect-v1", {{"buffers", "shared"}}, 0};
  run_fake_world({}, [&](MeasuredRank& rank) {
    FailsOnce failing(rank);
    const End end(rank.id().value == 1 ? static_cast<MeasuredRank&>(failing) : rank, way);
    for (const std::uint64_t seed : {1U, 10U, 20U, 30U}) {
      const std::vector<View> window = end.window(4);
      end.fill(window, seed);
      const auto channel = end.connect();
      if (seed == 1) {
        if (!end.sends()) {
          EXPECT_THROW(static_cast<void>(end.exchange(*channel, window)), EnvironmentError);
        }
        end.alone(0, [&] { static_cast<void>(end.exchange(*channel, window)); });
        continue;
      }
      const Outcome outcome = end.exchange(*channel, window);
      EXPECT_TRUE(outcome.ok()) << outcome.reason;
      EXPECT_TRUE(end.intact(window, seed)) << "reported as delivered";
      end.wait_for_the_other();
    }
  });
}

std::vector<Connection> ways() {
  std::vector<Connection> all;
  for (const char* engine : {"copy-engine", "kernel-push", "kernel-pull", "resident-push"}) {
    const int sender = std::string(engine) == "kernel-pull" ? 1 : 0;
    for (const char* batch : {"1", "2"}) {
      all.push_back({"gpudirect-v2", {{"engine", engine}, {"batch", batch}}, sender});
    }
  }
  for (const int sender : {0, 1}) {
    all.push_back({"symmetric-put", {}, sender});
    all.push_back({"symmetric-put", {{"engine", "kernel"}}, sender});
    all.push_back({"gpudirect-v1", {{"buffers", "shared"}}, sender});
    all.push_back({"gpudirect-v1", {{"buffers", "shared"}, {"copies", "synchronous"}}, sender});
    all.push_back({"cuda-ipc", {{"eager", "0"}}, sender});
    all.push_back({"cuda-ipc", {{"eager", "0"}, {"ipc", "0"}}, sender});
  }
  all.push_back({"symmetric-put", {{"order", "user"}}, 0});
  all.push_back({"symmetric-put", {{"order", "user"}}, 0, true});
  all.push_back({"gpudirect-v2", {{"engine", "kernel-push"}}, 0, true});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Of, LeftOver, testing::ValuesIn(ways()),
                         [](const auto& param) { return name_of(param.param); });

}  // namespace
}  // namespace twinlink
