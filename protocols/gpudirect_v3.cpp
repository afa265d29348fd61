// GPUDirect v3: the network adapter itself reads and writes device memory (GPUDirect RDMA).
//
//   sender                                          receiver
//   1. register:   tell the adapter of the memory   1. register:   tell the adapter of the memory
//   2. copy out:   device -> pinned buffer          2. receive:    network -> device or pinned buffer
//   3. send:       device or pinned buffer -> net   3. copy in:    pinned buffer -> device
//   4. deregister: the adapter may forget it        4. deregister: the adapter may forget it
//
// Each side is direct for messages up to its own limit: then it has no copy. Above its limit it registers nothing and
// goes through page-locked buffers as GPUDirect v1 does, because a root complex lets an adapter read device memory, and
// on some machines write it, more slowly than the copy engine copies. A message above the smaller of the two limits is
// cut into chunks, so that copies and network overlap on the side that is not direct; both ends have the same settings,
// so both cut alike. Registrations stay in a cache of the connection, so that only the first message from a buffer
// pays.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "protocols/builtin.hpp"
#include "protocols/core/lane.hpp"
#include "protocols/core/options.hpp"
#include "protocols/parts/registration_cache.hpp"
#include "protocols/parts/sending.hpp"
#include "protocols/parts/staging_buffers.hpp"

namespace twinlink {
namespace {

// One stream per direction, so that copies out and copies in use both copy engines at once.
constexpr Stream kOutStream{0};
constexpr Stream kInStream{1};

constexpr Choices kCaching{OptionChoice<bool>{"on", true}, OptionChoice<bool>{"off", false}};

// The limits are inclusive; Open MPI's is not.
constexpr std::array<Option, 5> kOptions{{
    {"send_limit", "SIZE", "8K", "the adapter reads messages up to this size from device memory"},
    {"receive_limit", "SIZE", "128K", "the adapter writes messages up to this size into device memory"},
    {"registration_cache", kCaching.names(), "on", "keep device memory registered after its message"},
    {"registration_cache_size", "COUNT", "1000", "buffers that stay registered, 1 or more"},
    kSendOption,
}};

constexpr std::array<Alias, 4> kAliases{{{"MV2_GPUDIRECT_LIMIT", "send_limit"},
                                         {"MV2_USE_GPUDIRECT_RECEIVE_LIMIT", "receive_limit"},
                                         {"MV2_NDREG_ENTRIES", "registration_cache_size"},
                                         {"MV2_CUDA_BLOCK_SIZE", "chunk"}}};

/// More than any message has.
constexpr const char* kMostDirect = "1024G";

std::map<std::string, std::string> direct_to(const std::string& limit) {
  return {{"send_limit", limit}, {"receive_limit", limit}};
}

std::size_t cache_capacity(const Protocol& protocol, const OptionReader& options) {
  const std::uint64_t size = options.count("registration_cache_size");
  if (size == 0) {
    throw UsageError("protocol '" + std::string(protocol.name()) +
                     "': registration_cache_size is 0, but must be 1 or more; registration_cache=off has no cache");
  }
  return options.choice("registration_cache", kCaching) ? size : 0;
}

/// How one side takes part in a message.
struct Limits {
  Bytes send{};
  Bytes receive{};
};

/// One direction of an exchange as one side sees it.
struct Plan {
  struct Role {
    bool direct = false;   ///< the adapter reaches the message where it lies
    bool on_host = false;  ///< in host memory, so that nothing is registered
    bool first = false;    ///< of its message
    bool last = false;
    Tag tag{};  ///< of its data
  };
  std::vector<View> pieces{};
  std::vector<Role> roles{};   ///< of the pieces, in their order
  std::vector<View> staged{};  ///< the pieces, those that are direct without their bytes
  bool any_staged = false;
};

class RdmaChannel final : public Channel {
 public:
  RdmaChannel(Rank& rank, RankId peer, Settings settings, Limits limits, std::size_t cache_capacity, Sending sending)
      : rank_(rank),
        peer_(peer),
        settings_(std::move(settings)),
        limits_(limits),
        sending_(sending),
        registrations_(rank, cache_capacity),
        out_(rank, Memory::pinned),
        in_(rank, Memory::pinned) {}

