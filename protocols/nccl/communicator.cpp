#include "protocols/nccl/communicator.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "protocols/nccl/peer_fifos.hpp"
#include "protocols/parts/connection.hpp"

namespace twinlink::nccl {
namespace {

using gpu::LineFormat;
using gpu::Operation;

Operation operation_of(Collective what) {
  switch (what) {
    case Collective::all_reduce:
      return Operation::all_reduce;
    case Collective::all_gather:
      return Operation::all_gather;
    case Collective::reduce_scatter:
      return Operation::reduce_scatter;
    case Collective::broadcast:
      return Operation::broadcast;
    case Collective::all_to_all:
      return Operation::all_to_all;
  }
  return Operation::clear;
}

struct Token {
  std::uint8_t all_reach = 0;
};

class NcclCommunicator final : public Communicator {
 public:
  /// `with_peers` where all GPUs reach each other's memory; this rank's reaches all others' or not.
  NcclCommunicator(Rank& rank, const Settings& settings, const Options& with_peers, const Options& without_peers,
                   bool reaches_all)
      : rank_(rank),
        timeout_(settings.timeout),
        options_(reaches_all ? with_peers : without_peers),
        without_peers_(without_peers) {
    all_reach_ = reaches_all;
  }
  ~NcclCommunicator() override {
    for (const RankId peer : in_order(peers())) peers_.erase(peer);
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  [[nodiscard]] std::string path_taken(Collective what, View data) const override {
    const gpu::Choice choice = choice_for(operation_of(what), data);
    return std::string(what == Collective::all_to_all ? "pairs" : "ring") + ", " +
           std::string(to_string(choice.format)) + ", " + std::to_string(choice.channels) +
           (choice.channels == 1 ? " channel; " : " channels; ") + choice.why;
  }

 private:
  Outcome do_run(Collective what, View data) override {
    try {
      Outcome outcome = run_program(operation_of(what), data);
      if (!outcome.ok()) fail();
      return outcome;
    } catch (...) {
      fail();
      throw;
    }
  }

  Outcome run_program(Operation operation, View data) {
    const Seconds deadline = rank_.now() + timeout_;
    const bool pairs = operation == Operation::all_to_all;
    const Bytes bytes = bytes_of(operation, data);
    if (bytes == Bytes{}) return {};
    if (Outcome outcome = agree(deadline); !outcome.ok()) return outcome;
    const gpu::Choice choice = choice_for(operation, data);
    const std::vector<RankId> order = pairs ? all_others() : std::vector{at(-1), at(1)};
    for (const RankId peer : in_order({order.begin(), order.end()})) {
      if (Outcome outcome = open(peer, choice.format, deadline); !outcome.ok()) return outcome;
    }
    gpu::Program program{.operation = operation,
                         .format = choice.format,
                         .rank = rank_.id().value,
                         .ranks = rank_.ranks(),
                         .channels = choice.channels,
                         .bytes = bytes.count()};
    std::vector<gpu::Link> links;
    for (const RankId peer : order) links.push_back(peers_.at(peer)->link(choice.format));
    peers_.at(order.front())->shape(program);
    const gpu::Work work{.program = program,
                         .input = {data.buffer, data.offset, bytes},
                         .output = {data.buffer, pairs ? data.offset + bytes : data.offset, bytes},
                         .links = links};
    rank_.step("launch");
    const Op op = rank_.launch(work, Stream{0});
    for (std::size_t i = 0; i < order.size(); ++i) {
      peers_.at(order[i])->count(program, pairs || i == 1, pairs || i == 0);
    }
    rank_.step("wait");
    const Status status = wait(rank_, op, deadline);
    return {status, "step 'wait': a kernel of another rank has not come along"};
  }

  /// Of an all-to-all what is sent.
  static Bytes bytes_of(Operation operation, View data) {
    return operation == Operation::all_to_all ? Bytes{data.length.count() / 2} : data.length;
  }
  [[nodiscard]] gpu::Choice choice_for(Operation operation, View data) const {
    return gpu::choose(options_.ground, operation, bytes_of(operation, data), rank_.ranks(), options_.fixed);
  }

  Outcome meet(RankId peer, Seconds deadline) {
    if (met_.contains(peer)) return {};
    Epoch numbers;
    Outcome outcome = connect_ends(rank_, peer, kControlTags, deadline, numbers);
    if (outcome.ok()) met_.insert(peer);
    return outcome;
  }

  Outcome open(RankId peer, LineFormat format, Seconds deadline) {
    if (Outcome outcome = meet(peer, deadline); !outcome.ok()) return outcome;
    std::unique_ptr<PeerFifos>& fifos = peers_[peer];
    if (!fifos) fifos = std::make_unique<PeerFifos>(rank_, peer, options_.geometry);
    return fifos->open(format, deadline);
  }

  /// Once: all ranks choose alike, so they must know alike whether all reach each other. A token goes round the ring
  /// twice: it learns that, and then says it.
  Outcome agree(Seconds deadline) {
    if (agreed_) return {};
    for (const RankId peer : in_order({at(-1), at(1)})) {
      if (Outcome outcome = meet(peer, deadline); !outcome.ok()) return outcome;
    }
    for (int round = 0; round < 2; ++round) {
      Token token{.all_reach = all_reach_};
      if (rank_.id().value == 0) {
        if (Outcome outcome = pass_on(token, deadline); !outcome.ok()) return outcome;
      }
      rank_.step("receive token");
      ControlMessage message;
      const Status status = wait(rank_, rank_.recv_control(at(-1), tags::kHeader, message), deadline);
      if (status != Status::delivered) return {status, "step 'receive token'"};
      token = message.as<Token>();
      all_reach_ = all_reach_ && token.all_reach != 0;
      if (rank_.id().value == 0) continue;
      token.all_reach = all_reach_;
      if (Outcome outcome = pass_on(token, deadline); !outcome.ok()) return outcome;
    }
    if (!all_reach_) options_ = without_peers_;
    agreed_ = true;
    return {};
  }
  Outcome pass_on(const Token& token, Seconds deadline) {
    rank_.step("send token");
    return {wait(rank_, rank_.send_control(at(1), tags::kHeader, ControlMessage(token)), deadline),
            "step 'send token'"};
  }

  void fail() {
    for (const auto& [peer, fifos] : peers_) fifos->fail();
  }

  /// The rank so many places further on.
  [[nodiscard]] RankId at(int places) const {
    return RankId{(rank_.id().value + places + rank_.ranks()) % rank_.ranks()};
  }
  /// Link k - 1 leads k places on.
  [[nodiscard]] std::vector<RankId> all_others() const {
    std::vector<RankId> others;
    for (int k = 1; k < rank_.ranks(); ++k) others.push_back(at(k));
    return others;
  }
  [[nodiscard]] std::set<RankId> peers() const {
    std::set<RankId> all;
    for (const auto& [peer, fifos] : peers_) all.insert(peer);
    return all;
  }
  /// Pairs meet in one order over all ranks, the one with the smallest number first: then none waits in a circle.
  [[nodiscard]] std::vector<RankId> in_order(const std::set<RankId>& peers) const {
    return {peers.begin(), peers.end()};
  }

  Rank& rank_;
  Seconds timeout_;
  Options options_;
  Options without_peers_;
  bool all_reach_ = false;
  bool agreed_ = false;
  std::set<RankId> met_;
  std::map<RankId, std::unique_ptr<PeerFifos>> peers_;
};

}  // namespace

std::unique_ptr<Communicator> make_communicator(Rank& rank, const Settings& settings, const Options& with_peers,
                                                const Options& without_peers, bool reaches_all) {
  return std::make_unique<NcclCommunicator>(rank, settings, with_peers, without_peers, reaches_all);
}

}  // namespace twinlink::nccl
