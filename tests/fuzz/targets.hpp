// Every reader of what users give to the programs, as a function of a text: for libFuzzer, and for a test of the
// corpus.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "platforms/machine/platform.hpp"

namespace twinlink::fuzz {

struct Target {
  std::string_view name;  ///< also of its folder in corpus/
  /// Reads a text. A UsageError refuses it; all else that gets out of here is a finding.
  void (*read)(const std::string& text);
};

/// A reader has accepted a text and breaks a promise about what it made of it.
class BrokenPromise : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

std::span<const Target> all_targets();
/// A UsageError lists all.
const Target& find_target(std::string_view name);

/// Did the reader accept the text? False: it refused it with a UsageError. Lets every other exception through.
bool accepts(const Target& target, const std::string& text);

/// A BrokenPromise if it does not hold.
void promise(bool holds, const std::string& what);
/// What stands on both sides of "written and read again, it is the same".
void promise_same(const std::string& first, const std::string& second, const std::string& what);

/// Reads what the program has written of a platform that it had accepted.
platforms::Platform promise_read_back(const std::string& written);

/// A file of that content in a folder of this process, which goes when the process ends. Content of the same name is
/// replaced.
std::string scratch_file(const std::string& name, const std::string& content);

// The targets, in the files that are named after what they read.
void read_platform_alone(const std::string& text);
void read_platform_with_part(const std::string& text);
void read_release(const std::string& text);
void read_overrides(const std::string& text);
void read_placement(const std::string& text);
void read_topology(const std::string& text);
void read_result(const std::string& text);
void read_probes(const std::string& text);
void import_osu(const std::string& text);
void import_nvbandwidth(const std::string& text);
void import_nccl_tests(const std::string& text);
void read_layout(const std::string& text);
void read_options(const std::string& text);
void read_units(const std::string& text);
void read_pairs(const std::string& text);
void read_goal(const std::string& text);
void read_kineto(const std::string& text);
void read_nccl_record(const std::string& text);
void read_mpi(const std::string& text);
void read_chakra(const std::string& text);

}  // namespace twinlink::fuzz
