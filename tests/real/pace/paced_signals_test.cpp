// Who is told of the end of a paced put, and when. The same times as in tests/model/engine/kernel_signal_test.cpp and
// tests/model/engine/resident_test.cpp.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/real/pace/paced_fixture.hpp"

namespace twinlink::real {
namespace {

using namespace platforms::testing;  // NOLINT: the sample platform's numbers

TEST_F(PacedRuntimeTest, ASignalIsSeenItsTimeAfterTheLastByte) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const peer = peer_memory(2);
  std::uint64_t& word = pinned_word();
  const Seconds start = clock.now();
  const Seconds last_byte = start + kHost + kLatency + kSize / kPeer;
  const Event put = runtime.copy_and_raise(peer, device, kSize, {.word = &word, .value = 5}, Stream{0}, Engine::dma);
  const Event next = runtime.copy(peer, device, kSize, Stream{0}, Engine::dma);
  move_all();
  clock.wait_until(last_byte + kSignal - 1.0_ns);
  runtime.progress();
  EXPECT_EQ(word, 0U) << "bytes that have really come do not raise it";
  EXPECT_FALSE(runtime.ended(put));
  clock.wait_until(last_byte + kSignal + 1.0_ns);
  runtime.progress();
  EXPECT_EQ(word, 5U);
  EXPECT_TRUE(runtime.ended(put));
  expect_end(next, last_byte + kSize / kPeer);
}

TEST_F(PacedRuntimeTest, SynchronizeWaitsForTheSignalToo) {
  std::byte* const device = runtime.allocate(kSize);
  std::uint64_t& word = pinned_word();
  const Event put =
      runtime.copy_and_raise(peer_memory(2), device, 0_B, {.word = &word, .value = 1}, Stream{3}, Engine::dma);
  runtime.synchronize(Stream{3});
  EXPECT_EQ(word, 1U);
  EXPECT_TRUE(runtime.ended(put));
}

TEST_F(PacedRuntimeTest, AFlagOutsideOfWhatIsPageLockedIsRefused) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const peer = peer_memory(2);
  std::uint64_t& word = pinned_word();
  const auto raise = [&](std::uint64_t& flag) {
    runtime.copy_and_raise(peer, device, 0_B, {.word = &flag, .value = 1}, Stream{0}, Engine::dma);
    runtime.synchronize(Stream{0});
  };
  std::uint64_t other = 0;
  EXPECT_THROW(raise(other), EnvironmentError);
  raise(word);
  EXPECT_EQ(word, 1U);
  runtime.unpin(static_cast<std::byte*>(static_cast<void*>(&word)));
  EXPECT_THROW(raise(word), EnvironmentError);
}

/// A queue of puts with signals, whose engine needs a gap between two and a turn behind each signal.
class PacedTurns : public PacedRuntimeTest {
 protected:
  static constexpr Seconds kGap = 2.0_us;
  static constexpr Seconds kTurn = 0.75_us;
  static constexpr Seconds kKernelSignal = 1.25_us;
  static constexpr Seconds kKernelTurn = 3.0_us;

  PacedTurns() : PacedRuntimeTest(with_costs()) {}
  static platforms::Platform with_costs() {
    platforms::Platform platform = sample_platform();
    platform.runtime.kernel_signal = {platforms::Piecewise(kKernelSignal), {}};
    platform.runtime.signal_gap = {kTurn, {}};
    platform.runtime.kernel_signal_gap = {kKernelTurn, {}};
    for (const platforms::CopyKind kind : {platforms::CopyKind::peer, platforms::CopyKind::kernel_push}) {
      platform.copies[kind].gap = {platforms::Piecewise(kGap), {}};
    }
    return platform;
  }
  /// Three puts raise their signals `first` after their start, and then every `interval`, and end `event` after that; a
  /// copy behind them ends without a signal.
  void expect_queue(Engine engine, Seconds first, Seconds interval, Seconds signal, Seconds event) {
    std::byte* const device = runtime.allocate(kSize);
    std::byte* const peer = peer_memory(2);
    std::uint64_t& word = pinned_word();
    const Seconds start = clock.now();
    std::vector<Event> puts;
    for (std::uint64_t i = 1; i <= 3; ++i) {
      puts.push_back(runtime.copy_and_raise(peer, device, kSize, {.word = &word, .value = i}, Stream{0}, engine));
    }
    const Event copy = runtime.copy(peer, device, kSize, Stream{0}, engine);
    for (int i = 0; i < 3; ++i) expect_end(puts[static_cast<std::size_t>(i)], start + first + interval * i + event);
    expect_end(copy, start + first + interval * 3 - signal);
  }
};

