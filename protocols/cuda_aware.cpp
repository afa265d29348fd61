// A CUDA-aware MPI library: device pointers go in, and the library chooses the way, message by message.
//
//   1. same device:  a copy within it (gpudirect-v2)
//   2. CUDA IPC:     one node, peer access, and a message that is worth the handshake (cuda-ipc)
//   3. RDMA:         the adapter reaches device memory (gpudirect-v3)
//   4. staged whole: a small message, one copy on each side (gpudirect-v1)
//   5. pipeline:     everything else, in blocks through pinned memory (gpudirect-v1)
//
// Where GPU and adapter share no page-locked buffer, 4 and 5 copy between two host buffers (staging, memory=pinned).
// MVAPICH2 with CUDA IPC off takes an adapter in loopback within a node, where there is one, and no IPC then.
//
// Both ends see the same path and the same sizes, so both choose alike without asking each other. The ways are opened
// when they are needed first. With `library=mpi` the device pointers really go to the MPI library of the job, which
// does all this by itself.
#include "protocols/cuda_aware.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "protocols/builtin.hpp"
#include "protocols/core/options.hpp"
#include "protocols/parts/plain_messages.hpp"
#include "protocols/registry.hpp"

namespace twinlink {
namespace {

enum class Mover { own, mpi };

constexpr std::array kOptions{
    Option{"library", "own|mpi", "own", "own: Twinlink's protocols; mpi: the MPI library gets the device pointers"},
    Option{"rules", "mvapich2|openmpi", "mvapich2", "whose order and limits the choice follows"},
    Option{"ipc_from", "SIZE", "32K", "mvapich2: messages of this size and more go by CUDA IPC"},
    Option{"whole_to", "SIZE", "16K", "messages up to this size are staged whole, larger ones as a pipeline"},
    Option{"use_cuda", "0|1", "1", "mvapich2: does the library take device pointers at all?"},
    Option{"ipc", "0|1", "1",
           "mvapich2: 0: no CUDA IPC, but within a node the adapter in loopback, where there is one"},
    Option{"shared_memory", "0|1", "0", "mvapich2 with ipc=0: shared memory instead of the adapter"},
    Option{"smp_copy_size", "SIZE", "256K", "mvapich2 in shared memory: the size of the copies of a large message"}};

constexpr std::array kAliases{Alias{"MV2_CUDA_BLOCK_SIZE", "chunk", "mvapich2"},
                              Alias{"MV2_USE_CUDA", "use_cuda", "mvapich2"},
                              Alias{"MV2_CUDA_IPC", "ipc", "mvapich2"},
                              Alias{"MV2_CUDA_IPC_THRESHOLD", "ipc_from", "mvapich2"},
                              Alias{"MV2_USE_SHARED_MEM", "shared_memory", "mvapich2"},
                              Alias{"MV2_SMP_SEND_BUF_SIZE", "smp_copy_size", "mvapich2"}};

/// Where this differs, the user has asked for it.
constexpr int kDefaultDepth = 64;

/// The MPI library of the job moves device memory by itself.
class LibraryChannel final : public Channel {
 public:
  LibraryChannel(Rank& rank, RankId peer, const Settings& settings) : rank_(rank), messages_(rank, peer, settings) {}

  [[nodiscard]] std::string path_taken() const override { return "device memory given to the MPI library"; }

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override {
    for (const auto& views : {outgoing, incoming}) {
      for (const View& view : views) make_known(view.buffer);
    }
    return messages_.exchange(outgoing, incoming);
  }

  /// A buffer that is gone when the channel ends took its registration with it; so they are left to release().
  void make_known(Buffer buffer) {
    if (std::ranges::find(known_, buffer) != known_.end()) return;
    rank_.register_memory(buffer);
    known_.push_back(buffer);
  }

  Rank& rank_;
  PlainMessages messages_;
  std::vector<Buffer> known_;
};

/// Opens the ways as they are needed, and sorts every exchange's messages among them.
class ChoosingChannel final : public Channel {
 public:
  ChoosingChannel(Rank& rank, RankId peer, Settings settings)
      : rank_(rank), peer_(peer), settings_(std::move(settings)), rules_(cuda_aware_rules(settings_)) {}

  [[nodiscard]] std::string path_taken() const override { return last_; }

  [[nodiscard]] std::vector<Counter> counters() const override {
    std::vector<Counter> all;
    for (const auto& [key, way] : ways_) {
      for (const Counter& counter : way->counters()) all.push_back({key.first + ", " + counter.name, counter.value});
    }
    return all;
  }

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override {
    // By way, in an order that is the same at both ends.
    std::map<Key, Messages> sorted;
    for (const View& view : outgoing) sorted[key_of(view)].outgoing.push_back(view);
    for (const View& view : incoming) sorted[key_of(view)].incoming.push_back(view);
    for (const auto& [key, messages] : sorted) {
      rank_.step("choose " + key.first);
      Channel& way = open(key);
      Outcome outcome = way.exchange(messages.outgoing, messages.incoming);
      last_ = key.first + ": " + way.path_taken();
      if (outcome.ok()) continue;
      // A peer that has another size may have chosen another way, and wait there.
      outcome.reason = "by " + key.first + ", which this size chooses: " + outcome.reason;
      return outcome;
    }
    return {};
  }

