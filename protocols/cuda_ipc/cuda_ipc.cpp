// CUDA IPC as Open MPI's smcuda transport does it: the receiver's copy engine reads the sender's GPU memory, once a
// handshake has found that it may. Until then, and where it may not, messages are staged through shared host memory.
//
//   sender                                          receiver
//   to connect, at both ends: the connection handshake (connection.hpp), send fragments, receive fragments, open
//   fragments, send opened, receive opened
//
//   the handshake, with the sender's first message (its rules: ipc_handshake.cpp)
//   1. send REQ                                     1. receive; check access
//                                                   2. enable GET, answer ACK; or answer NOTREADY; or nothing
//   2. receive; enable GET
//
//   a message by IPC (RGET), from the size `rget_from` on
//   1. export                                       1. receive
//   2. send RGET header                             2. look up: opens the memory, unless it is open already
//   3. receive                                      3. pull: the peer's device -> device, one copy for all of it
//                                                   4. send FIN
//
//   a staged message
//   1. send header                                  1. receive
//   2. receive                                      2. send clear to send
//   3. copy out: device -> fragment                 3. receive
//   4. send fragment                                4. copy in: the peer's fragment -> device
//                                                   5. return fragment
//   with copies that the CPU waits for, and at most three fragments under way
//
//   an eager message, while IPC is not on: up to 256 B, and empty ones always
//   1. copy out: device -> fragment                 1. receive
//   2. send eager message                           2. copy in: the peer's fragment -> device
//                                                   3. return fragment
//
// The first message is always staged: its header follows the REQ, and the ACK needs both sides. All that one end sends
// travels in one FIFO, in order; what nobody receives between two exchanges waits there, for MPI too makes progress
// only inside its calls.
#include "protocols/cuda_ipc/cuda_ipc.hpp"

namespace twinlink {

Outcome CudaIpcChannel::do_exchange(std::span<const View> outgoing, std::span<const View> incoming) {
  return exchange_.run(outgoing, incoming, end_.rank.now() + timeout_);
}

std::string CudaIpcChannel::path_taken() const {
  if (end_.last_way() == CudaIpcEndpoint::Transport::ipc) return "CUDA IPC: one copy by the receiver's copy engine";
  const std::string staged = "staged through " + std::string(to_string(Memory::shared_pinned)) + " host memory";
  const Path& path = end_.rank.path_to(end_.peer);
  if (!end_.options.use_ipc) return staged + ": CUDA IPC is switched off";
  if (end_.options.closed) return staged + ": CUDA was not in use when MPI began, and Open MPI 5 has closed smcuda";
  if (!path.same_device && !path.peer_access) return staged + ": " + path.peer_access.reason;
  if (end_.last_way() == CudaIpcEndpoint::Transport::none) {
    return "CUDA IPC: one copy by the receiver's copy engine, once the handshake is through";
  }
  return staged + ": the handshake is " + std::string(to_string(end_.handshake().state()));
}

/// For ever, where a peer that has no access does not say so.
bool CudaIpcChannel::connecting() const { return end_.handshake().under_way(); }

std::vector<Counter> CudaIpcChannel::counters() const {
  const CacheCounts& cache = end_.cache.counts();
  return {{"REQ sent", static_cast<std::uint64_t>(end_.handshake().tries())},
          {"IPC messages", end_.counts.ipc_messages},
          {"staged messages", end_.counts.staged_messages},
          {"fragments sent", end_.counts.fragments_sent},
          {"cache hits", cache.hits},
          {"cache misses", cache.misses},
          {"cache invalid", cache.invalid},
          {"cache evicted", cache.evicted}};
}

namespace {

class CudaIpc final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "cuda-ipc"; }
  [[nodiscard]] std::string_view description() const override {
    return "Open MPI's smcuda: the receiver's copy engine reads the sender's memory, after a handshake; before, staged";
  }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  // A chunk is a fragment of the staged path; a message by IPC goes whole.
  [[nodiscard]] Settings defaults() const override { return {.chunk = kIpcFragment, .depth = kIpcFragmentsInFlight}; }
  [[nodiscard]] std::span<const Option> options() const override { return cuda_ipc_option_list(); }
  [[nodiscard]] std::span<const Alias> aliases() const override { return cuda_ipc_aliases(); }
  [[nodiscard]] std::span<const Preset> presets() const override { return cuda_ipc_presets(); }
  [[nodiscard]] bool cuts_messages(const Settings& settings) const override {
    const CudaIpcOptions options = read_cuda_ipc_options(*this, settings);
    return !options.use_ipc || options.closed;
  }
  /// Of two requests that cross, Open MPI's smcuda drops one.
  [[nodiscard]] bool goes_by_numbers(const Settings& settings) const override {
    return read_cuda_ipc_options(*this, settings).fidelity != handshake::Fidelity::design;
  }
  [[nodiscard]] Support supports(const Path& path) const override {
    if (!path.same_node) return {Support::Kind::no, "the GPUs are on different nodes, and CUDA IPC ends at the node"};
    if (!path.device_mapping) return {Support::Kind::no, path.device_mapping.reason};
    if (!path.same_device && !path.peer_access) return {Support::Kind::fallback, path.peer_access.reason};
    return {};
  }
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const override {
    check_settings(*this, settings);
    const Path& path = rank.path_to(peer);
    require_support(*this, path);
    const CudaIpcOptions options = read_cuda_ipc_options(*this, settings);
    if (options.sees_own_alone && !path.same_device && !path.peer_access) {
      throw UnavailableError(
          "protocol 'cuda-ipc' with visible=own: smcuda takes both GPUs for one, for each is number 0 of its rank, and "
          "ends the job where it opens the other's memory: " +
          path.peer_access.reason);
    }
    return std::make_unique<CudaIpcChannel>(rank, peer, options, settings.timeout);
  }
};

}  // namespace

const Protocol& cuda_ipc_protocol() {
  static const CudaIpc protocol;
  return protocol;
}

}  // namespace twinlink