TEST_F(PacedTurns, ACopyEngineGoesOnBehindItsSignalAndItsTurn) {
  expect_queue(Engine::dma, kHost + kLatency + kSize / kPeer + kSignal, kSize / kPeer + kSignal + kTurn + kGap, kSignal,
               kTurn);
}

TEST_F(PacedTurns, AKernelGoesOnBehindATurnOfItsOwn) {
  expect_queue(Engine::kernel, kHost + kLatency + kSize / kKernelPush + kKernelSignal,
               kSize / kKernelPush + kKernelSignal + kKernelTurn + kGap, kKernelSignal, {});
}

class PacedKernelSignal : public PacedRuntimeTest {
 protected:
  static constexpr Seconds kKernelSignal = 2.0_us;
  static constexpr Seconds kCompletion = 1.5_us;

  explicit PacedKernelSignal(const platforms::Platform& described = with_costs()) : PacedRuntimeTest(described) {}
  static platforms::Platform with_costs() {
    platforms::Platform platform = without_its_number();
    platform.runtime.kernel_signal = {platforms::Piecewise(kKernelSignal), {}};
    platform.runtime.signal.reset();
    return platform;
  }
  static platforms::Platform without_its_number() {
    platforms::Platform platform = sample_platform();
    platform.runtime.completion = {kCompletion, {}};
    return platform;
  }

  /// A put ends, with its signal, `time` after its start, and who learns of it is busy for `completion`.
  void expect_put(Engine engine, Seconds time, Seconds completion) {
    std::byte* const device = runtime.allocate(kSize);
    std::byte* const peer = peer_memory(2);
    std::uint64_t& word = pinned_word();
    const Seconds start = clock.now();
    const Event put = runtime.copy_and_raise(peer, device, kSize, {.word = &word, .value = 5}, Stream{0}, engine);
    move_all();
    clock.wait_until(start + time - 1.0_ns);
    EXPECT_FALSE(runtime.ended(put));
    EXPECT_EQ(word, 0U);
    clock.wait_until(start + time + 1.0_ns);
    const Seconds asked = clock.now();
    EXPECT_TRUE(runtime.ended(put));
    EXPECT_EQ(word, 5U);
    expect_took(asked, completion);
  }
};

TEST_F(PacedKernelSignal, TellsBothCpusAtOnce) {
  expect_put(Engine::kernel, kHost + kLatency + kSize / kKernelPush + kKernelSignal, Seconds{});
}

TEST_F(PacedKernelSignal, HidesBehindNothingOfItsStream) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const peer = peer_memory(2);
  std::uint64_t& word = pinned_word();
  const auto put = [&](std::uint64_t value) {
    return runtime.copy_and_raise(peer, device, kSize, {.word = &word, .value = value}, Stream{0}, Engine::kernel);
  };
  const Seconds each = kKernelSignal + kSize / kKernelPush;
  const Seconds first = clock.now() + kHost + kLatency + each;
  const std::vector<Event> puts{put(1), put(2)};
  expect_end(puts[0], first);
  EXPECT_EQ(word, 1U);
  expect_end(puts[1], first + each);
  EXPECT_EQ(word, 2U);
}

TEST_F(PacedKernelSignal, OfAResidentKernelComesWithTheLastByte) {
  expect_put(Engine::resident, kHost + kLatency + kSize / kResidentPush, Seconds{});
}

TEST_F(PacedKernelSignal, ACopyThatRaisesNothingEndsByAnEventUnlessItsKernelStays) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const peer = peer_memory(2);
  for (const Engine engine : {Engine::dma, Engine::kernel, Engine::resident}) {
    const Event copy = runtime.copy(peer, device, kSize, Stream{0}, engine);
    move_all();
    clock.wait_until(clock.now() + 1.0_s);
    const Seconds asked = clock.now();
    EXPECT_TRUE(runtime.ended(copy));
    expect_took(asked, engine == Engine::resident ? Seconds{} : kCompletion);
  }
}

class PacedWithoutKernelSignal : public PacedKernelSignal {
 protected:
  PacedWithoutKernelSignal() : PacedKernelSignal(without_its_number()) {}
};

TEST_F(PacedWithoutKernelSignal, AKernelsPutIsToldAsThatOfACopyEngine) {
  expect_put(Engine::kernel, kHost + kLatency + kSize / kKernelPush + kSignal, kCompletion);
}

}  // namespace
}  // namespace twinlink::real
