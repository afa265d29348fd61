#include "tests/validate/import/foreign_files.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace twinlink::validate::test {
namespace {

using nlohmann::json;

/// The matrix is JSON text: braces would make an object of a matrix of texts.
json testcase(const char* name, const char* description, const char* matrix) {
  return {{"name", name},
          {"status", "Passed"},
          {"bandwidth_description", description},
          {"bandwidth_matrix", json::parse(matrix)},
          {"sum", 1.0}};
}

json sendrecv_result(int size, double time_us) {
  const double rate = size / time_us * 1e-3;
  const json figures{{"time", time_us}, {"alg_bw", rate}, {"bus_bw", rate}, {"nwrong", 0.0}};
  return {{"size", size},        {"count", size / 4},       {"type", "float"},
          {"redop", "none"},     {"root", "    -1"},        {"out_of_place", figures},
          {"in_place", figures}, {"actual_iterations", 20}, {"experiment_name", ""}};
}

}  // namespace

std::string osu_latency_5() {
  return "# OSU MPI-CUDA Latency Test v5.6.3\n"
         "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n"
         "# Size          Latency (us)\n"
         "0                       0.95\n"
         "1                      21.07\n"
         "4194304               412.50\n";
}

std::string osu_latency_75() {
  return "[node-a:22411] Rank 0 bound to package[0][core:0]\n"
         "[node-a:22411] Rank 1 bound to package[0][core:1]\n"
         "\n"
         "# OSU MPI-CUDA Latency Test v7.5\n"
         "# Datatype: MPI_CHAR.\n"
         "# Size       Avg Latency(us)\n"
         "1                       8.01\n"
         "2                       8.02\n"
         "4194304                14.48\n"
         "[node-a:22400] 1 more process has sent a help message\n";
}

std::string osu_bw_72() {
  return "# OSU MPI-CUDA Bandwidth Test v7.2\n"
         "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
         "# Size      Bandwidth (MB/s)\n"
         "# Datatype: MPI_CHAR.\n"
         "1                       1.25\n"
         "1048576             65536.00\n"
         "33554432            93130.52\n";
}

std::string osu_bibw_75() {
  return "\n"
         "# OSU MPI Bi-Directional Bandwidth Test v7.5\n"
         "# Datatype: MPI_CHAR.\n"
         "# Size      Bandwidth (MB/s)        Validation\n"
         "1                       0.32              Pass\n"
         "1048576             32768.00              Pass\n";
}

std::string osu_mbw_mr_74(int pairs) {
  return fmt::format(
      "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n"
      "# [ pairs: {} ] [ window size: 32 ]\n"
      "# Datatype: MPI_CHAR.\n"
      "# Size                  MB/s        Messages/s\n"
      "1                       2.40        2400000.00\n"
      "1048576             20000.00          19073.49\n",
      pairs);
}

json nvbandwidth_08() {
  auto testcases = json::array();
  testcases.push_back(testcase("host_to_device_memcpy_ce", "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
                               R"([["55.25", "55.5"]])"));
  testcases.push_back(testcase("device_to_host_memcpy_sm", "memcpy SM CPU(row) <- GPU(column) bandwidth (GB/s)",
                               R"([["54.25", "54.5"]])"));
  testcases.push_back(testcase("device_to_device_memcpy_read_ce", "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)",
                               R"([["N/A", "400"], ["200", "N/A"]])"));
  testcases.push_back(testcase("device_to_device_memcpy_write_sm", "memcpy SM GPU(row) <- GPU(column) bandwidth (GB/s)",
                               R"([["N/A", "320"], ["N/A", "N/A"]])"));
  testcases.push_back(testcase("device_to_device_bidirectional_memcpy_write_ce",
                               "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)",
                               R"([["N/A", "381"], ["382", "N/A"], ["N/A", "391"], ["392", "N/A"],
                                   ["N/A", "772"], ["774", "N/A"]])"));
  testcases.push_back({{"name", "device_to_host_memcpy_ce"}, {"status", "Waived"}});
  testcases.push_back({{"name", "device_to_device_latency_sm"}, {"status", "Passed"}});
  auto devices =
      json::array({"0: NVIDIA H200 (00000000:06:00): (node-a)", "1: NVIDIA H200 (00000000:07:00): (node-a)"});
  return {{"nvbandwidth",
           {{"CUDA Runtime Version", 13000},
            {"Driver Version", "580.105.08"},
            {"GPU Device list", std::move(devices)},
            {"git_version", "v0.8"},
            {"testcases", std::move(testcases)},
            {"version", "v0.8"}}}};
}

json sendrecv_2() {
  auto results = json::array();
  results.push_back(sendrecv_result(1024, 16));
  results.push_back(sendrecv_result(1048576, 32));
  auto devices = json::array();
  devices.push_back({{"rank", 0},
                     {"group", 0},
                     {"pid", 5897},
                     {"hostname", "node-a"},
                     {"device", 3},
                     {"device_hex", "0000:06:00"},
                     {"device_info", "NVIDIA H200"}});
  return {{"version", 2},
          {"start_time", "2026-11-21 10:00:00"},
          {"args", {"./build/sendrecv_perf", "-b", "1K", "-e", "1M", "-f", "1024", "-g", "2", "-J", "sendrecv.json"}},
          {"env", json::array({"HOME=/home/user", "NCCL_P2P_LEVEL=NVL"})},
          {"nccl_version", 22809},
          {"config", {{"nthreads", 1}, {"ngpus", 2}, {"iterations", 20}, {"devices", std::move(devices)}}},
          {"results", std::move(results)},
          {"out_of_bounds", {{"count", 0}, {"okay", "true"}}},
          {"end_time", "2026-11-21 10:00:05"}};
}

}  // namespace twinlink::validate::test
