// NCCL: a kernel on each GPU, with a block for each channel, moves messages slot by slot through FIFOs in memory that
// both reach, and the receiver's kernel takes them out, passes them on, or adds to them.
//
//   to connect, at both ends: the connection handshake (connection.hpp)
//
//   at both ends, when a line format is used for the first time
//   1. make FIFOs, clear: no byte of mine looks like a flag
//   2. send place: the handle of my FIFOs
//   3. receive place
//   with every exchange
//   4. launch: the program of each message, or of two that pass each other
//   5. send lengths
//   6. receive lengths: they must fit
//   7. wait: all programs have ended; between nodes the CPU carries their slots meanwhile (carrier.hpp)
//   with the first collective
//   4. send token, receive token: which ranks share a node, and who reaches whom? All ranks choose alike
//   with every collective
//   4. launch: the program of all ranks
//   5. wait
//   in the end
//   8. close: the peer's FIFOs; mine are released when the peer has
//
// What blocks do with a slot stands in protocols/gpu/primitives.hpp.
#include "protocols/nccl/nccl.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocols/core/tags.hpp"
#include "protocols/gpu/choice.hpp"
#include "protocols/gpu/slot_list.hpp"
#include "protocols/nccl/carrier.hpp"
#include "protocols/nccl/communicator.hpp"
#include "protocols/nccl/nccl_options.hpp"
#include "protocols/nccl/peer_fifos.hpp"
#include "protocols/parts/connection.hpp"

namespace twinlink {
namespace {

using gpu::Operation;
using nccl::Carrier;
using nccl::kControlTags;
using nccl::kSlot;
using nccl::kSlots;
using nccl::leave_room_for_others;
using nccl::Options;
using nccl::PeerFifos;
using nccl::require_meeting;

/// What an end says of the messages of an exchange.
struct Lengths {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t digest = 0xcbf29ce484222325U;  ///< FNV-1a of the lengths, in order

  friend bool operator==(const Lengths&, const Lengths&) = default;
};
struct BothLengths {
  Lengths out{};
  Lengths in{};
};

Lengths lengths_of(std::span<const View> messages) {
  Lengths all{.messages = messages.size()};
  for (const View& view : messages) {
    all.bytes += view.length.count();
    all.digest = (all.digest ^ view.length.count()) * 0x100000001b3U;
  }
  return all;
}

Outcome do_not_fit(const Lengths& mine, const Lengths& theirs) {
  if (mine.bytes != theirs.bytes) return wrong_size(mine.bytes, theirs.bytes);
  return {Status::wrong_size, "the two ends do not have messages of the same lengths"};
}

class NcclChannel final : public Channel {
 public:
  NcclChannel(Rank& rank, RankId peer, const Settings& settings, const Options& options)
      : rank_(rank), timeout_(settings.timeout), options_(options), fifos_(rank, peer, options.geometry) {
    Epoch numbers;
    Outcome outcome = connect_ends(rank, peer, kControlTags, rank.now() + timeout_, numbers);
    if (!outcome.ok()) fifos_.fail();
    connected(std::move(outcome));
  }

  /// "P2P, simple, 24 channels: a kernel at each end, ...": what the last message took.
  [[nodiscard]] std::string path_taken() const override {
    std::string taken(to_string(fifos_.way()));
    if (const auto& choice = choice_.last()) {
      taken += ", " + std::string(to_string(choice->format)) + ", " + std::to_string(choice->channels) +
               (choice->channels == 1 ? " channel" : " channels");
    }
    return taken + ": a kernel at each end, through FIFOs in " + memory_taken();
  }

  [[nodiscard]] std::vector<std::string> reasons() const override {
    const auto& choice = choice_.last();
    if (!choice) return {};
    std::vector<std::string> all{choice->why};
    all.push_back(std::string(to_string(fifos_.way())) + ": " + fifos_.way_by(choice->format));
    all.insert(all.end(), choice->facts.begin(), choice->facts.end());
    return all;
  }

 private:
  [[nodiscard]] std::string memory_taken() const {
    if (fifos_.way() == nccl::Way::peer_memory) return "the receiver's device memory";
    if (fifos_.way() == nccl::Way::host_memory) return "page-locked host memory";
    const gpu::LineFormat format = choice_.last() ? choice_.last()->format : gpu::LineFormat::simple;
    return std::string(fifos_.reads_device_memory(format) ? "device memory" : "page-locked host memory") +
           " of each, whose slots the CPUs carry over the network" +
           (fifos_.crosses_to_rail(format) ? ", from the GPU beside the peer's rail" : "");
  }

  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override {
    try {
      Outcome outcome = move(outgoing, incoming);
      if (!outcome.ok()) fifos_.fail();
      return outcome;
    } catch (...) {
      fifos_.fail();
      throw;
    }
  }

  Outcome move(std::span<const View> outgoing, std::span<const View> incoming) {
    if (outgoing.empty() && incoming.empty()) return {};
    const Seconds deadline = rank_.now() + timeout_;
    std::vector<std::pair<View, View>> messages;
    for (std::size_t i = 0; i < std::max(outgoing.size(), incoming.size()); ++i) {
      messages.emplace_back(i < outgoing.size() ? outgoing[i] : View{}, i < incoming.size() ? incoming[i] : View{});
    }
    // FIFOs are cleared in the programs' own queue, and a program may wait for slots that nobody carries before run().
    for (const auto& [out, in] : messages) {
      if (longer_of(out, in) == Bytes{}) continue;
      if (Outcome outcome = fifos_.open(choice_for(out, in).format, deadline); !outcome.ok()) return outcome;
    }
    Carrier carrier(rank_);
    for (const auto& [out, in] : messages) launch(out, in, carrier);
    return wait_for(carrier, {lengths_of(outgoing), lengths_of(incoming)}, deadline);
  }

