// --timeline of a job on a real machine.
#pragma once

#include <filesystem>
#include <optional>

#include "protocols/core/measured_rank.hpp"
#include "protocols/trace/recorded_rank.hpp"

namespace twinlink::real {

/// Records what a rank does where a file was named, and otherwise nothing. Writing each operation down takes time of
/// its own: some tenths of a microsecond each.
class JobTimeline {
 public:
  /// `rank` must outlive it.
  JobTimeline(MeasuredRank& rank, std::filesystem::path file);

  /// Who is to do what is recorded.
  [[nodiscard]] MeasuredRank& rank() { return recorded_ ? *recorded_ : rank_; }
  /// Rank 0 writes the file. All ranks of the job call it, after all that is to be in it.
  void write(Seconds timeout);

 private:
  MeasuredRank& rank_;
  std::filesystem::path file_;
  std::optional<RecordedRank> recorded_{};
};

}  // namespace twinlink::real
