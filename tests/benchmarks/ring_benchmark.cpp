// How many messages a second the simulator does, beside a bare S4U program and SMPI that do the same.
//
//   build/bin/ring_benchmark --ranks 512 --steps 100              no two flows on a link
//   build/bin/ring_benchmark --ranks 512 --steps 100 --sharing 4  four on each
//
// In every step each rank sends 32 KiB to the next one and receives as much. All three have the same bandwidths, the
// same latency and overheads, and SimGrid settings that fit them; the simulated times are printed to show it. Each runs
// in a process of its own, for SimGrid's engine starts once, one after the other, `--rounds` times; the fastest counts.
// All machines have three links between a rank's memory and the switch, as Twinlink's have: those of the socket, of the
// adapter's slot and of its cable; `--links 1` leaves the bare programs the cable alone.
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <smpi/smpi.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <simgrid/s4u.hpp>

#include "model/engine/flows/machine.hpp"
#include "model/engine/flows/simgrid_versions.hpp"
#include "model/engine/simulation.hpp"
#include "tests/benchmarks/large_platform.hpp"

namespace twinlink {
namespace {
namespace s4u = simgrid::s4u;

constexpr Bytes kSize = 32_KiB;
constexpr double kReceiveOverhead = 0.2e-6;
constexpr double kSendOverhead = 0.5e-6;
constexpr double kLatency = 1.5e-6;
constexpr double kBandwidth = 25e9;

struct Ring {
  int ranks = 512;
  int steps = 100;
  int sharing = 1;  ///< ranks at one adapter
  int links = 3;    ///< of the bare machines, each way
  bool exact = false;

