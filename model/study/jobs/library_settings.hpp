// Which settings make messages of a library's GPUs faster: lines of UCX's ucx.conf or of MVAPICH2's environment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "model/study/model_error.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/core/path.hpp"

namespace twinlink::model {

struct SettingsSearch {
  std::string library{};        ///< "ucx" or "mvapich2"
  std::vector<Place> places{};  ///< two different ones
  std::vector<Bytes> sizes{};   ///< ascending
  bench::Pattern pattern = bench::Pattern::pingpong;
  int window = 1;
  int at_once = 1;                  ///< simulations at a time
  bench::OnProgress on_progress{};  ///< told of simulations
};

struct LibrarySetting {
  std::string line{};  ///< "MV2_CUDA_BLOCK_SIZE=131072"
  std::string why{};   ///< "4M: 812.30 us, 1210.00 us without this line: 33 % less"
  double gain = 0;     ///< of the size that gains most, over the lines before
  std::string only{};  ///< where the line does harm to what was not simulated: it is a comment then; empty: nowhere
};

struct LibrarySettings {
  std::string preset{};                 ///< that stands for the library: "mvapich2-gdr"
  std::vector<std::string> tried{};     ///< names of settings that change a time between these two
  std::vector<LibrarySetting> lines{};  ///< each on top of those before it
  Simulated simulated{};                ///< how far such times are off
};

/// Settings that the simulated library has and that change a message's way or its pieces, one after the other, each
/// with the values that are simulated too. A line stays where a size gains more than the model errs, and none takes
/// longer by more than kTieMargin; a limit's where each size does so that goes another way by it. Not tried is what
/// nobody has measured: UCX's eager messages beyond 8 KiB, and what a setting does to host memory. An UnavailableError
/// where none of them changes any time, or where the library cannot move messages between the two.
LibrarySettings library_settings(const Platform& platform, const SettingsSearch& search);

/// A file that the library takes: comments, and NAME=VALUE lines.
std::string to_text(const LibrarySettings& settings, const SettingsSearch& search, std::string_view platform,
                    std::string_view command);

}  // namespace twinlink::model
