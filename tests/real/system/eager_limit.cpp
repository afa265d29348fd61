// Up to which size does Open MPI send within a node without waiting for the receive? Two processes: one sends, the
// other lets MPI go on and posts its receive only when the sender has waited long enough.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

constexpr int kLimitWithHeader = 4096;  // btl_vader_eager_limit
constexpr int kHeader = 56;             // of ob1
constexpr double kPatience = 0.05;      // seconds; a message takes a microsecond

/// Is a message of `size` over for rank 0 before rank 1 has posted its receive?
bool is_eager(int rank, int size) {
  std::vector<char> bytes(static_cast<std::size_t>(size));
  MPI_Request request = MPI_REQUEST_NULL;
  int over = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Isend(bytes.data(), size, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
  for (const double start = MPI_Wtime(); MPI_Wtime() - start < kPatience;) {
    int found = 0;
    if (rank == 0 && over == 0) MPI_Test(&request, &over, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Iprobe(0, 2, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(bytes.data(), size, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return over != 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Whatever else this machine offers: read when MPI begins.
  setenv("OMPI_MCA_pml", "ob1", 1);
  setenv("OMPI_MCA_btl", "vader,self", 1);
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 1);
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  if (!std::string_view(version).starts_with("Open MPI v4.1")) {
    if (rank == 0) std::printf("SKIPPED: the limit is that of Open MPI 4.1, and this is %s\n", version);
    MPI_Finalize();
    return 0;
  }
  int eager = 0;
  int waits = kLimitWithHeader + 1;
  while (waits - eager > 1) {
    const int middle = (eager + waits) / 2;
    (is_eager(rank, middle) ? eager : waits) = middle;
  }
  if (rank == 0) std::printf("eager up to %d B\n", eager);
  MPI_Finalize();
  return eager == kLimitWithHeader - kHeader ? 0 : 1;
}
