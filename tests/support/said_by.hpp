// said_by(): what a call says when it refuses.
#pragma once

#include <string>

#include "protocols/core/errors.hpp"

namespace twinlink {

/// The words of a `Refusal`; another exception passes on.
template <class Refusal = UsageError, class Call>
std::string said_by(const Call& call) {
  try {
    static_cast<void>(call());
  } catch (const Refusal& refusal) {
    return refusal.what();
  }
  return "nothing was refused";
}

}  // namespace twinlink
