// The FIFOs between this rank and one peer, which programs of thread blocks fill and read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "protocols/core/rank.hpp"
#include "protocols/gpu/work.hpp"

namespace twinlink::nccl {

/// Of each FIFO.
struct Geometry {
  Bytes slot{};  ///< data of Simple and LL128; LL takes no more than 32 KiB
  int slots = 0;
  int channels = 0;  ///< most
  bool p2p = true;   ///< may they lie in device memory?
};

/// Those of a line format, and the slots that have passed, by channel.
struct FormatFifos {
  Buffer mine{};
  Buffer theirs{};
  std::vector<std::uint64_t> sent{};
  std::vector<std::uint64_t> received{};
};

/// A format's FIFOs are made when the first program needs them, by both ends alike. They lie in device memory where the
/// GPUs reach each other, else in host memory that both map. What a peer has open is released when it says that it has
/// closed it; where it does not, the rank frees it in the end.
class PeerFifos {
 public:
  /// `rank` outlives it. The two ends have been connected for tags::kReady.
  PeerFifos(Rank& rank, RankId peer, const Geometry& geometry) : rank_(rank), peer_(peer), geometry_(geometry) {}
  ~PeerFifos();
  PeerFifos(const PeerFifos&) = delete;
  PeerFifos& operator=(const PeerFifos&) = delete;

  /// Makes those of the program's format, if there are none: fills in its slots.
  Outcome open(gpu::LineFormat format, Seconds deadline);
  /// Of an open format, for a program.
  [[nodiscard]] gpu::Link link(gpu::LineFormat format) const;
  void shape(gpu::Program& program) const;
  /// A program was launched that sends over them, or receives, or both.
  void count(const gpu::Program& program, bool sends, bool receives);
  /// Programs may have been given up: nothing is closed in order any more.
  void fail() { failed_ = true; }
  [[nodiscard]] RankId peer() const { return peer_; }
  /// Programs with different peers wait for them side by side: in one queue, ranks that launch in different orders
  /// would wait for each other in a circle. The first streams are those of copies, additions and collectives.
  [[nodiscard]] Stream stream() const {
    constexpr int kOthers = 4;
    return {kOthers + peer_.value % (kStreams - kOthers)};
  }

 private:
  static constexpr std::size_t index(gpu::LineFormat format) { return static_cast<std::size_t>(format); }
  Outcome clear(const FormatFifos& fifos, const gpu::Program& program, Seconds deadline);

  Rank& rank_;
  RankId peer_;
  Geometry geometry_;
  std::array<std::optional<FormatFifos>, 3> by_format_{};
  bool failed_ = false;
};

}  // namespace twinlink::nccl
