// What nccl-tests measured, as its JSON and its text tell it, and what becomes of it here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "validate/import/import.hpp"

namespace twinlink::validate {

/// A program of nccl-tests.
struct NcclTest {
  std::string_view program;   ///< "all_reduce_perf"
  std::string_view workload;  ///< what it is of ours, or a name of its own where we have none
  bool reduces = false;       ///< its rows name an operation
  bool rooted = false;        ///< its rows name a root
  bool checks_in_place = true;
  double (*bus_factor)(int ranks) = nullptr;  ///< busbw of algbw
};

/// The one whose name `words` begins with, for builds may add a suffix; null: none.
const NcclTest* nccl_test_named(std::string_view words);
/// "all_reduce_perf, all_gather_perf, ..."
std::string names_of_nccl_tests();

struct NcclRow {
  std::string where{};  ///< "line 12", "member 'results[0]'"
  Bytes size{};
  std::string type{};
  std::string redop{};        ///< empty: not told, or none
  std::optional<int> root{};  ///< empty: not told, or none
  double time_us = 0;         ///< out of place
  double algbw_GBps = 0;      ///< 0: not told
  double busbw_GBps = 0;
  bool checked_in_place = false;
  std::optional<std::uint64_t> wrong{};  ///< elements, out of place; empty: nothing was compared
  std::vector<double> samples_us{};
};

/// Rows that follow each other.
struct NcclRun {
  const NcclTest* test = nullptr;  ///< null: the text does not name it
  std::string nccl{};              ///< "NCCL 2.21.5"
  std::string command{};
  int ranks = 0;                                  ///< 0: not told
  std::map<std::uint64_t, std::string> places{};  ///< NODE/GPU by rank; not every rank need be there
  std::vector<NcclRow> rows{};
  std::vector<std::string> notes{};
  nlohmann::json facts = nlohmann::json::object();  ///< for the origin
};

/// A curve for a message between two ranks, else a workload file. Finds the run's table: rows of one data type,
/// operation and root, each size once. A wrong element is told and leaves its row unverified. Errors as
/// import_content().
Imported import_runs(const std::vector<NcclRun>& runs, const std::string& file, const ImportWishes& wishes);

}  // namespace twinlink::validate
