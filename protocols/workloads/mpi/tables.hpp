// The rules of each library.
#pragma once

#include <span>

#include "protocols/workloads/mpi/library.hpp"

namespace twinlink::workloads::mpi {

// From the oldest version on.
std::span<const Library> openmpi_libraries();
std::span<const Library> mpich_libraries();

}  // namespace twinlink::workloads::mpi
