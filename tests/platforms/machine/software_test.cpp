// Which GPUDirect the versions on the nodes have: what NVIDIA's technical note and the Keeneland page say.
#include "platforms/machine/software.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/reader/platform_reader.hpp"
#include "platforms/topology/topology.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::HasSubstr;

Software cuda(const char* version, const char* kernel = nullptr, bool patch = false, bool interop = false) {
  Software software{.cuda = parse_version(version), .kernel_patch = patch, .nic_interop = interop};
  if (kernel != nullptr) software.kernel = parse_version(kernel);
  return software;
}

TEST(Versions, AreComparedNumberByNumber) {
  EXPECT_LT(parse_version("2.6.18"), parse_version("2.6.32-220.el6.x86_64"));
  EXPECT_LT(parse_version("4.0"), parse_version("4.1"));
  EXPECT_LT(parse_version("9.2"), parse_version("10.0"));
  EXPECT_EQ(parse_version("4"), parse_version("4.0"));
  EXPECT_LT(parse_version("4.0"), parse_version("4.0.1"));
  EXPECT_GT(parse_version("270.41.19"), parse_version("270.41"));
  EXPECT_TRUE(cuda("4").peer_access());
  for (const char* wrong : {"", ".", "4.", "x", "4.x", "-1", "4..1"}) EXPECT_FALSE(parse_version(wrong)) << wrong;
}

/// "GPUDirect v1 was released with CUDA 3.1 and required both a kernel patch and setting CUDA_NIC_INTEROP=1."
TEST(SharedBuffers, BeginWithCuda31APatchAndAVariable) {
  EXPECT_THAT(cuda("3.0", "2.6.32", true, true).shared_buffers().reason, HasSubstr("it began with 3.1"));
  EXPECT_THAT(cuda("3.1", "2.6.32", false, true).shared_buffers().reason, HasSubstr("kernel patch"));
  EXPECT_THAT(cuda("3.1", "2.6.32", true, false).shared_buffers().reason, HasSubstr("CUDA_NIC_INTEROP=1"));
  EXPECT_TRUE(cuda("3.1", "2.6.32", true, true).shared_buffers());
}

/// "As of CUDA 4.0, the kernel patch is no longer necessary with kernels from 2.6.18 on."
TEST(SharedBuffers, NeedNoPatchFromCuda40OnANewerKernel) {
  EXPECT_TRUE(cuda("4.0", "2.6.18", false, true).shared_buffers());
  EXPECT_THAT(cuda("4.0", "2.6.9", true, true).shared_buffers().reason, HasSubstr("2.6.9 is older than 2.6.18"));
  EXPECT_THAT(cuda("4.0", "2.6.18").shared_buffers().reason, HasSubstr("the rule only from 4.1"));
}

/// "From CUDA 4.1 onwards the behaviour of CUDA_NIC_INTEROP=1 is the default."
TEST(SharedBuffers, AreTheRuleFromCuda41) {
  EXPECT_TRUE(cuda("4.1", "2.6.18").shared_buffers());
  EXPECT_TRUE(cuda("12.4").shared_buffers());
  EXPECT_TRUE(Software{}.shared_buffers()) << "what nobody said is new enough";
}

/// The page's `compatible_driver`, and "GPUDirect v2 was first released with CUDA 4.0".
TEST(PeerAccess, BeginsWithCuda40AndItsDriver) {
  EXPECT_THAT(cuda("3.2").peer_access().reason, HasSubstr("CUDA 3.2 has no peer-to-peer access"));
  EXPECT_TRUE(cuda("4.0").peer_access());
  Software old = cuda("4.0");
  old.driver = parse_version("260.19.26");
  EXPECT_THAT(old.peer_access().reason, HasSubstr("driver 260.19.26"));
}

/// GPUDirect v3 "requires CUDA 5.0", which the page's machines did not have.
TEST(GpuDirectRdma, BeginsWithCuda50) {
  EXPECT_THAT(cuda("4.2").rdma().reason, HasSubstr("CUDA 4.2 has no GPUDirect RDMA: it began with 5.0"));
  EXPECT_TRUE(cuda("5.0").rdma());
  Software old = cuda("5.0");
  old.driver = parse_version("295.41");
  EXPECT_THAT(old.rdma().reason, HasSubstr("driver 295.41 has no GPUDirect RDMA"));
}

/// "A CUDA-aware MPI implementation (at least mvapich2 v1.8 or openmpi 1.7)."
TEST(CudaAwareMpi, BeginsWithMvapich218AndOpenMpi17) {
  const auto aware = [](const char* mpi) { return Software{.mpi = mpi}.cuda_aware_mpi(); };
  EXPECT_TRUE(aware("mvapich2 1.8"));
  EXPECT_TRUE(aware("mvapich2-1.8"));
  EXPECT_FALSE(aware("mvapich2-1.7"));
  EXPECT_FALSE(aware("mvapich2-1.7-a2")) << "a version with a sign of its own";
  EXPECT_TRUE(aware("openmpi 1.7"));
  EXPECT_THAT(aware("mvapich2 1.7").reason, HasSubstr("mvapich2 1.7 takes no device pointers"));
  EXPECT_FALSE(aware("MVAPICH2 1.7"));
  EXPECT_THAT((Software{.cuda = parse_version("3.2"), .mpi = "openmpi 1.7"}).cuda_aware_mpi().reason,
              HasSubstr("Open MPI needs"));
  EXPECT_THAT(aware("openmpi 1.6.5").reason, HasSubstr("that began with 1.7"));
}

Platform kids(const std::vector<std::string>& overrides) {
  return read_platform(std::filesystem::path(TWINLINK_SOURCE_DIR) / "platforms" / "keeneland-kids.yaml", overrides);
}

TEST(SoftwareOfAPlatform, DecidesOnItsPathsWithTheReason) {
  const std::vector<std::string> old{"software.cuda=3.2", "software.kernel=2.6.18"};
  const Platform platform = kids(old);
  const Topology topology(platform);
  EXPECT_THAT(topology.path({0, 0, {}}, {1, 0, {}}).shared_buffers.reason, HasSubstr("kernel patch"));
  EXPECT_TRUE(topology.path({0, 0, {}}, {0, 1, {}}).shared_buffers) << "no adapter within a node";
  EXPECT_THAT(topology.path({0, 1, {}}, {0, 2, {}}).peer_access.reason, HasSubstr("CUDA 3.2"));
  EXPECT_TRUE(Topology(kids({})).path({0, 1, {}}, {0, 2, {}}).peer_access);
}

TEST(SoftwareOfAPlatform, IsRefusedWhereItIsNoVersion) {
  EXPECT_THROW(kids({"software.cuda=new"}), InputError);
  EXPECT_THROW(kids({"software.mpi=mvapich2"}), InputError);
  EXPECT_THROW(kids({"software.cude=4.1"}), Error);
  for (const std::string library : {"openmpi-4.1.6-rc2", "mvapich2-1.8-a2", "mvapich2-gdr-2.3.7"}) {
    EXPECT_EQ(kids({"software.mpi=" + library}).software.mpi, library);
  }
}

}  // namespace
}  // namespace twinlink::platforms
