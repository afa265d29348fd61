// The MPI of a test program: from the start of main() to its end.
#pragma once

#include "real/system/mpi.hpp"

namespace twinlink::real {

extern const Mpi* mpi;

}  // namespace twinlink::real
