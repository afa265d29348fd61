// What no description of a node tells: the costs of the driver and of the MPI library.
#pragma once

#include <string>
#include <utility>

#include "platforms/machine/platform.hpp"

namespace twinlink::platforms {

/// A number without a measurement. `why` says why it is not absurd.
template <class T>
Sourced<T> assumed(T value, std::string why) {
  return {value, {Quality::assumed, std::move(why)}};
}

/// Gives `platform`, whose node is complete, all costs of copies, runtime and messages, and its memories their rates,
/// each assumed. Those that `base` has are taken from there, with a word on where they come from, and its fabric too
/// where `platform` has one. `base` may be null.
void assume_costs(Platform& platform, const Platform* base);

}  // namespace twinlink::platforms