  /// A protocol, and its chunk: one protocol may be used in two ways.
  using Key = std::pair<std::string, std::uint64_t>;
  struct Messages {
    std::vector<View> outgoing;
    std::vector<View> incoming;
  };

  Key key_of(const View& message) {
    const CudaAwareChoice way = choose_protocol(rules_, rank_.path_to(peer_), message.length);
    Key key{way.protocol, way.settings.chunk.count()};
    settings_of_.try_emplace(key, way.settings);
    return key;
  }

  Channel& open(const Key& key) {
    if (const auto known = ways_.find(key); known != ways_.end()) return *known->second;
    Settings settings = settings_of_.at(key);
    settings.timeout = settings_.timeout;
    return *ways_.emplace(key, find_protocol(key.first).connect(rank_, peer_, settings)).first->second;
  }

  Rank& rank_;
  RankId peer_;
  Settings settings_;
  CudaAwareRules rules_;
  std::map<Key, Settings> settings_of_;
  std::map<Key, std::unique_ptr<Channel>> ways_;
  std::string last_ = "not chosen yet";
};

class CudaAware final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "cuda-aware"; }
  [[nodiscard]] std::string_view description() const override {
    return "a CUDA-aware MPI library: chooses among the others by path and size, or gets the device pointers itself";
  }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  [[nodiscard]] Settings defaults() const override { return {.chunk = Bytes{}, .depth = kDefaultDepth}; }
  [[nodiscard]] std::span<const Option> options() const override { return kOptions; }
  [[nodiscard]] std::span<const Alias> aliases() const override { return kAliases; }
  [[nodiscard]] std::span<const Preset> presets() const override {
    static const std::array presets{
        Preset{"mvapich2",
               "CUDA IPC from 32 KiB (MVAPICH2-GDR's manual), whole messages to 16 KiB, its eager limit",
               {.depth = 64, .options = {{"rules", "mvapich2"}}}},
        Preset{"mvapich2-1.8",
               "the same with blocks of 64 KiB, the default of the older manuals",
               {.chunk = 64_KiB, .depth = 64, .options = {{"rules", "mvapich2"}}}},
        Preset{"openmpi",
               "smcuda within a node whatever the size; whole messages to 12 KiB, openib's eager limit",
               {.depth = 64, .options = {{"rules", "openmpi"}, {"whole_to", "12K"}}}}};
    return presets;
  }
  [[nodiscard]] bool delegates() const override { return true; }
  [[nodiscard]] Support supports(const Path& path) const override {
    if (path.cuda_aware_mpi) return {};
    return {Support::Kind::no, path.cuda_aware_mpi.reason};
  }
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const override {
    check_settings(*this, settings);
    require_support(*this, rank.path_to(peer));
    const OptionReader read(*this, settings);
    if (!read.choice<bool>("use_cuda")) {
      throw UnavailableError(
          "protocol 'cuda-aware' cannot run here: with MV2_USE_CUDA=0 the library takes no device pointers");
    }
    if (read.choice<Mover>("library") == Mover::own) {
      return std::make_unique<ChoosingChannel>(rank, peer, settings);
    }
    if (const Answer& allowed = rank.path_to(peer).device_memory_on_network; !allowed) {
      throw UnavailableError("protocol 'cuda-aware' with library=mpi cannot run here: " + allowed.reason);
    }
    return std::make_unique<LibraryChannel>(rank, peer, settings);
  }
};

}  // namespace

CudaAwareRules cuda_aware_rules(const Settings& settings) {
  const OptionReader read(cuda_aware_protocol(), settings);
  CudaAwareRules rules{.library = read.choice<CudaAwareRules::Library>("rules"),
                       .ipc = read.choice<bool>("ipc"),
                       .ipc_from = read.size("ipc_from"),
                       .whole_to = read.size("whole_to"),
                       .shared_memory = read.choice<bool>("shared_memory")};
  if (rules.library == CudaAwareRules::Library::openmpi) {
    for (const char* option : {"use_cuda", "ipc", "shared_memory", "smp_copy_size"}) {
      if (!settings.options.contains(option)) continue;
      throw UsageError(std::string("protocol 'cuda-aware': '") + option +
                       "' is a switch of MVAPICH2, and rules=openmpi");
    }
  }
  if (read.size("smp_copy_size") == Bytes{}) {
    throw UsageError("protocol 'cuda-aware': smp_copy_size (MV2_SMP_SEND_BUF_SIZE) has a byte at least");
  }
  if (rules.shared_memory || settings.options.contains("smp_copy_size")) {
    rules.smp_copy_size = read.size("smp_copy_size");
  }
  if (settings.chunk != Bytes{}) rules.chunk = settings.chunk;
  if (settings.depth != kDefaultDepth) rules.depth = settings.depth;
  return rules;
}

