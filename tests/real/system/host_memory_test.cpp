// What control groups leave of the host's memory: made-up folders in the place of /proc and /sys.
#include "real/system/host_memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace twinlink::real {
namespace {

namespace fs = std::filesystem;

class ControlGroups : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(root_); }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  void is_in(const std::string& lines) const { write("proc/self/cgroup", lines); }
  void version_2(const fs::path& group, const std::string& limit, const std::string& use) const {
    write("sys/fs/cgroup" / group / "memory.max", limit + "\n");
    write("sys/fs/cgroup" / group / "memory.current", use + "\n");
  }
  void version_1(const fs::path& group, const std::string& limit, const std::string& use) const {
    write("sys/fs/cgroup/memory" / group / "memory.limit_in_bytes", limit + "\n");
    write("sys/fs/cgroup/memory" / group / "memory.usage_in_bytes", use + "\n");
  }
  [[nodiscard]] std::optional<Bytes> left() const { return left_by_control_groups(root_); }

  const fs::path root_ = fs::path(testing::TempDir()) / ("control_groups_" + std::to_string(::getpid()));
};

TEST_F(ControlGroups, WithoutAnyThereIsNoLimit) {
  EXPECT_EQ(left(), std::nullopt);
  is_in("0::/\n");
  EXPECT_EQ(left(), std::nullopt);
  version_2("", "max", "5000");
  EXPECT_EQ(left(), std::nullopt);
  EXPECT_GT(host_memory(root_), 64_MiB);
}

TEST_F(ControlGroups, ALowerLimitIsTheHostsMemory) {
  is_in("0::/job/rank\n");
  version_2("job/rank", "1048576", "48576");
  EXPECT_EQ(left(), 1'000'000_B);
  EXPECT_EQ(host_memory(root_), 1'000'000_B);
}

TEST_F(ControlGroups, AHigherLimitIsNot) {
  const Bytes all = host_memory(root_);
  is_in("3:cpu,cpuacct:/\n2:memory:/\n");
  version_1("", "9223372036854771712", "5000");  // what version 1 says where there is none
  EXPECT_EQ(host_memory(root_), all);
}

TEST_F(ControlGroups, TheTightestOfAllAboveDecides) {
  is_in("0::/job/rank\n");
  version_2("job/rank", "9000", "1000");
  version_2("job", "10000", "4000");
  version_2("", "max", "100000");
  EXPECT_EQ(left(), 6000_B);
}

TEST_F(ControlGroups, OfVersion1HaveTheControllerOfMemory) {
  is_in("7:cpu:/other\n5:hugetlb,memory:/job\n0::/unified\n");
  version_1("job", "9000", "1000");
  version_1("other", "5000", "1000");
  EXPECT_EQ(left(), 8000_B);
}

TEST_F(ControlGroups, OfBothVersionsTheTighterOneDecides) {
  is_in("5:memory:/job\n0::/unified\n");
  version_1("job", "9000", "1000");
  version_2("unified", "7000", "2000");
  EXPECT_EQ(left(), 5000_B);
  version_2("unified", "70000", "2000");
  EXPECT_EQ(left(), 8000_B);
}

TEST_F(ControlGroups, OfAContainerAreAtTheTopWhateverTheirName) {
  is_in("5:memory:/docker/0123\n");
  version_1("", "9000", "1000");
  EXPECT_EQ(left(), 8000_B);
}

TEST_F(ControlGroups, FilesThatTheSystemCanDropAreNotUsed) {
  is_in("0::/\n");
  version_2("", "9000", "7000");
  write("sys/fs/cgroup/memory.stat", "anon 1000\nfile 6000\ninactive_file 5000\nactive_file 1000\n");
  EXPECT_EQ(left(), 7000_B);
  write("sys/fs/cgroup/memory.stat", "inactive_file 8000\n");
  EXPECT_EQ(left(), 9000_B);
}

TEST_F(ControlGroups, MoreInUseThanAllowedLeavesNothing) {
  is_in("0::/\n");
  version_2("", "9000", "9500");
  EXPECT_EQ(left(), 0_B);
}

}  // namespace
}  // namespace twinlink::real
