#include "protocols/bench/results/files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

#include <nlohmann/json.hpp>

#include "protocols/bench/results/unpack.hpp"
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
  int parts = 0;
  const auto write_parts = [&](const Part& part) {
    while (++parts < 3) {
      part(std::string(100'000, 'x'));
      errno = ENOENT;  // as what makes the next one may
    }
  };
  const std::string why_not_part = said_by<Error>([&] { write_file(folder_ / "f", write_parts); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(why, testing::HasSubstr("File too large"));
  EXPECT_THAT(why_not_part, testing::HasSubstr("File too large"));
  EXPECT_EQ(parts, 1) << "the others are not made";
  EXPECT_EQ(content_of(folder_ / "f"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2) << "the file and the folder 'elsewhere'";
}

/// '{"a": 1}' and a line end, by gzip.
std::string packed() {
  constexpr std::array<unsigned char, 29> kPacked{0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                                  0xab, 0x56, 0x4a, 0x54, 0xb2, 0x52, 0x30, 0xac, 0xe5, 0x02,
                                                  0x00, 0xfa, 0xa1, 0x47, 0x5c, 0x09, 0x00, 0x00, 0x00};
  return {kPacked.begin(), kPacked.end()};
}

TEST_F(Files, WhoseNextPartIsNotToBeHadLeaveTheOldOneAndNothingElse) {
  write_file(folder_ / "f", "old");
  const auto half = [](const Part& part) {
    part("new");
    throw InputError("no more of it");
  };
  EXPECT_THROW(write_file(folder_ / "f", half), InputError);
  EXPECT_EQ(content_of(folder_ / "f"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2) << "the file and the folder 'elsewhere'";
}

TEST_F(Files, ThatGzipHasPackedAreReadAsWhatIsInThem) {
  const auto read = [&](const std::string& content) {
    std::ofstream(folder_ / "f.gz", std::ios::binary) << content;
    return read_file(folder_ / "f.gz");
  };
  EXPECT_EQ(read(packed()), "{\"a\": 1}\n");
  EXPECT_EQ(read_json_file(folder_ / "f.gz").at("a"), 1);
  EXPECT_EQ(read(packed() + packed()), "{\"a\": 1}\n{\"a\": 1}\n") << "one behind the other";
  EXPECT_EQ(read("\x1f"), "\x1f") << "too short to be packed";
  const auto refusal = [&](const std::string& content) { return said_by<InputError>([&] { read(content); }); };
  EXPECT_THAT(refusal(packed().substr(0, 20)), testing::EndsWith("f.gz: error: what gzip has packed is cut off"));
  std::string damaged = packed();
  damaged[12] = static_cast<char>(~damaged[12]);
  EXPECT_THAT(refusal(damaged), testing::EndsWith("what gzip has packed is damaged"));
  EXPECT_THAT(refusal(packed() + "more"), testing::EndsWith("what gzip has packed is damaged"));
  EXPECT_THAT(said_by<InputError>([&] {
                std::ofstream(folder_ / "f.gz", std::ios::binary) << packed().substr(0, 20);
                read_json_file(folder_ / "f.gz");
              }),
              testing::EndsWith("is cut off"));
}

TEST_F(Files, ThatWouldGrowBeyondABoundAreRefused) {
  const auto read = [](std::uint64_t most) {
    const auto stream = unpacked(std::make_unique<std::istringstream>(packed()), "f.gz", most);
    return std::string{std::istreambuf_iterator<char>(*stream), {}};
  };
  EXPECT_EQ(read(9).size(), 9U);
  EXPECT_EQ(said_by<InputError>([&] { read(8); }), "f.gz: error: unpacked it is longer than 8 B");
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
