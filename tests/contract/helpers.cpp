#include "tests/contract/helpers.hpp"

#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"

namespace twinlink {

void PrintTo(Status status, std::ostream* out) { *out << to_string(status); }
void PrintTo(const Verdict& verdict, std::ostream* out) { *out << to_string(verdict); }
void PrintTo(RankId rank, std::ostream* out) { *out << "rank " << rank.value; }
void PrintTo(Bytes bytes, std::ostream* out) { *out << bytes.count() << " B"; }
void PrintTo(Seconds seconds, std::ostream* out) { *out << seconds.value() << " s"; }

}  // namespace twinlink

namespace twinlink::contract {
namespace {

constexpr int kTagsPerTest = 16;
constexpr int kMeetTag = 15;

/// The position of the running test among all tests of the program: the same on every rank.
int index_of_running_test() {
  const auto& unit_test = *testing::UnitTest::GetInstance();
  const testing::TestInfo* running = unit_test.current_test_info();
  int index = 0;
  for (int s = 0; s < unit_test.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *unit_test.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t, ++index) {
      if (suite.GetTestInfo(t) == running) return index;
    }
  }
  throw UsageError("tags are for running tests");
}

}  // namespace

void on_every_pair(const std::function<void(MeasuredRank& rank, RankId peer)>& body) {
  on_every_rank([&](MeasuredRank& rank) {
    const int ranks = rank.ranks();
    ASSERT_EQ(ranks & (ranks - 1), 0) << "the rounds below need a power of two";
    // In every round each rank meets one other; rounds never deadlock, for both ends are in the same round.
    for (int round = 1; round < ranks; ++round) body(rank, RankId{rank.id().value ^ round});
  });
}

void on_every_connection(const std::function<void(MeasuredRank&, RankId peer, const Protocol&)>& body) {
  on_every_pair([&](MeasuredRank& rank, RankId peer) {
    for (const Protocol* protocol : all_protocols()) {
      if (protocol->supports(rank.path_to(peer)).usable()) body(rank, peer, *protocol);
    }
  });
}

Tag tag(int n) { return Tag{tags::kFirstFree.value + kTagsPerTest * index_of_running_test() + n}; }

Seconds soon(Rank& rank) { return rank.now() + Seconds{20}; }

Scratch::~Scratch() {
  try {
    rank_.release(buffer_);
  } catch (const std::exception& error) {
    ADD_FAILURE() << rank_.id().value << ": release: " << error.what();
  }
}

void finish(Rank& rank, Op op) {
  EXPECT_EQ(wait(rank, op, soon(rank)), Status::delivered) << "on rank " << rank.id().value;
}

void finish_all(Rank& rank, std::vector<Op> ops) {
  while (!ops.empty()) {
    const auto done = rank.wait_any(ops, soon(rank));
    if (!done) {
      for (const Op op : ops) rank.abandon(op);
      FAIL() << ops.size() << " operations never ended on rank " << rank.id().value;
    }
    EXPECT_EQ(done->status, Status::delivered) << "on rank " << rank.id().value;
    ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(done->index));
  }
}

void copy_now(Rank& rank, View to, View from) { finish(rank, rank.copy(to, from, Stream{0}, Engine::dma)); }

void send_control_now(Rank& rank, RankId peer, Tag with, const ControlMessage& message) {
  finish(rank, rank.send_control(peer, with, message));
}

ControlMessage recv_control_now(Rank& rank, RankId peer, Tag with) {
  ControlMessage message;
  finish(rank, rank.recv_control(peer, with, message));
  return message;
}

void meet(Rank& rank, RankId peer) {
  const Op sent = rank.send_control(peer, tag(kMeetTag), ControlMessage());
  recv_control_now(rank, peer, tag(kMeetTag));
  finish(rank, sent);
}

}  // namespace twinlink::contract
