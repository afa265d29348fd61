// Three collectives of so many bytes of doubles, for scripts to see their messages: NAME BYTES, as `workload` counts.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string name = argc > 1 ? argv[1] : "";
  const int all = (argc > 2 ? std::atoi(argv[2]) : 0) / static_cast<int>(sizeof(double));
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int each = all / ranks;
  const std::vector<double> from(static_cast<std::size_t>(all));
  std::vector<double> to(from.size());
  const std::vector<int> parts(static_cast<std::size_t>(ranks), each);
  const double* const in = from.data();
  double* const out = to.data();
  MPI_Comm world = MPI_COMM_WORLD;
  for (int i = 0; i < 3; ++i) {
    if (name == "all-reduce") {
      MPI_Allreduce(in, out, all, MPI_DOUBLE, MPI_SUM, world);
    } else if (name == "all-gather") {
      MPI_Allgather(in, each, MPI_DOUBLE, out, each, MPI_DOUBLE, world);
    } else if (name == "reduce-scatter") {
      MPI_Reduce_scatter(in, out, parts.data(), MPI_DOUBLE, MPI_SUM, world);
    } else if (name == "broadcast") {
      MPI_Bcast(out, all, MPI_DOUBLE, 0, world);
    } else if (name == "reduce") {
      MPI_Reduce(in, out, all, MPI_DOUBLE, MPI_SUM, 0, world);
    } else if (name == "gather") {
      MPI_Gather(in, each, MPI_DOUBLE, out, each, MPI_DOUBLE, 0, world);
    } else if (name == "scatter") {
      MPI_Scatter(in, each, MPI_DOUBLE, out, each, MPI_DOUBLE, 0, world);
    } else if (name == "all-to-all") {
      MPI_Alltoall(in, each, MPI_DOUBLE, out, each, MPI_DOUBLE, world);
    } else if (name == "barrier") {
      MPI_Barrier(world);
    } else {
      std::fprintf(stderr, "there is no collective '%s'\n", name.c_str());
      MPI_Abort(world, 2);
    }
  }
  MPI_Finalize();
}
