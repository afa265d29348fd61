// Jobs of equal iterations: what is said of one of which most are left out is what the whole job takes, to nine digits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "model/engine/simulation.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/registry.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers
using bench::WorkloadPoint;
using bench::WorkloadSeries;
using ::testing::HasSubstr;
using ::testing::Not;

/// One rank's tasks, as they are written down.
class RankText {
 public:
  /// Waits for the tasks that are so far back, as far as there are any.
  void add(const std::string& task, const std::vector<std::size_t>& back) {
    text_ += fmt::format("t{}: {}\n", count_, task);
    for (const std::size_t far : back) {
      if (far <= count_) text_ += fmt::format("t{} requires t{}\n", count_, count_ - far);
    }
    ++count_;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_{};
  std::size_t count_ = 0;
};

/// What a rank does in an iteration, or before the first, or after the last.
struct Line {
  std::size_t rank;
  std::string task;
  std::vector<std::size_t> back;
};

/// A job that `seed` draws.
class Drawn {
 public:
  explicit Drawn(unsigned seed) : random_(seed), ranks_(2 + below(3)) {}

  [[nodiscard]] std::string job(std::size_t iterations) {
    const std::vector<Line> before = lines(below(4), false);
    const std::vector<Line> body = lines(4 + below(10), true);
    const std::vector<Line> after = lines(below(4), false);
    std::vector<RankText> texts(ranks_);
    const auto add = [&](const std::vector<Line>& all) {
      for (const Line& line : all) texts[line.rank].add(line.task, line.back);
    };
    add(before);
    for (std::size_t i = 0; i < iterations; ++i) add(body);
    add(after);
    std::string text = fmt::format("num_ranks {0}\ngroup 0 {{ 0-{1} }}\n", ranks_, ranks_ - 1);
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      text += fmt::format("rank {} {{\n{}}}\n", rank, texts[rank].text());
    return text;
  }
  [[nodiscard]] std::size_t ranks() const { return ranks_; }

 private:
  std::size_t below(std::size_t most) { return random_() % most; }

  /// Mostly for the task before; now and then for an earlier one as well, of the iteration before perhaps.
  std::vector<std::size_t> back() {
    if (below(12) == 0) return {};
    std::vector<std::size_t> all{1};
    if (below(4) == 0) all[0] = 2;
    if (below(3) == 0) all.push_back(3 + below(4));
    return all;
  }

