// Schedules of patterns that are no collectives: who exchanges messages of `elements` with whom, all at once.
#pragma once

#include "protocols/workloads/schedule.hpp"

namespace twinlink::workloads {

/// Everyone to rank 0.
Schedule incast(const Shape& shape, int rank, std::uint64_t elements);
/// Rank 0 to everyone.
Schedule fan_out(const Shape& shape, int rank, std::uint64_t elements);
/// Each rank with the one that is half of the ranks further on: what crosses the middle of a machine.
Schedule bisection(const Shape& shape, int rank, std::uint64_t elements);
/// Each rank sends to the next, and receives from the one before.
Schedule shift(const Shape& shape, int rank, std::uint64_t elements);
/// Faces with the neighbours of a grid that closes on itself; the grid is as square as the number of ranks allows.
Schedule halo_2d(const Shape& shape, int rank, std::uint64_t elements);
Schedule halo_3d(const Shape& shape, int rank, std::uint64_t elements);

/// The sides of that grid, the longest first.
std::vector<int> grid_of(int ranks, int dimensions);

}  // namespace twinlink::workloads