  [[nodiscard]] int next(int rank) const { return (rank + sharing) % ranks; }
  [[nodiscard]] int previous(int rank) const { return (rank + ranks - sharing) % ranks; }
};

struct Result {
  double simulated = 0;  ///< seconds
  double seconds = 0;    ///< of the processor
  double mebibytes = 0;
};

/// The processor's time of this process, seconds: others on the machine do not count.
double processor_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Result run_twinlink(const Ring& ring) {
  const int gpus = 2 * ring.sharing;
  platforms::Platform platform = model::large_platform((ring.ranks + ring.sharing - 1) / ring.sharing, gpus);
  platform.network->eager_limit.value = 64_KiB;
  std::vector<Place> places;
  for (int rank = 0; rank < ring.ranks; ++rank) {  // at the second socket
    places.push_back({rank / ring.sharing, ring.sharing + rank % ring.sharing, {}});
  }
  Result result;
  const double start = processor_time();
  result.simulated =
      model::simulate(platform, places,
                      [&](Rank& rank) {
                        const RankId to{ring.next(rank.id().value)};
                        const RankId from{ring.previous(rank.id().value)};
                        const View outgoing(rank.allocate(Memory::pageable, kSize));
                        const View incoming(rank.allocate(Memory::pageable, kSize));
                        std::array<Op, 2> ops{};
                        for (int step = 0; step < ring.steps; ++step) {
                          ops[0] = rank.receive(from, Tag{0}, incoming);
                          ops[1] = rank.send(to, Tag{0}, outgoing);
                          const auto first = rank.wait_any(ops, model::kNever);
                          static_cast<void>(rank.wait_any(std::span(&ops[1 - first->index], 1), model::kNever));
                        }
                      },
                      {.engine = ring.exact ? model::SimulationOptions::Engine::exact
                                            : model::SimulationOptions::Engine::automatic})
          .value();
  result.seconds = processor_time() - start;
  return result;
}

/// The machine of the bare programs: all hosts at one switch, each group of them by one cable.
std::vector<s4u::Host*> make_hosts(s4u::Engine& engine, const Ring& ring) {
  for (const model::SimGridSetting& setting : model::simgrid_settings()) {
    s4u::Engine::set_config(setting.name + ":" + setting.value);
  }
  s4u::Engine::set_config("contexts/stack-size:64");
  auto* zone = model::versions::add_zone(engine, "machine");
  std::vector<s4u::Host*> hosts;
  std::vector<s4u::LinkInRoute> there;
  std::vector<s4u::LinkInRoute> back;
  for (int rank = 0; rank < ring.ranks; ++rank) {
    const std::string name = std::to_string(rank);
    hosts.push_back(model::versions::add_host(*zone, name, 1e9));
    if (rank % ring.sharing == 0) {
      there.clear();
      back.clear();
      for (int link = 0; link < ring.links; ++link) {
        const std::string of = name + "." + std::to_string(link);
        const double latency = link == 0 ? kLatency / 2 : 0;
        there.emplace_back(model::versions::add_link(*zone, "up" + of, kBandwidth)->set_latency(latency));
        back.emplace_back(model::versions::add_link(*zone, "down" + of, kBandwidth)->set_latency(latency));
      }
    }
#if SIMGRID_VERSION >= 40000
    zone->add_route(hosts.back(), nullptr, there, false);
    zone->add_route(nullptr, hosts.back(), back, false);
#else
    zone->add_route(hosts.back()->get_netpoint(), nullptr, nullptr, nullptr, there, false);
    zone->add_route(nullptr, hosts.back()->get_netpoint(), nullptr, nullptr, back, false);
#endif
  }
  zone->seal();
  return hosts;
}

Result run_bare(const Ring& ring) {
  std::string program = "ring_benchmark";
  std::string quiet = "--log=root.thres:critical";
  std::array<char*, 3> arguments{program.data(), quiet.data(), nullptr};
  int count = 2;
  s4u::Engine engine(&count, arguments.data());
  const std::vector<s4u::Host*> hosts = make_hosts(engine, ring);
  Result result;
  const double start = processor_time();
  for (int rank = 0; rank < ring.ranks; ++rank) {
    const std::string name = std::to_string(rank);
    model::versions::add_actor(name, *hosts[static_cast<std::size_t>(rank)], [&, rank, name] {
      auto* inbox = s4u::Mailbox::by_name(name);
      auto* outbox = s4u::Mailbox::by_name(std::to_string(ring.next(rank)));
      int message = 0;
      int* received = nullptr;
      for (int step = 0; step < ring.steps; ++step) {
        s4u::this_actor::sleep_for(kReceiveOverhead);
        const s4u::CommPtr receive = inbox->get_async<int>(&received);
        s4u::this_actor::sleep_for(kSendOverhead);
        const s4u::CommPtr send = outbox->put_async(&message, kSize.count());
        receive->wait();
        send->wait();
      }
    });
  }
  engine.run();
  result.simulated = s4u::Engine::get_clock();
  result.seconds = processor_time() - start;
  return result;
}

Result run_smpi(const Ring& ring) {
  std::string program = "ring_benchmark";
  std::string quiet = "--log=root.thres:critical";
  std::array<char*, 3> arguments{program.data(), quiet.data(), nullptr};
  int count = 2;
  s4u::Engine engine(&count, arguments.data());
  SMPI_init();
  for (const char* setting : {"smpi/simulate-computation:no", "smpi/privatization:no", "smpi/ois:0:5e-7:0",
                              "smpi/os:0:5e-7:0", "smpi/or:0:2e-7:0", "smpi/bw-factor:0:1", "smpi/lat-factor:0:1"}) {
    s4u::Engine::set_config(setting);
  }
  const std::vector<s4u::Host*> hosts = make_hosts(engine, ring);
  Result result;
  const double start = processor_time();
  SMPI_app_instance_register("ring", nullptr, ring.ranks);
  std::vector<char> outgoing(kSize.count());
  std::vector<char> incoming(kSize.count());
  const auto code = [&] {
    MPI_Init(nullptr, nullptr);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int size = static_cast<int>(kSize.count());
    for (int step = 0; step < ring.steps; ++step) {
      std::array<MPI_Request, 2> requests{};
      MPI_Irecv(incoming.data(), size, MPI_CHAR, ring.previous(rank), 0, MPI_COMM_WORLD, requests.data());
      MPI_Isend(outgoing.data(), size, MPI_CHAR, ring.next(rank), 0, MPI_COMM_WORLD, requests.data() + 1);
      MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    }
    MPI_Finalize();
  };
  for (int rank = 0; rank < ring.ranks; ++rank) {
    const s4u::ActorPtr actor = s4u::Actor::init(std::to_string(rank), hosts[static_cast<std::size_t>(rank)]);
    actor->set_property("instance_id", "ring");
    actor->set_property("rank", std::to_string(rank));
    actor->start(code);
  }
  engine.run();
  result.simulated = s4u::Engine::get_clock();
  result.seconds = processor_time() - start;
  SMPI_finalize();
  return result;
}

/// In a process of its own.
Result apart(const std::function<Result()>& run) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw Error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw Error("no process");
  if (child == 0) {
    Result result = run();
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    result.mebibytes = static_cast<double>(usage.ru_maxrss) / 1024;
    _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
  }
  close(ends[1]);
  Result result;
  const bool whole = read(ends[0], &result, sizeof result) == sizeof result;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!whole || status != 0) return {};
  return result;
}