CudaAwareChoice choose_protocol(const CudaAwareRules& rules, const Path& path, Bytes size) {
  const auto with_defaults = [](const char* protocol, std::string reason) {
    return CudaAwareChoice{protocol, find_protocol(protocol).defaults(), std::move(reason)};
  };
  const auto through_host = [&](CudaAwareChoice choice) {
    if (path.shared_buffers) return choice;
    choice.settings.options = {{"memory", "pinned"}};
    return CudaAwareChoice{"staging", std::move(choice.settings), choice.reason + "; " + path.shared_buffers.reason};
  };
  const auto pipeline = [&](const char* protocol, const char* preset, std::string reason) {
    Settings settings = find_preset(find_protocol(protocol), preset).settings;
    settings.chunk = rules.chunk.value_or(settings.chunk);
    settings.depth = rules.depth.value_or(settings.depth);
    // The receiver cannot grant more at once than it has buffers.
    if (const auto credits = settings.options.find("credits"); credits != settings.options.end()) {
      credits->second = std::to_string(std::min(std::stoi(credits->second), settings.depth));
    }
    return CudaAwareChoice{protocol, std::move(settings), std::move(reason)};
  };
  const bool openmpi = rules.library == CudaAwareRules::Library::openmpi;
  if (path.same_device) return with_defaults("gpudirect-v2", "both ranks use one device: a copy within it");
  const bool may_map = path.same_node && !path.loopback && path.device_mapping && rules.ipc;
  if (may_map && openmpi) {
    return with_defaults("cuda-ipc", "one node: smcuda asks for CUDA IPC, and stages what it may not read");
  }
  if (may_map && path.peer_access && size >= rules.ipc_from) {
    return with_defaults("cuda-ipc", "one node with peer access, and at least " + format_size(rules.ipc_from));
  }
  const char* const preset = openmpi ? "openmpi-openib" : "mvapich2";
  if (find_protocol("gpudirect-v3").supports(path).usable()) {
    return pipeline("gpudirect-v3", preset, "the adapter reaches device memory");
  }
  if (size <= rules.whole_to) {
    return through_host(
        with_defaults("gpudirect-v1", "at most " + format_size(rules.whole_to) + ": whole, a copy on each side"));
  }
  return through_host(pipeline("gpudirect-v1", preset, "no way past host memory: a pipeline through it"));
}

std::string describe(const CudaAwareRules& rules) {
  const bool openmpi = rules.library == CudaAwareRules::Library::openmpi;
  std::string text = "1. same device: a copy within it (gpudirect-v2)\n";
  text += openmpi ? "2. same node: CUDA IPC, or staged where it is refused (cuda-ipc)\n"
                  : "2. same node, peer access, from " + format_size(rules.ipc_from) + ": CUDA IPC (cuda-ipc)\n";
  text += "3. the adapter reaches device memory: RDMA (gpudirect-v3)\n";
  text +=
      "4. to " + format_size(rules.whole_to) + ": staged whole (gpudirect-v1; staging where no buffers are shared)\n";
  text += "5. otherwise: staged as a pipeline (likewise)\n";
  return text;
}

std::span<const DeviceCall> device_calls() {
  static constexpr std::string_view kReduces = "collective reductions take none";
  static constexpr std::string_view kOneSided = "one-sided calls take none";
  static constexpr std::array<DeviceCall, 32> kCalls{
      {{"MPI_Send", {}},       {"MPI_Bsend", {}},        {"MPI_Ssend", {}},           {"MPI_Rsend", {}},
       {"MPI_Isend", {}},      {"MPI_Ibsend", {}},       {"MPI_Issend", {}},          {"MPI_Irsend", {}},
       {"MPI_Send_init", {}},  {"MPI_Bsend_init", {}},   {"MPI_Ssend_init", {}},      {"MPI_Rsend_init", {}},
       {"MPI_Recv", {}},       {"MPI_Irecv", {}},        {"MPI_Recv_init", {}},       {"MPI_Sendrecv", {}},
       {"MPI_Bcast", {}},      {"MPI_Gather", {}},       {"MPI_Gatherv", {}},         {"MPI_Allgather", {}},
       {"MPI_Allgatherv", {}}, {"MPI_Alltoall", {}},     {"MPI_Alltoallv", {}},       {"MPI_Scatter", {}},
       {"MPI_Scatterv", {}},   {"MPI_Reduce", kReduces}, {"MPI_Allreduce", kReduces}, {"MPI_Reduce_scatter", kReduces},
       {"MPI_Scan", kReduces}, {"MPI_Put", kOneSided},   {"MPI_Get", kOneSided},      {"MPI_Accumulate", kOneSided}}};
  return kCalls;
}

const Protocol& cuda_aware_protocol() {
  static const CudaAware protocol;
  return protocol;
}

}  // namespace twinlink
