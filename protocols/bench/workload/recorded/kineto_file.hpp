// Profiles that PyTorch's profiler (Kineto) writes, a file for each rank: collectives of NCCL, and when the GPU
// computed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "protocols/workloads/goal/recording.hpp"

namespace twinlink::bench {

/// What the files of all ranks hold, and what is worth knowing of that.
struct Profiles {
  std::vector<workloads::goal::RankRecording> ranks{};
  std::vector<std::string> notes{};
};

/// What one of them says: of which rank it is, and what that has done. An InputError that names `file`.
struct Profile {
  std::uint64_t rank = 0;
  workloads::goal::RankRecording recording{};
};
Profile read_profile(std::istream& stream, const std::string& file);

/// In the order of the ranks that the files name. An InputError for what is no such profile, for collectives of which a
/// file says too little, and for ranks that are missing or there twice.
Profiles read_profiles(const std::vector<std::filesystem::path>& files);

}  // namespace twinlink::bench
