// Three all-reduces of so many floats, for openmpi_rules.sh to see their messages.
#include <cstdlib>
#include <vector>

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int count = argc > 1 ? std::atoi(argv[1]) : 0;
  const std::vector<float> from(static_cast<std::size_t>(count));
  std::vector<float> to(from.size());
  for (int i = 0; i < 3; ++i) MPI_Allreduce(from.data(), to.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
}
