#include "tests/model/workloads/schedule_times.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "model/engine/simulation.hpp"
#include "protocols/bench/measure/collectives.hpp"
#include "protocols/registry.hpp"
#include "protocols/workloads/execution.hpp"
#include "tests/model/engine/one_message.hpp"

namespace twinlink::model::testing {
using workloads::Schedule;

std::vector<Seconds> times_of(const Platform& platform, std::span<const Place> places,
                              std::span<const MakeSchedule> schedules) {
  std::vector<Seconds> times(schedules.size());
  simulate(platform, places, [&](MeasuredRank& inner) {
    ConcurrentRank rank(inner);
    const auto meet = [&] { bench::meet_all(rank, bench::Patience::of_turn(kLong)); };
    const Protocol& protocol = find_protocol("gpudirect-v2");
    const workloads::Ways ways{&protocol, &protocol, protocol.defaults(), protocol.defaults()};
    std::vector<Schedule> mine;
    std::uint64_t room = 1;
    for (const MakeSchedule& make : schedules) {
      mine.push_back(make(rank.id().value));
      room = std::max({room, mine.back().data, mine.back().scratch});
    }
    const workloads::Buffers buffers(rank, Memory::device, room, room);
    {
      workloads::Connections connections(rank, ways);
      for (const Schedule& schedule : mine) connections.open(schedule);
      for (std::size_t i = 0; i < mine.size(); ++i) {
        for (int round = 0; round < 2; ++round) {
          prepare(rank, mine[i], buffers);
          meet();
          const Seconds start = rank.now();
          std::optional<std::string> fault;
          EXPECT_TRUE(
              run_once(rank, mine[i], connections, buffers, kLong, {.fault = round == 0 ? &fault : nullptr}).ok());
          EXPECT_EQ(fault, std::nullopt);
          if (round == 1) times[i] = std::max(times[i], rank.now() - start);
          EXPECT_EQ(fault_in(rank, mine[i], buffers), std::nullopt);
          meet();
        }
      }
    }
    meet();
  });
  return times;
}

}  // namespace twinlink::model::testing
