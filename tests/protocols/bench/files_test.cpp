#include "protocols/bench/results/files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "protocols/core/errors.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::bench {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class Files : public testing::Test {
 protected:
  Files() { fs::create_directories(folder_ / "elsewhere"); }
  ~Files() override { fs::remove_all(folder_); }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("twinlink-files-" + std::to_string(::getpid()));
};

TEST_F(Files, LeaveNothingBesideThem) {
  write_file(folder_ / "f", "text");
  EXPECT_EQ(content_of(folder_ / "f"), "text");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2) << "the file and the folder 'elsewhere'";
}

TEST_F(Files, ThatCannotBeWrittenToTheirEndLeaveTheOldOneAndNothingElse) {
  write_file(folder_ / "f", "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit little{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  const std::string why = said_by<Error>([&] { write_file(folder_ / "f", std::string(100'000, 'x')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(why, testing::HasSubstr("File too large"));
  EXPECT_EQ(content_of(folder_ / "f"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2) << "the file and the folder 'elsewhere'";
}

TEST_F(Files, ALinkStaysALink) {
  std::ofstream(folder_ / "elsewhere/f") << "old";
  fs::create_symlink("elsewhere/f", folder_ / "link");
  fs::create_symlink("link", folder_ / "link-to-link");
  write_file(folder_ / "link-to-link", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link-to-link"));
  EXPECT_EQ(content_of(folder_ / "elsewhere/f"), "new");
}

TEST_F(Files, ALinkToNothingYetMakesItsTarget) {
  fs::create_symlink("elsewhere/f", folder_ / "link");
  write_file(folder_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(content_of(folder_ / "elsewhere/f"), "new");
}

TEST_F(Files, APipeIsWrittenTo) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  write_file(pipe, "text");
  std::array<char, 16> block{};
  EXPECT_EQ(::read(reader, block.data(), block.size()), 4);
  EXPECT_EQ(std::string(block.data()), "text");
  ::close(reader);
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(Files, ADeviceIsWrittenTo) {
  // By a link: should this fail, the machine keeps its /dev/null.
  fs::create_symlink("/dev/null", folder_ / "null");
  write_file(folder_ / "null", "text");
  EXPECT_TRUE(fs::is_character_file(folder_ / "null"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "null"));
}

TEST_F(Files, AreWritableWhereTheirTargetIs) {
  fs::create_symlink("elsewhere/f", folder_ / "good");
  fs::create_symlink("nowhere/f", folder_ / "bad");
  EXPECT_NO_THROW(require_writable(folder_ / "good"));
  EXPECT_THROW(require_writable(folder_ / "bad"), UsageError);
  std::ofstream(folder_ / "f");
  EXPECT_THROW(require_writable(folder_ / "f/g"), UsageError) << "a file is no folder";
  EXPECT_NO_THROW(require_writable(folder_ / std::string(200, 'a')));
  EXPECT_THROW(require_writable(folder_ / std::string(255, 'a')), UsageError) << "with what is beside it while written";
}

TEST_F(Files, OddBytesInJsonAreReplaced) {
  write_json_file(folder_ / "f.json", {{"command", "--set \xff=1"}});
  EXPECT_EQ(read_json_file(folder_ / "f.json")["command"], "--set \uFFFD=1");
}

}  // namespace
}  // namespace twinlink::bench
