// What NCCL's own recorders write, JSON lines: NCCL Inspector's dumps (v4, plugins/profiler/inspector/README.md) and
// libnccl-profiler-twinlink.so, which says more in the same form.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "protocols/bench/workload/recorded/kineto_file.hpp"

namespace twinlink::bench {

/// By the beginning of a file.
bool is_nccl_record(std::string_view beginning);

/// Of each file as many calls as 1 GiB of memory has room for until the job is written, and a note where that is not
/// all. Ranks are those of the communicator that has all of them; else of the launcher, or by host and process. Calls
/// that not all members have are left out, with a note, for recordings end where a job was killed. An InputError for
/// what is no such file, and for communicators of which ranks are missing.
Profiles read_nccl_records(const std::vector<std::filesystem::path>& files);

}  // namespace twinlink::bench
