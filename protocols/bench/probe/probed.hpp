// What a line of probes measures, as a value. Its name in English is printed from it and never parsed: a file that
// holds names is read by comparing them with the printed names of all values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocols/core/rank.hpp"
#include "protocols/gpu/program.hpp"

namespace twinlink::bench {

/// Rings of more GPUs tell nothing new.
inline constexpr std::uint64_t kMostOfARing = 4;

struct Probed {
  enum class What {
    copy,
    block,           ///< one copy of many blocks of `block_bytes`
    put_and_signal,  ///< between ranks of one node
    message,
    receive,   ///< the call that awaits a message
    control,   ///< a control message
    program,   ///< a launch of thread blocks that move nothing; `programs` of them as one graph
    hop,       ///< from a block's store until the peer's block goes on
    pass,      ///< a whole slot that a block has from its peer and passes back
    blocks,    ///< a message through FIFOs by so many `blocks` at each end
    ring,      ///< an all-reduce of an element by one block on each of `gpus`
    finish,    ///< the call that learns of a copy's end long past
    look,      ///< a failed poll of a copy
    allocate,  ///< `from` is the memory, also of release
    release,
    register_device,
    deregister_device,
    handle_export,
    handle_open,
    handle_close
  };
  enum class How {
    alone,
    start,            ///< nothing but the call that starts it
    queued,           ///< the share of one of kQueuedCopies
    both_ways,        ///< one each way at once
    queued_both_ways  ///< the share of one of kQueuedCopies each way
  };
  /// Does, between two GPUs, the rank that copies write the peer's memory, or read it?
  enum class Peer { none, write, read };

  What what = What::copy;
  How how = How::alone;
  Engine engine = Engine::dma;
  Peer peer = Peer::none;
  /// Of the copy engine between GPUs: with peer access. Of hops: in the receiver's device memory, not in host memory.
  bool direct = true;
  Memory from = Memory::device;  ///< of copies; of messages the memory of both ends
  Memory to = Memory::device;
  bool far = false;          ///< host memory of the NUMA domain that is farthest from the GPU
  bool cpu_written = false;  ///< the CPU has just written the source
  std::uint64_t block_bytes = 0;
  std::uint64_t gpus = 1;  ///< so many copy at once
  bool same_node = true;   ///< of messages
  gpu::LineFormat format = gpu::LineFormat::simple;
  std::uint64_t programs = 1;
  std::uint64_t blocks = 1;

  bool operator==(const Probed&) const = default;
};

/// Way of a copy, as notes have it. "pinned-to-device near", "kernel-push".
std::string way_of(const Probed& copy);
/// "queued peer copy write direct"; PROBES.md lists all.
std::string to_string(const Probed& probed);
/// The value that is printed so. Nothing for a name that no probe has, such as one of an older file.
std::optional<Probed> probed_by(std::string_view name);

}  // namespace twinlink::bench
