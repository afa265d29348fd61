// What each rank sends in three collectives by the rules of Open MPI 4.1, for openmpi_messages.sh: NAME RANKS BYTES.
// "RANK PEER BYTES MESSAGES" for each two ranks.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "protocols/workloads/mpi/library.hpp"

int main(int argc, char** argv) {
  using namespace twinlink::workloads;  // NOLINT: a program of its own
  if (argc != 4) return 2;
  const std::string name = argv[1];
  const int ranks = std::atoi(argv[2]);
  const twinlink::Bytes size{std::strtoull(argv[3], nullptr, 10)};
  const mpi::Choice choice = mpi::choose(mpi::find_library("openmpi 4.1", ""), name, {ranks}, size);
  std::fprintf(stderr, "%s of %d ranks, %s B: %s\n", name.c_str(), ranks, argv[3],
               std::string(choice.algorithm->name).c_str());
  for (int rank = 0; rank < ranks; ++rank) {
    std::map<int, std::pair<std::uint64_t, int>> sent;
    for (const Step& step : choice.algorithm->schedule({ranks, 1}, rank, elements_of(size)).steps) {
      for (const Transfer& transfer : step.transfers) {
        if (transfer.send.length == 0) continue;
        auto& [bytes, messages] = sent[transfer.peer];
        // A barrier's messages are of an element here, and have no bytes there.
        bytes += name == "barrier" ? 0 : 3 * bytes_of(transfer.send.length).count();
        messages += 3;
      }
    }
    for (const auto& [peer, all] : sent) {
      std::printf("%d %d %llu %d\n", rank, peer, static_cast<unsigned long long>(all.first), all.second);
    }
  }
}
