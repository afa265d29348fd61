#include <algorithm>
#include <array>
#include <iostream>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "model/cli/commands.hpp"
#include "model/engine/sim_rank.hpp"
#include "model/engine/simulation.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/measure/collectives.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/cuda_aware.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

struct Options {
  PlatformOptions platform{};
  PairOptions pair{};
  std::string protocol{};  ///< empty: the one that would be chosen
  Bytes size{1U << 20U};
  bench::LayoutOptions layout{};
  bool compare = false;
  bench::OutputOptions output{};  ///< of a comparison
};

/// One line of the table of steps: one operation, or the copies of many blocks.
struct Line {
  OpReport report{};
  std::size_t operations = 1;
};

std::string in_words(const Answer& answer) { return answer ? "yes" : "no: " + answer.reason; }

/// The first protocol for GPU messages that may run without a fallback. The registry lists the shortest way first.
const Protocol& choose(const Path& path) {
  for (const Protocol* protocol : all_protocols()) {
    if (protocol->message_memory() == Memory::device && protocol->supports(path).kind == Support::Kind::yes) {
      return *protocol;
    }
  }
  throw UnavailableError("no protocol can move device memory between these two");
}

std::string why_not(const Protocol& protocol, const Protocol& chosen, const Support& support) {
  if (protocol.message_memory() != Memory::device) return "not chosen: it moves host memory only";
  switch (support.kind) {
    case Support::Kind::no:
      return "refused: " + support.reason;
    case Support::Kind::fallback:
      return "not chosen: it would fall back, since " + support.reason;
    case Support::Kind::yes:
      return "not chosen: " + std::string(chosen.name()) + " takes the shorter way";
  }
  return "";
}

void print_path(const Path& path, const Platform& platform, const std::vector<Place>& places, Bytes size) {
  const auto model = [&](const Place& place) { return platform.node.gpus[static_cast<std::size_t>(place.gpu)].model; };
  std::cout << fmt::format("A message of {} from {} ({}) to {} ({}) on {}\n\nPath\n", format_size(size),
                           to_string(places[0]), model(places[0]), to_string(places[1]), model(places[1]),
                           platform.name);
  std::cout << fmt::format("  same node                  {}\n", path.same_node ? "yes" : "no");
  std::cout << fmt::format("  peer access                {}\n", in_words(path.peer_access));
  std::cout << fmt::format("  memory can be mapped       {}\n", in_words(path.device_mapping));
  std::cout << fmt::format("  network reaches the GPUs   {}\n", in_words(path.device_memory_on_network));
  if (!path.hypothetical.empty()) std::cout << fmt::format("  but hypothetically only    {}\n", path.hypothetical);
  if (path.same_node) {
    std::cout << fmt::format("  messages within the node   {}\n", platform.within_node.loopback
                                                                      ? "in loopback through the adapter"
                                                                      : "through shared memory");
  }
}

void print_choice(const Path& path, const Protocol& chosen) {
  std::cout << "\nProtocols (chosen is the first that needs no fallback; --compare compares their speeds)\n";
  for (const Protocol* protocol : all_protocols()) {
    const std::string verdict = protocol == &chosen ? "chosen" : why_not(*protocol, chosen, protocol->supports(path));
    std::cout << fmt::format("  {:<14} {}\n", protocol->name(), verdict);
  }
}

/// Copies of the blocks of one message follow each other on their rank: a line for all of them.
std::vector<Line> lines_of(const std::vector<OpReport>& reports) {
  std::vector<Line> lines;
  std::array<std::optional<std::size_t>, 2> latest{};  // by rank: its last line
  for (const OpReport& report : reports) {
    auto& last = latest.at(static_cast<std::size_t>(report.rank.value));
    const bool packing = report.step == "pack" || report.step == "unpack";
    if (packing && last && lines[*last].report.step == report.step && lines[*last].report.cost == report.cost) {
      Line& line = lines[*last];
      ++line.operations;
      line.report.ended = report.ended;
      line.report.host += report.host;
      line.report.latency += report.latency;
      line.report.flow += report.flow;
      line.report.completion += report.completion;
      line.report.size += report.size;
    } else {
      last = lines.size();
      lines.push_back({report});
    }
  }
  return lines;
}

void print_steps(const std::vector<OpReport>& reports, const Protocol& protocol, const std::string& path_taken,
                 Seconds total) {
  std::cout << fmt::format("\nSteps of {} ({}), times in microseconds\n", protocol.name(), path_taken);
  // The end of a copy is that of its bytes; what the CPU needs to learn of it comes after.
  std::cout
      << "  rank     start       end  step            =     host   + latency  +    flow + completion  size    cost "
         "entry\n";
  for (const auto& [r, operations] : lines_of(reports)) {
    std::cout << fmt::format("  {:>4} {:>9.3f} {:>9.3f}  {:<15} {:>10.3f} {:>10.3f} {:>10.3f} {:>12.3f}  {:<6}  {}{}\n",
                             r.rank.value, r.started.microseconds(), r.ended.microseconds(), r.step,
                             r.host.microseconds(), r.latency.microseconds(), r.flow.microseconds(),
                             r.completion.microseconds(), format_size(r.size), r.cost,
                             operations > 1 ? fmt::format(", {} times", operations) : "");
    if (!r.route.empty()) std::cout << fmt::format("{:28}by {}\n", "", r.route);
  }
  std::cout << fmt::format("\nDelivered after {}\n", format_seconds(total));
}

