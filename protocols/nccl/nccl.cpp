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
//   7. wait: all programs have ended
//   with the first collective
//   4. send token, receive token: do all GPUs reach each other? All ranks choose alike
//   with every collective
//   4. launch: the program of all ranks
//   5. wait
//   in the end
//   8. close: the peer's FIFOs; mine are released when the peer has
//
// What blocks do with a slot stands in protocols/gpu/primitives.hpp.
#include "protocols/nccl/nccl.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "protocols/core/options.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/gpu/choice.hpp"
#include "protocols/nccl/peer_fifos.hpp"
#include "protocols/parts/connection.hpp"

namespace twinlink {
namespace {

using gpu::LineFormat;
using gpu::Operation;
using nccl::kProgramStream;
using nccl::PeerFifos;

/// NCCL's own: 4 MiB in 8 slots.
constexpr Bytes kSlot = 512_KiB;
constexpr int kSlots = 8;
/// A ring's rank asks for the next slot behind it before it frees the last one before it.
constexpr int kLeastSlots = 2;
/// MAXCHANNELS of NCCL.
constexpr std::uint64_t kMostChannels = 64;

constexpr std::array kAlgorithms{OptionChoice<int>{"auto", 0}, OptionChoice<int>{"ring", 1}};
using Format = std::optional<LineFormat>;
constexpr std::array kFormats{OptionChoice<Format>{"auto", std::nullopt}, OptionChoice<Format>{"ll", LineFormat::ll},
                              OptionChoice<Format>{"ll128", LineFormat::ll128},
                              OptionChoice<Format>{"simple", LineFormat::simple}};

constexpr std::array kOptions{
    Option{"algo", kNamesOf<kAlgorithms>, "auto", "how collectives go: there is the ring alone"},
    Option{"proto", kNamesOf<kFormats>, "auto",
           "line format: ll and ll128 carry flags with the data, simple counts behind a fence; auto: as NCCL chooses"},
    Option{"channels", "COUNT", "0", "thread blocks of a kernel, each with a share of the bytes; 0: as NCCL chooses"},
};

constexpr std::array kAliases{Alias{"NCCL_ALGO", "algo"}, Alias{"NCCL_PROTO", "proto"}};

struct Options {
  gpu::Fixed fixed{};
  nccl::Geometry geometry{};
  gpu::Ground ground{};
};

/// `model` is the same at all ranks that choose together.
Options read_options(const Protocol& protocol, const Settings& settings, std::string_view model, bool peer_access) {
  const OptionReader read(protocol, settings);
  Options options;
  options.fixed.format = read.choice("proto", kFormats);
  const std::uint64_t channels = read.count("channels");
  if (channels > kMostChannels) {
    throw UsageError("protocol 'nccl': " + std::to_string(channels) + " channels are more than " +
                     std::to_string(kMostChannels));
  }
  if (channels > 0) options.fixed.channels = static_cast<int>(channels);
  options.ground = gpu::ground_of(model, peer_access);
  const Bytes slot = settings.chunk_or_whole() == Bytes{} ? kSlot : settings.chunk_or_whole();
  options.geometry = {slot, std::max(settings.depth.value_or(kSlots), kLeastSlots),
                      options.fixed.channels.value_or(options.ground.channels)};
  return options;
}

/// The tags of a connection: its places, and its lengths.
constexpr std::array kControlTags{tags::kReady, tags::kHeader};

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

/// Operations of a rank that end together, or are given up.
class Launched {
 public:
  explicit Launched(Rank& rank) : rank_(rank) {}
  ~Launched() { give_up(); }
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;

  void add(Op op) { ops_.push_back(op); }
  [[nodiscard]] std::span<const Op> ops() const { return ops_; }
  void ended(std::size_t index) { ops_.erase(ops_.begin() + static_cast<std::ptrdiff_t>(index)); }

 private:
  void give_up() {
    // The first one first: later ones of the stream never begin.
    for (const Op op : ops_) rank_.abandon(op);
  }

  Rank& rank_;
  std::vector<Op> ops_;
};

class NcclChannel final : public Channel {
 public:
  NcclChannel(Rank& rank, RankId peer, const Settings& settings, const Options& options)
      : rank_(rank), timeout_(settings.timeout), options_(options), fifos_(rank, peer, options.geometry) {
    Epoch numbers;
    Outcome outcome = connect_ends(rank, peer, kControlTags, rank.now() + timeout_, numbers);
    if (!outcome.ok()) fifos_.fail();
    connected(std::move(outcome));
  }

  [[nodiscard]] std::string path_taken() const override {
    const bool peers = rank_.path_to(fifos_.peer()).peer_access.yes;
    return std::string("a kernel at each end, through FIFOs in ") +
           (peers ? "the receiver's device memory" : "page-locked host memory");
  }