  [[nodiscard]] std::string path_taken() const override {
    const std::string& hypothetical = rank_.path_to(peer_).hypothetical;
    const bool peer_on_host = settings_.peer_memory.value_or(Memory::device) != Memory::device;
    const std::string ends = on_host_ && peer_on_host   ? "; both ends lie in host memory"
                             : on_host_ || peer_on_host ? "; one end lies in host memory, and is direct"
                                                        : "";
    return regimes() + by_which_wires(rank_.path_to(peer_)) + ends +
           (hypothetical.empty() ? "" : "; hypothetical: " + hypothetical);
  }
  [[nodiscard]] std::vector<Counter> counters() const override { return registrations_.counters(); }

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override {
    const Plan out = plan(outgoing, limits_.send);
    const Plan in = plan(incoming, limits_.receive);
    const auto depth = static_cast<std::size_t>(settings_.depth_or_one());
    if (out.any_staged) out_.reserve(out.staged, depth);
    if (in.any_staged) in_.reserve(in.staged, depth);
    for (const auto& messages : {incoming, outgoing}) {
      if (messages.empty()) continue;
      last_message_ = messages.back().length;
      on_host_ = messages.back().buffer.memory != Memory::device;
      any_message_ = true;
    }
    // Receives come first: a posted receive lets the peer's bytes flow while this rank copies out.
    const std::array lanes{receiving(in), sending(out)};
    try {
      Outcome outcome = move(rank_, lanes, rank_.now() + settings_.timeout);
      if (!outcome.ok()) registrations_.let_all_go();
      return outcome;
    } catch (...) {
      registrations_.let_all_go();
      throw;
    }
  }

  [[nodiscard]] std::string regimes() const {
    if (!any_message_) {
      return "sender direct up to " + format_size(limits_.send) + ", receiver up to " + format_size(limits_.receive);
    }
    const bool reads = last_message_ <= limits_.send;
    const bool writes = last_message_ <= limits_.receive;
    return std::string(reads ? "sender direct: the adapter reads device memory"
                             : "sender staged through pinned host memory") +
           (writes ? ", receiver direct: the adapter writes device memory"
                   : ", receiver staged through pinned host memory");
  }

  [[nodiscard]] Plan plan(std::span<const View> messages, Bytes limit) const {
    const Bytes cut_above = std::min(limits_.send, limits_.receive);
    Plan plan;
    for (const View& message : messages) {
      const bool on_host = message.buffer.memory != Memory::device;
      const bool direct = on_host || message.length <= limit;
      const Bytes chunk = message.length > cut_above ? settings_.chunk_or_whole() : Bytes{};
      const auto pieces = cut({&message, 1}, chunk);
      for (const View& piece : pieces) {
        plan.pieces.push_back(piece);
        plan.roles.push_back({.direct = direct,
                              .on_host = on_host,
                              .first = &piece == &pieces.front(),
                              .last = &piece == &pieces.back(),
                              .tag = data_tag(message.length, chunk)});
        plan.staged.push_back(direct ? piece.slice(Bytes{}, Bytes{}) : piece);
      }
      plan.any_staged = plan.any_staged || !direct;
    }
    return plan;
  }

  [[nodiscard]] Step registering(const Plan& plan) {
    return {"register", [this, &plan](const Piece& p) -> Started {
              const Plan::Role& role = plan.roles[p.number];
              if (role.direct && role.first && !role.on_host) registrations_.hold(p.bytes.buffer);
              return Outcome{};
            }};
  }
  [[nodiscard]] Step deregistering(const Plan& plan) {
    return {"deregister", [this, &plan](const Piece& p) -> Started {
              const Plan::Role& role = plan.roles[p.number];
              if (role.direct && role.last && !role.on_host) registrations_.let_go(p.bytes.buffer);
              return Outcome{};
            }};
  }

  /// A pipeline has as many buffers as its depth. Messages that go as they lie need none, and are all posted at once.
  [[nodiscard]] std::size_t depth_of(const Plan& plan) const {
    const auto depth = static_cast<std::size_t>(settings_.depth_or_one());
    const bool whole =
        std::ranges::all_of(plan.roles, [](const Plan::Role& r) { return r.direct && r.first && r.last; });
    return whole ? std::max(depth, plan.pieces.size()) : depth;
  }

  [[nodiscard]] Lane sending(const Plan& plan) {
    return {.pieces = plan.pieces,
            .depth = depth_of(plan),
            .steps = {
                registering(plan),
                {"copy out",
                 [this, &plan](const Piece& p) -> Started {
                   if (plan.roles[p.number].direct) return Outcome{};
                   return rank_.copy(out_.at(p), p.bytes, kOutStream, Engine::dma);
                 }},
                {"send",
                 [this, &plan](const Piece& p) {
                   const Plan::Role& role = plan.roles[p.number];
                   return send_as(rank_, sending_, peer_, role.tag, role.direct ? p.bytes : out_.at(p));
                 }},
                deregistering(plan),
            }};
  }
  [[nodiscard]] Lane receiving(const Plan& plan) {
    return {.pieces = plan.pieces,
            .depth = depth_of(plan),
            .steps = {
                registering(plan),
                {"receive",
                 [this, &plan](const Piece& p) {
                   const Plan::Role& role = plan.roles[p.number];
                   return rank_.receive(peer_, role.tag, role.direct ? p.bytes : in_.at(p));
                 }},
                {"copy in",
                 [this, &plan](const Piece& p) -> Started {
                   if (plan.roles[p.number].direct) return Outcome{};
                   return rank_.copy(p.bytes, in_.at(p), kInStream, Engine::dma);
                 }},
                deregistering(plan),
            }};
  }

