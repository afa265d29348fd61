// Who uses which tags, in one place: two users of one tag would take each other's messages.
#pragma once

#include "protocols/core/rank.hpp"

namespace twinlink::tags {

inline constexpr Tag kData{1};       ///< payload of a protocol
inline constexpr Tag kReady{2};      ///< "my buffer is ready, write into it"
inline constexpr Tag kDelivered{3};  ///< "your buffer is written"
inline constexpr Tag kCredit{4};     ///< "so many of my buffers are free again"
inline constexpr Tag kHeader{5};     ///< "a message of this size will come", and the answer
inline constexpr Tag kIpcFifo{6};    ///< cuda-ipc: everything that one end sends the other, in order
inline constexpr Tag kPlace{7};      ///< GPUDirect v2: where one more message of a batch lies
inline constexpr Tag kConnect{8};    ///< the ends of a connection tell each other's from those of an earlier one

// Signals have numbers of their own.
inline constexpr Tag kPushFlag{0};         ///< GPUDirect v2: a kernel has stored the message
inline constexpr Tag kSymmetricSignal{1};  ///< symmetric-put: the put is there

/// From here on tags belong to the program that runs the protocols: benchmarks, tests.
inline constexpr Tag kFirstFree{128};

/// nccl's slots between nodes: this and those behind it, one for each line format and channel.
inline constexpr Tag kSlots{1 << 18};

/// Payload of a message of n pieces has kPieces + n, modulo kMostPieces; of one piece it has kData. The largest tag is
/// below 2^20, which the common MPI libraries all offer.
inline constexpr Tag kPieces{1 << 19};
inline constexpr std::size_t kMostPieces{1 << 19};

}  // namespace twinlink::tags
