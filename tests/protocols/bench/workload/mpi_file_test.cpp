// Files of recorded programs: what is read, what is cut, and what is wrong with a folder of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "protocols/bench/workload/recorded/mpi_file.hpp"
#include "protocols/core/errors.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::bench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using workloads::goal::mpi::Call;
using workloads::goal::mpi::End;
using workloads::goal::mpi::Kind;

std::string frame(const std::string& calls) {
  return std::string(1, static_cast<char>(calls.size())) + std::string(3, '\0') + calls;
}

struct Taken {
  std::vector<Call> calls{};
  std::uint64_t left = 0;
};
Taken taken(const std::string& bytes) {
  Taken all;
  std::istringstream stream(bytes);
  all.left = read_mpi_calls(stream, "a.mpi", [&](const Call& call) { all.calls.push_back(call); });
  return all;
}
std::string why_not(const std::string& bytes) {
  return said_by<InputError>([&] { taken(bytes); });
}

// A send of 300 bytes (0x80 * 2 + 0x2c) with tag 6 to place 2 of communicator 0, 5 ns after the call before, for 9 ns.
const std::string kSend{"\x02\x05\x09\x00\x03\x07\xac\x02", 8};
// A receive of GPU memory with a request, in thread 1; and a wait for it: 12 bytes with tag 1 from place 0.
const std::string kReceive{"\xe3\x01\x05\x09\x00", 5};
const std::string kWait{"\x06\x05\x09\x01\x01\x01\x01\x02\x0c", 9};

TEST(MpiFile, CallsAreNumbersOfSevenBits) {
  const Taken all = taken(frame(kSend + kReceive) + frame(kWait));
  EXPECT_EQ(all.left, 0U);
  ASSERT_EQ(all.calls.size(), 3U);
  EXPECT_EQ(all.calls[0].kind, Kind::send);
  EXPECT_EQ(all.calls[0].gap, 5U);
  EXPECT_EQ(all.calls[0].took, 9U);
  EXPECT_EQ(all.calls[0].peer, 3U);
  EXPECT_EQ(all.calls[0].tag, 7U);
  EXPECT_EQ(all.calls[0].bytes, 300U);
  EXPECT_TRUE(all.calls[1].requested && all.calls[1].of_device);
  EXPECT_EQ(all.calls[1].thread, 1U);
  ASSERT_EQ(all.calls[2].ended.size(), 1U);
  EXPECT_EQ(all.calls[2].ended[0].request, 0U);
  EXPECT_EQ(all.calls[2].ended[0].how, End::received);
  EXPECT_EQ(all.calls[2].ended[0].bytes, 12U);
}

TEST(MpiFile, OfWhatIsCutTheWholeFramesAreTaken) {
  const std::string whole = frame(kSend) + frame(kSend);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Taken all = taken(whole.substr(0, length));
    EXPECT_EQ(all.calls.size(), length < whole.size() / 2 ? 0U : 1U);
    EXPECT_EQ(all.left, length % (whole.size() / 2));
  }
}

TEST(MpiFile, WhatNoRecorderWritesIsRefused) {
  EXPECT_THAT(why_not(frame(kSend.substr(0, 5))), HasSubstr("a.mpi: error: damaged in the frame at byte 0: record"));
  EXPECT_THAT(why_not(frame(kSend) + frame("\x0a\x01\x01")), HasSubstr("at byte 12"));
  EXPECT_THAT(why_not(frame(std::string(1, '\x07') + std::string(11, '\xff'))), HasSubstr("damaged"));
  EXPECT_THAT(why_not(frame(kWait)), HasSubstr("waits for a request that is not there"));
  EXPECT_THAT(why_not(frame(kReceive + "\x06\x01\x01\x01\x01\x03")), HasSubstr("damaged")) << "no such end";
  EXPECT_THAT(why_not(frame(std::string("\x05\x01\x01\x00\x7f\x00\x00\x00", 8))), HasSubstr("damaged"))
      << "no such one";
  EXPECT_THAT(why_not(frame("\x01\x01\x01\x7f")), HasSubstr("damaged")) << "a name longer than the frame";
}

class MpiFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void write(const std::string& name, const std::string& heading) {
    std::ofstream(folder_ / name, std::ios::binary) << heading << "\n" << frame(kSend);
  }
  [[nodiscard]] std::string refusal() const {
    return said_by<InputError>([&] { read_mpi_job(folder_); });
  }
  fs::path folder_ = fs::path(::testing::TempDir()) / "twinlink-mpi-folder";
};

TEST_F(MpiFolder, RanksComeFromTheHeadings) {
  write("x.mpi", "twinlink-mpi 1 ab 1 2 host 700");
  write("y.mpi", "twinlink-mpi 1 ab 0 2 host 600");
  const auto ranks = read_mpi_job(folder_);
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].begins, 600U);
  for (int again = 0; again < 2; ++again) {
    int calls = 0;
    ranks[1].each([&](const Call& /*call*/) { ++calls; });
    EXPECT_EQ(calls, 1);
  }
}

TEST_F(MpiFolder, WhatIsNotOneJobIsRefused) {
  EXPECT_THAT(refusal(), HasSubstr("no file of a rank"));
  write("rank0.mpi", "twinlink-mpi 1 ab 0 2 host 600");
  EXPECT_THAT(refusal(), HasSubstr("rank 1 of 2 has no file: copy it here"));
  write("rank1.mpi", "twinlink-mpi 1 cd 1 2 host 600");
  EXPECT_THAT(refusal(), HasSubstr("rank1.mpi: error: it is of another run than"));
  write("rank1.mpi", "twinlink-mpi 1 ab 0 2 host 600");
  EXPECT_THAT(refusal(), HasSubstr("it is of rank 0, and so is"));
  write("rank1.mpi", "twinlink-mpi 2 ab 1 2 host 600");
  EXPECT_THAT(refusal(), HasSubstr("its form is number 2, and this program knows 1"));
  write("rank1.mpi", "{}");
  EXPECT_THAT(refusal(), HasSubstr("no recording of MPI"));
  for (const char* const heading :
       {"twinlink-mpi 1 ab", "twinlink-mpi 1 ab 2 2 host 600", "twinlink-mpi 1 ab x 2 host 6"}) {
    write("rank1.mpi", heading);
    EXPECT_THAT(refusal(), HasSubstr("its heading is damaged"));
  }
}

}  // namespace
}  // namespace twinlink::bench
