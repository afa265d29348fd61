#include "protocols/cuda_ipc/cuda_ipc_options.hpp"

#include <gtest/gtest.h>

#include "protocols/core/options.hpp"
#include "protocols/registry.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/explore/explorer/fake_world.hpp"

namespace twinlink {
namespace {

const Protocol& protocol() { return find_protocol("cuda-ipc"); }

CudaIpcOptions options_with(std::string_view name, std::string_view value) {
  Settings settings = protocol().defaults();
  set_option(protocol(), settings, name, value);
  return read_cuda_ipc_options(protocol(), settings);
}

TEST(CudaIpcOptions, DefaultsAreThoseOfSmcuda) {
  const CudaIpcOptions options = read_cuda_ipc_options(protocol(), protocol().defaults());
  EXPECT_EQ(options.fidelity, handshake::Fidelity::design);
  EXPECT_TRUE(options.use_ipc);
  EXPECT_EQ(options.cache, 0U);
  EXPECT_EQ(options.eviction, Eviction::lru);
  EXPECT_EQ(options.eager, 256_B);
  EXPECT_FALSE(options.late);
  EXPECT_FALSE(options.sees_own_alone);
  EXPECT_EQ(options.payload, 128_KiB - 32_B);
  EXPECT_EQ(options.fragments, 3);
}

TEST(CudaIpcOptions, ChoicesAreReadByTheirNames) {
  for (const handshake::Fidelity fidelity : handshake::kFidelities) {
    EXPECT_EQ(options_with("fidelity", to_string(fidelity)).fidelity, fidelity);
  }
  EXPECT_EQ(options_with("eviction", "openmpi").eviction, Eviction::openmpi);
  EXPECT_TRUE(options_with("start", "late").late);
  EXPECT_TRUE(options_with("visible", "own").sees_own_alone);
  EXPECT_EQ(options_with("cache", "7").cache, 7U);
  EXPECT_EQ(options_with("eager", "1K").eager, 1_KiB);
}

TEST(CudaIpcOptions, OpenMpi5ClosesSmcudaWhereCudaIsNotInUseWhenMpiBegins) {
  for (const handshake::Fidelity fidelity : handshake::kFidelities) {
    Settings settings = protocol().defaults();
    set_option(protocol(), settings, "fidelity", to_string(fidelity));
    EXPECT_FALSE(read_cuda_ipc_options(protocol(), settings).closed) << to_string(fidelity);
    set_option(protocol(), settings, "start", "late");
    EXPECT_EQ(read_cuda_ipc_options(protocol(), settings).closed, fidelity == handshake::Fidelity::openmpi_5);
    EXPECT_EQ(protocol().cuts_messages(settings), fidelity == handshake::Fidelity::openmpi_5);
  }
}

/// Counts what is asked of the driver.
class AskedForAccess final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Answer check_peer_access(RankId peer) override { return ++asked_, DecoratedRank::check_peer_access(peer); }
  [[nodiscard]] int asked() const { return asked_; }

 private:
  int asked_ = 0;
};

TEST(CudaIpc, NeverAsksForPeerAccessWhereEachRankSeesItsOwnGpuAlone) {
  for (const char* visible : {"all", "own"}) {
    run_fake_world({}, [&](MeasuredRank& plain) {
      AskedForAccess rank(plain);
      Settings settings = protocol().defaults();
      set_option(protocol(), settings, "visible", visible);
      const bool sends = rank.id().value == 0;
      const View message(rank.allocate(Memory::device, 64_KiB, Locality::near));
      const auto channel = protocol().connect(rank, RankId{sends ? 1 : 0}, settings);
      for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE((sends ? channel->send(message) : channel->receive(message)).ok());
      }
      EXPECT_TRUE(channel->path_taken().starts_with("CUDA IPC")) << channel->path_taken();
      EXPECT_EQ(rank.asked(), sends || visible == std::string_view("own") ? 0 : 1) << visible;
    });
  }
}

TEST(CudaIpc, CannotRunWithoutPeerAccessWhereItWouldNotAsk) {
  run_fake_world({.peer_access = false}, [&](MeasuredRank& rank) {
    Settings settings = protocol().defaults();
    set_option(protocol(), settings, "visible", "own");
    EXPECT_THROW(static_cast<void>(protocol().connect(rank, RankId{1 - rank.id().value}, settings)), UnavailableError);
  });
}

TEST(CudaIpcOptions, UsersKnowThemByTheNamesOfOpenMpi) {
  EXPECT_FALSE(options_with("btl_smcuda_use_cuda_ipc", "0").use_ipc);
  EXPECT_EQ(options_with("btl_smcuda_cuda_max_send_size", "64K").payload, 64_KiB - 32_B);
  EXPECT_EQ(options_with("pml_ob1_send_pipeline_depth", "5").fragments, 5);
  EXPECT_THROW(options_with("btl_smcuda_use_cuda_ipc", "yes"), UsageError);
}

TEST(CudaIpcOptions, AFragmentHasRoomBesideItsHeader) {
  const auto payload = [](Bytes chunk) {
    return read_cuda_ipc_options(protocol(), {.chunk = chunk, .depth = 3}).payload;
  };
  EXPECT_EQ(payload(0_B), 128_KiB - 32_B);
  EXPECT_EQ(payload(33_B), 1_B);
  EXPECT_THROW(payload(32_B), UsageError);
  EXPECT_THROW(payload(1_B), UsageError);
}

TEST(CudaIpcOptions, AnEagerMessageFitsIntoOneFragment) {
  EXPECT_EQ(read_cuda_ipc_options(protocol(), {.chunk = 100_B, .depth = 3}).eager, 68_B);
}

TEST(CudaIpcOptions, PresetsAreComplete) {
  for (const Preset& preset : protocol().presets()) {
    const CudaIpcOptions options = read_cuda_ipc_options(protocol(), preset.settings);
    EXPECT_EQ(to_string(options.fidelity), preset.name);
    EXPECT_EQ(options.eviction, Eviction::openmpi);
  }
}

}  // namespace
}  // namespace twinlink
