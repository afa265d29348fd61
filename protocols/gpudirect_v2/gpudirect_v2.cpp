// GPUDirect v2: one GPU reaches into the memory of another on the same node. Four movers, by the option `engine`:
//
//   to connect, at both ends (connection.hpp)
//     1. send connect request
//     2. receive connect request
//     3. send connect reply
//     4. receive connect reply
//     5. send epoch, for each of ready, delivered and place
//     6. receive epoch, for each of them
//     and where flags are used: send mark, receive mark, raise epoch, await epoch
//
//   copy-engine: the copy engine of the sender's GPU writes
//     sender                                        receiver
//                                                   1. send ready: the place of my buffer
//     1. receive ready
//     2. peer copy: device -> the peer's device
//     3. send delivered                             2. receive delivered
//                                                   3. check delivered
//
//   kernel-push: a kernel on the sender's GPU stores, and a flag behind the bytes tells the receiver
//   resident-push: the same by a kernel that is there already, and by the copy engine for what is
//   too large for it
//     sender                                        receiver
//                                                   1. send ready: the place of my buffer
//     1. receive ready
//     2. push: device -> the peer's device, flag    2. await flag
//                                                   3. check flag
//
//   kernel-pull: a kernel on the receiver's GPU loads
//     sender                                        receiver
//     1. send ready: the place of my message
//                                                   1. receive ready
//                                                   2. pull: the peer's device -> device
//     2. receive delivered                          3. send delivered
//     3. check delivered
//
// A buffer's handle goes with its first `ready`, by which it is opened; it stays open, so that only the first message
// pays for it. Between GPUs without peer access the copy engine's copy still arrives: the driver moves it through host
// memory. supports() calls that a fallback and gives the reason. A kernel's loads and stores have no such help.
//
// With the option `batch`, up to so many small messages of an exchange take these steps as one (batches.hpp): one
// `ready` with the places of all, one copy of blocks, and one `delivered` or flag. The movers (peer_mover.cpp) know
// nothing of it: they move pieces, and a batch is one (peer_transfer.hpp).
//
// A connection that fails leaves control messages and flags under way; the next one between the two ranks throws them
// away.
#include <array>
#include <string>
#include <utility>

#include "protocols/core/options.hpp"
#include "protocols/gpudirect_v2/batches.hpp"
#include "protocols/gpudirect_v2/gpudirect_v2.hpp"
#include "protocols/gpudirect_v2/peer_channel.hpp"

namespace twinlink {
namespace {

using MoverChoice = OptionChoice<const PeerMover*>;
constexpr Choices kMovers{MoverChoice{"copy-engine", &kPeerMovers[0]}, MoverChoice{"kernel-push", &kPeerMovers[1]},
                          MoverChoice{"kernel-pull", &kPeerMovers[2]}, MoverChoice{"resident-push", &kPeerMovers[3]}};

constexpr std::array kOptions{
    Option{
        "engine", kMovers.names(), "copy-engine",
        "who moves the bytes between the two GPUs; resident-push: a kernel that stays on the sender's GPU and occupies "
        "a multiprocessor of it moves up to 64 KiB, the copy engine what is larger"},
    Option{"batch", "COUNT", "1", "up to so many messages of one length, at most 64K, go as one copy of blocks"}};

class GpuDirectV2 final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "gpudirect-v2"; }
  [[nodiscard]] std::string_view description() const override {
    return "peer copy between GPUs of one node, by copy engine or kernel; through the host where peer access is "
           "missing";
  }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  [[nodiscard]] Settings defaults() const override { return {.chunk = Bytes{}, .depth = 16}; }
  [[nodiscard]] std::span<const Option> options() const override { return kOptions; }
  [[nodiscard]] std::span<const Preset> presets() const override {
    static const std::array presets{
        Preset{"batched",
               "up to 64 small messages as one copy: half a million copies a second, nine million blocks (two H200)",
               {.chunk = Bytes{}, .depth = 16, .options = {{"batch", "64"}}}}};
    return presets;
  }
  [[nodiscard]] Support supports(const Path& path) const override {
    if (!path.same_node && !path.peer_access)
      return {Support::Kind::no, "the GPUs are on different nodes, and peer-to-peer ends at the node"};
    if (!path.device_mapping) return {Support::Kind::no, path.device_mapping.reason};
    if (!path.peer_access) return {Support::Kind::fallback, path.peer_access.reason};
    return {};
  }
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const override {
    check_settings(*this, settings);
    const Path& path = rank.path_to(peer);
    require_support(*this, path);
    const OptionReader read(*this, settings);
    const PeerMover& mover = *read.choice("engine", kMovers);
    const std::uint64_t batch = read.count("batch");
    if (batch < 1 || batch > kMostInBatch) {
      throw UsageError("protocol 'gpudirect-v2': batch is " + std::to_string(batch) + ", but must lie between 1 and " +
                       std::to_string(kMostInBatch));
    }
    if (!path.peer_access && !mover.helped_by_driver) {
      throw UnavailableError("protocol 'gpudirect-v2' by a kernel cannot run here, and no driver helps it: " +
                             path.peer_access.reason);
    }
    std::string way(mover.path_taken);
    if (!path.peer_access) way = "staged through the host by the driver: " + path.peer_access.reason;
    if (batch > 1) {
      way += ", up to " + std::to_string(batch) + " messages of at most " + format_size(kLongestInBatch) + " at once" +
             std::string(mover.batches_by);
    }
    return connect_peers(rank, peer, mover, batch, settings, std::move(way));
  }
};

}  // namespace

const Protocol& gpudirect_v2_protocol() {
  static const GpuDirectV2 protocol;
  return protocol;
}

}  // namespace twinlink
