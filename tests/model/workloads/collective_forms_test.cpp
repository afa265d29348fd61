// The closed forms of collectives on an idle machine whose GPUs hang at one NVSwitch: sums of what one exchange, one
// message and one addition take there. Nothing is fitted; the ranks of a step alone begin at the same moment, those of
// a later one need not, which is less than 0.1 %, and one of them may just have looked for an end in vain.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "platforms/reader/platform_reader.hpp"
#include "protocols/workloads/catalogue.hpp"
#include "protocols/workloads/groups.hpp"
#include "protocols/workloads/mpi/library.hpp"
#include "tests/model/workloads/schedule_times.hpp"

namespace twinlink::model {
namespace {

using namespace testing;    // NOLINT: times_of()
using namespace workloads;  // NOLINT: what is tested

constexpr int kRanks = 8;
constexpr Shape kNode{kRanks, kRanks};
constexpr std::uint64_t kAll = (8U << 20U) / 8;  // elements of 8 MiB

/// Each rank to one so far on and from one so far back, at once.
Schedule exchange_of(int rank, std::uint64_t elements, int distance = 1) {
  const Group group = everyone(kNode, rank);
  return {.data = elements,
          .scratch = elements,
          .steps = {{.transfers = in_and_out(group.rank_at(distance), {Where::data, 0, elements},
                                             group.rank_at(-distance), {Where::scratch, 0, elements})}}};
}
/// With a partner, both ways.
Schedule swap_of(int rank, std::uint64_t elements, int partner) {
  return {.data = elements,
          .scratch = elements,
          .steps = {{.transfers = {{rank ^ partner, {Where::data, 0, elements}, {Where::scratch, 0, elements}}}}}};
}
/// Rank 0 to rank 1.
Schedule message_of(int rank, std::uint64_t elements) {
  Schedule schedule{.data = elements};
  const Slice all{Where::data, 0, elements};
  if (rank == 0) schedule.steps = {{.transfers = {{1, all, {}}}}};
  if (rank == 1) schedule.steps = {{.transfers = {{0, {}, all}}}};
  return schedule;
}
Schedule locals_of(Local::Kind kind, std::uint64_t elements, std::size_t count) {
  const Local each{kind, {Where::data, 0, elements}, {Where::scratch, 0, elements}};
  return {.data = elements, .scratch = elements, .steps = {{.locals = std::vector(count, each)}}};
}

/// Times of what collectives are made of, and of collectives, by name.
class Forms {
 public:
  void add(const std::string& name, MakeSchedule make) {
    names_.push_back(name);
    schedules_.push_back(std::move(make));
  }
  void add(const std::string& workload, const std::string& algorithm) {
    const Algorithm& used = find_algorithm(find_workload(workload), algorithm);
    add(workload + " " + algorithm, [&used](int rank) { return used.schedule(kNode, rank, kAll); });
    add(workload + " " + algorithm + " x 4", [&used](int rank) { return used.schedule(kNode, rank, kAll * 4); });
    add(workload + " " + algorithm + " x 8", [&used](int rank) { return used.schedule(kNode, rank, kAll * 8); });
  }
  void run() {
    const Platform platform = read_platform(TWINLINK_SOURCE_DIR "/platforms/hgx-h100.yaml");
    look_ = platform.runtime.failed_poll->value.microseconds();
    std::vector<Place> places;
    for (int gpu = 0; gpu < kRanks; ++gpu) places.push_back({0, gpu});
    const std::vector<Seconds> times = times_of(platform, places, schedules_);
    for (std::size_t i = 0; i < times.size(); ++i) times_[names_[i]] = times[i].microseconds();
  }
  double of(const std::string& name) const { return times_.at(name); }
  /// What a rank takes to ask for an end in vain.
  double look() const { return look_; }
  void expect(const std::string& name, double microseconds) const {
    EXPECT_NEAR(of(name), microseconds, microseconds * 1e-3 + look_) << name;
  }

