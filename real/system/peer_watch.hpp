// PeerWatch: names a rank of the node whose process has ended without a word, as one that is killed does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "real/system/mpi.hpp"

namespace twinlink::real {

/// Sleeps in a thread until the process of another rank of this node ends, or the launcher tells this one to end
/// (SIGTERM). The first rank that is left then says on standard error who has gone. By which signal, only the launcher
/// knows. The process ends: by SIGTERM, or with exit code 1 after some seconds in which no launcher ends it. A kernel
/// before 5.3 has nothing to wait for; life signs remain (real/rank/life_signs.hpp).
class PeerWatch {
 public:
  /// `who` is what each rank is called, such as its device. Collective; one at a time in a process.
  PeerWatch(const Mpi& mpi, const std::string& host, std::vector<std::string> who);
  /// From here on ranks may end. All ranks of the job wait for each other between this and their end.
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// This process ends and has said why: nobody need name it. Nothing where there is no watch.
  static void take_leave();

 private:
  class Thread;
  std::unique_ptr<Thread> thread_;
};

}  // namespace twinlink::real