  Rank& rank_;
  RankId peer_;
  Settings settings_;
  Limits limits_;
  Sending sending_;
  RegistrationCache registrations_;
  StagingBuffers out_;
  StagingBuffers in_;
  Bytes last_message_{};
  bool any_message_ = false;
  bool on_host_ = false;  ///< the last message of this end
};

class GpuDirectV3 final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "gpudirect-v3"; }
  [[nodiscard]] std::string_view description() const override {
    return "the adapter reads and writes device memory up to a limit per side, above it a pipeline through pinned "
           "buffers";
  }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  [[nodiscard]] Answer takes_host_memory(const Settings&) const override { return Answer::granted(); }
  [[nodiscard]] Settings defaults() const override { return presets().front().settings; }
  [[nodiscard]] std::span<const Option> options() const override { return kOptions; }
  [[nodiscard]] std::span<const Alias> aliases() const override { return kAliases; }
  [[nodiscard]] std::span<const Preset> presets() const override {
    static const std::array<Preset, 7> presets{
        {{"mvapich2",
          "MVAPICH2's defaults (2.3.7 source): direct up to 8 KiB out and 128 KiB in, 8 blocks of 256 KiB at once",
          {.chunk = 256_KiB, .depth = 8, .options = {{"send_limit", "8K"}, {"receive_limit", "128K"}}}},
         {"openmpi-openib",
          "Open MPI's openib (its source): direct below 30,000 B, from there on 3 fragments of 128 KiB at once",
          {.chunk = 128_KiB, .depth = 3, .options = {{"send_limit", "29999"}, {"receive_limit", "29999"}}}},
         {"mvapich2-gdr",
          "MVAPICH2-GDR 2.3 for Power9: direct up to 64 KiB out and 128 KiB in, blocks as MVAPICH2's",
          {.chunk = 256_KiB, .depth = 8, .options = {{"send_limit", "64K"}, {"receive_limit", "128K"}}}},
         {"ucx",
          "UCX: a rendezvous reads from GPU to GPU whatever the size (its pull request 5473)",
          {.chunk = 512_KiB, .depth = 3, .options = direct_to(kMostDirect)}},
         {"cray-mpich",
          "Cray MPICH on Slingshot: libfabric's adapter reads and writes device memory whatever the size",
          {.chunk = 512_KiB, .depth = 3, .options = direct_to(kMostDirect)}},
         {"cray-mpich-gni",
          "Cray MPICH on Aries: direct up to 64 KiB, as osu_latency on Piz Daint shows; blocks assumed",
          {.chunk = 512_KiB, .depth = 3, .options = direct_to("64K")}},
         {"spectrum",
          "Spectrum MPI: direct up to 128 KiB, as messages on Summit show (arXiv 2010.10378); blocks assumed",
          {.chunk = 512_KiB, .depth = 3, .options = direct_to("128K")}}}};
    return presets;
  }
  [[nodiscard]] bool sends_device_memory_alone(const Settings& settings) const override {
    const OptionReader options(*this, settings);
    const Bytes most = parse_size(kMostDirect);
    return options.size("send_limit") >= most && options.size("receive_limit") >= most;
  }
  /// Whether the two share a node does not matter: the path says whether the adapter carries their messages.
  [[nodiscard]] Support supports(const Path& path) const override {
    if (!path.device_memory_on_network) return {Support::Kind::no, path.device_memory_on_network.reason};
    return {};
  }
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const override {
    check_settings(*this, settings);
    const OptionReader options(*this, settings);
    const std::size_t capacity = cache_capacity(*this, options);
    require_support(*this, rank.path_to(peer));
    return std::make_unique<RdmaChannel>(rank, peer, settings,
                                         Limits{options.size("send_limit"), options.size("receive_limit")}, capacity,
                                         options.choice("send", kSendings));
  }
};

}  // namespace

const Protocol& gpudirect_v3_protocol() {
  static const GpuDirectV3 protocol;
  return protocol;
}

}  // namespace twinlink
