#include "protocols/puts/expert_puts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocols/core/errors.hpp"
#include "protocols/core/options.hpp"
#include "protocols/gpu/experts.hpp"
#include "protocols/gpu/work.hpp"
#include "protocols/puts/block_puts.hpp"

namespace twinlink {
namespace {

constexpr int kExpertBlocks = 32;
constexpr Stream kPrograms{0};

/// Channels and slots of all launches with as long blocks to as many experts, or shorter ones.
gpu::Program shape_for(int blocks, int ranks, const Portions& portions) {
  gpu::Program program{.operation = gpu::Operation::dispatch, .ranks = ranks, .experts = portions.experts};
  program.channels = std::min(blocks, portions.experts);
  const std::uint64_t of_channel = gpu::experts_of(program, 0);
  program.slots = 2 * of_channel;  // in turn: experts.hpp says why
  program.slot = gpu::turns(std::max<std::uint64_t>(portions.longest.count(), 1), gpu::kGrainBytes) * gpu::kGrainBytes;
  return program;
}

/// Of one peer.
Bytes room_of_peer(const gpu::Program& shape) { return Bytes{gpu::fifo_room(shape)} * gpu::number(shape.channels); }

int blocks_of(const Protocol& protocol, const Settings& settings) {
  const int blocks = put_blocks(protocol, settings);
  return blocks > 0 ? blocks : kExpertBlocks;
}

class ExpertPuts final : public Communicator {
 public:
  ExpertPuts(SymmetricHeap& heap, int blocks, Seconds timeout)
      : heap_(heap), rank_(heap.rank()), blocks_(blocks), timeout_(timeout) {
    // Pairs meet in one order over all ranks: then none waits in a circle.
    for (int r = 0; r < rank_.ranks(); ++r) {
      if (RankId{r} != rank_.id()) heap_.open(RankId{r});
    }
  }

  [[nodiscard]] std::string path_taken(Collective, View) const override {
    if (!slots_) return "puts by thread blocks";
    const auto by_adapter = [&](int r) { return RankId{r} != rank_.id() && !rank_.path_to(RankId{r}).peer_access; };
    bool between = false;
    for (int r = 0; r < rank_.ranks(); ++r) between = between || by_adapter(r);
    return std::string(between ? "P2P, IBGDA between nodes" : "P2P") + ", puts by " + std::to_string(shape_.channels) +
           " blocks, and as many that receive; of each rank " +
           std::to_string(shape_.slots * gpu::number(shape_.channels)) + " slots of " + std::to_string(shape_.slot) +
           " B";
  }

 private:
  Outcome do_run(Collective what, View data, int times, const Portions& portions) override {
    if (what != Collective::dispatch && what != Collective::combine) {
      throw UsageError("puts by thread blocks on a symmetric heap are for dispatch and combine");
    }
    require_lists(what, data, portions);
    heap_.require_inside(data);
    const Seconds deadline = rank_.now() + timeout_;
    if (Outcome outcome = make_slots(portions, deadline); !outcome.ok()) return outcome;
    gpu::Program program = shape_;
    program.operation = what == Collective::dispatch ? gpu::Operation::dispatch : gpu::Operation::combine;
    program.rank = rank_.id().value;
    program.bytes = portions.sent.count();
    program.received = (data.length - portions.sent).count();
    const std::vector<std::uint64_t> numbers = numbers_of(program, portions);
    const std::vector<gpu::Link> links = links_to_all();
    rank_.step("launch");
    const Op op = rank_.launch({.program = program,
                                .input = data.slice(Bytes{}, portions.sent),
                                .output = data.slice(portions.sent, data.length - portions.sent),
                                .links = links,
                                .numbers = numbers,
                                .times = times},
                               kPrograms);
    for (std::size_t channel = 0; channel < passed_.size(); ++channel) {
      passed_[channel] += each_[channel] * gpu::number(times);
    }
    rank_.step("wait");
    return {wait(rank_, op, deadline), "step 'wait': blocks of all ranks have not come"};
  }

  void require_lists(Collective what, View data, const Portions& portions) const {
    const std::size_t all = static_cast<std::size_t>(rank_.ranks()) * static_cast<std::size_t>(portions.experts);
    const std::size_t places = what == Collective::dispatch ? static_cast<std::size_t>(portions.experts) : all;
    if (portions.experts > 0 && portions.lengths.size() == all && portions.from.size() == all &&
        portions.to.size() >= places && portions.sent <= data.length) {
      return;
    }
    throw UsageError("the lists of a dispatch or a combine do not say everything of every block");
  }

