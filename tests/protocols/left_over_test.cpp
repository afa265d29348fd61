// What a connection of gpudirect-v2 that has failed leaves under way: the next one of the two ranks takes none of it
// for its own. Nothing is reported as delivered that was not, and the former memory stays as it is.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "protocols/options.hpp"
#include "protocols/registry.hpp"
#include "protocols/tags.hpp"
#include "tests/support/fake_rank.hpp"
#include "tests/support/test_name.hpp"

namespace twinlink {
namespace {

constexpr Bytes kLength = 8_B;
constexpr Seconds kLong{1000};
constexpr Tag kDone{tags::kFirstFree.value};
constexpr Tag kNudge{tags::kFirstFree.value + 1};

/// One end of the connections that follow each other. Rank 0 moves the bytes, rank 1 stands by.
class End {
 public:
  End(Rank& rank, std::string engine, int batch)
      : rank_(rank), engine_(std::move(engine)), batch_(batch), peer_{1 - rank.id().value} {}

  [[nodiscard]] bool moves() const { return rank_.id().value == 0; }
  [[nodiscard]] bool sends() const { return moves() == (engine_ != "kernel-pull"); }

  [[nodiscard]] std::unique_ptr<Channel> connect() const {
    const Protocol& protocol = find_protocol("gpudirect-v2");
    Settings settings = protocol.defaults();
    settings.timeout = Seconds{1};
    set_option(protocol, settings, "engine", engine_);
    set_option(protocol, settings, "batch", std::to_string(batch_));
    return protocol.connect(rank_, peer_, settings);
  }

  /// Messages that lie in buffers of their own, so that the places of a batch are told one by one.
  [[nodiscard]] std::vector<View> window(std::size_t messages = 3) const {
    std::vector<View> views;
    while (views.size() < messages) views.emplace_back(rank_.allocate(Memory::device, kLength));
    return views;
  }
  void fill(const std::vector<View>& window, std::uint64_t seed) const {
    for (const View& view : window) rank_.fill(view, sends() ? Pattern{seed++} : kSentinel);
  }
  [[nodiscard]] Outcome exchange(Channel& channel, const std::vector<View>& window) const {
    return sends() ? channel.exchange(window, {}) : channel.exchange({}, window);
  }
  /// Has every message of the window arrived? A sender has no say in it.
  [[nodiscard]] bool intact(const std::vector<View>& window, std::uint64_t seed) const {
    for (const View& view : window) {
      if (!sends() && !rank_.check(view, Pattern{seed++}).intact()) return false;
    }
    return true;
  }
  [[nodiscard]] bool untouched(const std::vector<View>& window) const {
    for (const View& view : window) {
      if (!sends() && !rank_.check(view, kSentinel).intact()) return false;
    }
    return true;
  }

  /// Only rank 1 does it, while rank 0 waits for its end: so it finds nobody.
  void alone(const std::function<void()>& action) const {
    Message nothing;
    if (!moves()) {
      action();
      tell(kDone);
      EXPECT_EQ(wait(rank_, rank_.hear(peer_, kDone, nothing), later()), Status::delivered);
      return;
    }
    // Of two ranks that nobody else can help, the one that waits last gives up. That shall be the other.
    while (wait(rank_, rank_.hear(peer_, kDone, nothing), later()) != Status::delivered) tell(kNudge);
    tell(kDone);  // for the clocks
  }
  void expect_failure_alone(Channel& channel, const std::vector<View>& window) const {
    alone([&] { EXPECT_FALSE(exchange(channel, window).ok()); });
  }

 private:
  [[nodiscard]] Seconds later() const { return rank_.now() + kLong; }
  void tell(Tag tag) const { EXPECT_EQ(wait(rank_, rank_.tell(peer_, tag, Message()), later()), Status::delivered); }

  Rank& rank_;
  std::string engine_;
  int batch_;
  RankId peer_;
};

class LeftOver : public testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  static void run(const std::function<void(const End&)>& body) {
    run_fake_world({}, [&](Rank& rank) { body(End(rank, std::get<0>(GetParam()), std::get<1>(GetParam()))); });
  }
  /// By another connection, new memory and memory that has been used: `former` is not in it.
  static void expect_delivery(const End& end, const std::vector<View>& former) {
    if (!end.sends()) end.fill(former, 0);
    const auto channel = end.connect();
    const std::vector<View> fresh = end.window();
    for (const std::uint64_t seed : {100U, 200U}) {
      end.fill(fresh, seed);
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
    end.fill(former, 1);
    const auto failing = end.connect();
    end.expect_failure_alone(*failing, former);
    expect_delivery(end, former);
  });
}

/// The same of memory that the peer has open.
TEST_P(LeftOver, ReadyIsNotAnswered) {
  run([](const End& end) {
    const std::vector<View> former = end.window();
    end.fill(former, 1);
    const auto failing = end.connect();
    EXPECT_TRUE(end.exchange(*failing, former).ok());
    end.expect_failure_alone(*failing, former);
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

/// The mover comes when the other has given up: what it says, or its flag, is for nobody.
TEST_P(LeftOver, DeliveredIsNotTakenForAnother) {
  run([](const End& end) {
    const std::vector<View> former = end.window();
    end.fill(former, 1);
    const auto failing = end.connect();
    end.expect_failure_alone(*failing, former);
    if (end.moves()) {
      EXPECT_TRUE(end.exchange(*failing, former).ok());
    }
    const std::vector<View> silent = end.window();
    end.fill(silent, 50);
    const auto next = end.connect();
    end.alone([&] {
      EXPECT_FALSE(end.exchange(*next, silent).ok()) << "nobody has moved anything";
      EXPECT_TRUE(end.untouched(silent));
    });
    expect_delivery(end, former);
  });
}

/// The same, of messages of another size.
TEST_P(LeftOver, RefusalIsNotTakenForAnother) {
  run([](const End& end) {
    const std::vector<View> former = end.window();
    end.fill(former, 1);
    const auto failing = end.connect();
    end.expect_failure_alone(*failing, former);
    if (end.moves()) {
      EXPECT_FALSE(end.exchange(*failing, {former.front().slice(0_B, 5_B)}).ok());
    }
    expect_delivery(end, former);
  });
}

/// Of a connection, the first steps of which one side took alone.
TEST_P(LeftOver, MeetingIsNotTakenForAnother) {
  run([](const End& end) {
    const std::vector<View> former = end.window();
    end.fill(former, 1);
    for (int i = 0; i < 2; ++i) {
      end.alone([&] {
        const auto nobody = end.connect();
        const Outcome outcome = end.exchange(*nobody, former);
        EXPECT_EQ(outcome.status, Status::timed_out) << outcome.reason;
      });
    }
    expect_delivery(end, former);
  });
}

INSTANTIATE_TEST_SUITE_P(Of, LeftOver,
                         testing::Combine(testing::Values("copy-engine", "kernel-push", "kernel-pull", "resident-push"),
                                          testing::Values(1, 2)),
                         [](const auto& param) {
                           return test_name(std::get<0>(param.param)) + "_by_" +
                                  std::to_string(std::get<1>(param.param));
                         });

}  // namespace
}  // namespace twinlink