/// What libraries would do, whose choice depends on the size too.
void print_rules(const Path& path, Bytes size) {
  const Protocol& protocol = find_protocol("cuda-aware");
  std::cout << fmt::format("\nA CUDA-aware library chooses for {}\n", format_size(size));
  for (const Preset& preset : protocol.presets()) {
    const CudaAwareRules rules = cuda_aware_rules(preset.settings);
    const CudaAwareWay way = choose_way(rules, path, size);
    std::cout << fmt::format("  {:<14}{}: {}\n  {:14}by the first of these rules that fits\n", preset.name,
                             way.protocol, way.reason, "");
    std::istringstream lines(describe(rules));
    for (std::string line; std::getline(lines, line);) std::cout << fmt::format("  {:14}  {}\n", "", line);
  }
}

ExitCode explain(const Options& options) {
  const Platform platform = read_platform(options.platform);
  const std::vector<Place> places = read_pair(options.pair, platform);
  const Path path = Topology(platform).path(places[0], places[1]);
  const Protocol& chosen = choose(path);
  const Protocol& protocol = options.protocol.empty() ? chosen : find_protocol(options.protocol);
  const Packing packing = make_packing(options.layout);
  check_packing(packing, options.size);
  const Seconds timeout = protocol.defaults().timeout;
  print_path(path, platform, places, options.size);
  if (packing.needed()) {
    std::cout << fmt::format("  layout                     {}, {} of memory\n", describe(packing.layout),
                             format_size(packing.layout.extent(options.size)));
  }
  print_choice(path, chosen);
  print_rules(path, options.size);

  std::vector<OpReport> reports;
  std::string path_taken;
  Seconds began{};
  Seconds delivered{};
  const auto body = [&](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    const View message(rank.allocate(message_memory(protocol, packing), packing.layout.extent(options.size)));
    const PackedBuffers packed(rank, protocol, packing, options.size, options.size);
    auto channel = twinlink::connect(rank, peer, protocol, protocol.defaults(), packing, packed);
    // The first message pays for buffers and handles; the second is explained.
    for (int round = 0; round < 2; ++round) {
      if (rank.id().value == 0) began = rank.now();
      const Outcome outcome = rank.id().value == 0 ? channel->send(message) : channel->receive(message);
      if (!outcome.ok()) throw Error(outcome.reason);
      if (rank.id().value == 1) delivered = rank.now();
      path_taken = channel->path_taken();
      if (round == 0 && rank.id().value == 1) reports.clear();
      rank.step("");  // what follows is no part of the protocol
      Message round_over;
      const Tag tag = tags::kFirstFree;
      const Op op = rank.id().value == 0 ? rank.hear(peer, tag, round_over) : rank.tell(peer, tag, round_over);
      if (wait(rank, op, rank.now() + timeout) != Status::delivered) throw Error("the peer is lost");
    }
    // The peer may have the packed buffers open until its end is closed too.
    channel.reset();
    bench::meet(rank, peer, bench::Patience{timeout});
  };
  simulate(platform, places, body, {.observer = [&](const OpReport& report) { reports.push_back(report); }});
  std::erase_if(reports, [](const OpReport& r) { return r.step.empty(); });
  std::ranges::stable_sort(reports, {}, &OpReport::started);
  for (OpReport& report : reports) {
    report.started = report.started - began;
    report.ended = report.ended - began;
  }
  print_steps(reports, protocol, path_taken, delivered - began);
  return ExitCode::ok;
}

}  // namespace

void add_explain_command(Program& program) {
  auto* command = program.app.add_subcommand(
      "explain", "Print the way of one message hop by hop, the cost of every step, and why a protocol was chosen");
  const auto options = std::make_shared<Options>();
  add_platform_options(*command, options->platform);
  add_pair_options(*command, options->pair);
  command->add_option("--protocol", options->protocol, "Explain the steps of this protocol [the one chosen]");
  bench::add_size_option(*command, "--size", options->size, "Message size [1M]");
  bench::add_layout_options(*command, options->layout);
  auto* compare = command->add_flag(
      "--compare", options->compare,
      "Simulate all protocols, with their defaults and with their presets, and show their times side by side");
  for (const char* of_one_message : {"--protocol", "--layout", "--pack"}) {
    compare->excludes(command->get_option(of_one_message));
  }
  bench::add_output_options(
      *command, options->output,
      {{"table", bench::Format::table}, {"csv", bench::Format::csv}, {"json", bench::Format::json}});
  for (const char* of_comparison : {"--format", "--json", "--csv"}) command->get_option(of_comparison)->needs(compare);
  command->callback([&program, options] {
    program.action = [&program, options] {
      if (!options->compare) return explain(*options);
      return compare_protocols(options->platform, options->pair, options->size, options->output, program.command_line);
    };
  });
}

}  // namespace twinlink::model
