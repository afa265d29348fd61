// The FIFOs between this rank and one peer, which programs of thread blocks fill and read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "protocols/core/enum_table.hpp"
#include "protocols/core/rank.hpp"
#include "protocols/gpu/ground.hpp"
#include "protocols/gpu/work.hpp"
#include "protocols/nccl/carrier.hpp"

namespace twinlink::nccl {

/// Of each FIFO.
struct Geometry {
  Bytes slot{};  ///< data of Simple and LL128; LL takes no more than 32 KiB
  int slots = 0;
  int channels = 0;        ///< most
  Level p2p = Level::sys;  ///< the farthest GPUs that may have them in device memory of the receiver; loc: none
  /// The farthest adapter that may reach those whose slots go over the network; absent: as the release says.
  std::optional<Level> gdr{};
  const gpu::Release* release = nullptr;  ///< outlives it
  bool pxn = true;                        ///< and these on the GPU of this node that is beside the peer's rail?
};

/// Where programs of two ranks meet.
enum class Way {
  peer_memory,  ///< of the receiver's GPU
  host_memory,  ///< that both map
  network       ///< each in memory of its own, and CPUs carry the slots
};
/// Do the GPUs reach each other's memory, and are they near enough?
gpu::Verdict meeting(const Path& path, const Geometry& geometry);
inline bool meet_in_memory(const Path& path, const Geometry& geometry) { return meeting(path, geometry).open; }
Way way_between(const Path& path, const Geometry& geometry);
/// Whose GPU of this rank's node has the number of the peer's, and so its adapter is on the peer's rail, where that is
/// another rank whose memory links reach that carry more than the adapter (NCCL's PXN); nothing: nobody's.
std::optional<RankId> beside_rail_of(Rank& rank, RankId peer);
/// By NCCL's words: "P2P", "SHM", "NET".
std::string_view to_string(Way way);

/// Those of a line format, and the slots that have passed, by channel.
struct FormatFifos {
  Buffer mine{};
  Buffer theirs{};  ///< over the network: this rank's own, too
  std::vector<std::uint64_t> sent{};
  std::vector<std::uint64_t> received{};
  std::vector<std::uint64_t> sent_each{};  ///< by the program that is next
  std::vector<std::uint64_t> received_each{};
};

/// A format's FIFOs are made when the first program needs them, by both ends alike. They lie in device memory where the
/// GPUs reach each other, else in host memory that both map, or each end has both of its own where CPUs carry. What a
/// peer has open is released when it says that it has closed it; where it does not, the rank frees it in the end.
class PeerFifos {
 public:
  /// `rank` outlives it. The two ends have been connected for tags::kReady.
  PeerFifos(Rank& rank, RankId peer, const Geometry& geometry)
      : rank_(rank),
        peer_(peer),
        geometry_(geometry),
        way_(way_between(rank.path_to(peer), geometry)),
        beside_rail_(way_ == Way::network && geometry.pxn ? beside_rail_of(rank, peer) : std::nullopt) {}
  ~PeerFifos();
  PeerFifos(const PeerFifos&) = delete;
  PeerFifos& operator=(const PeerFifos&) = delete;

  /// Makes those of the program's format, if there are none: fills in its slots.
  Outcome open(gpu::LineFormat format, Seconds deadline);
  /// Of an open format, for a program.
  [[nodiscard]] gpu::Link link(gpu::LineFormat format) const;
  void shape(gpu::Program& program) const;
  /// What a program will pass over a channel. Before link(), and of all channels of it.
  void expect(const gpu::Program& program, std::int32_t channel, std::uint64_t sends, std::uint64_t receives);
  /// Hands a channel's slots to the carrier, where CPUs carry.
  void carry(Carrier& carrier, const gpu::Program& program, std::int32_t channel, std::vector<std::uint64_t> sent,
             std::vector<std::uint64_t> received) const;
  /// The same where switches of the network add up what all members have.
  void add_up(Carrier& carrier, const gpu::Program& program, std::int32_t channel, std::vector<RankId> members,
              const std::vector<std::uint64_t>& chunks) const;
  /// The program that was expected has been launched, to run so often.
  void count(const gpu::Program& program, int times = 1);
  /// Programs may have been given up: nothing is closed in order any more.
  void fail() { failed_ = true; }
  [[nodiscard]] RankId peer() const { return peer_; }
  [[nodiscard]] Way way() const { return way_; }
  /// Over the network: do adapters read and write the slots in device memory?
  [[nodiscard]] gpu::Verdict direct(gpu::LineFormat format) const;
  [[nodiscard]] bool reads_device_memory(gpu::LineFormat format) const {
    return way_ == Way::network && direct(format).open;
  }
  /// Why slots go this way.
  [[nodiscard]] std::string way_by(gpu::LineFormat format) const {
    return way_ == Way::network ? direct(format).why : meeting(rank_.path_to(peer_), geometry_).why;
  }
  /// Do slots leave from the GPU of another rank, beside the peer's rail?
  [[nodiscard]] bool crosses_to_rail(gpu::LineFormat format) const {
    return beside_rail_.has_value() && reads_device_memory(format);
  }
  /// Programs with different peers wait for them side by side: in one queue, ranks that launch in different orders
  /// would wait for each other in a circle.
  [[nodiscard]] Stream stream() const { return {kFirstOfPrograms + peer_.value % (kStreams - kFirstOfPrograms)}; }

 private:
  static constexpr std::size_t index(gpu::LineFormat format) { return static_cast<std::size_t>(format); }
  [[nodiscard]] FormatFifos& of(gpu::LineFormat format) { return *by_format_[index(format)]; }
  [[nodiscard]] const FormatFifos& of(gpu::LineFormat format) const { return *by_format_[index(format)]; }
  [[nodiscard]] Passage passage(const gpu::Program& program, std::int32_t channel, bool outward,
                                std::vector<std::uint64_t> bytes) const;
  [[nodiscard]] Memory memory_for(gpu::LineFormat format) const;
  Outcome clear(const Buffer& fifos, const gpu::Program& program, Seconds deadline);
  Outcome exchange_places(FormatFifos& fifos, Seconds deadline);

  Rank& rank_;
  RankId peer_;
  Geometry geometry_;
  Way way_;
  std::optional<RankId> beside_rail_;
  std::array<std::optional<FormatFifos>, count_of<gpu::LineFormat>()> by_format_{};
  bool failed_ = false;
};

}  // namespace twinlink::nccl
