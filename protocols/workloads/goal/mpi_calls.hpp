// What libtwinlink-record.so writes of the calls of one MPI process, and what `convert` reads of it: RANK.mpi.
//
//   twinlink-mpi 1 JOB RANK RANKS HOST T\n       version; which run; which host's clock; T: when all ranks began, ns
//   length, calls; length, calls; ...            frames, each written at once; a length has 4 bytes, lowest first
//
// A call is a byte (Kind and marks) and numbers of 7 bits a byte, the lowest first: the thread where marked, ns since
// the end of the thread's call before it (of T for the first), ns that it took, and what its Kind says below. Ranks of
// communicators and tags are one more than in MPI, so that 0 is none. Requests and communicators have the numbers in
// which they stand in the file. Needs the standard library alone, for it goes into other people's programs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace twinlink::workloads::goal::mpi {

inline constexpr std::string_view kMagic = "twinlink-mpi";
inline constexpr int kVersion = 1;

enum class Kind : std::uint8_t {
  communicator,  ///< n, n ranks of the job; m, m ranks of the other side; 0 ranks: some are of another job
  name,          ///< n, n letters: what a call that is not played is called
  send,          ///< communicator, peer, tag, bytes
  receive,       ///< the same, as they came; with a request the communicator alone
  both,          ///< a send and a receive at once; a peer of 0 for none, and then no more of it
  collective,    ///< communicator, What, root, bytes; n, n blocks
  wait,          ///< n requests that have ended: how many were made since, and End; of a receive peer, tag, bytes
  poll,          ///< tests and probes that found nothing, one straight after the other
  other,         ///< a name
  end,           ///< MPI_Finalize: when all ranks had come there
};
inline constexpr std::uint8_t kKinds = 10;
inline constexpr std::uint8_t kMark = 0x1f;       ///< what of the byte is the Kind
inline constexpr std::uint8_t kInThread = 0x20;   ///< of another thread than the first
inline constexpr std::uint8_t kOfDevice = 0x40;   ///< of memory of a GPU
inline constexpr std::uint8_t kRequested = 0x80;  ///< goes on after the call, and has a request

/// Bytes of all-gather, reduce-scatter and all-to-all are those of all blocks, of gather and scatter the rank's own
/// one; those whose blocks may differ list them: the root of gather and scatter, and what an all-to-all sends and then
/// receives.
enum class What : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  gather,
  scatter,
  all_to_all,
  barrier,
  scan,
  gather_blocks,
  scatter_blocks,
  all_to_all_blocks,
};
inline constexpr std::uint8_t kWhats = 13;

enum class End : std::uint8_t { sent, received, cancelled };

/// Tests that follow each other sooner are one wait: a loop around them computes nothing.
inline constexpr std::uint64_t kPolling = 1'000;  ///< ns

struct Ended {
  std::uint64_t request = 0;
  End how = End::sent;
  std::uint64_t peer = 0;
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;
};

/// As it stands in the file.
struct Call {
  Kind kind = Kind::poll;
  bool of_device = false;
  bool requested = false;
  std::uint64_t thread = 0;
  std::uint64_t gap = 0;
  std::uint64_t took = 0;
  std::uint64_t communicator = 0;
  std::uint64_t peer = 0;
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;
  What what = What::barrier;
  std::uint64_t root = 0;
  Ended received{};                      ///< of both
  std::vector<std::uint64_t> numbers{};  ///< blocks, or ranks of a communicator
  std::vector<std::uint64_t> others{};   ///< ranks of the other side
  std::vector<Ended> ended{};
  std::string name{};
};

/// One rank's file, which can be gone through again and again: `each` says how many bytes at its end are no whole
/// frame.
struct RankCalls {
  std::string file{};
  std::uint64_t begins = 0;  ///< ns of the host's clock
  std::string host{};        ///< ranks with the same have one clock
  std::function<std::uint64_t(const std::function<void(const Call&)>&)> each{};
};

}  // namespace twinlink::workloads::goal::mpi
