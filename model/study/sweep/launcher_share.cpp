#include "model/study/sweep/launcher_share.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

std::optional<int> number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  int number = 0;
  const std::string_view all(text);
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), number);
  if (error == std::errc{} && end == all.data() + all.size()) return number;
  throw UsageError(fmt::format("{}={}: no number, and so no share of the study", variable, all));
}

}  // namespace

Share share_of_launcher() {
  struct Names {
    const char* rank;
    const char* ranks;
  };
  // SLURM_NTASKS would do for srun, but is set in a batch script as well, which runs once.
  for (const Names& names : {Names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, Names{"PMI_RANK", "PMI_SIZE"},
                             Names{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}}) {
    const Share share{number_of(names.rank).value_or(0), number_of(names.ranks).value_or(1)};
    if (share.rank < 0 || share.rank >= share.ranks) {
      throw UsageError(
          fmt::format("{}={} and {}={}: no share of the study", names.rank, share.rank, names.ranks, share.ranks));
    }
    if (share.ranks > 1) return share;
  }
  const int first = number_of("SLURM_ARRAY_TASK_MIN").value_or(0);
  const int last = number_of("SLURM_ARRAY_TASK_MAX").value_or(first);
  const int step = std::max(number_of("SLURM_ARRAY_TASK_STEP").value_or(1), 1);
  const Share share{(number_of("SLURM_ARRAY_TASK_ID").value_or(first) - first) / step, (last - first) / step + 1};
  if (share.rank >= 0 && share.rank < share.ranks) return share;
  throw UsageError("SLURM_ARRAY_TASK_ID is beyond SLURM_ARRAY_TASK_MIN and _MAX: no share of the study");
}

}  // namespace twinlink::model
