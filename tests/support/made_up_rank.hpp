// MadeUpRank: a rank of a machine whose paths the test makes up.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "protocols/trace/decorated_rank.hpp"

namespace twinlink {

using PathOf = std::function<Path(int self, int peer)>;

class MadeUpRank final : public DecoratedRank {
 public:
  MadeUpRank(MeasuredRank& inner, RankId id, std::span<const Place> places, const PathOf& path_of,
             const gpu::Release* release = nullptr)
      : DecoratedRank(inner, {.id = id, .places = places, .release = release}) {
    for (int peer = 0; peer < ranks(); ++peer) paths_.push_back(path_of(id.value, peer));
  }
  [[nodiscard]] const Path& path_to(RankId peer) const override { return paths_[static_cast<std::size_t>(peer.value)]; }

 private:
  std::vector<Path> paths_;
};

}  // namespace twinlink
