// A rank on a device of which a test says what it does. All ranks of the job are on its node, and no two reach each
// other's memory: control messages go through MPI.
#pragma once

#include <gmock/gmock.h>

#include "real/rank/real_rank.hpp"
#include "tests/real/rank/device_mock.hpp"
#include "tests/real/system/mpi_session.hpp"

namespace twinlink::real {

class LonelyRank {
 public:
  LonelyRank() = default;
  LonelyRank(const LonelyRank&) = delete;
  LonelyRank& operator=(const LonelyRank&) = delete;

  static Neighbours neighbours_of_a_node() {
    Neighbours all;
    for (int rank = 0; rank < mpi->size(); ++rank) {
      all.ranks.push_back({.host = "here", .path = {.same_node = true}});
      all.places.push_back({.node = 0, .gpu = rank});
    }
    return all;
  }

  testing::NiceMock<DeviceMock> device{mpi->rank()};
  const Numa numa{"emulated:00"};
  Neighbours neighbours = neighbours_of_a_node();
  Exports exports;
  LifeSigns life;
  Signals signals{RankId{mpi->rank()}, mpi->size(), device};
  RealMemory memory{RankId{mpi->rank()}, device, exports, numa};
  RealRank lonely{*mpi, device, neighbours, numa, memory, signals, life, nullptr, RealRank::Clock::now()};
  MeasuredRank& rank = lonely;
};

}  // namespace twinlink::real
