#include "platforms/machine/software.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "platforms/yaml/yaml_section.hpp"

namespace twinlink::platforms {
namespace {

constexpr std::string_view kDigits = "0123456789";

// Versions of the toolkit, by the drivers that came with it (release notes of CUDA 4.0 and 5.0 for Linux).
const Version kSharedBuffers{{3, 1}};
const Version kPeerAccess{{4, 0}};
const Version kPeerDriver{{270, 41, 19}};
const Version kInteropByDefault{{4, 1}};
const Version kUnpatchedKernel{{2, 6, 18}};
const Version kRdma{{5, 0}};
const Version kRdmaDriver{{304, 54}};

struct AwareLibrary {
  std::string_view name;
  Version since;
};
const std::array<AwareLibrary, 2> kAwareLibraries{{{"mvapich2", {{1, 8}}}, {"openmpi", {{1, 7}}}}};

Answer too_old(std::string_view what, const Version& here, std::string_view feature, const Version& since) {
  return Answer::refused(std::string(what) + " " + to_string(here) + " has no " + std::string(feature) +
                         ": it began with " + to_string(since));
}

Answer with_driver(const Software& software, std::string_view feature, const Version& cuda, const Version& driver) {
  if (software.cuda && *software.cuda < cuda) return too_old("CUDA", *software.cuda, feature, cuda);
  if (software.driver && *software.driver < driver) return too_old("driver", *software.driver, feature, driver);
  return Answer::granted();
}

std::optional<Version> read_version(Section& section, std::string_view key) {
  const auto text = section.optional(key, &Section::text);
  if (!text) return std::nullopt;
  auto version = parse_version(*text);
  if (!version) {
    section.error(section.position(key),
                  "'" + std::string(key) + "' in 'software': '" + *text + "' is no version such as \"4.1\"");
  }
  return version;
}

}  // namespace

std::optional<Version> parse_version(std::string_view text) {
  text = text.substr(0, text.find('-'));
  Version version;
  while (true) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || number < 0) return std::nullopt;
    version.numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return version;
    if (text.front() != '.') return std::nullopt;
    text.remove_prefix(1);
  }
}

std::strong_ordering operator<=>(const Version& a, const Version& b) {
  for (std::size_t i = 0; i < std::max(a.numbers.size(), b.numbers.size()); ++i) {
    const int left = i < a.numbers.size() ? a.numbers[i] : 0;
    const int right = i < b.numbers.size() ? b.numbers[i] : 0;
    if (left != right) return left <=> right;
  }
  return std::strong_ordering::equal;
}

std::string to_string(const Version& version) {
  std::string text;
  for (const int number : version.numbers) text += (text.empty() ? "" : ".") + std::to_string(number);
  return text;
}

std::optional<std::pair<std::string, Version>> parse_library(std::string_view text) {
  std::size_t between = text.find(' ');
  // Names have signs of their own, as "mvapich2-gdr", and versions too, as "4.1.6-rc2".
  if (between == std::string_view::npos) between = text.find('-');
  while (between < text.size() && text[between] == '-' && text.substr(between + 1).find_first_of(kDigits) != 0) {
    between = text.find('-', between + 1);
  }
  if (between == 0 || between == std::string_view::npos) return std::nullopt;
  auto version = parse_version(text.substr(between + 1));
  if (!version) return std::nullopt;
  std::string name(text.substr(0, between));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::pair(std::move(name), *std::move(version));
}

Answer Software::shared_buffers() const {
  if (!cuda) return Answer::granted();
  if (*cuda < kSharedBuffers) return too_old("CUDA", *cuda, "buffers that GPU and adapter share", kSharedBuffers);
  const std::string with = "with CUDA " + to_string(*cuda) + " GPU and adapter share no buffers: ";
  if (*cuda < kPeerAccess && !kernel_patch)
    return Answer::refused(with + "that needs NVIDIA's kernel patch before 4.0");
  if (*cuda >= kPeerAccess && kernel && *kernel < kUnpatchedKernel) {
    return Answer::refused(with + "the kernel " + to_string(*kernel) + " is older than " + to_string(kUnpatchedKernel));
  }
  if (*cuda < kInteropByDefault && !nic_interop) {
    return Answer::refused(with + "CUDA_NIC_INTEROP=1 is not set, and it is the rule only from " +
                           to_string(kInteropByDefault));
  }
  return Answer::granted();
}

Answer Software::peer_access() const {
  if (without_peers) return Answer::refused("peer-to-peer access is switched off");
  return with_driver(*this, "peer-to-peer access", kPeerAccess, kPeerDriver);
}

Answer Software::rdma() const {
  if (without_rdma) return Answer::refused("GPUDirect RDMA is switched off");
  return with_driver(*this, "GPUDirect RDMA", kRdma, kRdmaDriver);
}

Answer Software::cuda_aware_mpi() const {
  const auto library = parse_library(mpi);
  if (!library) return Answer::granted();
  const auto* const known = std::ranges::find(kAwareLibraries, library->first, &AwareLibrary::name);
  if (known == kAwareLibraries.end()) return Answer::granted();
  if (library->second >= known->since) {
    // Open MPI's answer to frequent questions: it tells pointers apart by what CUDA 4.0 began.
    const bool needs_cuda = library->first == "openmpi";
    return needs_cuda ? with_driver(*this, "unified addresses, which Open MPI needs", kPeerAccess, kPeerDriver)
                      : Answer::granted();
  }
  return Answer::refused(library->first + " " + to_string(library->second) +
                         " takes no device pointers: that began with " + to_string(known->since));
}

Software read_software(Section& section) {
  Software software{.cuda = read_version(section, "cuda"),
                    .driver = read_version(section, "driver"),
                    .kernel = read_version(section, "kernel"),
                    .mpi = section.optional("mpi", &Section::text).value_or(""),
                    .kernel_patch = section.optional("kernel_patch", &Section::boolean).value_or(false),
                    .nic_interop = section.optional("nic_interop", &Section::boolean).value_or(false)};
  if (!software.mpi.empty() && !parse_library(software.mpi)) {
    section.error(section.position("mpi"), "'mpi' in 'software': '" + software.mpi +
                                               "' is no library with its version, such as \"mvapich2 1.8\"");
  }
  return software;
}

}  // namespace twinlink::platforms
