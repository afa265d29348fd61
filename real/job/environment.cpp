#include "real/job/environment.hpp"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "protocols/bench/results/build.hpp"
#include "real/discover/nvml.hpp"
#include "real/system/launch.hpp"
#include "real/system/system_error.hpp"

namespace twinlink::real {
namespace {

using nlohmann::json;

std::string read_file(const char* path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

json describe(const DeviceInfo& device) {
  return {{"name", device.name},
          {"uuid", to_string(device.uuid)},
          {"pci_bus_id", device.pci_bus_id},
          {"compute_capability", fmt::format("{}.{}", device.capability_major, device.capability_minor)},
          {"unified_addressing", device.unified_addressing},
          {"memory_bytes", device.memory.count()}};
}

/// What only the rank itself knows.
json describe_myself(const Numa& numa) {
  utsname system{};
  if (::uname(&system) != 0) throw_errno("uname");
  return {{"cpu", cpu_model(read_file("/proc/cpuinfo"))},
          {"kernel", fmt::format("{} {}", system.sysname, system.release)},
          {"local_rank", local_rank()},
          {"cpu_binding", numa.cpu_binding()},
          {"bind", numa.binding()},
          {"numa_domains", numa.domains()},
          {"numa_near", numa.number(Locality::near)},
          {"numa_far", numa.number(Locality::far)}};
}

/// Open MPI's parameters, as the launcher, the user and this program have set them.
json describe_mpi_parameters() {
  constexpr std::string_view kPrefix = "OMPI_MCA_";
  // What the launcher tells its processes in the same way is about the process, not about the library.
  constexpr std::array<std::string_view, 8> kOfTheLauncher{"orte",     "ess",       "pmix",     "initial_wdir",
                                                           "PREFIXES", "num_procs", "cpu_type", "mca_base_component"};
  json parameters = json::object();
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    std::string_view text = *variable;
    if (!text.starts_with(kPrefix)) continue;
    text.remove_prefix(kPrefix.size());
    if (std::ranges::any_of(kOfTheLauncher, [&](std::string_view name) { return text.starts_with(name); })) continue;
    const auto equals = text.find('=');
    parameters[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  return parameters;
}

json describe_versions(const DeviceRuntime& runtime) {
  json versions{{"twinlink", TWINLINK_VERSION},
                {"compiler", fmt::format("g++ {}", __VERSION__)},
                {"c_library", fmt::format("glibc {}", gnu_get_libc_version())},
                {"mpi", mpi_library_version()}};
  for (const auto& [name, version] : runtime.versions()) versions[name] = version;
  return versions;
}

}  // namespace

json as_utf8(const json& facts) { return json::parse(facts.dump(-1, ' ', false, json::error_handler_t::replace)); }

std::string cpu_model(const std::string& cpuinfo) {
  const auto key = cpuinfo.find("model name");
  const auto colon = key == std::string::npos ? key : cpuinfo.find(": ", key);
  if (colon == std::string::npos) return "unknown";
  return cpuinfo.substr(colon + 2, cpuinfo.find('\n', colon) - colon - 2);
}

std::string iso_8601(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm utc{};
  if (::gmtime_r(&time, &utc) == nullptr) throw_errno("gmtime_r");
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec);
}

json describe_environment(const Mpi& mpi, const DeviceRuntime& runtime, const Neighbours& neighbours, const Numa& numa,
                          const std::string& command_line) {
  json ranks = json::array();
  for (const std::string& text : mpi.all_gather(as_utf8(describe_myself(numa)).dump())) {
    const Neighbour& rank = neighbours.ranks[ranks.size()];
    json entry = json::parse(text);
    entry["host"] = rank.host;
    entry["place"] = to_string(neighbours.places[ranks.size()]);
    entry["device"] = describe(rank.device);
    ranks.push_back(std::move(entry));
  }
  // "yes", or the reason of the refusal; "self" on the diagonal.
  json matrix = json::array();
  for (std::size_t a = 0; a < neighbours.peer_access.size(); ++a) {
    json row = json::array();
    for (std::size_t b = 0; b < neighbours.peer_access[a].size(); ++b) {
      const std::string& reason = neighbours.peer_access[a][b];
      row.push_back(a == b ? "self" : reason.empty() ? "yes" : reason);
    }
    matrix.push_back(std::move(row));
  }
  using std::chrono::system_clock;
  const auto seconds = mpi.all_gather_values<std::int64_t>(system_clock::to_time_t(system_clock::now())).front();
  return as_utf8({{"date", iso_8601(seconds)},
                  {"command", command_line},
                  {"versions", describe_versions(runtime)},
                  {"build", bench::describe_build()},
                  {"mpi_parameters", describe_mpi_parameters()},
                  {"cuda_aware_mpi", mpi_reads_cuda_memory().yes},
                  {"emulated_devices", runtime.host_addressable()},
                  {"ranks", ranks},
                  {"peer_access", matrix}});
}

void note_health(const Mpi& mpi, const bench::GpuHealth& start, const std::string& bus_id, json& environment) {
  json own;
  if (!start.empty()) own = {{"start", start}, {"end", health_of_gpu(bus_id)}};
  json& ranks = environment["ranks"];
  const std::vector<std::string> all = mpi.all_gather(own.dump());
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (json told = json::parse(all[r]); !told.is_null()) ranks[r]["health"] = std::move(told);
  }
  if (mpi.rank() != 0) return;
  for (const std::string& finding : bench::health_findings_of(environment)) {
    fmt::print(stderr, "twinlink-real: note: {}\n", finding);
  }
}

}  // namespace twinlink::real
