// A rank that others on its host slow down at first.
#pragma once

#include <algorithm>

#include "protocols/trace/decorated_rank.hpp"

namespace twinlink::bench {

/// Everything takes twice as long until `end` on the inner rank's clock.
class SlowAtFirst final : public DecoratedRank {
 public:
  SlowAtFirst(MeasuredRank& inner, Seconds end) : DecoratedRank(inner), end_(end) {}

  Seconds now() override {
    const Seconds now = inner().now();
    return now + std::min(now, end_);
  }

 private:
  Seconds end_;
};

}  // namespace twinlink::bench
