// What launchers put before lines, whose files these are, and where messages lay.
#include "validate/import/launcher_text.hpp"

#include <sstream>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "validate/import/buffers.hpp"
#include "validate/import/import.hpp"

namespace twinlink::validate {
namespace {

using ::testing::ElementsAre;

TEST(LauncherText, IsTakenOffAndNothingElseIs) {
  for (const auto& [line, left] :
       std::vector<std::pair<std::string, std::string>>{{"1 8.01", "1 8.01"},
                                                        {" \t1 8.01 ", "1 8.01 "},
                                                        {"1 8.01\r", "1 8.01"},
                                                        {"[1,0]<stdout>:1 8.01", "1 8.01"},
                                                        {"  [1,0]<stderr>: x", "x"},
                                                        {"[1,mpirank:0,algo-1]<stdout>:x", "x"},
                                                        {"[1,0]<stdlog>:x", "[1,0]<stdlog>:x"},
                                                        {"[1,0]x", "[1,0]x"},
                                                        {"[0] x", "x"},
                                                        {"[0]x", "[0]x"},
                                                        {"[12]", ""},
                                                        {"[node01:0] x", "x"},
                                                        {"[node01:0:7] x", "x"},
                                                        {"[node01:] x", "[node01:] x"},
                                                        {"[node01:a] x", "[node01:a] x"},
                                                        {"[node01] x", "[node01] x"},
                                                        {"[a b:0] x", "[a b:0] x"},
                                                        {"[] x", "[] x"},
                                                        {"[[0] x", "[[0] x"},
                                                        {"x [0] y", "x [0] y"},
                                                        {"[0 x", "[0 x"},
                                                        {"0: x", "x"},
                                                        {" 12: x", "x"},
                                                        {"123456: x", "x"},
                                                        {"1234567: x", "1234567: x"},
                                                        {"0:x", "0:x"},
                                                        {"0:", ""},
                                                        {": x", ": x"},
                                                        {"0 x", "0 x"},
                                                        {"2026-11-26T10:20:30.123456Z x", "x"},
                                                        {"2026-11-26T10:20:30 x", "x"},
                                                        {"2026-11-26T10:20:30+01:00 x", "x"},
                                                        {"2026-11-26T10:20:30", "2026-11-26T10:20:30"},
                                                        {"2026-11-26T10:20:30Z", "2026-11-26T10:20:30Z"},
                                                        {"2026-11-26T10:20:30Zulu x", "2026-11-26T10:20:30Zulu x"},
                                                        {"2026-11-26 10:20:30 x", "2026-11-26 10:20:30 x"},
                                                        {"202a-11-26T10:20:30 x", "202a-11-26T10:20:30 x"},
                                                        {"2026-11-26T10:20:30Z 0: [0] x", "x"},
                                                        {"0: 1: 2: 3: x", "3: x"}}) {
    EXPECT_EQ(without_launcher(line), left + "\n") << line;
    EXPECT_EQ(without_launcher("a\n\n" + line + "\n\n"), "a\n\n" + left + "\n\n") << line;
  }
  EXPECT_EQ(without_launcher(""), "");
}

TEST(LauncherText, ComplaintsAreKeptOnceAndNotForEver) {
  for (const char* line : {"it failed", "an ERROR", "Warn: x", "unable to map", "could not open", "is not supported"}) {
    EXPECT_TRUE(is_complaint(line)) << line;
  }
  EXPECT_FALSE(is_complaint("1 more process has sent a message"));
  Complaints complaints("f.txt");
  complaints.add(3, "  it failed");
  complaints.add(4, "\tit failed");
  for (int line = 5; line < 20; ++line) complaints.add(line, "error " + std::to_string(line));
  ASSERT_EQ(complaints.notes().size(), 8U);
  EXPECT_EQ(complaints.notes()[0], "line 3 of f.txt: it failed");
  EXPECT_EQ(complaints.notes()[7], "line 11 of f.txt: error 11");
}

TEST(LauncherText, NumbersAreWholeWords) {
  EXPECT_THAT(words(" a\tb  c "), ElementsAre("a", "b", "c"));
  EXPECT_EQ(number<int>("12"), 12);
  EXPECT_EQ(number<int>("12x"), std::nullopt);
  EXPECT_EQ(number<int>(""), std::nullopt);
  EXPECT_EQ(number<std::uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(number<double>("1.5e3"), 1500);
}

TEST(Import, KnowsWhoseAFileIsByWhatIsInIt) {
  const auto tool = [](const std::string& text) {
    std::istringstream stream(text);
    return recognise(read_content(stream, "f"));
  };
  EXPECT_EQ(tool("# OSU MPI Latency Test"), Tool::osu);
  EXPECT_EQ(tool("OSU MPI Latency"), std::nullopt);
  EXPECT_EQ(tool("x Test"), std::nullopt);
  EXPECT_EQ(tool(" size algbw busbw"), Tool::nccl_tests);
  EXPECT_EQ(tool("algbw"), std::nullopt);
  EXPECT_EQ(tool("busbw"), std::nullopt);
  EXPECT_EQ(tool("Running x.\nbandwidth (GB/s)"), Tool::nvbandwidth);
  EXPECT_EQ(tool("nvbandwidth bandwidth (GB/s)"), Tool::nvbandwidth);
  EXPECT_EQ(tool("bandwidth (GB/s)"), std::nullopt);
  EXPECT_EQ(tool("Running nvbandwidth"), std::nullopt);
  EXPECT_EQ(tool(" \n {\"nvbandwidth\": 1}"), Tool::nvbandwidth);
  EXPECT_EQ(tool("{\"start_time\": 1, \"args\": 2}"), Tool::nccl_tests);
  EXPECT_EQ(tool("{\"start_time\": 1}"), std::nullopt);
  EXPECT_EQ(tool("{\"args\": 1}"), std::nullopt);
  EXPECT_EQ(tool("{}"), std::nullopt);
  std::istringstream text("\n  [0] text {");
  EXPECT_EQ(std::get<std::string>(read_content(text, "f")), "\n  [0] text {");
  std::istringstream marked("\xEF\xBB\xBF# twinlink-sim");
  EXPECT_EQ(std::get<std::string>(read_content(marked, "f")), "# twinlink-sim");
  std::istringstream marked_json("\xEF\xBB\xBF{\"a\": 1}");
  EXPECT_EQ(std::get<nlohmann::json>(read_content(marked_json, "f")).at("a"), 1);
  std::istringstream empty(" \n");
  EXPECT_THROW(read_content(empty, "f"), InputError);
}

/// Host messages are none of cuda-ipc, nor device messages of host; one end alone may be an option of the protocol.
TEST(Buffers, MustFitTheProtocol) {
  const auto found = [](const char* from, const char* to, const char* protocol, const char* accelerator = nullptr) {
    nlohmann::json origin = nlohmann::json::object();
    if (from != nullptr) origin["send_buffer"] = from;
    if (to != nullptr) origin["receive_buffer"] = to;
    if (accelerator != nullptr) origin["accelerator"] = accelerator;
    const BufferFinding finding = check_buffers({{"origin", origin}}, protocol);
    return std::pair(finding.refused, finding.text);
  };
  using Found = std::pair<bool, std::string>;
  const Found nothing(false, "");
  const std::string of_device = "; those of 'cuda-ipc' lie in device memory";
  const std::string of_host = "; those of 'host' lie in host memory";
  EXPECT_EQ(found("DEVICE", "DEVICE", "cuda-ipc"), nothing);
  EXPECT_EQ(found("HOST", "HOST", "cuda-ipc"), Found(true, "measured with messages in host memory" + of_device));
  EXPECT_EQ(found("HOST", "DEVICE", "cuda-ipc"),
            Found(false, "measured with messages from host memory to device memory" + of_device));
  EXPECT_EQ(found("DEVICE", "HOST", "cuda-ipc"),
            Found(false, "measured with messages from device memory to host memory" + of_device));
  EXPECT_EQ(found("MANAGED", "MANAGED", "cuda-ipc"), Found(false, "measured with messages in MANAGED" + of_device));
  EXPECT_EQ(found("HOST", "HOST", "host"), nothing);
  EXPECT_EQ(found("DEVICE", "DEVICE", "host"), Found(true, "measured with messages in device memory" + of_host));
  EXPECT_EQ(found("HOST", "DEVICE", "host"),
            Found(true, "measured with messages from host memory to device memory" + of_host));
  EXPECT_EQ(found("HOST", "MANAGED", "host"),
            Found(false, "measured with messages from host memory to MANAGED" + of_host));
  EXPECT_EQ(found(nullptr, "HOST", "host", "CUDA"),
            Found(false, "the tool was told of CUDA, and not where its messages lay" + of_host));
  EXPECT_EQ(found("HOST", nullptr, "cuda-ipc", "CUDA"), nothing);
  EXPECT_EQ(found(nullptr, nullptr, "host"), nothing);
  EXPECT_EQ(found("HOST", "HOST", "a protocol of nobody"), nothing);
  EXPECT_EQ(check_buffers(nlohmann::json::object(), "host").text, "");
  EXPECT_EQ(check_buffers({{"origin", 3}}, "host").text, "");
}

}  // namespace
}  // namespace twinlink::validate