 private:
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
    Launched launched(rank_);
    for (std::size_t i = 0; i < std::max(outgoing.size(), incoming.size()); ++i) {
      const View out = i < outgoing.size() ? outgoing[i] : View{};
      const View in = i < incoming.size() ? incoming[i] : View{};
      if (Outcome outcome = launch(out, in, deadline, launched); !outcome.ok()) return outcome;
    }
    return wait_for(launched, {lengths_of(outgoing), lengths_of(incoming)}, deadline);
  }

  Outcome launch(const View& out, const View& in, Seconds deadline, Launched& launched) {
    const Bytes longer = std::max(out.length, in.length);
    if (longer == Bytes{}) return {};
    const gpu::Choice choice = gpu::choose(options_.ground, Operation::exchange, longer, 2, options_.fixed);
    if (Outcome outcome = fifos_.open(choice.format, deadline); !outcome.ok()) return outcome;
    gpu::Program program{.operation = Operation::exchange,
                         .format = choice.format,
                         .channels = choice.channels,
                         .bytes = out.length.count(),
                         .received = in.length.count()};
    fifos_.shape(program);
    const gpu::Link link = fifos_.link(choice.format);
    rank_.step("launch");
    launched.add(rank_.launch({.program = program, .input = out, .output = in, .links = {&link, 1}}, kProgramStream));
    fifos_.count(program, true, true);
    return {};
  }

  Outcome wait_for(Launched& launched, const BothLengths& mine, Seconds deadline) {
    const RankId peer = fifos_.peer();
    ControlMessage theirs;
    rank_.step("receive lengths");
    const Op heard = rank_.recv_control(peer, tags::kHeader, theirs);
    launched.add(heard);
    rank_.step("send lengths");
    launched.add(rank_.send_control(peer, tags::kHeader, ControlMessage(mine)));
    rank_.step("wait");
    while (!launched.ops().empty()) {
      const auto completion = rank_.wait_any(launched.ops(), deadline);
      if (!completion) return {Status::timed_out, "step 'wait': the peer's kernel has not come along"};
      const bool lengths = launched.ops()[completion->index] == heard;
      launched.ended(completion->index);
      if (completion->status != Status::delivered) return {completion->status, "step 'wait'"};
      if (!lengths) continue;
      const auto there = theirs.as<BothLengths>();
      if (there.out != mine.in) return do_not_fit(mine.in, there.out);
      if (there.in != mine.out) return do_not_fit(mine.out, there.in);
    }
    return {};
  }

  Rank& rank_;
  Seconds timeout_;
  Options options_;
  PeerFifos fifos_;
};

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
    const Op op = rank_.launch(work, kProgramStream);
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

class Nccl final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "nccl"; }
  [[nodiscard]] std::string_view description() const override {
    return "kernels at both ends pass slots through FIFOs that both reach, and collectives go on within them, as NCCL "
           "does";
  }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  [[nodiscard]] Settings defaults() const override { return {.chunk = kSlot, .depth = kSlots}; }
  [[nodiscard]] std::span<const Option> options() const override { return kOptions; }
  [[nodiscard]] std::span<const Alias> aliases() const override { return kAliases; }
  [[nodiscard]] bool does_collectives() const override { return true; }
  [[nodiscard]] Support supports(const Path& path) const override {
    if (path.gpu_programs) return {};
    return {Support::Kind::no, path.gpu_programs.reason};
  }
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const override {
    check_settings(*this, settings);
    const Path& path = rank.path_to(peer);
    require_support(*this, path);
    return std::make_unique<NcclChannel>(
        rank, peer, settings,
        read_options(*this, settings, rank.place(std::min(rank.id(), peer)).device, path.peer_access.yes));
  }
  [[nodiscard]] std::unique_ptr<Communicator> join(Rank& rank, const Settings& settings) const override {
    check_settings(*this, settings);
    if (rank.ranks() < 2) throw UsageError("protocol 'nccl': a collective needs two ranks at least");
    bool peer_access = true;
    for (int r = 0; r < rank.ranks(); ++r) {
      if (r == rank.id().value) continue;
      const Path& path = rank.path_to(RankId{r});
      require_support(*this, path);
      peer_access = peer_access && path.peer_access.yes;
    }
    const std::string_view model = rank.place(RankId{0}).device;
    return std::make_unique<NcclCommunicator>(rank, settings, read_options(*this, settings, model, true),
                                              read_options(*this, settings, model, false), peer_access);
  }
};

}  // namespace

const Protocol& nccl_protocol() {
  static const Nccl protocol;
  return protocol;
}

}  // namespace twinlink
