// Batches of gpudirect-v2: small messages arrive wherever they lie at either end.
#include <array>
#include <memory>

#include "protocols/core/options.hpp"
#include "protocols/gpudirect_v2/batches.hpp"
#include "protocols/registry.hpp"
#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

/// Batches of all kinds, and what goes alone: empty, long, and one of its length.
constexpr std::array kWindow{3000_B, 3000_B, 3000_B,          3000_B,          3000_B,   1_B,      1_B,
                             0_B,    0_B,    kLongestInBatch, kLongestInBatch, 70'000_B, 70'000_B, 500_B};

enum class Lie {
  in_a_row,      ///< in one buffer, one behind the other
  with_a_break,  ///< the same, but the third of each length lies farther away
  backwards,     ///< in one buffer, from its end
  alone          ///< each in a buffer of its own
};
constexpr std::array kLies{Lie::in_a_row, Lie::with_a_break, Lie::backwards, Lie::alone};

class WindowMemory {
 public:
  WindowMemory(Rank& rank, Lie lie) {
    constexpr Bytes kRoom = 500'000_B;
    if (lie != Lie::alone) buffers_.push_back(std::make_unique<Scratch>(rank, Memory::device, kRoom));
    Bytes at{};
    for (std::size_t i = 0; i < kWindow.size(); ++i) {
      const Bytes length = kWindow[i];
      if (lie == Lie::alone) {
        buffers_.push_back(std::make_unique<Scratch>(rank, Memory::device, length));
        views_.push_back(buffers_.back()->view());
        continue;
      }
      if (lie == Lie::with_a_break && i >= 2 && kWindow[i - 2] == length) at += 7_B;
      views_.push_back(buffers_[0]->slice(lie == Lie::backwards ? kRoom - at - length : at, length));
      at += length;
    }
  }
  [[nodiscard]] const std::vector<View>& views() const { return views_; }

 private:
  std::vector<std::unique_ptr<Scratch>> buffers_;
  std::vector<View> views_;
};

Payload content(RankId from, int round, std::size_t index) {
  return Payload{2000 + 1000 * static_cast<std::uint64_t>(from.value) + 100 * static_cast<std::uint64_t>(round) +
                 index};
}

/// Connects, and exchanges the window both ways, twice. The two ends' messages lie as they say.
void exchange_windows(MeasuredRank& rank, RankId peer, const Settings& settings, Lie out, Lie in) {
  const WindowMemory outgoing(rank, first(rank, peer) ? out : in);
  const WindowMemory incoming(rank, first(rank, peer) ? in : out);
  {
    const auto channel = find_protocol("gpudirect-v2").connect(rank, peer, settings);
    for (const int round : {0, 1}) {
      for (std::size_t i = 0; i < kWindow.size(); ++i) {
        rank.fill(outgoing.views()[i], content(rank.id(), round, i));
        rank.fill(incoming.views()[i], kSentinel);
      }
      meet(rank, peer);
      const Outcome outcome = channel->exchange(outgoing.views(), incoming.views());
      ASSERT_TRUE(outcome.ok()) << outcome.reason;
      for (std::size_t i = 0; i < kWindow.size(); ++i) {
        const Verdict verdict = rank.check(incoming.views()[i], content(peer, round, i));
        EXPECT_TRUE(verdict.intact()) << "message " << i << ": " << to_string(verdict);
        EXPECT_TRUE(rank.check(outgoing.views()[i], content(rank.id(), round, i)).intact());
      }
      meet(rank, peer);
    }
  }
  meet(rank, peer);
}

TEST(Batches, ArriveWhereverTheirMessagesLie) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    const Path& path = rank.path_to(peer);
    const Protocol& protocol = find_protocol("gpudirect-v2");
    if (!protocol.supports(path).usable()) return;
    for (const char* engine : {"copy-engine", "kernel-push", "kernel-pull", "resident-push"}) {
      if (!path.peer_access && std::string(engine) != "copy-engine") continue;
      for (const char* batch : {"2", "64"}) {
        for (const Lie out : kLies) {
          for (const Lie in : kLies) {
            SCOPED_TRACE(std::string(engine) + ", batch " + batch + ", " + std::to_string(static_cast<int>(out)) + " " +
                         std::to_string(static_cast<int>(in)));
            Settings settings{.depth = 2};
            set_option(protocol, settings, "engine", engine);
            set_option(protocol, settings, "batch", batch);
            exchange_windows(rank, peer, settings, out, in);
          }
        }
      }
    }
  });
}

TEST(Batches, GoWithChunksWhichCutOnlyWhatIsLonger) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    const Protocol& protocol = find_protocol("gpudirect-v2");
    if (!protocol.supports(rank.path_to(peer)).usable()) return;
    for (const Bytes chunk : {1000_B, 3000_B, 50'000_B}) {
      Settings settings{.chunk = chunk, .depth = 3};
      set_option(protocol, settings, "batch", "3");
      exchange_windows(rank, peer, settings, Lie::in_a_row, Lie::with_a_break);
    }
  });
}

TEST(Batches, OfNoneOrTooManyAreRefused) {
  on_every_pair([](Rank& rank, RankId peer) {
    const Protocol& protocol = find_protocol("gpudirect-v2");
    if (!protocol.supports(rank.path_to(peer)).usable()) return;
    for (const std::string& batch : {std::string("0"), std::to_string(kMostInBatch + 1)}) {
      Settings settings;
      set_option(protocol, settings, "batch", batch);
      EXPECT_THROW(static_cast<void>(protocol.connect(rank, peer, settings)), UsageError);
    }
  });
}

TEST(Batches, ShowInTheWayThatIsNamed) {
  on_every_pair([](Rank& rank, RankId peer) {
    const Protocol& protocol = find_protocol("gpudirect-v2");
    if (!protocol.supports(rank.path_to(peer)).usable()) return;
    Settings settings;
    EXPECT_EQ(protocol.connect(rank, peer, settings)->path_taken().find("at once"), std::string::npos);
    set_option(protocol, settings, "batch", "64");
    EXPECT_NE(protocol.connect(rank, peer, settings)->path_taken().find("up to 64 messages of at most 64K at once"),
              std::string::npos);
    if (rank.path_to(peer).peer_access) {
      // The kernel that stays copies no blocks.
      set_option(protocol, settings, "engine", "resident-push");
      EXPECT_NE(protocol.connect(rank, peer, settings)->path_taken().find("at once by the copy engine"),
                std::string::npos);
    }
    meet(rank, peer);
  });
}

}  // namespace
}  // namespace twinlink::contract
