// What the environment block of a measured result says, of three ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "real/job/environment.hpp"
#include "tests/real/rank/device_mock.hpp"
#include "tests/real/system/mpi_session.hpp"

namespace twinlink::real {
namespace {

using nlohmann::json;

TEST(EnvironmentBlock, TellsOfEveryRankAndPair) {
  testing::NiceMock<DeviceMock> device(mpi->rank());
  ON_CALL(device, versions).WillByDefault(testing::Return(std::map<std::string, std::string>{{"driver", "1.2"}}));
  Neighbours neighbours;
  for (int rank = 0; rank < 3; ++rank) {
    DeviceInfo info{.name = "device " + std::to_string(rank),
                    .pci_bus_id = "bus " + std::to_string(rank),
                    .capability_major = 7 + rank,
                    .capability_minor = 1,
                    .unified_addressing = rank > 0,
                    .memory = Bytes{100 + static_cast<std::uint64_t>(rank)}};
    info.uuid.back() = std::byte(rank);
    neighbours.ranks.push_back({.host = rank < 2 ? "a" : "b", .device = info});
    neighbours.places.push_back({.node = rank / 2, .gpu = rank % 2});
  }
  neighbours.peer_access = {{"", "", "apart"}, {"", "", "apart"}, {"far", "apart", ""}};
  const Numa numa("emulated:00");
  for (const char* variable : {"OMPI_MCA_btl", "OMPI_MCA_orte_made_up"}) ::setenv(variable, "a=b", 1);
  // The date and the command are rank 0's, whatever the others have.
  const json block = describe_environment(*mpi, device, neighbours, numa, "run \xff");
  EXPECT_EQ(block.at("command"), "run \uFFFD");
  EXPECT_EQ(block.at("date").get<std::string>().size(), iso_8601(0).size());
  EXPECT_EQ(block.at("versions").at("driver"), "1.2");
  EXPECT_EQ(block.at("versions").at("mpi"), mpi_library_version());
  EXPECT_EQ(block.at("cuda_aware_mpi"), mpi_reads_cuda_memory().yes);
  EXPECT_EQ(block.at("emulated_devices"), true);
  EXPECT_EQ(block.at("peer_access"),
            (json{{"self", "yes", "apart"}, {"yes", "self", "apart"}, {"far", "apart", "self"}}));
  EXPECT_EQ(block.at("mpi_parameters").at("btl"), "a=b");
  for (const auto& [name, value] : block.at("mpi_parameters").items()) {
    EXPECT_FALSE(name.starts_with("orte") || name.starts_with("ess") || name.starts_with("pmix")) << name;
  }
  ASSERT_EQ(block.at("ranks").size(), 3U);
  for (int rank = 0; rank < 3; ++rank) {
    const json& entry = block.at("ranks").at(static_cast<std::size_t>(rank));
    EXPECT_EQ(entry.at("host"), rank < 2 ? "a" : "b");
    EXPECT_EQ(entry.at("place"), rank == 0 ? "0/0" : rank == 1 ? "0/1" : "1/0");
    EXPECT_EQ(entry.at("local_rank"), rank);
    EXPECT_TRUE(entry.at("kernel").get<std::string>().starts_with("Linux "));
    EXPECT_EQ(entry.at("cpu_binding"), numa.cpu_binding());
    EXPECT_EQ(entry.at("bind"), "not asked for");
    EXPECT_EQ(entry.at("numa_domains"), numa.domains());
    EXPECT_EQ(entry.at("device"), (json{{"name", "device " + std::to_string(rank)},
                                        {"uuid", "GPU-00000000-0000-0000-0000-00000000000" + std::to_string(rank)},
                                        {"pci_bus_id", "bus " + std::to_string(rank)},
                                        {"compute_capability", std::to_string(7 + rank) + ".1"},
                                        {"unified_addressing", rank > 0},
                                        {"memory_bytes", 100 + rank}}));
  }
}

}  // namespace
}  // namespace twinlink::real
