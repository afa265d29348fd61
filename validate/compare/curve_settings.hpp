// With which settings a curve was measured: as options that repeat it in either world, and as a label for people.
#pragma once

#include <string>
#include <vector>

#include "platforms/machine/platform.hpp"
#include "protocols/bench/results/results.hpp"

namespace twinlink::validate {

/// The options of `run` that give the same curve: protocol, its options, chunk, depth, layout, pattern, window, places
/// or pairs at once, and sizes. They are the settings themselves, so that no preset and no default decides anything. An
/// InputError, which names `file`, for a curve that does not tell its settings, as imported ones do not, and for sizes
/// that no sweep gives.
std::vector<std::string> run_options(const bench::Series& series, const std::string& file);

/// "gpudirect-v1 --chunk 1M --depth 4": the protocol with what differs from its defaults, and the pairs at once. Where
/// a preset is named, the preset instead.
std::string settings_label(const bench::Series& series);

/// Throws an InputError unless `result`, the content of `file`, was simulated on `platform` as its file says: by the
/// platform's name and its file's, wherever that lay, with no value replaced and nothing chosen within the node.
void require_simulated_on(const platforms::Platform& platform, const bench::Result& result, const std::string& file);

}  // namespace twinlink::validate
