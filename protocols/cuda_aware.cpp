// A CUDA-aware MPI library: device pointers go in, and the library chooses the way, message by message.
//
//   1. same device:  a copy within it (gpudirect-v2)
//   2. CUDA IPC:     one node, peer access, and a message that is worth the handshake (cuda-ipc)
//   3. RDMA:         the adapter reaches device memory (gpudirect-v3)
//   4. staged whole: a small message, one copy on each side (gpudirect-v1); up to `cpu_to` before 3, by the CPU's own
//      copies
//   5. pipeline:     everything else, in blocks through pinned memory (gpudirect-v1)
//
// A message with one end in host memory takes no peer copy and no IPC: rule 3, 4 or 5 at the end that lies on the GPU.
// One with both ends there is an ordinary one (host). Open MPI sends the former through smcuda's fragments within a
// node.
//
// Where GPU and adapter share no page-locked buffer, 4 and 5 copy between two host buffers (staging, memory=pinned).
// MVAPICH2 with CUDA IPC off takes an adapter in loopback within a node, where there is one, and no IPC then.
//
// Both ends see the same path and the same sizes, so both choose alike without asking each other. The ways are opened
// when they are needed first. With `library=mpi` the device pointers really go to the MPI library of the job, which
// does all this by itself.
#include "protocols/cuda_aware.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "protocols/builtin.hpp"
#include "protocols/core/options.hpp"
#include "protocols/parts/sending.hpp"
#include "protocols/registry.hpp"

namespace twinlink {
namespace {

using Library = CudaAwareRules::Library;
enum class SendCall { standard, synchronous, buffered };

/// Does the MPI library move device memory itself?
constexpr Choices kMovers{OptionChoice<bool>{"own", false}, OptionChoice<bool>{"mpi", true}};
constexpr Choices kSendCalls{OptionChoice<SendCall>{"standard", SendCall::standard},
                             OptionChoice<SendCall>{"synchronous", SendCall::synchronous},
                             OptionChoice<SendCall>{"buffered", SendCall::buffered}};
constexpr Choices kLibraries{OptionChoice<Library>{"mvapich2", Library::mvapich2},
                             OptionChoice<Library>{"openmpi", Library::openmpi},
                             OptionChoice<Library>{"mvapich2-gdr", Library::mvapich2_gdr},
                             OptionChoice<Library>{"ucx", Library::ucx},
                             OptionChoice<Library>{"spectrum", Library::spectrum},
                             OptionChoice<Library>{"cray-mpich", Library::cray_mpich},
                             OptionChoice<Library>{"cray-mpich-gni", Library::cray_mpich_gni}};

/// Whose presets a library's messages take: by RDMA, and as a pipeline through host memory.
struct Pipelines {
  const char* rdma;
  const char* staged;
};
Pipelines pipelines_of(Library library) {
  switch (library) {
    case Library::mvapich2:
      return {"mvapich2", "mvapich2"};
    case Library::openmpi:
      return {"openmpi-openib", "openmpi-openib"};
    case Library::mvapich2_gdr:
      return {"mvapich2-gdr", "mvapich2"};
    case Library::ucx:
      return {"ucx", "ucx"};
    case Library::spectrum:
      return {"spectrum", "ucx"};
    case Library::cray_mpich:
      return {"cray-mpich", "ucx"};
    case Library::cray_mpich_gni:
      return {"cray-mpich-gni", "ucx"};
  }
  std::abort();
}

constexpr std::array kOptions{
    Option{"library", kMovers.names(), "own",
           "own: Twinlink's protocols; mpi: the MPI library gets the device pointers"},
    Option{"send", kSendCalls.names(), "standard",
           "MPI_Send; MPI_Ssend: no send ends before the peer has begun to receive; MPI_Bsend: the CPU copies every "
           "message into attached memory first, and it goes on as a host message"},
    Option{"rules", kLibraries.names(), "mvapich2", "whose order and limits the choice follows"},
    Option{"ipc_from", "SIZE", "32K", "all but openmpi: messages of this size and more go by CUDA IPC"},
    Option{"whole_to", "SIZE", "16K", "messages up to this size are staged whole, larger ones as a pipeline"},
    Option{"cpu_to", "SIZE", "0",
           "messages up to this size are staged whole by the CPU's own copies (GDRCopy), where it has device memory "
           "mapped; 0: none"},
    Option{"use_cuda", kSwitch.names(), "1", "mvapich2: does the library take device pointers at all?"},
    Option{"ipc", kSwitch.names(), "1",
           "mvapich2: 0: no CUDA IPC, but within a node the adapter in loopback, where there is one"},
    Option{"shared_memory", kSwitch.names(), "0", "mvapich2 with ipc=0: shared memory instead of the adapter"},
    Option{"smp_copy_size", "SIZE", "256K", "mvapich2 in shared memory: the size of the copies of a large message"}};

constexpr std::array kAliases{Alias{"MV2_CUDA_BLOCK_SIZE", "chunk", "mvapich2"},
                              Alias{"MV2_USE_CUDA", "use_cuda", "mvapich2"},
                              Alias{"MV2_CUDA_IPC", "ipc", "mvapich2"},
                              Alias{"MV2_CUDA_IPC_THRESHOLD", "ipc_from", "mvapich2"},
                              Alias{"MV2_USE_SHARED_MEM", "shared_memory", "mvapich2"},
                              Alias{"MV2_SMP_SEND_BUF_SIZE", "smp_copy_size", "mvapich2"}};

/// The MPI library of the job moves device memory by itself.
class LibraryChannel final : public Channel {
 public:
  LibraryChannel(Rank& rank, RankId peer, const Settings& settings, SendCall call)
      : rank_(rank),
        messages_(rank, peer, settings, call == SendCall::synchronous ? Sending::synchronous : Sending::standard),
        attached_(rank, settings.timeout),
        buffered_(call == SendCall::buffered),
        wires_(by_which_wires(rank.path_to(peer))) {}