  static Bytes longer_of(const View& out, const View& in) { return std::max(out.length, in.length); }
  [[nodiscard]] const gpu::Choice& choice_for(const View& out, const View& in) {
    return choice_.of(options_.ground, Operation::exchange, longer_of(out, in), rank_.ranks(), options_.fixed);
  }

  void launch(const View& out, const View& in, Carrier& carrier) {
    if (longer_of(out, in) == Bytes{}) return;
    const gpu::Choice& choice = choice_for(out, in);
    gpu::Program program{.operation = Operation::exchange,
                         .format = choice.format,
                         .channels = choice.channels,
                         .bytes = out.length.count(),
                         .received = in.length.count()};
    fifos_.shape(program);
    for (std::int32_t channel = 0; channel < program.channels; ++channel) {
      gpu::SlotList list = gpu::list_slots(program, channel, {}, {}, 1);
      fifos_.expect(program, channel, list.sent[0].size(), list.received[0].size());
      fifos_.carry(carrier, program, channel, std::move(list.sent[0]), std::move(list.received[0]));
    }
    const gpu::Link link = fifos_.link(choice.format);
    rank_.step("launch");
    const int before = launches_before(rank_, options_);
    carrier.watch(rank_.launch({.program = program,
                                .input = out,
                                .output = in,
                                .links = {&link, 1},
                                .launches_before = before,
                                .launches_behind = options_.gpus_per_process - 1 - before,
                                .library = options_.library},
                               fifos_.stream()));
    fifos_.count(program);
  }

  Outcome wait_for(Carrier& carrier, const BothLengths& mine, Seconds deadline) {
    const RankId peer = fifos_.peer();
    ControlMessage theirs;
    rank_.step("receive lengths");
    const Op heard = rank_.recv_control(peer, tags::kHeader, theirs);
    carrier.watch(heard);
    rank_.step("send lengths");
    carrier.watch(rank_.send_control(peer, tags::kHeader, ControlMessage(mine)));
    return carrier.run(deadline, [&](Op op, Status status) -> Outcome {
      if (status != Status::delivered) return {status, "step 'wait'"};
      if (op != heard) return {};
      const auto there = theirs.as<BothLengths>();
      if (there.out != mine.in) return do_not_fit(mine.in, there.out);
      if (there.in != mine.out) return do_not_fit(mine.out, there.in);
      return {};
    });
  }

  Rank& rank_;
  Seconds timeout_;
  Options options_;
  PeerFifos fifos_;
  gpu::LastChoice choice_{};
};

void require_switch(const Path& path, const Options& options) {
  if (!nccl::only_by_switch(options) || (path.switch_reduces && options.p2p())) return;
  const bool trees = options.fixed.algorithms.front() == gpu::Algorithm::nvls_tree;
  const bool between = !path.same_node && !path.peer_access;
  if (between && (trees || path.fabric_reduces)) return;
  if (between) {
    throw UnavailableError("protocol 'nccl' cannot run here: algo is nvls, but between nodes " +
                           path.fabric_reduces.reason);
  }
  throw UnavailableError("protocol 'nccl' cannot run here: algo is " +
                         std::string(to_string(options.fixed.algorithms.front())) + ", but " +
                         (options.p2p() ? path.switch_reduces.reason : "GPUs may not meet in each other's memory"));
}

class Nccl final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "nccl"; }
  [[nodiscard]] std::string_view description() const override {
    return "kernels at both ends pass slots through FIFOs that both reach, and collectives go on within them, as NCCL "
           "does";
  }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  [[nodiscard]] Settings defaults() const override { return {.chunk = kSlot, .depth = kSlots}; }
  [[nodiscard]] std::span<const Option> options() const override { return nccl::option_list(); }
  [[nodiscard]] std::span<const Alias> aliases() const override { return nccl::alias_list(); }
  [[nodiscard]] bool does_collectives() const override { return true; }
  // They say in which queue of the GPU a peer's programs are.
  [[nodiscard]] bool goes_by_numbers(const Settings& /*settings*/) const override { return true; }
  [[nodiscard]] Support supports(const Path& path) const override {
    if (path.gpu_programs) return {};
    return {Support::Kind::no, path.gpu_programs.reason};
  }
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const override {
    check_settings(*this, settings);
    const Path& path = rank.path_to(peer);
    require_support(*this, path);
    nccl::require_release(rank);
    Options options = nccl::read_options(*this, settings);
    nccl::look_at(rank, peer, options);
    require_meeting(path, options);
    leave_room_for_others(options, rank.ranks());
    return std::make_unique<NcclChannel>(rank, peer, settings, options);
  }
  [[nodiscard]] std::unique_ptr<Communicator> join(Rank& rank, const Settings& settings) const override {
    check_settings(*this, settings);
    if (rank.ranks() < 2) throw UsageError("protocol 'nccl': a collective needs two ranks at least");
    nccl::require_slots(settings);
    nccl::require_release(rank);
    Options options = nccl::read_options(*this, settings);
    nccl::settle_levels(rank, options);
    for (int r = 0; r < rank.ranks(); ++r) {
      if (r == rank.id().value) continue;
      const Path& path = rank.path_to(RankId{r});
      require_support(*this, path);
      require_meeting(path, options);
      require_switch(path, options);
    }
    return nccl::make_communicator(rank, settings, options);
  }
};

}  // namespace

const Protocol& nccl_protocol() {
  static const Nccl protocol;
  return protocol;
}

}  // namespace twinlink
