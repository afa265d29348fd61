// What no description of a topology tells: the costs of the driver and of the MPI library.
#pragma once

#include <string>

#include "platforms/machine/platform.hpp"

namespace twinlink::model {

/// A number without a measurement. `why` says why it is not absurd.
template <class T>
Sourced<T> assumed(T value, std::string why) {
  return {value, {Quality::assumed, std::move(why)}};
}

/// Gives `platform` all costs of copies, runtime and messages, and its memories their rates, each assumed.
void assume_costs(Platform& platform);

}  // namespace twinlink::model