  std::vector<Line> lines(std::size_t count, bool together) {
    std::vector<Line> all;
    const auto collective = [&] {
      const char* const names[] = {"all_reduce", "all_gather", "broadcast", "barrier", "all_to_all"};
      const std::string task = fmt::format("{} {}b in 0", names[below(5)], 8 * ranks_ * (1 + below(20'000)));
      for (std::size_t rank = 0; rank < ranks_; ++rank) all.push_back({rank, task, {1}});
    };
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t one = below(ranks_);
      const std::size_t other = (one + 1 + below(ranks_ - 1)) % ranks_;
      const std::size_t bytes = 1 + below(300'000);
      switch (below(4)) {
        case 0:
          all.push_back({one, fmt::format("calc {}", below(100'000)), back()});
          break;
        case 1:
          all.push_back({one, fmt::format("calc {} cpu 1", below(30'000)), back()});
          break;
        case 2: {
          const std::size_t tag = below(2);
          all.push_back({one, fmt::format("send {}b to {} tag {}", bytes, other, tag), back()});
          all.push_back({other, fmt::format("recv {}b from {} tag {}", bytes, one, tag), back()});
          break;
        }
        default:
          collective();
      }
    }
    // What goes on beside all of the iterations, or a good part of them.
    if (!together && below(4) == 0) all.push_back({below(ranks_), fmt::format("calc {} cpu 2", below(9'000'000)), {}});
    if (!together && below(4) == 0) {
      all.push_back({0, "send 20000000b to 1 tag 9", {}});
      all.push_back({1, "recv 20000000b from 0 tag 9", {}});
    }
    // Mostly ranks meet in an iteration.
    if (together && below(8) != 0) collective();
    return all;
  }

  std::mt19937 random_;
  std::size_t ranks_;
};

class Repetition : public ::testing::TestWithParam<const char*> {
 protected:
  Repetition() : file_(std::filesystem::path(::testing::TempDir()) / "repeated.goal") {}
  ~Repetition() override { std::filesystem::remove(file_); }

  bench::RecordedJob read(std::uint64_t iterations_of_body) {
    return bench::read_job(
        file_, {}, [](std::string_view) { return false; }, iterations_of_body);
  }
  WorkloadSeries measured(std::uint64_t iterations_of_body, std::size_t ranks) {
    const Protocol& protocol = find_protocol(GetParam());
    bench::WorkloadPlan plan{.work = read(iterations_of_body),
                             .longer = [this](std::uint64_t iterations) { return read(iterations); },
                             .ways = {&protocol, &protocol, protocol.defaults(), protocol.defaults()},
                             .timeout = Seconds{1000}};
    std::vector<Place> places{{0, 0, {}}, {1, 0, {}}, {0, 1, {}}, {2, 0, {}}};
    places.resize(ranks);
    WorkloadSeries series;
    simulate(sample_platform(), places, [&](MeasuredRank& rank) {
      WorkloadSeries mine = bench::measure_trace(rank, plan);
      if (rank.id() == RankId{0}) series = std::move(mine);
    });
    return series;
  }
  void write(const std::string& text) { bench::write_file(file_, text); }

 private:
  std::filesystem::path file_;
};

void expect_same(double shortened, double whole, const std::string& what) {
  EXPECT_NEAR(shortened, whole, 1e-9 * whole) << what;
}

void expect_same(const WorkloadSeries& shortened, const WorkloadSeries& whole) {
  const WorkloadPoint& some = shortened.points.front();
  const WorkloadPoint& all = whole.points.front();
  expect_same(some.time_us.median, all.time_us.median, "time");
  expect_same(some.fastest_us, all.fastest_us, "the fastest rank's");
  expect_same(some.predicted_us, all.predicted_us, "predicted");
  EXPECT_EQ(some.slowest_rank, all.slowest_rank);
  EXPECT_EQ(some.steps, all.steps);
  EXPECT_EQ(some.size, all.size);
  for (std::size_t rank = 0; rank < all.ranks.size(); ++rank) {
    expect_same(some.ranks[rank].ended_us, all.ranks[rank].ended_us, fmt::format("rank {} ended", rank));
    expect_same(some.ranks[rank].waited_us, all.ranks[rank].waited_us, fmt::format("rank {} waited", rank));
    EXPECT_EQ(some.ranks[rank].tasks, all.ranks[rank].tasks);
    EXPECT_EQ(some.ranks[rank].sent, all.ranks[rank].sent);
  }
  EXPECT_EQ(shortened.notes, whole.notes) << "what was exposed, and hidden";
}

TEST_P(Repetition, OfDrawnJobsIsAsTheWholeJob) {
  constexpr unsigned kJobs = 100;
  int extended = 0;
  for (unsigned seed = 0; seed < kJobs; ++seed) {
    const std::uint64_t of_body = seed % 4 == 0 ? 2 : 1;
    Drawn drawn(seed);
    write(drawn.job(of_body == 1 ? 30 : 110));
    if (read(of_body)->left_out() == 0) continue;
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const WorkloadSeries some = measured(of_body, drawn.ranks());
    const WorkloadSeries whole = measured(bench::kWhole, drawn.ranks());
    extended += some.points.front().why.find(" equal iterations are not simulated") != std::string::npos ? 1 : 0;
    expect_same(some, whole);
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(extended, 10) << "this test sees nothing where no job is shortened";
}

/// Three ranks that compute, and of which the first tells the others, a hundred times.
std::string iterations(const std::string& before, const std::string& behind, const std::string& odd = "calc 5000") {
  std::string text = "num_ranks 3\ngroup 0 { 0-2 }\n";
  for (int rank = 0; rank < 3; ++rank) {
    text += fmt::format("rank {} {{\n{}", rank, rank == 2 ? before : "");
    for (int i = 0; i < 100; ++i) {
      text +=
          fmt::format("c{0}: {1}\na{0}: broadcast 100000b in 0\na{0} requires c{0}\n", i, i == 50 ? odd : "calc 5000");
      if (i > 0) text += fmt::format("c{} requires a{}\n", i, i - 1);
    }
    text += (rank == 1 ? behind : "") + "}\n";
  }
  return text;
}

TEST_P(Repetition, IsSimulatedWholeWhereSomethingGoesOnBeside) {
  write(iterations("", ""));
  EXPECT_THAT(measured(1, 3).points.front().why,
              HasSubstr(" of its equal iterations are not simulated, for they take as long"));
  write(iterations("send 50000000b to 1\n", "r: recv 50000000b from 2\nr requires a99\n"));
  ASSERT_GT(read(1)->left_out(), 90U) << "nothing is known of it before";
  const WorkloadSeries some = measured(1, 3);
  EXPECT_THAT(some.points.front().why, Not(HasSubstr("equal iterations")));
  expect_same(some, measured(bench::kWhole, 3));
}

TEST_P(Repetition, OfUnequalIterationsIsNone) {
  write(iterations("", "", "calc 5001"));
  EXPECT_EQ(read(1)->left_out(), 0U);
}

INSTANTIATE_TEST_SUITE_P(By, Repetition, ::testing::Values("host", "staging"));

}  // namespace
}  // namespace twinlink::model
