#include "protocols/workloads/concurrent_rank.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "protocols/core/errors.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "protocols/workloads/catalogue.hpp"
#include "protocols/workloads/connections.hpp"
#include "protocols/workloads/execution.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/support/finish.hpp"
#include "tests/support/made_up_rank.hpp"
#include "tests/support/meet_all.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink {
namespace {

using Works = std::vector<std::function<void()>>;

constexpr Seconds kLongWait{10};
constexpr Tag kPing = tags::kFirstFree;

int receive(Rank& rank, RankId peer, Tag tag) {
  ControlMessage message;
  EXPECT_EQ(wait(rank, rank.recv_control(peer, tag, message), rank.now() + kLongWait), Status::delivered);
  return message.as<int>();
}

void send(Rank& rank, RankId peer, Tag tag, int value) {
  finish(rank, rank.send_control(peer, tag, ControlMessage(value)), rank.now() + kLongWait);
}

TEST(ConcurrentRank, WhereOneWorkWaitsTheOthersGoOn) {
  run_fake_world({}, [](MeasuredRank& inner) {
    ConcurrentRank rank(inner);
    const RankId peer{1 - rank.id().value};
    std::vector<std::string> story;
    // The first waits for what the peer sends only when the second of both has sent.
    rank.run(Works{[&] { story.push_back("received " + std::to_string(receive(rank, peer, kPing))); },
                   [&] {
                     story.emplace_back("sends");
                     send(rank, peer, kPing, 7);
                   }});
    EXPECT_THAT(story, testing::ElementsAre("sends", "received 7"));
  });
}

TEST(ConcurrentRank, ResultsGoToWhoWaitedForThem) {
  run_fake_world({.ranks = 4}, [](MeasuredRank& inner) {
    ConcurrentRank rank(inner);
    std::array<int, 4> heard{};
    Works works;
    for (int peer = 0; peer < 4; ++peer) {
      if (peer == rank.id().value) continue;
      works.emplace_back([&, peer] {
        for (int i = 0; i < 20; ++i) {
          send(rank, RankId{peer}, kPing, 100 * rank.id().value + i);
          EXPECT_EQ(receive(rank, RankId{peer}, kPing), 100 * peer + i);
          ++heard[static_cast<std::size_t>(peer)];
        }
      });
    }
    rank.run(works);
    for (int peer = 0; peer < 4; ++peer) {
      EXPECT_EQ(heard[static_cast<std::size_t>(peer)], peer == rank.id().value ? 0 : 20);
    }
  });
}

TEST(ConcurrentRank, TheFirstFailureEndsAllAndPassesOn) {
  run_fake_world({}, [](MeasuredRank& inner) {
    ConcurrentRank rank(inner);
    const RankId peer{1 - rank.id().value};
    bool ended = false;
    ControlMessage never;
    const Works works{[&] {
                        struct Ending {
                          bool& flag;
                          ~Ending() { flag = true; }
                        } ending{ended};
                        finish(rank, rank.recv_control(peer, Tag{kPing.value + 1}, never), rank.now() + Seconds{1e6});
                      },
                      [&] {
                        send(rank, peer, kPing, 1);
                        receive(rank, peer, kPing);
                        throw UsageError("the second has failed");
                      }};
    EXPECT_EQ(said_by([&] { rank.run(works); }), "the second has failed");
    EXPECT_TRUE(ended) << "the stack of the other was unwound";
    // And it can be used again.
    int done = 0;
    rank.run(Works{[&] { ++done; }, [&] { ++done; }});
    EXPECT_EQ(done, 2);
  });
}

TEST(ConcurrentRank, ExceptionsThatAreCaughtStayOnTheirStack) {
  run_fake_world({}, [](MeasuredRank& inner) {
    ConcurrentRank rank(inner);
    const RankId peer{1 - rank.id().value};
    std::string seen;
    rank.run(Works{[&] {
                     try {
                       throw UsageError("mine");
                     } catch (const UsageError&) {
                       receive(rank, peer, kPing);  // meanwhile the other throws and catches
                       try {
                         throw;
                       } catch (const UsageError& error) {
                         seen = error.what();
                       }
                     }
                   },
                   [&] {
                     try {
                       throw EnvironmentError("call", "the other's");
                     } catch (const EnvironmentError&) {
                       send(rank, peer, kPing, 1);
                     }
                   }});
    EXPECT_EQ(seen, "mine");
  });
}

TEST(ConcurrentRank, ADeadlineEndsOneWaitAndNotTheOthers) {
  run_fake_world({}, [](MeasuredRank& inner) {
    ConcurrentRank rank(inner);
    const RankId peer{1 - rank.id().value};
    Status late = Status::delivered;
    int heard = 0;
    ControlMessage never;
    rank.run(Works{[&] {
                     late = wait(rank, rank.recv_control(peer, Tag{kPing.value + 1}, never), rank.now());
                     send(rank, peer, kPing, 3);
                   },
                   [&] { heard = receive(rank, peer, kPing); }});
    EXPECT_EQ(late, Status::timed_out);
    EXPECT_EQ(heard, 3);
    EXPECT_LT(rank.now(), Seconds{1}) << "the earliest deadline ends the wait of all";
  });
}

TEST(ConcurrentRank, AWorkRunsOthersWhileThoseBesideItGoOn) {
  run_fake_world({}, [](MeasuredRank& inner) {
    ConcurrentRank rank(inner);
    const RankId peer{1 - rank.id().value};
    std::vector<std::string> story;
    rank.run(Works{[&] {
                     rank.run(Works{[&] { story.push_back("received " + std::to_string(receive(rank, peer, kPing))); },
                                    [&] { story.emplace_back("inner"); }});
                     story.emplace_back("both");
                   },
                   [&] {
                     story.emplace_back("outer");
                     send(rank, peer, kPing, 7);
                   }});
    EXPECT_THAT(story, testing::ElementsAre("outer", "inner", "received 7", "both"));
  });
}

TEST(ConcurrentRank, AWorkWaitsForWhatAnotherDoes) {
  run_fake_world({}, [](MeasuredRank& inner) {
    ConcurrentRank rank(inner);
    const RankId peer{1 - rank.id().value};
    int heard = 0;
    std::vector<int> seen;
    rank.run(Works{[&] {
                     rank.wait_until([&] { return heard > 1; });
                     seen.push_back(heard);
                   },
                   [&] {
                     for (int i = 1; i <= 3; ++i) {
                       send(rank, peer, kPing, i);
                       heard = receive(rank, peer, kPing);
                       seen.push_back(-heard);
                     }
                   }});
    EXPECT_THAT(seen, testing::ElementsAre(-1, -2, 2, -3));
  });
}

TEST(ConcurrentRank, WorksThatAllWaitForEachOtherAreAnError) {
  run_fake_world({}, [](MeasuredRank& inner) {
    ConcurrentRank rank(inner);
    const auto never = [] { return false; };
    EXPECT_THROW(rank.run(Works{[&] { rank.wait_until(never); }, [&] { rank.wait_until(never); }}), Error);
    EXPECT_THROW(rank.wait_until(never), UsageError) << "not of a work";
  });
}

TEST(ConcurrentRank, AFailureEndsTheWorksOfAWorkBeforeItself) {
  run_fake_world({}, [](MeasuredRank& inner) {
    ConcurrentRank rank(inner);
    std::vector<std::string> endings;
    struct Ending {
      std::vector<std::string>& all;
      std::string name;
      ~Ending() { all.push_back(name); }
    };
    const auto wait_for_ever = [&](const std::string& name) {
      const Ending ending{endings, name};
      rank.wait_until([] { return false; });
    };
    EXPECT_THROW(rank.run(Works{[&] {
                                  const Ending ending{endings, "outer"};
                                  rank.run(Works{[&] { wait_for_ever("first"); }, [&] { wait_for_ever("second"); }});
                                },
                                [&] { throw UsageError("failed"); }}),
                 UsageError);
    EXPECT_THAT(endings, testing::ElementsAre("first", "second", "outer"));
    int done = 0;
    rank.run(Works{[&] { ++done; }, [&] { ++done; }});
    EXPECT_EQ(done, 2);
  });
}

TEST(Connections, OfARingAreMadeByEveryProtocol) {
  for (const Protocol* protocol : all_protocols()) {
    for (const int ranks : {2, 3, 5}) {
      run_fake_world({.ranks = ranks}, [&](MeasuredRank& inner) {
        ConcurrentRank rank(inner);
        const auto& algorithm = workloads::find_workload("shift").algorithms.front();
        const workloads::Schedule schedule = algorithm.schedule({ranks, 1}, rank.id().value, 1000);
        const auto peers = workloads::peers_of(schedule);
        const workloads::Ways ways{protocol, protocol, protocol->defaults(), protocol->defaults()};
        if (!workloads::refusal(rank, ways, peers).empty()) return;
        std::optional<workloads::Buffers> buffers;
        buffers.emplace(rank, protocol->message_memory(), schedule.data, schedule.scratch);
        {
          workloads::Connections connections(rank, ways);
          connections.open(peers);
          prepare(rank, schedule, *buffers);
          const Outcome outcome = run_once(rank, schedule, connections, *buffers, kLongWait);
          EXPECT_TRUE(outcome.ok()) << protocol->name() << ": " << outcome.reason;
          EXPECT_FALSE(fault_in(rank, schedule, *buffers).has_value()) << protocol->name();
          meet_all(rank);  // the peers may have this rank's buffers open
        }
        meet_all(rank);
        buffers.reset();
        EXPECT_EQ(live_buffers(inner), 0U) << protocol->name();
      });
    }
  }
}

/// Of rank 1, which is in one domain with some, and cannot speak to rank 2.
TEST(Connections, ARefusalNamesTheOptionForSuchPairs) {
  const Protocol& ipc = find_protocol("cuda-ipc");
  workloads::Ways ways{&ipc, &ipc, ipc.defaults(), ipc.defaults()};
  run_fake_world({.ranks = 4}, [&](MeasuredRank& inner) {
    if (inner.id() != RankId{1}) return;
    const auto said = [&](const std::set<int>& domain, bool same_node = false) {
      const MadeUpRank rank(inner, RankId{1}, inner.position().places, [&](int, int peer) {
        Path path{.same_node = same_node};
        if (domain.contains(peer)) path.device_mapping = Answer::granted();
        return path;
      });
      return refusal(rank, ways, {RankId{2}});
    };
    const std::string start = "cuda-ipc cannot run between ranks 1 and 2: ";
    const auto advising = [&](const std::string& option) {
      return start + "the GPUs are on different nodes, and CUDA IPC ends at the node; --between-" + option +
             " names another protocol for such pairs";
    };
    for (const auto& domain : {std::set<int>{}, {1}, {2}}) EXPECT_EQ(said(domain), advising("nodes"));
    for (const int beside : {0, 3}) EXPECT_EQ(said({beside}), advising("domains"));
    EXPECT_EQ(said({}, true), start) << "nothing is between them";
    ways.between_domains = &ipc;
    EXPECT_EQ(said({}), advising("domains"));
    ways.between_domains = &find_protocol("host");
    EXPECT_EQ(said({}), "cuda-ipc and host take messages in memory of different kinds");
  });
}

/// One of the three peers hears nothing, so that its channel never begins to connect.
TEST(Connections, ConnectWhileAnyOfTheirChannelsDoes) {
  for (const char* name : {"cuda-aware", "cuda-ipc", "host"}) {
    const Protocol& protocol = find_protocol(name);
    const workloads::Ways ways{&protocol, &protocol, protocol.defaults(), protocol.defaults()};
    run_fake_world({.ranks = 3}, [&](MeasuredRank& inner) {
      ConcurrentRank rank(inner);
      const int self = rank.id().value;
      workloads::Connections connections(rank, ways);
      connections.open({RankId{(self + 1) % 3}, RankId{(self + 2) % 3}});
      const auto any = [&] {
        return connections.to(RankId{(self + 1) % 3}).connecting() ||
               connections.to(RankId{(self + 2) % 3}).connecting();
      };
      EXPECT_FALSE(connections.connecting());
      const View data(rank.allocate(protocol.message_memory(), 64_KiB, Locality::near));
      const View into(rank.allocate(protocol.message_memory(), 64_KiB, Locality::near));
      for (int message = 0; message < 3 && self != 2; ++message) {
        const Outcome outcome = connections.to(RankId{1 - self}).exchange(std::array{data}, std::array{into});
        EXPECT_TRUE(outcome.ok()) << outcome.reason;
        EXPECT_EQ(connections.connecting(), any()) << name << " " << message;
      }
      EXPECT_EQ(connections.connecting(), any()) << name;
    });
  }
}

}  // namespace
}  // namespace twinlink