 private:
  std::vector<std::string> names_;
  std::vector<MakeSchedule> schedules_;
  double look_ = 0;
  std::map<std::string, double> times_;
};

/// What Open MPI's algorithms are made of; its calls have two buffers, so additions begin with a copy. `halving`: there
/// and back, with additions.
void expect_openmpi(const Forms& forms, double halving) {
  const auto swap = [&](int part) { return forms.of("swap 1/" + std::to_string(part)); };
  const auto add = [&](int part) { return forms.of("add 1/" + std::to_string(part)); };
  const double copy = forms.of("copy");
  const double message = forms.of("message");
  forms.expect("openmpi all-reduce ring", copy + forms.of("all-reduce ring"));
  forms.expect("openmpi all-reduce segmented_ring", copy + forms.of("all-reduce ring"));
  forms.expect("openmpi all-reduce recursive_doubling", copy + 3 * (swap(1) + add(1)));
  forms.expect("openmpi all-reduce rabenseifner", copy + halving);
  forms.expect("openmpi reduce-scatter ring", copy + forms.of("reduce-scatter ring"));
  const double halves = swap(2) + swap(4) + swap(8) + add(2) + add(4) + add(8);
  forms.expect("openmpi reduce-scatter recursive_halving", copy + halves);
  forms.expect("openmpi reduce-scatter butterfly", copy + halves + swap(8));
  forms.expect("openmpi all-gather recursive_doubling", swap(8) + swap(4) + swap(2));
  forms.expect("openmpi all-gather neighbor", swap(8) + 3 * swap(4));
  forms.expect("openmpi all-gather ring", forms.of("all-gather ring"));
  // One after the other: the end of each may be asked for once in vain, or begins the next without.
  const auto expect_in_turn = [&](const std::string& name, double each) {
    EXPECT_NEAR(forms.of("openmpi " + name), 7 * each, 7 * forms.look()) << name;
  };
  expect_in_turn("broadcast chain", message);
  expect_in_turn("broadcast pipeline", message);
  expect_in_turn("reduce linear", message + add(1));
  expect_in_turn("reduce chain", message + add(1));
  expect_in_turn("gather basic_linear", forms.of("message 1/8"));
  expect_in_turn("scatter basic_linear", forms.of("message 1/8"));
  forms.expect("openmpi reduce binomial", 3 * (message + add(1)));
  forms.expect("openmpi all-to-all pairwise", forms.of("all-to-all pairwise"));
  forms.expect("openmpi all-to-all modified_bruck", forms.of("all-to-all bruck"));
  forms.expect("openmpi barrier bruck", forms.of("barrier dissemination"));
}

TEST(CollectiveForms, AreSumsOfExchangesMessagesAndAdditions) {
  Forms forms;
  for (int shift = 0; shift <= 3; ++shift) {
    const std::string of = " 1/" + std::to_string(1 << shift);
    const std::uint64_t elements = kAll >> static_cast<unsigned>(shift);
    forms.add("exchange" + of, [elements](int rank) { return exchange_of(rank, elements); });
    forms.add("swap" + of, [elements](int rank) { return swap_of(rank, elements, 1); });
    forms.add("add" + of, [elements](int) { return locals_of(Local::Kind::add, elements, 1); });
  }
  // Four of the eight have read the prompt, and each sends to one.
  const Algorithm& list = find_algorithm(find_workload("kv-cache"), "list");
  const Algorithm& packed = find_algorithm(find_workload("kv-cache"), "packed");
  const auto cache_of = [](const Algorithm& algorithm, int blocks, int prefill = 4) {
    const Shape shape{.ranks = kRanks, .per_node = kRanks, .kv = {.prefill = prefill, .block = bytes_of(kAll / 8)}};
    return [&algorithm, shape, blocks](int rank) {
      return algorithm.schedule(shape, rank, kAll / 8 * static_cast<std::uint64_t>(blocks));
    };
  };
  for (const int blocks : {1, 8, 16, 24}) forms.add("list " + std::to_string(blocks), cache_of(list, blocks));
  forms.add("list to two", cache_of(list, 24, 6));
  forms.add("message x 3", [](int rank) { return message_of(rank, kAll * 3); });
  forms.add("three to each of two", [](int rank) {
    const std::uint64_t each = kAll * 3;
    const int to = 6 + rank / 3;
    Schedule schedule{.data = 3 * each, .steps = {Step{}}};
    for (int sender = 0; sender < 6; ++sender) {
      const Slice place{Where::data, each * static_cast<std::uint64_t>(sender % 3), each};
      if (rank == sender) schedule.steps[0].transfers = {{to, {Where::data, 0, each}, {}}};
      if (rank == 6 + sender / 3) schedule.steps[0].transfers.push_back({sender, {}, place});
    }
    return schedule;
  });
  forms.add("packed 8", cache_of(packed, 8));
  forms.add("exchange piece", [](int rank) { return exchange_of(rank, kAll / 32); });
  forms.add("message piece", [](int rank) { return message_of(rank, kAll / 32); });
  for (const int distance : {1, 2, 4}) {
    forms.add("signal " + std::to_string(distance), [distance](int rank) { return exchange_of(rank, 1, distance); });
  }
  forms.add("message", [](int rank) { return message_of(rank, kAll); });
  for (const std::size_t count : {1U, 4U, 8U}) {
    forms.add("copies " + std::to_string(count),
              [count](int) { return locals_of(Local::Kind::copy, kAll / 8, count); });
  }
  for (const int part : {2, 4, 8}) {
    forms.add("message 1/" + std::to_string(part),
              [part](int rank) { return message_of(rank, kAll / static_cast<std::uint64_t>(part)); });
  }
  forms.add("adds 7", [](int) { return locals_of(Local::Kind::add, kAll / 8, 7); });
  forms.add("swap of halves", [](int rank) { return swap_of(rank, kAll, kRanks / 2); });
  forms.add("copy", [](int) { return locals_of(Local::Kind::copy, kAll, 1); });
  forms.add("half a copy", [](int) { return locals_of(Local::Kind::copy, kAll / 2, 1); });
  for (const Workload& workload : all_workloads()) {
    if (workload.name == "training-step") continue;
    for (const Algorithm& algorithm : workload.algorithms) {
      if (algorithm.together) continue;  // not made of messages: program_forms_test has them
      forms.add(std::string(workload.name), std::string(algorithm.name));
    }
  }
  const auto& libraries = mpi::find_library("openmpi 4.1", "").tables;
  for (const mpi::Table& table : libraries) {
    for (const mpi::LibraryAlgorithm& each : table.algorithms) {
      if (each.algorithm.schedule == nullptr || !each.broadcast.empty()) continue;
      const auto make = each.algorithm.schedule;
      forms.add("openmpi " + std::string(table.workload) + " " + std::string(each.algorithm.name),
                [make](int rank) { return make(kNode, rank, kAll); });
    }
  }
  forms.run();

  const double exchange = forms.of("exchange 1/8");
  const double add = forms.of("add 1/8");
  forms.expect("all-gather ring", 7 * exchange);
  forms.expect("reduce-scatter ring", 7 * (exchange + add));
  forms.expect("all-reduce ring", 14 * exchange + 7 * add);
  double halving = 0;
  for (const char* of : {" 1/2", " 1/4", " 1/8"}) {
    halving += 2 * forms.of(std::string("swap") + of) + forms.of(std::string("add") + of);
  }
  forms.expect("all-reduce halving-doubling", halving);
  forms.expect("all-reduce hierarchical", halving);
  forms.expect("all-reduce tree", 6 * forms.of("message") + 3 * forms.of("add 1/1"));
  // Of a switch all share each GPU's links; one after the other reads what has come.
  forms.expect("reduce-scatter direct", forms.of("all-gather direct") + forms.of("adds 7"));
  forms.expect("all-reduce direct", forms.of("reduce-scatter direct") + forms.of("all-gather direct"));
  forms.expect("broadcast tree", 3 * forms.of("message"));
  forms.expect("reduce tree", 3 * (forms.of("message") + forms.of("add 1/1")));
  forms.expect("reduce ring", forms.of("reduce-scatter ring") + forms.of("gather direct"));
  const double doubling = forms.of("message 1/8") + forms.of("message 1/4") + forms.of("message 1/2");
  // Whoever passes parts on learns of its own message last: 0.06 us of 40 in each of two steps.
  EXPECT_NEAR(forms.of("gather tree"), doubling, doubling * 5e-3);
  forms.expect("scatter tree", doubling);
  forms.expect("all-to-all pairwise", 6 * exchange + forms.of("swap 1/8") + forms.of("copies 1"));
  forms.expect("all-to-all bruck", 2 * forms.of("exchange 1/2") + forms.of("swap 1/2") + 2 * forms.of("copies 8") +
                                       6 * forms.of("copies 4"));
  // Of experts that are alike.
  for (const std::string workload : {"dispatch", "combine"}) {
    forms.expect(workload + " pairwise", forms.of("all-to-all pairwise"));
    forms.expect(workload + " direct", forms.of("all-to-all direct"));
  }
  // A block alone is a message; each further one takes as long as the one before it.
  forms.expect("list 1", forms.of("message 1/8"));
  // Who asks for the end of each of eight more may have asked in vain.
  EXPECT_NEAR(forms.of("list 24"), 2 * forms.of("list 16") - forms.of("list 8"), 8 * forms.look());
  EXPECT_LT(forms.of("list 8"), 8 * forms.of("message 1/8"));
  EXPECT_GT(forms.of("list 8"), forms.of("message") * (1 - 1e-3));
  forms.expect("packed 8", forms.of("message") + 2 * forms.of("copies 8"));
  // Six to two: the bytes of three messages at once, and what each of a sender's blocks takes to begin, of which some
  // hides behind others' bytes.
  const double begun = forms.of("list 24") - forms.of("message x 3");
  EXPECT_NEAR(forms.of("list to two"), forms.of("three to each of two") + begun, begun * 0.15);
  forms.expect("barrier dissemination", forms.of("signal 1") + forms.of("signal 2") + forms.of("signal 4"));
  forms.expect("shift direct", forms.of("exchange 1/1"));
  forms.expect("bisection direct", forms.of("swap of halves"));
  expect_openmpi(forms, halving);
  // A piece's steps overlap at the ends of the chain.
  EXPECT_GE(forms.of("broadcast chain"), 38 * forms.of("message piece"));
  EXPECT_LE(forms.of("broadcast chain"), 38 * forms.of("exchange piece"));
  // Where a rank has several messages at once, each further byte of them takes as long as alone.
  const auto slope = [&](const std::string& name) { return forms.of(name + " x 8") - forms.of(name + " x 4"); };
  const double byte = slope("shift direct");
  const auto expect_bytes = [&](const std::string& name, double bytes) {
    EXPECT_NEAR(slope(name), bytes, bytes * 1e-3) << name;
  };
  expect_bytes("incast direct", 7 * byte);
  expect_bytes("fan-out direct", 7 * byte);
  expect_bytes("all-gather direct", 7 * byte / 8);
  expect_bytes("gather direct", 7 * byte / 8);
  expect_bytes("scatter direct", 7 * byte / 8);
  expect_bytes("halo-2d direct", 4 * byte);  // 4 x 2 ranks: both neighbours in a row of two are one, with two faces
  expect_bytes("halo-3d direct", 6 * byte);
  expect_bytes("all-to-all direct", 7 * byte / 8 + forms.of("copy") - forms.of("half a copy"));
}

}  // namespace
}  // namespace twinlink::model
