// On a machine with a GPU; skipped elsewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "protocols/core/errors.hpp"
#include "real/device/device_runtime.hpp"
#include "real/system/pattern.hpp"
#ifdef TWINLINK_HAS_CUDA
#include <cuda_runtime_api.h>

#include "real/device/cuda/cuda_runtime.hpp"
#include "real/device/cuda/mapped_memory.hpp"
#endif

namespace twinlink::real {
namespace {

constexpr Bytes kSize = 5_MiB;

class CudaRuntimeTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef TWINLINK_HAS_CUDA
    try {
      runtime = make_cuda_runtime(0);
    } catch (const UnavailableError& error) {
      GTEST_SKIP() << "NOT TESTED: " << error.what();
    }
#else
    GTEST_SKIP() << "NOT TESTED: built without CUDA";
#endif
  }

  std::byte* filled(Payload pattern) {
    std::byte* memory = runtime->allocate(kSize);
    std::vector<std::byte> bytes(kSize.count());
    write_pattern(bytes, pattern, 0);
    runtime->copy_now(memory, bytes.data(), kSize);
    return memory;
  }
  std::vector<std::byte> read(const std::byte* memory) {
    std::vector<std::byte> bytes(kSize.count());
    runtime->copy_now(bytes.data(), memory, kSize);
    return bytes;
  }
  void finish(Event event) {
    while (!runtime->ended(event)) runtime->progress();
  }

  std::unique_ptr<DeviceRuntime> runtime;
};

#ifdef TWINLINK_HAS_CUDA
TEST_F(CudaRuntimeTest, IsOfTheDeviceThatAListNames) {
  const Uuid last = runtime->devices().back().uuid;
  runtime.reset();
  runtime = make_cuda_runtime(0, parse_gpus(to_string(last)));
  EXPECT_EQ(runtime->device().uuid, last);
  runtime.reset();
  EXPECT_THROW(make_cuda_runtime(1, parse_gpus("0")), UsageError);
}
#endif

TEST_F(CudaRuntimeTest, TheDeviceIsDescribed) {
  const DeviceInfo& device = runtime->device();
  EXPECT_FALSE(device.name.empty());
  EXPECT_NE(device.uuid, Uuid{});
  EXPECT_EQ(device.pci_bus_id.size(), std::string("0000:1b:00.0").size()) << device.pci_bus_id;
  EXPECT_GE(device.capability_major, 7);
  EXPECT_TRUE(device.unified_addressing);
  EXPECT_GT(device.memory, 1_GiB);
  EXPECT_TRUE(*runtime->peer_access(device));
}

TEST_F(CudaRuntimeTest, EveryEngineCopiesTheBytes) {
  for (const Engine engine : {Engine::dma, Engine::kernel, Engine::resident}) {
    std::byte* from = filled(Payload{1});
    std::byte* to = filled(Payload{2});
    finish(runtime->copy(to, from, kSize, Stream{3}, engine));
    EXPECT_FALSE(find_difference(read(to), Payload{1}, 0));
    runtime->free(from);
    runtime->free(to);
  }
}

