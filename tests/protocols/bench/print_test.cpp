#include <gmock/gmock.h>

#include <sstream>

#include <nlohmann/json.hpp>

#include "protocols/bench/cli/csv.hpp"
#include "protocols/bench/cli/print.hpp"
#include "protocols/bench/measure/expectation.hpp"
#include "tests/protocols/bench/samples.hpp"

namespace twinlink::bench {
namespace {

using testing::HasSubstr;

template <class What>
std::string table(const What& what) {
  std::ostringstream out;
  print_table(what, out);
  return out.str();
}

TEST(Table, ShowsEveryColumnAndEveryChangeOfPath) {
  EXPECT_EQ(table(sample_result()),
            "# GPU to GPU, \"pipelined\": measured bandwidth, 0/1 to 1/2, window 64, chunk 256K, depth 8\n"
            "# first message, set-up included: 181.500 us\n"
            "# path: staged through pinned host memory\n"
            "# size       median us      min us      max us       p5 us      p95 us        MB/s\n"
            "4                2.500~      2.250       9.125       2.300       8.500        1.60\n"
            "# path: peer copy, directly\n"
            "64K             20.250      20.000      20.500      20.100      20.400     3236.35\n"
            "# 1 of 2 sizes unstable (~): the medians of passes, or of the two halves of a single pass, lie more than "
            "10 % apart, or the 95th percentile is more than twice the median\n");
}

TEST(Table, EndsWithHowFarTheExpectationIsOff) {
  Result result = sample_result();
  Expectation expected{.file = "s.json", .platform = "example", .points = {{4_B, 5}, {65536_B, 20.25}}};
  result.environment.set("expected", to_json(expected));
  // exp((ln 2 + ln 1) / 2) - 1 = sqrt(2) - 1.
  EXPECT_THAT(table(result),
              testing::EndsWith("# expected from example, written before: geometric mean error 41.42 %\n"));
  expected.points.pop_back();
  result.environment.set("expected", to_json(expected));
  EXPECT_THAT(table(result), testing::EndsWith("geometric mean error 100.00 % at 1 of 2 sizes\n"));
  expected.points.front().size = 8_B;
  result.environment.set("expected", to_json(expected));
  EXPECT_THAT(table(result), testing::Not(HasSubstr("expected")));
}

TEST(Table, ColumnsOfLongTimesStayApart) {
  Result result = sample_result();
  result.series.points[0].time_us = {.n = 1, .median = 1e8, .min = 1e8, .max = 1e8, .p5 = 1e8, .p95 = 1e8};
  EXPECT_THAT(table(result),
              HasSubstr(" 100000000.000 100000000.000 100000000.000 100000000.000 100000000.000        1.60\n"));
}

TEST(Table, SaysWhenNothingWasVerified) {
  Result result = sample_result();
  EXPECT_THAT(table(result), testing::Not(HasSubstr("not verified")));
  result.series.points[1].verified = false;
  EXPECT_THAT(table(result), HasSubstr("# the payload was not verified\n"));
}

TEST(Table, OfProbesHasABlockForEveryPrimitive) {
  EXPECT_EQ(table(sample_probes()),
            "# probes: simulated, twinlink-sim 0.1.0\n"
            "# 0/0: no far copies: there is one NUMA domain\n"
            "\n"
            "# copy pinned-to-device near, 0/1\n"
            "# size       median us      min us      max us       p5 us      p95 us        MB/s\n"
            "1M             180.000     170.000     190.000     171.000     189.000     5825.42\n"
            "\n"
            "# handle open, 0/1 to 0/2\n"
            "# size       median us      min us      max us       p5 us      p95 us        MB/s\n"
            "2M              80.000      70.000      90.000      71.000      89.000        0.00\n");
}

TEST(Table, OfManyProbesHasARowForEveryPrimitive) {
  ProbeFile probes = sample_probes();
  probes.findings.lines.clear();
  for (const std::string gpu : {"0/0", "0/1", "0/2"}) {
    for (Bytes size = 1_B; size <= 64_MiB; size = Bytes{size.count() * 2}) {
      const double time_us = gpu == "0/1" ? 1e6 : static_cast<double>(size.count()) / 1024;  // one is odd
      probes.findings.lines.push_back(
          {.name = "copy", .gpu = gpu, .size = size, .time_us = {.n = 1, .median = time_us}, .bandwidth_MBps = 1.0});
    }
  }
  probes.findings.notes = {"0/0: no peer", "0/1: no copies", "0/2: no peer"};
  EXPECT_THAT(table(probes), HasSubstr("\n# 0/0, 0/2: no peer\n# 0/1: no copies\n"));
  EXPECT_THAT(table(probes), testing::EndsWith("\ncopy" + std::string(40, ' ') +
                                               "     1      0.001   64K     64.000   64M  65536.000       1.00  3\n"));
}

TEST(Table, OfAnImportedCurveShowsWhatIsKnown) {
  EXPECT_EQ(table(imported_result()),
            "# osu_bw: measured bandwidth\n"
            "# means\n"
            "# the payload was not verified\n"
            "# size       median us      min us      max us       p5 us      p95 us        MB/s\n"
            "1K               2.000           -           -           -           -      512.00\n");
}

TEST(Table, NamesThePreset) {
  Result result = sample_result();
  result.series.preset = "mvapich2";
  result.series.settings.options = {{"buffers", "shared"}};
  EXPECT_THAT(table(result), HasSubstr("chunk 256K, depth 8, preset mvapich2, buffers=shared\n"));
}

constexpr const char* kCsvColumns =
    "world,label,protocol,pattern,from,to,chunk_bytes,depth,window,cold_us,bytes,n,time_us,min_us,max_us,p5_us,p95_us,"
    "bandwidth_MBps,path,verified,preset,options,layout,pack,clock,program,beside,cpu_us\n";

TEST(Csv, HasEveryColumnInEveryRow) {
  EXPECT_EQ(to_csv(sample_result()),
            std::string(kCsvColumns) +
                "measured,\"GPU to GPU, \"\"pipelined\"\"\",gpudirect-v1,bandwidth,0/1,1/2,262144,8,64,181.5,4,"
                "3,2.5,2.25,9.125,2.3,8.5,1.6,staged through pinned host memory,true,,,,,host,twinlink-real 0.1.0,,\n"
                "measured,\"GPU to GPU, \"\"pipelined\"\"\",gpudirect-v1,bandwidth,0/1,1/2,262144,8,64,181.5,65536,"
                "2,20.25,20,20.5,20.1,20.4,3236.346,\"peer copy, directly\",true,,,,,host,twinlink-real 0.1.0,,\n");
}

TEST(Csv, ARowTellsItsSettings) {
  Result result = sample_result();
  result.series.preset = "mvapich2";
  result.series.settings.options = {{"buffers", "shared"}, {"engine", "kernel-push"}};
  result.series.facts = {.packing = {Layout::vector(64_B, 128_B), PackMethod::rows}, .compute = 20.0_us};
  EXPECT_THAT(to_csv(result),
              HasSubstr(",true,mvapich2,buffers=shared;compute=20us;engine=kernel-push,\"vector:64,128\",2d,host,"));
}

/// A spreadsheet runs a cell that begins so.
TEST(Csv, NoCellIsAFormula) {
  EXPECT_EQ(csv_cell("=1+1"), "'=1+1");
  EXPECT_EQ(csv_cell("@a,b"), "\"'@a,b\"");
  for (const char* text : {"+1", "-1", "=HYPERLINK(\"x\")", "\tx", "\rx"}) {
    EXPECT_EQ(csv_cell(text).find_first_not_of('"'), csv_cell(text).find('\'')) << text;
  }
  EXPECT_EQ(csv_cell("a=1"), "a=1");
  Result result = sample_result();
  result.series.label = "=cmd|'/C calc'!A0";
  EXPECT_THAT(to_csv(result), HasSubstr("\nmeasured,'=cmd|"));
}

TEST(Csv, WhatAnImportedCurveDoesNotTellIsEmpty) {
  EXPECT_EQ(to_csv(imported_result()), std::string(kCsvColumns) +
                                           "measured,osu_bw,,bandwidth,,,,,,,1024,,2,,,,,512,,false,,,,,host,"
                                           "osu_bw 7.5,,\n");
}

TEST(Csv, OfProbesHasARowForEveryLine) {
  EXPECT_EQ(to_csv(sample_probes()),
            "world,name,gpu,peer,bytes,n,time_us,min_us,max_us,p5_us,p95_us,bandwidth_MBps\n"
            "simulated,copy pinned-to-device near,0/1,,1048576,2,180,170,190,171,189,5825.422\n"
            "simulated,handle open,0/1,0/2,2097152,5,80,70,90,71,89,0\n");
}

/// A simulated clock can tell what CPUs spend from what they wait.
TEST(Print, TheTimeOfCpusWhereItIsKnown) {
  Result result = sample_result();
  for (Point& point : result.series.points) point.cpu_us = 0.75;
  EXPECT_THAT(to_csv(result), HasSubstr("0.1.0,,0.75\n"));
  std::ostringstream text;
  print_table(result, text);
  EXPECT_THAT(text.str(), testing::AllOf(HasSubstr("MB/s      cpu us\n"), HasSubstr("       0.750\n")));
  EXPECT_EQ(result_from_json(to_json(result), "here").series.points[0].cpu_us, 0.75);
  EXPECT_FALSE(result_from_json(to_json(sample_result()), "here").series.points[0].cpu_us);
}

}  // namespace
}  // namespace twinlink::bench