  [[nodiscard]] std::string path_taken() const override {
    return std::string(known_.empty() ? "host" : "device") + " memory given to the MPI library" + wires_;
  }

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override {
    for (const auto& views : {outgoing, incoming}) {
      for (const View& view : views) {
        if (view.buffer.memory == Memory::device) make_known(view.buffer);
      }
    }
    if (!buffered_) return messages_.exchange(outgoing, incoming);
    if (Outcome outcome = attached_.take(outgoing); !outcome.ok()) return outcome;
    return messages_.exchange(attached_.messages(), incoming);
  }

  /// A buffer that is gone when the channel ends took its registration with it; so they are left to release().
  void make_known(Buffer buffer) {
    if (std::ranges::find(known_, buffer) != known_.end()) return;
    rank_.register_memory(buffer);
    known_.push_back(buffer);
  }

  Rank& rank_;
  PlainMessages messages_;
  AttachedBuffer attached_;
  bool buffered_;
  std::string wires_;
  std::vector<Buffer> known_;
};

/// Opens the ways as they are needed, and sorts every exchange's messages among them.
class ChoosingChannel final : public Channel {
 public:
  ChoosingChannel(Rank& rank, RankId peer, Settings settings, SendCall call)
      : rank_(rank),
        peer_(peer),
        settings_(std::move(settings)),
        rules_(cuda_aware_rules(settings_)),
        call_(call),
        attached_(rank, settings_.timeout) {}

  [[nodiscard]] std::string path_taken() const override { return last_; }

  [[nodiscard]] std::vector<Counter> counters() const override {
    std::vector<Counter> all;
    for (const auto& [key, way] : ways_) {
      for (const Counter& counter : way->counters()) all.push_back({key.first + ", " + counter.name, counter.value});
    }
    return all;
  }