void compare(const Ring& ring, int rounds, bool only) {
  struct Program {
    const char* name;
    std::function<Result()> run;
    Result best{};
  };
  std::array<Program, 3> programs{{{"twinlink", [&] { return run_twinlink(ring); }},
                                   {"bare S4U", [&] { return run_bare(ring); }},
                                   {"SMPI", [&] { return run_smpi(ring); }}}};
  const std::span<Program> used(programs.data(), only ? 1 : programs.size());
  for (int round = 0; round < rounds; ++round) {
    for (Program& program : used) {
      const Result result = apart(program.run);
      if (result.seconds > 0 && (program.best.seconds == 0 || result.seconds < program.best.seconds))
        program.best = result;
    }
  }
  const double messages = static_cast<double>(ring.ranks) * ring.steps;
  std::printf("%d ranks, %d steps, %d ranks at an adapter\n", ring.ranks, ring.steps, ring.sharing);
  for (const Program& program : used) {
    if (program.best.seconds == 0) {
      std::printf("%-10s failed\n", program.name);
      continue;
    }
    std::printf("%-10s %9.0f messages/s %7.2f us a message %7.0f MiB, simulated %.9f s\n", program.name,
                messages / program.best.seconds, program.best.seconds / messages * 1e6, program.best.mebibytes,
                program.best.simulated);
  }
  for (const Program& program : used.subspan(1)) {
    std::printf("times the messages/s of %s: %.2f\n", program.name, program.best.seconds / programs[0].best.seconds);
  }
}

}  // namespace
}  // namespace twinlink

int main(int argc, char** argv) {
  twinlink::Ring ring;
  int rounds = 3;
  bool only = false;
  CLI::App app("Times a ring of messages, simulated by Twinlink, by a bare S4U program and by SMPI.");
  app.add_option("--ranks", ring.ranks, "in the ring")->capture_default_str()->check(CLI::Range(2, 1 << 20));
  app.add_option("--steps", ring.steps, "messages of each rank")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--sharing", ring.sharing, "ranks that share an adapter")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--links", ring.links, "of the bare programs' machines, each way")
      ->capture_default_str()
      ->check(CLI::Range(1, 8));
  app.add_option("--rounds", rounds, "of which the fastest counts")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_flag("--exact", ring.exact, "SimGrid gets all flows");
  app.add_flag("--only", only, "Twinlink alone");
  CLI11_PARSE(app, argc, argv);
  try {
    twinlink::compare(ring, rounds, only);
  } catch (const twinlink::Error& error) {
    std::fprintf(stderr, "ring_benchmark: %s\n", error.what());
    return static_cast<int>(error.exit_code());
  }
}
