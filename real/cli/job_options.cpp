#include "real/cli/job_options.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <map>
#include <optional>
#include <string>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/options.hpp"

namespace twinlink::real {
namespace {

/// An option that takes one of `names`.
template <class T>
void add_choice(CLI::App& command, const std::string& option, T& value, const std::map<std::string, T>& names,
                const std::string& shown_default, const std::string& description) {
  std::string list;
  for (const auto& [name, meaning] : names) list += (list.empty() ? "" : ", ") + name;
  const auto read = [&value, names, option, list](const std::string& text) {
    const auto found = names.find(text);
    if (found == names.end()) {
      throw CLI::ValidationError(option, fmt::format("unknown choice '{}' (there are: {})", text, list));
    }
    value = found->second;
  };
  command.add_option_function<std::string>(option, read, description)->type_name("NAME")->default_str(shown_default);
}

}  // namespace

void add_job_options(CLI::App& command, JobOptions& options) {
  const bench::OptionGroup group(command, "Machine");
  add_choice(command, "--device", options.device, {{"host", DeviceKind::host}, {"cuda", DeviceKind::cuda}}, "host",
             "host: devices that are emulated in host memory; cuda: for each rank the GPU of its number on the node");
  add_choice<std::optional<HostPeers>>(command, "--host-peers", options.host_peers,
                                       {{"all", HostPeers::all}, {"none", HostPeers::none}}, "all",
                                       "Peer access between emulated devices: all, none");
  bench::add_read_option(command, "--host-memory", "SIZE", "what this host has for it",
                         "Memory of each emulated device",
                         [&options](const std::string& text) { options.host_memory = parse_size(text); });
  constexpr int kMostNodes = 64;
  bench::add_count_option(command, "--host-nodes", 1, kMostNodes, "1",
                          "Emulated devices are on so many nodes, between which there is MPI alone",
                          [&options](int nodes) { options.host_nodes = nodes; });
  PaceOptions& pace = options.pace;
  CLI::Option* const platform =
      command
          .add_option("--pace", pace.platform,
                      "Emulated devices take the time that this platform gives them, and have its peer access: a "
                      "name or YAML file, such as keeneland-kids. Messages go at this host's own pace")
          ->type_name("NAME|FILE");
  command.add_option("--places", pace.places, "The GPU of the platform that each rank plays, such as 0/1,0/2")
      ->type_name("NODE/GPU,...")
      ->default_str("ranks fill the nodes in order")
      ->needs(platform);
  command
      .add_option("--set", pace.overrides,
                  "Another value for a number of the platform: nodes.links.qpi.forward='9 GB/s'; may be repeated")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE")
      ->needs(platform);
  command
      .add_option(
          "--gpus", options.gpus,
          "The devices of a node's ranks, in their order: numbers as each process counts what it sees, or UUIDs "
          "or their beginnings, such as GPU-8f6d,GPU-11")
      ->type_name("LIST")
      ->default_str("the device of the rank's number");
  command.add_flag("--bind", options.bind,
                   "Bind each rank to the CPUs of its GPU's own NUMA domain, whatever the launcher has bound it to");
  command.add_flag("--nvtx", options.nvtx,
                   "Show NVIDIA's profilers every operation as an NVTX range, by the name of the protocol's step");
  add_choice(command, "--intra-node", options.within_node,
             {{"shared-memory", WithinNode::shared_memory}, {"loopback", WithinNode::loopback}}, "the library's choice",
             "How MPI messages pass within a node: through shared-memory, or in loopback through the adapter (sockets "
             "where there is none). Sets the library's own switches unless they are set already");
}

void add_library_option(CLI::App& command, bool& library) {
  const bench::OptionGroup group(command, "Protocol");
  command.add_flag("--library", library,
                   "NCCL itself instead of a protocol of ours, on GPUs: libnccl.so.2, as the system finds it. Its own "
                   "variables, such as NCCL_PROTO, say how it goes");
}

void require_library_alone(const std::string& protocol) {
  if (protocol.empty() || protocol == "nccl") return;
  throw UsageError("--library: NCCL is measured in place of nccl, and not of " + protocol);
}

}  // namespace twinlink::real
