// GPUDirect v1: page-locked host buffers that the GPU and what moves the bytes on both reach.
//
// Buffers of one's own (the option `buffers`): the GPU and the network adapter share them
//   sender                                   receiver
//   1. copy out: device -> pinned buffer     1. receive: network -> pinned buffer
//   2. receive credit                        2. copy in: pinned buffer -> device
//   3. send:     pinned buffer -> network    3. grant credit
//
// Without the sharing, the CPU copied each message from the GPU's pinned buffer to the adapter's; that copy is gone.
// By default a message goes whole and without credits, as explicit code does it. With --chunk and --depth the copies
// out, the network and the copies in of successive chunks overlap: the pipeline of a CUDA-aware MPI library, whose
// receiver grants credits for its buffers in batches (the option `credits`).
//
// For small messages the CPU may copy between device memory and the buffers by itself (the option `copies`): it has the
// memory mapped, by GDRCopy or a coherent link, and pays no start of an engine.
//
// An end whose messages lie in host memory copies nothing: the network takes and brings them as they lie. With shared
// buffers its CPU copies them into and out of the segment.
//
// Buffers that both processes of a node share: the GPUs of both reach them
//   to connect, at both ends: the connection handshake (connection.hpp), send segment, receive segment, open segment,
//   send opened, receive opened
//
//   sender                                   receiver
//   1. send header, with every message       1. receive header
//   2. receive clear to send                 2. send clear to send
//   3. receive credit                        3. receive filled
//   4. copy out: device -> shared buffer     4. copy in: shared buffer -> device
//   5. send filled                           5. grant credit
//
// Here a message never goes whole if that would be slow: without a chunk, its size chooses one (segment_channel.hpp).
#include <array>

#include "protocols/builtin.hpp"
#include "protocols/core/options.hpp"
#include "protocols/parts/segment_channel.hpp"
#include "protocols/parts/staged_channel.hpp"

namespace twinlink {
namespace {

enum class Buffers { own, shared };
constexpr Choices kBuffers{OptionChoice<Buffers>{"own", Buffers::own},
                           OptionChoice<Buffers>{"shared", Buffers::shared}};
/// Is every copy waited for, or the CPU's own?
enum class Copies { asynchronous, synchronous, cpu };
constexpr Choices kCopies{OptionChoice<Copies>{"asynchronous", Copies::asynchronous},
                          OptionChoice<Copies>{"synchronous", Copies::synchronous},
                          OptionChoice<Copies>{"cpu", Copies::cpu}};

constexpr std::array kOptions{
    Option{"buffers", kBuffers.names(), "own",
           "own: the network moves the bytes on; shared: both GPUs of a node reach one segment, and --chunk 0 takes "
           "for each message the chunk that suits its size"},
    Option{"credits", "COUNT", "0", "the receiver grants so many at once; 0: posted receives are enough"},
    Option{
        "copies", kCopies.names(), "asynchronous",
        "synchronous: the CPU waits for every copy; cpu: it loads and stores device memory by itself (GDRCopy), into "
        "buffers of one's own"},
    kSendOption};

/// Header of a fragment of Open MPI's pipeline (its source).
constexpr Bytes kFragmentHeader = 32_B;

constexpr std::array kAliases{Alias{"MV2_CUDA_BLOCK_SIZE", "chunk", "mvapich2"},
                              Alias{"btl_smcuda_cuda_max_send_size", "chunk", "openmpi", kFragmentHeader},
                              Alias{"pml_ob1_send_pipeline_depth", "depth", "openmpi"}};

class GpuDirectV1 final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "gpudirect-v1"; }
  [[nodiscard]] std::string_view description() const override {
    return "copies through page-locked buffers that GPU and network share; --chunk and --depth make it a pipeline";
  }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  [[nodiscard]] Answer takes_host_memory(const Settings&) const override { return Answer::granted(); }
  [[nodiscard]] Settings defaults() const override { return {.chunk = Bytes{}, .depth = 2}; }
  [[nodiscard]] std::span<const Option> options() const override { return kOptions; }
  [[nodiscard]] std::span<const Alias> aliases() const override { return kAliases; }
  [[nodiscard]] std::span<const Preset> presets() const override {
    static const std::array presets{
        Preset{"mvapich2",
               "blocks of 256 KiB, 8 under way, credits in batches of 8 (MVAPICH2 2.3.7's source)",
               {.chunk = 256_KiB, .depth = 8, .options = {{"credits", "8"}}}},
        Preset{"mvapich2-1.8",
               "the same with blocks of 64 KiB (the default of the older manuals)",
               {.chunk = 64_KiB, .depth = 8, .options = {{"credits", "8"}}}},
        Preset{"ucx",
               "between nodes: fragments of 512 KiB (UCX_RNDV_FRAG_SIZE), 3 under way, each side waits for its copies",
               {.chunk = 512_KiB, .depth = 3, .options = {{"copies", "synchronous"}}}},
        Preset{"openmpi-openib",
               "between nodes: fragments of 128 KiB, 3 under way, each side waits for its copies (Open MPI's source)",
               {.chunk = 128_KiB - kFragmentHeader, .depth = 3, .options = {{"copies", "synchronous"}}}},
        Preset{"openmpi-smcuda-staged",
               "fragments of 128 KiB, 3 under way, each side waits for its copies (Open MPI's source)",
               {.chunk = 128_KiB - kFragmentHeader,
                .depth = 3,
                .options = {{"buffers", "shared"}, {"credits", "1"}, {"copies", "synchronous"}}}}};
    return presets;
  }
  [[nodiscard]] Support supports(const Path& path) const override {
    if (path.shared_buffers) return {};
    return {Support::Kind::no, path.shared_buffers.reason};
  }

