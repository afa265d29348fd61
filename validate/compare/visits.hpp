// One curve, measured again and again: what all visits to a machine say together. Neighbours on a shared host stay for
// longer than a run takes, so the passes of one run may all be theirs.
#pragma once

#include <string>
#include <vector>

#include "protocols/bench/results/results.hpp"

namespace twinlink::validate {

struct Visit {
  std::string file{};  ///< as the user named it
  bench::Result result{};
};

/// Of each size what bench::together() says of the visits, with the statistics of the rounds that count; cold message,
/// counters and environment are the first visit's, and a note names all of them. An InputError unless all are measured,
/// have their raw samples, the same settings, pattern, places and sizes, the same models of devices and processors, and
/// the same expectation, or all none; and for a file that is named twice. `visits` must not be empty.
bench::Result together(std::vector<Visit> visits);

}  // namespace twinlink::validate
