// The options of every command that starts a job: on which devices, bound how.
#pragma once

#include <string>

#include "real/job/job.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace twinlink::real {

/// `options` must live until the command line has been parsed.
void add_job_options(CLI::App& command, JobOptions& options);

inline constexpr const char* kNcclLibrary = "libnccl.so.2";
/// Of commands that measure NCCL itself. `library` must live until the command line has been parsed.
void add_library_option(CLI::App& command, bool& library);
/// A UsageError where a protocol is named beside the library.
void require_library_alone(const std::string& protocol);

}  // namespace twinlink::real