  [[nodiscard]] std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const override {
    check_settings(*this, settings);
    require_support(*this, rank.path_to(peer));
    const OptionReader read(*this, settings);
    const auto credits = read.count("credits");
    const auto copies = read.choice("copies", kCopies);
    const bool synchronous = copies == Copies::synchronous;
    if (credits > static_cast<std::uint64_t>(settings.depth_or_one())) {
      throw UsageError("protocol 'gpudirect-v1': credits come in batches of " + std::to_string(credits) +
                       ", but the depth gives the receiver only " + std::to_string(settings.depth_or_one()) +
                       " buffers: the sender would wait for ever");
    }
    const auto buffers = read.choice("buffers", kBuffers);
    if (copies == Copies::cpu && buffers == Buffers::shared) {
      throw UsageError("protocol 'gpudirect-v1': copies=cpu has buffers of its own, and no segment that GPUs reach");
    }
    if (const Answer& reaches = rank.path_to(peer).cpu_reaches_device; copies == Copies::cpu && !reaches) {
      throw UnavailableError("protocol 'gpudirect-v1' with copies=cpu cannot run here: " + reaches.reason);
    }
    if (buffers == Buffers::own) {
      const StagedStyle style{.memory = Memory::pinned,
                              .credits = credits,
                              .synchronous = synchronous,
                              .engine = copies == Copies::cpu ? Engine::cpu : Engine::dma,
                              .sending = read.choice("send", kSendings)};
      return std::make_unique<StagedChannel>(rank, peer, settings, style);
    }
    if (!rank.path_to(peer).same_node) {
      throw UnavailableError(
          "protocol 'gpudirect-v1' with shared buffers cannot run here: the ranks are on different nodes");
    }
    return std::make_unique<SegmentChannel>(rank, peer, settings,
                                            SegmentStyle{std::max<std::size_t>(credits, 1), synchronous});
  }
};

}  // namespace

const Protocol& gpudirect_v1_protocol() {
  static const GpuDirectV1 protocol;
  return protocol;
}

}  // namespace twinlink