TEST_F(CudaRuntimeTest, KernelsCopyFromAndToAnyAddress) {
  std::byte* from = filled(Payload{1});
  for (const Engine engine : {Engine::kernel, Engine::resident}) {
    for (const std::size_t offset : {0U, 1U, 8U, 16U, 17U}) {
      for (const std::size_t length : {0U, 1U, 15U, 16U, 17U, 100'003U}) {
        std::byte* to = filled(Payload{2});
        finish(runtime->copy(to + offset, from, Bytes{length}, Stream{0}, engine));
        std::vector<std::byte> expected(kSize.count());
        write_pattern(expected, Payload{2}, 0);
        write_pattern(std::span(expected).subspan(offset, length), Payload{1}, 0);
        EXPECT_EQ(read(to), expected) << length << " bytes to offset " << offset;
        runtime->free(to);
      }
    }
  }
  runtime->free(from);
}

TEST_F(CudaRuntimeTest, TheResidentKernelCarriesOutManyMoreOrdersThanMayWait) {
  constexpr std::size_t kPiece = 16;
  std::byte* from = filled(Payload{1});
  std::byte* to = filled(Payload{2});
  Event last{};
  for (std::size_t at = 0; at < kSize.count(); at += kPiece) {
    last = runtime->copy(to + at, from + at, Bytes{std::min(kPiece, kSize.count() - at)}, Stream{0}, Engine::resident);
  }
  finish(last);
  EXPECT_FALSE(find_difference(read(to), Payload{1}, 0));
}

TEST_F(CudaRuntimeTest, TheResidentKernelRaisesAFlagBehindTheBytes) {
  std::vector<std::byte> words(4096);
  auto* const word = static_cast<std::uint64_t*>(static_cast<void*>(words.data()));
  runtime->pin(words.data(), Bytes{words.size()});
  std::byte* from = filled(Payload{1});
  std::byte* to = filled(Payload{2});
  constexpr std::uint64_t kValue = 0xFEDC'BA98'7654'3210;
  const Event event = runtime->copy_and_raise(to, from, kSize, {word + 3, kValue}, Stream{0}, Engine::resident);
  while (std::atomic_ref(word[3]).load(std::memory_order_acquire) != kValue) static_cast<void>(runtime->ended(event));
  EXPECT_FALSE(find_difference(read(to), Payload{1}, 0));
  EXPECT_EQ(word[2], 0U);
  EXPECT_EQ(word[4], 0U);
  finish(event);
  runtime->unpin(words.data());
}

/// Calls that wait for all of the device's work come and go while the kernel would stay.
TEST_F(CudaRuntimeTest, TheResidentKernelMakesRoomForWhatWaitsForTheDevice) {
  std::byte* from = filled(Payload{1});
  for (int round = 0; round < 3; ++round) {
    std::byte* to = filled(Payload{2});
    finish(runtime->copy(to, from, kSize, Stream{1}, Engine::resident));
    std::byte* more = runtime->allocate(kSize);
    runtime->copy(more, to, kSize, Stream{1}, Engine::resident);  // nobody waits for it
    finish(runtime->copy(to, more, kSize, Stream{1}, Engine::kernel));
    EXPECT_FALSE(find_difference(read(to), Payload{1}, 0));
    runtime->free(more);
    runtime->free(to);
  }
}

TEST_F(CudaRuntimeTest, CopiesOfOneStreamRunInOrderWhoeverMakesThem) {
  constexpr std::array kEngines{Engine::resident, Engine::dma, Engine::resident, Engine::kernel, Engine::resident};
  // Filled beforehand: filling waits, and what waits would put them in order.
  std::vector<std::byte*> chain{filled(Payload{1})};
  while (chain.size() <= kEngines.size()) chain.push_back(filled(Payload{2}));
  std::vector<Event> events;
  for (std::size_t i = 0; i < kEngines.size(); ++i) {
    events.push_back(runtime->copy(chain[i + 1], chain[i], kSize, Stream{2}, kEngines[i]));
  }
  finish(events.back());
  EXPECT_FALSE(find_difference(read(chain.back()), Payload{1}, 0));
  for (const Event event : std::span(events).first(events.size() - 1)) EXPECT_TRUE(runtime->ended(event));
}

TEST_F(CudaRuntimeTest, AKernelReachesPinnedButNotPageableMemory) {
  std::vector<std::byte> host(kSize.count());
  std::byte* device = filled(Payload{1});
  EXPECT_THROW(runtime->copy(host.data(), device, kSize, Stream{0}, Engine::kernel), UsageError);
  runtime->pin(host.data(), kSize);
  finish(runtime->copy(host.data(), device, kSize, Stream{0}, Engine::kernel));
  EXPECT_FALSE(find_difference(host, Payload{1}, 0));
  runtime->unpin(host.data());
  runtime->free(device);
}

TEST_F(CudaRuntimeTest, CopiesOfOneStreamRunInOrder) {
  std::byte* a = filled(Payload{1});
  std::byte* b = filled(Payload{2});
  std::byte* c = filled(Payload{3});
  const Event first = runtime->copy(b, a, kSize, Stream{4}, Engine::dma);
  finish(runtime->copy(c, b, kSize, Stream{4}, Engine::kernel));
  EXPECT_TRUE(runtime->ended(first));
  EXPECT_FALSE(find_difference(read(c), Payload{1}, 0));
}

#ifdef TWINLINK_HAS_CUDA
TEST_F(CudaRuntimeTest, WhoeverKnowsTheLastCopyOfAStreamToHaveEndedKnowsAll) {
  const std::byte* const one = filled({1});
  const std::byte* const other = filled({2});
  std::byte* const to = runtime->allocate(kSize);
  for (int round = 0; round < 100; ++round) {
    std::vector<Event> events;
    const int count = 1 + round % 4;
    const std::byte* last = nullptr;
    for (int i = 0; i < count; ++i) {
      last = (round + i) % 2 == 0 ? one : other;
      events.push_back(runtime->copy(to, last, kSize, Stream{0}, Engine::dma));
    }
    finish(events.back());  // the others have ended, too
    for (int i = 0; i + 1 < count; ++i) {
      const Event other_event = events[static_cast<std::size_t>(i)];
      if (round % 2 == 0) {
        EXPECT_TRUE(runtime->ended(other_event));
      } else {
        runtime->forget(other_event);
      }
    }
    EXPECT_EQ(read(to), read(last));
  }
}

TEST_F(CudaRuntimeTest, WhatIsLeftAtTheEndIsFreed) {
  constexpr Bytes kList = 64_MiB;  // the list of a kernel's blocks
  std::vector<Block> blocks(kList.count() / 16, {.length = 1_B});
  for (std::uint64_t i = 0; i < blocks.size(); ++i) {  // not evenly apart
    blocks[i].to = Bytes{i};
    blocks[i].from = Bytes{i + i % 3};
  }
  std::vector<std::size_t> unused;
  for (int round = 0; round < 3; ++round) {
    runtime = make_cuda_runtime(0);
    std::byte* const from = runtime->allocate(kList);
    std::byte* const to = runtime->allocate(kList);
    finish(runtime->copy_blocks(to, from, blocks, Stream{0}, Engine::kernel));
    runtime.reset();
    std::size_t all = 0;
    ASSERT_EQ(cudaMemGetInfo(&unused.emplace_back(), &all), cudaSuccess);
  }
  // The first round has also loaded the kernels.
  EXPECT_GE(unused[2] + kList.count() / 2, unused[1]);
}
#endif

#ifdef TWINLINK_HAS_CUDA
TEST_F(CudaRuntimeTest, MappedMemoryIsTheSameForBothSides) {
  MappedArray<std::uint64_t> words(3);
  EXPECT_EQ(words.here()[2], 0U);
  words.here()[0] = 5;
  std::uint64_t* const there = words.there();
  ASSERT_EQ(cudaMemcpy(there + 2, there, sizeof *there, cudaMemcpyDefault), cudaSuccess);
  KernelCounts counts;
  EXPECT_TRUE(counts.reached(words.here()[2], 5, nullptr, "a kernel"));
  EXPECT_FALSE(counts.reached(words.here()[2], 6, nullptr, "a kernel"));
  // It frees what it has had, and leaves what it has got.
  words = MappedArray<std::uint64_t>(1);
  EXPECT_EQ(words.here()[0], 0U);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(CudaRuntimeTest, MappedMemoryThatIsNotThereIsAnError) {
  EXPECT_THROW(MappedMemory(std::size_t{1} << 60), EnvironmentError);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the error must not stick";
}
#endif

TEST_F(CudaRuntimeTest, AFailingCallNamesItselfAndItsReason) {
  try {
    static_cast<void>(runtime->allocate(Bytes{std::uint64_t{1} << 60}));
    ADD_FAILURE() << "no device has an exbibyte";
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find("cudaMalloc: cudaErrorMemoryAllocation"), std::string::npos)
        << error.what();
  }
  EXPECT_NO_THROW(runtime->free(runtime->allocate(1_MiB))) << "the error must not stick";
}

std::string refusal_of(DeviceRuntime& runtime, const IpcToken& token) {
  try {
    runtime.close_memory(runtime.open_memory(token, runtime.device().uuid));
    return "it was opened";
  } catch (const EnvironmentError& error) {
    return error.what();
  }
}

/// As RealMemory would pass them on if the table of exports did not refuse them before.
TEST_F(CudaRuntimeTest, HandlesThatOpenNothingAreRefusedByName) {
  std::byte* const memory = runtime->allocate(kSize);
  const IpcToken own = runtime->export_memory(memory);
  IpcToken made_up = own;
  for (std::byte& byte : made_up) byte ^= std::byte{0x5A};
  for (const IpcToken& token : {own, made_up, IpcToken{}}) {
    EXPECT_NE(refusal_of(*runtime, token).find("cudaIpcOpenMemHandle: cudaError"), std::string::npos)
        << refusal_of(*runtime, token);
  }
  runtime->free(memory);
  EXPECT_NE(refusal_of(*runtime, own).find("cudaIpcOpenMemHandle: cudaError"), std::string::npos) << "it was released";
  EXPECT_NO_THROW(runtime->free(runtime->allocate(1_MiB))) << "the errors must not stick";
}

}  // namespace
}  // namespace twinlink::real
