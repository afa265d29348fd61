// FaultRank: a rank whose machine is broken on purpose, around a rank of any world.
#pragma once

#include <cstdint>
#include <set>

#include "protocols/trace/decorated_rank.hpp"

namespace twinlink {

class FaultRank final : public DecoratedRank {
 public:
  enum class Fault {
    /// Peer access that drops what it should move, as behind an IOMMU: copies and puts that touch the device memory of
    /// a
    /// peer end in time, raise their signals, and have moved nothing.
    lost_peer_copies,
    /// The driver opens no device memory of a peer: open_memory() is an EnvironmentError.
    refused_opening
  };

  FaultRank(MeasuredRank& inner, Fault fault) : DecoratedRank(inner), fault_(fault) {}

  Buffer open_memory(RankId owner, const IpcHandle& handle) override;
  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override;
  Op put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) override;

  /// How often open_memory() was refused.
  [[nodiscard]] int refusals() const { return refusals_; }

 private:
  [[nodiscard]] bool lost(const View& to, const View& from) const;

  Fault fault_;
  int refusals_ = 0;
  /// Ids of buffers that are a peer's device memory. Of closed ones too: an id is never given again.
  std::set<std::uint32_t> of_peers_;
};

}  // namespace twinlink