  static std::vector<std::uint64_t> numbers_of(const gpu::Program& program, const Portions& portions) {
    std::vector<std::uint64_t> numbers(gpu::numbers_of(program));
    const auto put_in = [&](gpu::Listed what, std::span<const Bytes> list) {
      auto to = numbers.begin() + gpu::index_of(program, what, 0, 0);
      for (const Bytes each : list) *to++ = each.count();
    };
    put_in(gpu::Listed::bytes, portions.lengths);
    put_in(gpu::Listed::from, portions.from);
    put_in(gpu::Listed::to, portions.to);
    return numbers;
  }

  /// Collective, and so a barrier where it does anything: all have ended what they did with those that there were.
  Outcome make_slots(const Portions& portions, Seconds deadline) {
    gpu::Program shape = shape_for(blocks_, rank_.ranks(), portions);
    if (slots_ && shape.experts == shape_.experts && shape.slot <= shape_.slot) return {};
    if (slots_) heap_.free(*slots_);
    slots_.reset();
    const std::uint64_t peers = gpu::number(rank_.ranks()) - 1;
    slots_ = heap_.allocate(room_of_peer(shape) * peers);
    shape_ = shape;
    const auto channels = static_cast<std::size_t>(shape.channels);
    passed_.assign(channels, 0);
    each_.clear();
    for (std::int32_t channel = 0; channel < shape.channels; ++channel) {
      each_.push_back(gpu::experts_of(shape, channel));
    }
    if (Outcome outcome = clear(peers, deadline); !outcome.ok()) return outcome;
    heap_.barrier();
    return {};
  }

  /// Those of all peers, as if they were channels of one. Such a program has no lines behind its slots' bytes: they are
  /// counted with these.
  Outcome clear(std::uint64_t peers, Seconds deadline) {
    const gpu::Program program{.operation = gpu::Operation::clear,
                               .channels = static_cast<std::int32_t>(peers) * shape_.channels,
                               .slot = gpu::slot_room(shape_),
                               .slots = shape_.slots};
    const gpu::Link link{.mine = heap_.view(*slots_)};
    rank_.step("clear");
    return {wait(rank_, rank_.launch({.program = program, .links = {&link, 1}}, kPrograms), deadline), "step 'clear'"};
  }

  /// Link k - 1 leads k places on. A rank keeps the slots of peers in that order, too.
  [[nodiscard]] std::vector<gpu::Link> links_to_all() const {
    std::vector<gpu::Link> links;
    const Bytes room = room_of_peer(shape_);
    for (int places = 1; places < rank_.ranks(); ++places) {
      const RankId peer{(rank_.id().value + places) % rank_.ranks()};
      const Bytes here = slots_->offset + room * (gpu::number(places) - 1);
      const Bytes there = slots_->offset + room * (gpu::number(rank_.ranks() - places) - 1);
      links.push_back({.mine = heap_.mine(here, room),
                       .theirs = heap_.theirs(peer, there, room),
                       .sent = passed_,
                       .received = passed_,
                       .sent_each = each_,
                       .received_each = each_});
    }
    return links;
  }

  SymmetricHeap& heap_;
  Rank& rank_;
  int blocks_;
  Seconds timeout_;
  std::optional<HeapBlock> slots_;
  gpu::Program shape_{};
  std::vector<std::uint64_t> passed_;  ///< by channel: slots over each link, each way
  std::vector<std::uint64_t> each_;
};

}  // namespace

bool puts_to_experts(Collective what, const Protocol& protocol, const Settings& settings) {
  const bool is_one = what == Collective::dispatch || what == Collective::combine;
  return is_one && OptionReader(protocol, settings).text("engine") == "blocks";
}

Bytes room_for_experts(const Protocol& protocol, const Settings& settings, int ranks, const Portions& portions) {
  return room_of_peer(shape_for(blocks_of(protocol, settings), ranks, portions)) * (gpu::number(ranks) - 1);
}

std::unique_ptr<Communicator> join_on(SymmetricHeap& heap, const Protocol& protocol, const Settings& settings) {
  check_settings(protocol, settings);
  if (settings.options.contains("order")) {
    throw UsageError("option 'order' of " + std::string(protocol.name()) +
                     " is for two ranks: blocks to experts are ordered by their own signals");
  }
  Rank& rank = heap.rank();
  if (rank.ranks() < 2) throw UsageError("a dispatch or a combine needs two ranks at least");
  for (int r = 0; r < rank.ranks(); ++r) {
    if (RankId{r} == rank.id()) continue;
    const Path& path = rank.path_to(RankId{r});
    require_support(protocol, path);
    const std::string cannot = "puts by thread blocks cannot run here: ";
    if (!path.gpu_programs) throw UnavailableError(cannot + path.gpu_programs.reason);
    if (!path.peer_access && !path.gpu_drives_adapter) {
      throw UnavailableError(cannot + path.peer_access.reason + ", and " + path.gpu_drives_adapter.reason);
    }
  }
  return std::make_unique<ExpertPuts>(heap, blocks_of(protocol, settings), settings.timeout);
}

}  // namespace twinlink
