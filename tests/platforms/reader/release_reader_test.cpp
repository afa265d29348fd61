// Releases of NCCL: found by name, read whole, and refused with all that is wrong.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/release_reader.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::platforms {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST(Releases, AllOfThemCanBeRead) {
  const std::vector<std::string> names = release_names();
  EXPECT_THAT(names, Contains("nccl-2.28"));
  for (const std::string& name : names) {
    const auto release = find_release(name);
    EXPECT_EQ(release->name, name);
    for (const auto* speeds : {&release->speeds_within, &release->speeds_between}) {
      for (const auto& [capability, tried] : *speeds) {
        EXPECT_TRUE(std::ranges::is_sorted(tried, std::greater{})) << name << ", " << capability;
      }
    }
  }
  EXPECT_EQ(find_release("")->name, names.back());
}

/// Some of src/graph/tuning.cc, topo.h and paths.cc at v2.28.9-1.
TEST(Releases, HaveWhatTheSourceSays) {
  const auto release = find_release("nccl-2.28");
  using enum gpu::LineFormat;
  EXPECT_NEAR(release->base.tree.at(ll).microseconds(), 6.8, 1e-9);
  EXPECT_NEAR(release->over_links.ring.at(ll128).microseconds(), 1.9, 1e-9);
  EXPECT_NEAR(release->over_pcie.ring.at(simple).microseconds(), 5.7, 1e-9);
  EXPECT_NEAR(release->network_overhead_amd.microseconds(), 2, 1e-9);
  EXPECT_EQ(release->ll[3][1], Rate{90e9});
  EXPECT_EQ(release->tree[2][1], Rate{41.4e9});
  EXPECT_EQ(release->link.at(90), Rate{20.6e9});
  EXPECT_EQ(release->sockets.at(Cpu::amd), Rate{16e9});
  EXPECT_DOUBLE_EQ(release->tree_share[1][9], 0.7);
  EXPECT_EQ(release->p2p, Level::pxb);
  EXPECT_EQ(find_release("nccl-2.30")->ring_ll128[3][0], Rate{40e9}) << "and 73.4 GB/s in 2.28";
}

/// Of capability 86 none knows that LL128 is whole but the newer ones; a switch got five sixths, whoever read; and
/// releases for CUDA 11 run on Kepler.
TEST(Releases, DifferInWhatTheyTake) {
  EXPECT_EQ(release_names().size(), 5U);
  for (const std::string& name : release_names()) {
    const auto release = find_release(name);
    const bool new_one = release->ll128_on.empty();
    EXPECT_EQ(release->oldest, new_one ? 60 : 35) << name;
    EXPECT_EQ(release->switch_flat > 0, !new_one) << name;
    EXPECT_EQ(release->most_channels, name < "nccl-2.26" ? 32 : 64) << name;
    EXPECT_EQ(release->in_cells, name > "nccl-2.21") << name;
    EXPECT_GT(release->switched, Seconds{}) << name;
  }
  EXPECT_NEAR(find_release("nccl-2.21")->over_links.tree.at(gpu::LineFormat::simple).microseconds(), 28, 1e-9);
  EXPECT_DOUBLE_EQ(find_release("nccl-2.21")->alone_ll128, 0.7);
  EXPECT_EQ(find_release("nccl-2.21")->p2p_on.at(Cpu::power), Level::sys);
  EXPECT_EQ(find_release("nccl-2.26")->ring_ll128[3][1], Rate{73.4e9}) << "and 34.6 GB/s in 2.28";
}

TEST(Releases, AreComparedTableByTable) {
  EXPECT_TRUE(difference_of_releases("nccl-2.28", "nccl-2.28").empty());
  std::map<std::string, std::pair<std::string, std::string>> found;
  for (const TableDifference& each : difference_of_releases("nccl-2.28", "nccl-2.30"))
    found[each.path] = {each.a, each.b};
  EXPECT_THAT(found.at("bandwidths.ring_ll128").first, HasSubstr("[73.4 GB/s, 34.6 GB/s, 73.4 GB/s]"));
  EXPECT_THAT(found.at("bandwidths.ring_ll128").second, HasSubstr("[40 GB/s, 40 GB/s, 40 GB/s]"));
  EXPECT_EQ(found.at("channels.ll_by_most"), std::pair(std::string("true"), std::string()));
  EXPECT_FALSE(found.contains("latencies.base.ring")) << "only their lines differ";
}

TEST(Releases, APlatformNamesItsOwn) {
  const fs::path platform = fs::path(TWINLINK_SOURCE_DIR) / "platforms/hgx-h100.yaml";
  EXPECT_EQ(read_platform(platform).release->name, release_names().back());
  const std::vector<std::string> set{"ccl=nccl-2.28"};
  EXPECT_EQ(read_platform(platform, set).release->name, "nccl-2.28");
  const std::vector<std::string> unknown{"ccl=nccl-1.3"};
  EXPECT_THAT(said_by<InputError>([&] { read_platform(platform, unknown); }),
              HasSubstr("there is no release 'nccl-1.3' (there are: "));
}

TEST(Releases, AreRefusedWithAllThatIsWrong) {
  std::ostringstream good;
  good << std::ifstream(fs::path(TWINLINK_SOURCE_DIR) / "platforms/parts/ccl/nccl-2.28.yaml").rdbuf();
  const fs::path file = fs::path(::testing::TempDir()) / "release.yaml";
  const auto refusal = [&](const std::string& what, const std::string& instead) {
    std::string text = good.str();
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    std::ofstream(file) << text.replace(at, what.size(), instead);
    return said_by<InputError>([&] { find_release(file.string()); });
  };
  EXPECT_THAT(refusal("[6.8 us, 14 us, 8.4 us]", "[6.8 us, 14 us]"), HasSubstr("a list of 3 is expected"));
  EXPECT_THAT(refusal("[6.8 us, 14 us, 8.4 us]", "[6.8 us, 14 us, much]"), HasSubstr("much"));
  EXPECT_THAT(refusal("p2p: {value: PXB", "p2p: {value: NEAR"), HasSubstr("'NEAR' is no level"));
  EXPECT_THAT(refusal("100 %, 90 %", "100 %, 190 %"), HasSubstr("no share from 0 % to 100 %"));
  EXPECT_THAT(refusal("100 %, 90 %", "100 %, 0 %"), HasSubstr("'tree_share': a tree gets something"));
  EXPECT_THAT(refusal("worth: {value: [4096 B", "worth: {value: [0 B"),
              HasSubstr("a channel is worth a byte at least"));
  EXPECT_THAT(refusal("most: {value: 64", "most: {value: 65"), HasSubstr("there are 64 channels at the most"));
  EXPECT_THAT(refusal("  pcie3_x16:", "  pcie9:"), HasSubstr("missing key 'pcie3_x16'"));
  EXPECT_THAT(refusal(", datasheet: \"v2.28.9-1 src/graph/paths.cc:319\"", ""), HasSubstr("needs one source"));
  EXPECT_THAT(refusal("name: nccl-2.28", "name: nccl-2.28\nother: 1"), HasSubstr("unknown key 'other'"));
}

}  // namespace
}  // namespace twinlink::platforms
