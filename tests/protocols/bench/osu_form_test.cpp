#include "protocols/bench/results/osu_form.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include <nlohmann/json.hpp>

#include "tests/protocols/bench/samples.hpp"

namespace twinlink::bench {
namespace {

using testing::HasSubstr;

std::string osu(Pattern pattern, const std::string& protocol = "gpudirect-v1") {
  Result result = sample_result();
  result.series.pattern = pattern;
  result.series.protocol = protocol;
  std::ostringstream out;
  print_osu(result, out);
  return out.str();
}

constexpr const char* kSignature =
    "# twinlink-real 0.1.0: measured gpudirect-v1, 0/1 to 1/2, window 64, medians in the form of the OSU "
    "micro-benchmarks\n";

// From the second line on, character by character what osu_latency and osu_bw 7.5 print with -d cuda D D.

TEST(OsuForm, OfLatency) {
  EXPECT_EQ(osu(Pattern::pingpong), std::string(kSignature) +
                                        "\n"
                                        "# OSU MPI-CUDA Latency Test v7.5\n"
                                        "# Datatype: MPI_CHAR.\n"
                                        "# Size       Avg Latency(us)\n"
                                        "4                       2.50\n"
                                        "65536                  20.25\n");
}

TEST(OsuForm, OfBandwidth) {
  EXPECT_EQ(osu(Pattern::bandwidth), std::string(kSignature) +
                                         "\n"
                                         "# OSU MPI-CUDA Bandwidth Test v7.5\n"
                                         "# Datatype: MPI_CHAR.\n"
                                         "# Size      Bandwidth (MB/s)\n"
                                         "4                       1.60\n"
                                         "65536                3236.35\n");
  EXPECT_THAT(osu(Pattern::bidirectional), HasSubstr("\n# OSU MPI-CUDA Bi-Directional Bandwidth Test v7.5\n"));
}

TEST(OsuForm, MessagesInHostMemoryAndCopiesAreNoCudaVariant) {
  EXPECT_THAT(osu(Pattern::pingpong, "host"), HasSubstr("\n# OSU MPI Latency Test v7.5\n"));
  EXPECT_THAT(osu(Pattern::copy, "copy pinned near"), HasSubstr("\n# OSU MPI Latency Test v7.5\n"));
}

TEST(OsuForm, TheFirstLineIsReadBack) {
  const std::string text = osu(Pattern::bandwidth);
  const auto signature = read_osu_signature(text.substr(0, text.find('\n')));
  ASSERT_TRUE(signature.has_value());
  EXPECT_EQ(signature->program, "twinlink-real 0.1.0");
  EXPECT_EQ(signature->world, "measured");
  EXPECT_EQ(signature->protocol, "gpudirect-v1");
  EXPECT_EQ(signature->from, "0/1");
  EXPECT_EQ(signature->to, "1/2");
  EXPECT_EQ(signature->window, 64);
}

TEST(OsuForm, EmulatedDevicesAreNoGpus) {
  Result result = sample_result();
  result.series.protocol = "gpudirect-v1";
  result.series.pattern = Pattern::pingpong;
  result.environment = nlohmann::json{{"emulated_devices", true}};
  std::ostringstream out;
  print_osu(result, out);
  EXPECT_THAT(out.str(), HasSubstr("0.1.0: emulated gpudirect-v1"));
  EXPECT_THAT(out.str(), HasSubstr("# OSU MPI Latency Test"));
  EXPECT_EQ(heading_world("measured", nlohmann::json{{"emulated_devices", false}}), "measured");
  EXPECT_EQ(heading_world("measured", nlohmann::json{{"emulated_devices", true}, {"pace", "kids"}}), "paced");
  EXPECT_EQ(heading_world("simulated", {}), "simulated");
}

TEST(OsuForm, OtherLinesAreNoneOfOurs) {
  for (const char* line : {"", "# OSU MPI Latency Test v7.5", "# twinlink-real 0.1.0: measured", "# Size"}) {
    EXPECT_FALSE(read_osu_signature(line).has_value()) << line;
  }
}

}  // namespace
}  // namespace twinlink::bench
