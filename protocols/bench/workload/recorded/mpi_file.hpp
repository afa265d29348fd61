// Jobs that libtwinlink-record.so has recorded: a folder with a file for each rank, in the form of mpi_calls.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <istream>
#include <string>
#include <vector>

#include "protocols/workloads/goal/mpi_calls.hpp"

namespace twinlink::bench {

struct MpiHeading {
  std::string job{};
  std::uint64_t rank = 0;
  std::uint64_t ranks = 0;
  std::string host{};
  std::uint64_t begins = 0;
};
/// An InputError that names `file`.
MpiHeading read_mpi_heading(std::istream& stream, const std::string& file);

/// What stands behind the heading, call by call. How many bytes at the end are no whole frame: the program was killed
/// in the midst of it. An InputError for what no recorder writes.
std::uint64_t read_mpi_calls(std::istream& stream, const std::string& file,
                             const std::function<void(const workloads::goal::mpi::Call&)>& take);

/// A folder with a file of a rank.
bool is_mpi_job(const std::filesystem::path& folder);
/// By rank. An InputError for what is no recording, for files of two jobs, and for ranks that are missing or there
/// twice. The files are read when they are gone through.
std::vector<workloads::goal::mpi::RankCalls> read_mpi_job(const std::filesystem::path& folder);

}  // namespace twinlink::bench
