#include "protocols/nccl/communicator.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "protocols/gpu/slot_list.hpp"
#include "protocols/nccl/agreement.hpp"
#include "protocols/nccl/carrier.hpp"
#include "protocols/nccl/formation.hpp"
#include "protocols/nccl/peer_fifos.hpp"
#include "protocols/nccl/surroundings.hpp"
#include "protocols/parts/connection.hpp"

namespace twinlink::nccl {
namespace {

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
    case Collective::reduce:
      return Operation::reduce;
    case Collective::all_to_all:
      return Operation::all_to_all;
    case Collective::dispatch:
    case Collective::combine:
      throw UsageError("protocol 'nccl' has no collective with blocks of unequal lengths");
  }
  return Operation::clear;
}

/// Where this rank stands in all channels, and with whom it has links: their numbers are places in `peers`.
struct Layout {
  std::vector<RankId> peers{};
  std::vector<gpu::ChannelPosition> positions{};  ///< empty: one ring of all ranks in their order
  std::vector<std::int32_t> orders{};             ///< by channel and place, where a rank's place says whose part it has
  /// Whose slots switches of the network add up. The last link leads there, by the FIFOs of one of them.
  std::vector<RankId> members{};
};

using FifosByPeer = std::map<RankId, std::unique_ptr<PeerFifos>>;
/// Of what a switch adds up, NCCL_NVLS_CHUNKSIZE.
constexpr Bytes kSlotOfSwitch = 128_KiB;

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(Rank& rank, const Settings& settings, Options options)
      : rank_(rank), timeout_(settings.timeout), options_(std::move(options)) {}
  ~NcclCommunicator() override {
    for (FifosByPeer* const fifos_of : {&peers_, &behind_switch_}) {
      while (!fifos_of->empty()) fifos_of->erase(fifos_of->begin());
    }
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  /// Of this and the next two the first run has found out who is where.
  [[nodiscard]] std::string form(Collective what, View data) const override {
    const gpu::Choice& choice = choice_for(operation_of(what), data);
    const std::string_view way = what == Collective::all_to_all ? "pairs" : to_string(choice.algorithm);
    return std::string(way) + ' ' + std::string(to_string(choice.format));
  }

  /// "1 channel; P2P; predicted us: ...; by nccl-2.28; LL128 on: ...".
  [[nodiscard]] std::string path_taken(Collective what, View data) const override {
    const gpu::Choice& choice = choice_for(operation_of(what), data);
    std::string text = std::to_string(choice.channels) + (choice.channels == 1 ? " channel" : " channels");
    text += what == Collective::all_to_all ? ", " + std::to_string(choice.parts) + " for each peer; " : "; ";
    std::map<std::string, std::string> ways;  // and why
    const bool switched = is_by_switch(choice.algorithm);
    for (const auto& [peer, fifos] : switched ? behind_switch_ : peers_) {
      if (!switched || fifos->way() == Way::network)
        ways.emplace(way_to(*fifos, choice.format), fifos->way_by(choice.format));
    }
    if (switched) ways.emplace("by the switch", "");
    if (choice.algorithm == gpu::Algorithm::nvls && formation_->islands() > 1) ways.emplace("sums by the network", "");
    std::string by;
    std::string facts;
    for (const auto& [way, reason] : ways) {
      by += (by.empty() ? "" : " and ") + way;
      if (!reason.empty()) facts += "; " + way + ": " + reason;
    }
    for (const std::string& fact : choice.facts) facts += "; " + fact;
    return text + (by.empty() ? "" : by + "; ") + choice.why + facts;
  }

  [[nodiscard]] std::optional<Seconds> predicted(Collective what, View data) const override {
    return choice_for(operation_of(what), data).predicted;
  }

 private:
  Outcome do_run(Collective what, View data, int times, const Portions&) override {
    try {
      Outcome outcome = run_programs(operation_of(what), data, times);
      if (!outcome.ok()) fail();
      return outcome;
    } catch (...) {
      fail();
      throw;
    }
  }

  Outcome run_programs(Operation operation, View data, int times) {
    const bool in_a_row = times > 1 && can_be_in_a_row();
    const bool as_graph = in_a_row && options_.graph;
    const int launches = as_graph ? 1 : times;
    std::optional<Carrier> carrier;
    for (int launch = 1; launch <= launches; ++launch) {
      if (!carrier || !in_a_row) carrier.emplace(rank_);
      if (Outcome outcome = launch_program(operation, data, as_graph ? times : 1, *carrier); !outcome.ok()) {
        return outcome;
      }
      if (in_a_row && launch < launches) continue;
      if (Outcome outcome = carrier->run(rank_.now() + timeout_); !outcome.ok()) return outcome;
    }
    return {};
  }

  /// Slots that CPUs carry are those of one run.
  [[nodiscard]] bool can_be_in_a_row() const { return agreed_ && formation_->islands() == 1; }

  Outcome launch_program(Operation operation, View data, int times, Carrier& carrier) {
    const Seconds deadline = rank_.now() + timeout_;
    const bool pairs = operation == Operation::all_to_all;
    const Bytes bytes = bytes_of(operation, data);
    if (bytes == Bytes{}) return {};
    if (Outcome outcome = agree_once(deadline); !outcome.ok()) return outcome;
    const gpu::Choice& choice = choice_for(operation, data);
    const Layout& layout = layout_for(operation, choice);
    FifosByPeer& fifos_of = is_by_switch(choice.algorithm) ? behind_switch_ : peers_;
    for (const RankId peer : std::set<RankId>(layout.peers.begin(), layout.peers.end())) {
      // Of FIFOs for switches each rank has both ends.
      const bool alone = !layout.members.empty() && peer == layout.peers.back();
      if (Outcome outcome = open(fifos_of, peer, choice.format, deadline, alone); !outcome.ok()) return outcome;
    }
    gpu::Program program{.operation = operation,
                         .format = choice.format,
                         .algorithm = choice.algorithm,
                         .rank = rank_.id().value,
                         .ranks = rank_.ranks(),
                         .channels = choice.channels,
                         .bytes = bytes.count(),
                         .parts = choice.parts,
                         .group = formation_->group(),
                         .heads = is_by_switch(choice.algorithm) ? options_.ground.heads.count : 0};
    fifos_of.at(layout.peers.front())->shape(program);
    expect(fifos_of, program, layout, carrier);
    std::vector<gpu::Link> links;
    for (const RankId peer : layout.peers) links.push_back(fifos_of.at(peer)->link(choice.format));
    const int before = launches_before(rank_, options_);
    const gpu::Work work{.program = program,
                         .input = {data.buffer, data.offset, bytes},
                         .output = {data.buffer, pairs ? data.offset + bytes : data.offset, bytes},
                         .links = links,
                         .positions = layout.positions,
                         .orders = layout.orders,
                         .times = times,
                         .launches_before = before,
                         .launches_behind = options_.gpus_per_process - 1 - before,
                         .library = options_.library};
    rank_.step("launch");
    carrier.watch(rank_.launch(work, Stream{0}));
    for (const RankId peer : std::set<RankId>(layout.peers.begin(), layout.peers.end())) {
      fifos_of.at(peer)->count(program, times);
    }
    return {};
  }

  /// What the program passes over each link, by channel. Two ranks are each other's neighbours on both sides.
  void expect(FifosByPeer& fifos_of, const gpu::Program& program, const Layout& layout, Carrier& carrier) {
    const bool carried =
        std::ranges::any_of(layout.peers, [&](RankId peer) { return fifos_of.at(peer)->way() == Way::network; });
    const std::pair what{program.operation, program.bytes};  // which decide on all else
    if (!carried && expected_ == what) return;               // the FIFOs know it: no launch waits for a CPU that counts
    expected_ = what;
    const auto ranks = static_cast<std::size_t>(program.ranks);
    for (std::int32_t channel = 0; channel < program.channels; ++channel) {
      const auto at = static_cast<std::size_t>(channel);
      const gpu::ChannelPosition position =
          layout.positions.empty() ? gpu::usual_position(program) : layout.positions[at];
      const std::span<const std::int32_t> order =
          layout.orders.empty() ? layout.orders : std::span(layout.orders).subspan(at * ranks, ranks);
      gpu::SlotList list = gpu::list_slots(program, channel, position, order, layout.peers.size());
      for (std::size_t link = 0; link < layout.peers.size(); ++link) {
        std::vector<std::uint64_t>& sent = list.sent[link];
        std::vector<std::uint64_t>& received = list.received[link];
        const auto first = static_cast<std::size_t>(
            std::find(layout.peers.begin(), layout.peers.end(), layout.peers[link]) - layout.peers.begin());
        if (first < link) continue;
        for (std::size_t other = link + 1; other < layout.peers.size(); ++other) {
          if (layout.peers[other] != layout.peers[link]) continue;
          sent.insert(sent.end(), list.sent[other].begin(), list.sent[other].end());
          received.insert(received.end(), list.received[other].begin(), list.received[other].end());
        }
        PeerFifos& fifos = *fifos_of.at(layout.peers[link]);
        fifos.expect(program, channel, sent.size(), received.size());
        if (!layout.members.empty() && link + 1 == layout.peers.size()) {
          fifos.add_up(carrier, program, channel, layout.members, sent);
          continue;
        }
        fifos.carry(carrier, program, channel, std::move(sent), std::move(received));
      }
    }
  }

  /// Of an all-to-all what is sent.
  static Bytes bytes_of(Operation operation, View data) {
    return operation == Operation::all_to_all ? Bytes{data.length.count() / 2} : data.length;
  }
  [[nodiscard]] const gpu::Choice& choice_for(Operation operation, View data) const {
    return chosen_[operation].of(options_.ground, operation, bytes_of(operation, data), rank_.ranks(), options_.fixed);
  }

  const Layout& layout_for(Operation operation, const gpu::Choice& choice) {
    // In an all-reduce of rings nobody asks whose part is at a place.
    const bool parts = operation != Operation::all_reduce;
    const bool pat = choice.algorithm == gpu::Algorithm::pat;
    const gpu::Algorithm algorithm = parts && !pat ? gpu::Algorithm::ring : choice.algorithm;
    const bool tree = algorithm == gpu::Algorithm::tree;
    const bool all_pairs = operation == Operation::all_to_all;
    const auto [found, is_new] = layouts_.try_emplace({all_pairs, parts, algorithm, choice.channels});
    Layout& layout = found->second;
    if (!is_new) return layout;
    if (all_pairs || is_by_switch(algorithm)) {
      // Link k - 1 leads k places on, of a switch those of the node.
      const int group = all_pairs ? rank_.ranks() : formation_->group();
      const int first = rank_.id().value / group * group;
      for (int k = 1; k < group; ++k) layout.peers.emplace_back(first + (rank_.id().value - first + k) % group);
      if (algorithm == gpu::Algorithm::nvls_tree) set_rail_trees(layout, choice.channels);
      if (algorithm == gpu::Algorithm::nvls && formation_->islands() > 1) set_network_above(layout, choice.channels);
    } else if (pat) {
      // So far on, and then so far back.
      for (int k = 1; k < rank_.ranks(); k *= 2) layout.peers.push_back(at(k));
      for (int k = 1; k < rank_.ranks(); k *= 2) layout.peers.push_back(at(-k));
    } else if (formation_->is_plain() && !tree) {
      layout.peers = {at(-1), at(1)};
    } else {
      set_positions(layout, choice.channels, parts, tree);
    }
    return layout;
  }

  static void link_to(Layout& layout, std::int32_t& link) {
    if (link == gpu::kNoLink) return;
    const auto known = std::ranges::find(layout.peers, RankId{link});
    const auto number = static_cast<std::int32_t>(known - layout.peers.begin());
    if (known == layout.peers.end()) layout.peers.push_back(RankId{link});
    link = number;
  }

  void set_rail_trees(Layout& layout, int channels) const {
    for (std::int32_t channel = 0; channel < channels; ++channel) {
      gpu::ChannelPosition position;
      if (is_head()) formation_->put_into_rail_tree(position, rank_.id().value, channel);
      link_to(layout, position.above);
      for (std::int32_t& link : position.below) link_to(layout, link);
      layout.positions.push_back(position);
    }
  }

  [[nodiscard]] bool is_head() const {
    const int place = rank_.id().value % formation_->group();
    return options_.ground.heads.count == 0 || place < options_.ground.heads.count;
  }

  void set_network_above(Layout& layout, int channels) const {
    gpu::ChannelPosition position;
    if (is_head()) {
      layout.members = formation_->rail_of(rank_.id().value);
      const auto own = std::ranges::find(layout.members, rank_.id());
      position.above = static_cast<std::int32_t>(layout.peers.size());
      layout.peers.push_back(own + 1 == layout.members.end() ? layout.members.front() : *(own + 1));
    }
    layout.positions.assign(static_cast<std::size_t>(channels), position);
  }

  void set_positions(Layout& layout, int channels, bool parts, bool tree) const {
    for (std::int32_t channel = 0; channel < channels; ++channel) {
      Neighbourhood own = formation_->of(rank_.id().value, channel);
      gpu::ChannelPosition& position = own.position;
      if (tree) {
        position.before = position.behind = gpu::kNoLink;
      } else {
        position.above = gpu::kNoLink;
        std::ranges::fill(position.below, gpu::kNoLink);
      }
      for (std::int32_t* link : {&position.before, &position.behind, &position.above}) link_to(layout, *link);
      for (std::int32_t& link : position.below) link_to(layout, link);
      layout.positions.push_back(position);
      if (parts) layout.orders.insert(layout.orders.end(), own.order.begin(), own.order.end());
    }
  }

  Outcome meet(RankId peer, Seconds deadline) {
    if (met_.contains(peer)) return {};
    Epoch numbers;
    Outcome outcome = connect_ends(rank_, peer, kControlTags, deadline, numbers);
    if (outcome.ok()) met_.insert(peer);
    return outcome;
  }

  /// Pairs meet in one order over all ranks, the one with the smallest number first: then none waits in a circle.
  Outcome open(FifosByPeer& fifos_of, RankId peer, gpu::LineFormat format, Seconds deadline, bool alone) {
    if (Outcome outcome = alone ? Outcome{} : meet(peer, deadline); !outcome.ok()) return outcome;
    std::unique_ptr<PeerFifos>& fifos = fifos_of[peer];
    Geometry geometry = options_.geometry;
    if (&fifos_of == &behind_switch_) geometry.slot = std::min(geometry.slot, kSlotOfSwitch);
    if (!fifos) fifos = std::make_unique<PeerFifos>(rank_, peer, geometry);
    return fifos->open(format, deadline);
  }

  Outcome agree_once(Seconds deadline) {
    if (agreed_) return {};
    for (const RankId peer : std::set<RankId>{at(-1), at(1)}) {
      if (Outcome outcome = meet(peer, deadline); !outcome.ok()) return outcome;
    }
    Agreement all;
    if (Outcome outcome = agree(rank_, options_.geometry, deadline, all); !outcome.ok()) return outcome;
    formation_.emplace(look_around(rank_, all, options_));
    chosen_.clear();
    agreed_ = true;
    return {};
  }

  void fail() {
    expected_.reset();
    for (FifosByPeer* const fifos_of : {&peers_, &behind_switch_}) {
      for (const auto& [peer, fifos] : *fifos_of) fifos->fail();
    }
  }

  [[nodiscard]] std::string way_to(const PeerFifos& fifos, gpu::LineFormat format) const {
    std::string way(to_string(fifos.way()));
    if (fifos.way() != Way::network) return way;
    way += fifos.reads_device_memory(format) ? "/GDR" : "";
    return way + (fifos.crosses_to_rail(format) ? "/PXN" : "");
  }

  /// The rank so many places further on.
  [[nodiscard]] RankId at(int places) const {
    return RankId{(rank_.id().value + places + rank_.ranks()) % rank_.ranks()};
  }

  Rank& rank_;
  Seconds timeout_;
  Options options_;
  mutable std::map<Operation, gpu::LastChoice> chosen_{};
  bool agreed_ = false;
  std::optional<Formation> formation_;
  std::map<std::tuple<bool, bool, gpu::Algorithm, int>, Layout> layouts_;
  std::set<RankId> met_;
  FifosByPeer peers_;
  FifosByPeer behind_switch_;  ///< slots that a switch adds up, which are counted apart
  std::optional<std::pair<Operation, std::uint64_t>> expected_;  ///< the last one
};

}  // namespace

std::unique_ptr<Communicator> make_communicator(Rank& rank, const Settings& settings, const Options& options) {
  return std::make_unique<NcclCommunicator>(rank, settings, options);
}

}  // namespace twinlink::nccl
