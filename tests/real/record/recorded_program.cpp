// A program that uses MPI in all ways that are recorded, and nothing of ours. Four ranks. record_job.cmake holds
// its recording against recorded_program.txt.
//   recorded_program [calls N | kill | abort | leave | threads]
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

namespace {

int rank = 0;
constexpr int kRanks = 4;
std::array<int, 64> from{};
std::array<int, 64> to{};

void messages() {
  const int next = (rank + 1) % kRanks;
  const int before = (rank + kRanks - 1) % kRanks;
  if (rank == 0) MPI_Send(from.data(), 3, MPI_INT, 1, 7, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(to.data(), 64, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(from.data(), 2, MPI_DOUBLE, next, 8, to.data(), 2, MPI_DOUBLE, before, 8, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv_replace(from.data(), 5, MPI_BYTE, next, 9, before, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(from.data(), 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  // Waited for in another order than asked for.
  if (rank < 2) {
    std::array<MPI_Request, 4> requests{};
    for (int i = 0; i < 2; ++i) {
      MPI_Irecv(to.data() + i, 1, MPI_INT, 1 - rank, 10 + i, MPI_COMM_WORLD, &requests[static_cast<std::size_t>(i)]);
      MPI_Isend(from.data(), 1, MPI_INT, 1 - rank, 10 + i, MPI_COMM_WORLD, &requests[static_cast<std::size_t>(2 + i)]);
    }
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    int index = 0;
    MPI_Waitany(1, requests.data(), &index, MPI_STATUS_IGNORE);
    MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
  }
  if (rank == 2) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(to.data(), 64, MPI_BYTE, MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, &request);
    for (int ended = 0; ended == 0;) MPI_Test(&request, &ended, MPI_STATUS_IGNORE);
    MPI_Status status;
    MPI_Probe(3, 13, MPI_COMM_WORLD, &status);
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    MPI_Recv(to.data(), bytes, MPI_BYTE, status.MPI_SOURCE, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Mprobe(3, 14, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(to.data(), 64, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    MPI_Mprobe(3, 16, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(to.data(), 64, MPI_BYTE, &message, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (rank == 3) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (const int tag : {12, 13, 14, 16}) MPI_Ssend(from.data(), tag, MPI_BYTE, 2, tag, MPI_COMM_WORLD);
  }
  // Persistent, and one that nobody answers.
  std::array<MPI_Request, 2> lasting{};
  MPI_Send_init(from.data(), 4, MPI_INT, next, 15, MPI_COMM_WORLD, lasting.data());
  MPI_Recv_init(to.data(), 64, MPI_INT, before, 15, MPI_COMM_WORLD, &lasting[1]);
  for (int i = 0; i < 2; ++i) {
    MPI_Startall(2, lasting.data());
    std::array<int, 2> indices{};
    for (int done = 0, some = 0; done < 2; done += some) {
      MPI_Waitsome(2, lasting.data(), &some, indices.data(), MPI_STATUSES_IGNORE);
    }
  }
  for (MPI_Request& each : lasting) MPI_Request_free(&each);
  MPI_Request lost = MPI_REQUEST_NULL;
  MPI_Irecv(to.data(), 1, MPI_INT, next, 99, MPI_COMM_WORLD, &lost);
  MPI_Cancel(&lost);
  MPI_Wait(&lost, MPI_STATUS_IGNORE);
}

void collectives() {
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, kRanks - rank, &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(from.data(), 6, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(from.data(), 6, MPI_INT, 0, reversed);  // from rank 3
  MPI_Reduce(from.data(), to.data(), 2, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, to.data(), 3, MPI_INT, MPI_SUM, half);
  MPI_Gather(from.data(), 1, MPI_INT, to.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Scatter(from.data(), 2, MPI_INT, to.data(), 2, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Allgather(from.data(), 1, MPI_INT, to.data(), 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoall(from.data(), 1, MPI_INT, to.data(), 1, MPI_INT, MPI_COMM_WORLD);
  const std::array<int, kRanks> counts{1, 2, 0, 3};
  const std::array<int, kRanks> places{0, 1, 3, 3};
  const int mine = counts[static_cast<std::size_t>(rank)];
  MPI_Gatherv(from.data(), mine, MPI_INT, to.data(), counts.data(), places.data(), MPI_INT, 2, MPI_COMM_WORLD);
  MPI_Scatterv(from.data(), counts.data(), places.data(), MPI_INT, to.data(), mine, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Allgatherv(from.data(), mine, MPI_INT, to.data(), counts.data(), places.data(), MPI_INT, MPI_COMM_WORLD);
  MPI_Reduce_scatter(from.data(), to.data(), counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter_block(from.data(), to.data(), 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Scan(from.data(), to.data(), 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  std::array<int, kRanks> sent{};
  sent.fill(mine);
  const std::array<int, kRanks> apart{0, 4, 8, 12};
  MPI_Alltoallv(from.data(), sent.data(), apart.data(), MPI_INT, to.data(), counts.data(), apart.data(), MPI_INT,
                MPI_COMM_WORLD);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(from.data(), to.data(), 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(half, &other);
  if (rank < 2) MPI_Send(from.data(), 1, MPI_INT, 1, 20, other);
  if (rank >= 2) MPI_Recv(to.data(), 1, MPI_INT, 0, 20, other, MPI_STATUS_IGNORE);
  // To rank 0 of one group from the other: many arguments mean nothing there.
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 21, &between);
  if (rank % 2 == 0) {
    MPI_Gatherv(nullptr, 0, MPI_DATATYPE_NULL, to.data(), counts.data(), places.data(), MPI_INT,
                rank == 0 ? MPI_ROOT : MPI_PROC_NULL, between);
  } else {
    MPI_Gatherv(from.data(), rank == 1 ? 1 : 2, MPI_INT, nullptr, nullptr, nullptr, MPI_DATATYPE_NULL, 0, between);
  }
  MPI_Comm_free(&between);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(to.data(), sizeof to, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  for (MPI_Comm* each : {&reversed, &half, &other}) MPI_Comm_free(each);
}

#ifdef TWINLINK_FORTRAN
// As a compiler of Fortran calls it: all by address, and the error last.
template <class... P>
void fortran(const char* name, P... arguments) {
  int error = 0;
  void* const found = ::dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "there is no %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  reinterpret_cast<void (*)(P..., int*)>(found)(arguments..., &error);
}

void in_fortran() {
  MPI_Fint world = MPI_Comm_c2f(MPI_COMM_WORLD);
  MPI_Fint type = MPI_Type_c2f(MPI_DOUBLE);
  MPI_Fint sum = MPI_Op_c2f(MPI_SUM);
  int count = 5;
  int tag = 30;
  int peer = rank ^ 1;
  MPI_Fint request = 0;
  fortran("mpi_irecv_", to.data(), &count, &type, &peer, &tag, &world, &request);
  fortran("mpi_send_", from.data(), &count, &type, &peer, &tag, &world);
  fortran("mpi_wait_", &request, MPI_F_STATUS_IGNORE);
  fortran("mpi_allreduce_", from.data(), to.data(), &count, &type, &sum, &world);
}
#endif

/// Of this process: what else the machine does is not in it.
double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// What a call to the rank itself takes, by the way that goes through here and by the way beneath.
void compare(int calls) {
  MPI_Request request = MPI_REQUEST_NULL;
  const auto pair = [&](auto send, auto receive, auto wait) {
    const double begin = seconds();
    for (int i = 0; i < calls; ++i) {
      receive(to.data(), 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
      send(from.data(), 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
      wait(&request, MPI_STATUS_IGNORE);
    }
    return seconds() - begin;
  };
  double with = 1e9;
  double without = 1e9;
  for (int i = 0; i < 5; ++i) {
    with = std::min(with, pair(MPI_Send, MPI_Irecv, MPI_Wait));
    without = std::min(without, pair(PMPI_Send, PMPI_Irecv, PMPI_Wait));
  }
  if (rank == 0) {
    std::printf("%.0f ns a call, and %.0f recorded\n", without / calls / 3 * 1e9, with / calls / 3 * 1e9);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  int provided = 0;
  MPI_Init_thread(&argc, &argv, what == "threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (what == "calls") {
    compare(std::stoi(argv[2]));
  } else if (what == "threads") {
    if (provided < MPI_THREAD_MULTIPLE) return MPI_Finalize(), 77;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([t] {
        std::array<int, 2> buffers{};
        for (int i = 0; i < 200; ++i) {
          MPI_Sendrecv(buffers.data(), 1, MPI_INT, rank ^ 1, t, &buffers[1], 1, MPI_INT, rank ^ 1, t, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
        }
      });
    }
    for (std::thread& each : threads) each.join();
  } else if (what.empty()) {
    messages();
    collectives();
#ifdef TWINLINK_FORTRAN
    in_fortran();
#endif
  } else {
    for (int i = 0; i < 100; ++i) MPI_Allreduce(from.data(), to.data(), 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    // The frame before is written with this call, and what follows is lost.
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 10; ++i) MPI_Barrier(MPI_COMM_WORLD);
    if (what == "kill" && rank == 1) ::raise(SIGKILL);
    if (what == "abort" && rank == 1) MPI_Abort(MPI_COMM_WORLD, 4);
    if (what == "leave") std::exit(0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