  [[nodiscard]] bool connecting() const override {
    return std::ranges::any_of(ways_, [](const auto& way) { return way.second->connecting(); });
  }

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override {
    if (call_ == SendCall::buffered) {
      if (Outcome outcome = attached_.take(outgoing); !outcome.ok()) return outcome;
      outgoing = attached_.messages();
    }
    // By way, in an order that is the same at both ends.
    std::map<Key, Messages> sorted;
    for (const View& view : outgoing) sorted[key_of(view, peer_on_host(false))].outgoing.push_back(view);
    for (const View& view : incoming) sorted[key_of(view, peer_on_host(true))].incoming.push_back(view);
    for (const auto& [key, messages] : sorted) {
      rank_.step("choose " + key.first);
      Channel& way = open(key);
      look_up_pointers(key, messages);
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

  /// Does the peer send from, or receive into, host memory? A buffered send does.
  [[nodiscard]] bool peer_on_host(bool sends) const {
    if (sends && call_ == SendCall::buffered) return true;
    return settings_.peer_memory.value_or(Memory::device) != Memory::device;
  }

  Key key_of(const View& message, bool peers_on_host) {
    const int on_host = (message.buffer.memory == Memory::device ? 0 : 1) + (peers_on_host ? 1 : 0);
    CudaAwareChoice way = choose_protocol(rules_, rank_.path_to(peer_), message.length, on_host);
    if (call_ == SendCall::synchronous) make_synchronous(way);
    Key key{way.protocol, way.settings.chunk_or_whole().count()};
    settings_of_.try_emplace(key, way.settings);
    return key;
  }

  /// What gives its data to send() has an option for it. The others send nothing before the peer has answered, but
  /// cuda-ipc's eager messages.
  static void make_synchronous(CudaAwareChoice& way) {
    const auto options = find_protocol(way.protocol).options();
    if (std::ranges::find(options, "send", &Option::name) != options.end())
      way.settings.options["send"] = "synchronous";
    if (way.protocol == "cuda-ipc") way.settings.options["eager"] = "0";
  }

  /// The library asks the driver of each device pointer. What goes to the network as it lies, send() and receive() ask
  /// of.
  void look_up_pointers(const Key& key, const Messages& messages) {
    if (key.first == "gpudirect-v3") return;
    for (const auto& views : {messages.outgoing, messages.incoming}) {
      for (const View& view : views) {
        if (view.buffer.memory == Memory::device) rank_.look_up_pointer(peer_);
      }
    }
  }

  Channel& open(const Key& key) {
    if (const auto known = ways_.find(key); known != ways_.end()) return *known->second;
    Settings settings = settings_of_.at(key);
    settings.timeout = settings_.timeout;
    settings.peer_memory = settings_.peer_memory;
    return *ways_.emplace(key, find_protocol(key.first).connect(rank_, peer_, settings)).first->second;
  }

  Rank& rank_;
  RankId peer_;
  Settings settings_;
  CudaAwareRules rules_;
  SendCall call_;
  AttachedBuffer attached_;
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
  [[nodiscard]] Answer takes_host_memory(const Settings&) const override { return Answer::granted(); }
  [[nodiscard]] std::span<const Option> options() const override { return kOptions; }
  [[nodiscard]] std::span<const Alias> aliases() const override { return kAliases; }
  [[nodiscard]] std::span<const Preset> presets() const override {
    static const std::array presets{
        Preset{"mvapich2",
               "CUDA IPC from 32 KiB (MVAPICH2-GDR's manual), whole messages to 16 KiB, its eager limit",
               {.options = {{"rules", "mvapich2"}}}},
        Preset{"mvapich2-1.8",
               "the same with blocks of 64 KiB, the default of the older manuals",
               {.chunk = 64_KiB, .options = {{"rules", "mvapich2"}}}},
        Preset{"openmpi",
               "smcuda within a node whatever the size; whole messages to 12 KiB, openib's eager limit",
               {.options = {{"rules", "openmpi"}, {"whole_to", "12K"}}}},
        Preset{
            "mvapich2-gdr",
            "MVAPICH2-GDR 2.3 for Power9: CUDA IPC from 32 KiB, RDMA up to 64 KiB, whole messages to 16 KiB, those to "
            "8 KiB by GDRCopy (its manual's limit, not read again)",
            {.options = {{"rules", "mvapich2-gdr"}, {"cpu_to", "8K"}}}},
        Preset{
            "ucx",
            "UCX: CUDA IPC and RDMA whatever the size above its eager messages of 8 KiB (its pull request 5132), which "
            "the CPU copies by itself (gdr_copy)",
            {.options = {{"rules", "ucx"}, {"ipc_from", "8K"}, {"whole_to", "8K"}, {"cpu_to", "8K"}}}},
        Preset{"spectrum",
               "Spectrum MPI: CUDA IPC whatever the size (messages of 4 B to 64 KiB take equally long within a node, "
               "BenchPress) and RDMA up to 128 KiB (arXiv 2010.10378)",
               {.options = {{"rules", "spectrum"}, {"ipc_from", "0"}, {"whole_to", "8K"}}}},
        Preset{"cray-mpich",
               "Cray MPICH on Slingshot: RDMA of all sizes; within a node CUDA IPC from 1 KiB on "
               "(MPICH_GPU_IPC_THRESHOLD), and below the CPU's own copies",
               {.options = {{"rules", "cray-mpich"}, {"ipc_from", "1K"}, {"whole_to", "1K"}, {"cpu_to", "1K"}}}},
        Preset{"cray-mpich-gni",
               "Cray MPICH on Aries: RDMA up to 64 KiB; the limit of CUDA IPC is assumed",
               {.options = {{"rules", "cray-mpich-gni"}, {"ipc_from", "8K"}, {"whole_to", "8K"}}}}};
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
    if (!read.choice("use_cuda", kSwitch)) {
      throw UnavailableError(
          "protocol 'cuda-aware' cannot run here: with MV2_USE_CUDA=0 the library takes no device pointers");
    }
    const auto call = read.choice("send", kSendCalls);
    if (!read.choice("library", kMovers)) {
      return std::make_unique<ChoosingChannel>(rank, peer, settings, call);
    }
    if (const Answer& allowed = rank.path_to(peer).device_memory_on_network; !allowed) {
      throw UnavailableError("protocol 'cuda-aware' with library=mpi cannot run here: " + allowed.reason);
    }
    return std::make_unique<LibraryChannel>(rank, peer, settings, call);
  }
};

}  // namespace

CudaAwareRules cuda_aware_rules(const Settings& settings) {
  const OptionReader read(cuda_aware_protocol(), settings);
  CudaAwareRules rules{.library = read.choice("rules", kLibraries),
                       .ipc = read.choice("ipc", kSwitch),
                       .ipc_from = read.size("ipc_from"),
                       .whole_to = read.size("whole_to"),
                       .cpu_to = read.size("cpu_to"),
                       .chunk = settings.chunk,
                       .depth = settings.depth,
                       .shared_memory = read.choice("shared_memory", kSwitch)};
  if (!rules.is_mvapich2()) {
    for (const char* option : {"use_cuda", "ipc", "shared_memory", "smp_copy_size"}) {
      if (!settings.options.contains(option)) continue;
      throw UsageError(std::string("protocol 'cuda-aware': '") + option +
                       "' is a switch of MVAPICH2, and rules=" + std::string(read.text("rules")));
    }
  }
  if (read.size("smp_copy_size") == Bytes{}) {
    throw UsageError("protocol 'cuda-aware': smp_copy_size (MV2_SMP_SEND_BUF_SIZE) has a byte at least");
  }
  if (rules.shared_memory || settings.options.contains("smp_copy_size")) {
    rules.smp_copy_size = read.size("smp_copy_size");
  }
  return rules;
}

CudaAwareChoice choose_protocol(const CudaAwareRules& rules, const Path& path, Bytes size, int on_host) {
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
    if (rules.chunk) settings.chunk = rules.chunk;
    if (rules.depth) settings.depth = rules.depth;
    // The receiver cannot grant more at once than it has buffers.
    if (const auto credits = settings.options.find("credits"); credits != settings.options.end()) {
      credits->second = std::to_string(std::min(std::stoi(credits->second), settings.depth_or_one()));
    }
    return CudaAwareChoice{protocol, std::move(settings), std::move(reason)};
  };
  const bool openmpi = rules.library == CudaAwareRules::Library::openmpi;
  if (on_host == 2) return with_defaults("host", "both ends lie in host memory");
  const bool one_on_host = on_host == 1;
  if (path.same_device && !one_on_host)
    return with_defaults("gpudirect-v2", "both ranks use one device: a copy within it");
  const bool may_map = path.same_node && !path.loopback && path.device_mapping && rules.ipc;
  // A handle of memory that a domain's nodes share, as UCX exchanges it: none of smcuda's handshake.
  const bool in_domain = !path.same_node && path.device_mapping && path.peer_access && rules.ipc && !one_on_host;
  if (in_domain && (openmpi || size >= rules.ipc_from)) {
    return with_defaults("gpudirect-v2", "nodes of one NVLink domain, whose GPUs map each other's memory");
  }
  if (may_map && openmpi && one_on_host) {
    return pipeline("gpudirect-v1", "openmpi-smcuda-staged", "one end lies in host memory: smcuda stages the other");
  }
  if (may_map && openmpi) {
    return with_defaults("cuda-ipc", "one node: smcuda asks for CUDA IPC, and stages what it may not read");
  }
  if (may_map && !one_on_host && path.peer_access && size >= rules.ipc_from) {
    return with_defaults("cuda-ipc", "one node with peer access, and at least " + format_size(rules.ipc_from));
  }
  // UCX's eager messages between nodes are read by the adapter.
  const bool by_cpu = size <= rules.cpu_to && rules.cpu_to > Bytes{} && (path.same_node || rules.is_mvapich2());
  if (by_cpu && path.cpu_reaches_device && path.shared_buffers) {
    CudaAwareChoice choice = with_defaults(
        "gpudirect-v1", "at most " + format_size(rules.cpu_to) + ": whole, by the CPU's own copies on each side");
    choice.settings.options["copies"] = "cpu";
    return choice;
  }
  const Pipelines presets = pipelines_of(rules.library);
  if (find_protocol("gpudirect-v3").supports(path).usable()) {
    return pipeline("gpudirect-v3", presets.rdma, "the adapter reaches device memory");
  }
  if (size <= rules.whole_to) {
    return through_host(
        with_defaults("gpudirect-v1", "at most " + format_size(rules.whole_to) + ": whole, a copy on each side"));
  }
  return through_host(pipeline("gpudirect-v1", presets.staged, "no way past host memory: a pipeline through it"));
}

std::string describe(const CudaAwareRules& rules) {
  const bool openmpi = rules.library == CudaAwareRules::Library::openmpi;
  std::string text = "1. same device: a copy within it (gpudirect-v2)\n";
  text += openmpi
              ? "2. same node: CUDA IPC, or staged where it is refused (cuda-ipc); nodes of one domain: gpudirect-v2\n"
              : "2. same node, peer access, from " + format_size(rules.ipc_from) +
                    ": CUDA IPC (cuda-ipc); nodes of one domain: gpudirect-v2\n";
  if (rules.cpu_to > Bytes{}) {
    text += "   to " + format_size(rules.cpu_to) +
            ": staged whole by the CPU's own copies, where it has device memory mapped\n";
  }
  text += "3. the adapter reaches device memory: RDMA (gpudirect-v3)\n";
  text +=
      "4. to " + format_size(rules.whole_to) + ": staged whole (gpudirect-v1; staging where no buffers are shared)\n";
  text += "5. otherwise: staged as a pipeline (likewise)\n";
  return text;
}

std::span<const DeviceCall> device_calls() {
  static constexpr std::string_view kReduces = "collective reductions take none";
  static constexpr std::string_view kOneSided = "one-sided calls take none";
  static constexpr std::string_view kStandard = "send=standard";
  static constexpr std::string_view kReady = "send=standard: a ready send is not told apart";
  static constexpr std::string_view kPersistent = "send=standard: what a kept request saves is not modelled";
  static constexpr std::string_view kReceive = "every exchange";
  static constexpr std::array<DeviceCall, 32> kCalls{{{"MPI_Send", {}, kStandard},
                                                      {"MPI_Bsend", {}, "send=buffered"},
                                                      {"MPI_Ssend", {}, "send=synchronous"},
                                                      {"MPI_Rsend", {}, kReady},
                                                      {"MPI_Isend", {}, kStandard},
                                                      {"MPI_Ibsend", {}, "send=buffered"},
                                                      {"MPI_Issend", {}, "send=synchronous"},
                                                      {"MPI_Irsend", {}, kReady},
                                                      {"MPI_Send_init", {}, kPersistent},
                                                      {"MPI_Bsend_init", {}, "send=buffered"},
                                                      {"MPI_Ssend_init", {}, "send=synchronous"},
                                                      {"MPI_Rsend_init", {}, kPersistent},
                                                      {"MPI_Recv", {}, kReceive},
                                                      {"MPI_Irecv", {}, kReceive},
                                                      {"MPI_Recv_init", {}, kReceive},
                                                      {"MPI_Sendrecv", {}, "--pattern bidirectional --window 1"},
                                                      {"MPI_Bcast", {}, "workload broadcast"},
                                                      {"MPI_Gather", {}, {}},
                                                      {"MPI_Gatherv", {}, {}},
                                                      {"MPI_Allgather", {}, "workload all-gather"},
                                                      {"MPI_Allgatherv", {}, {}},
                                                      {"MPI_Alltoall", {}, "workload all-to-all"},
                                                      {"MPI_Alltoallv", {}, {}},
                                                      {"MPI_Scatter", {}, {}},
                                                      {"MPI_Scatterv", {}, {}},
                                                      {"MPI_Reduce", kReduces, {}},
                                                      {"MPI_Allreduce", kReduces, {}},
                                                      {"MPI_Reduce_scatter", kReduces, {}},
                                                      {"MPI_Scan", kReduces, {}},
                                                      {"MPI_Put", kOneSided, {}},
                                                      {"MPI_Get", kOneSided, {}},
                                                      {"MPI_Accumulate", kOneSided, {}}}};
  return kCalls;
}

const Protocol& cuda_aware_protocol() {
  static const CudaAware protocol;
  return protocol;
}

}  // namespace twinlink
