// From the calls of MPI that each rank has made, a job in GOAL's text form.
//
//   1. What passes between two calls of a thread is computing; what passes within is not, but in calls that are not
//      played. Threads have cpus of their own.
//   2. A message begins with its call, and who waits for a request waits for what that began. Receives from any rank
//      take what they took.
//   3. Collectives are the groups' where GOAL has them. Of another root than the lowest rank broadcasts and reductions
//      are a binomial tree of messages, gathers and scatters go at once; so do blocks that differ, and a scan is a
//      chain. Setting up communicators takes no time.
//   4. What has no other end, for a program was killed, is left out and counted.
//   5. All ranks have left MPI_Init together: that is when they begin. Ranks of one host have one clock besides.
//
// Files are gone through again and again, so that no memory grows with the calls but: 24 bytes for a request of the
// rank at work, 40 for a collective, and some for each peer and tag.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/workloads/goal/mpi_calls.hpp"

namespace twinlink::workloads::goal {

class MpiRecording {
 public:
  /// By rank. An InputError names the files of ranks that do not have the same collectives, or that say what cannot be.
  explicit MpiRecording(std::vector<mpi::RankCalls> ranks);
  ~MpiRecording();
  MpiRecording(const MpiRecording&) = delete;
  MpiRecording& operator=(const MpiRecording&) = delete;

  [[nodiscard]] std::uint64_t calls() const;
  /// What there is, how long it took, and what is not played.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// The text in parts; `heading` becomes comments.
  void write(const std::vector<std::string>& heading, const std::function<void(std::string_view)>& to) const;

 private:
  struct Findings;
  std::vector<mpi::RankCalls> ranks_;
  std::unique_ptr<Findings> found_;
};

}  // namespace twinlink::workloads::goal
