// A world that the contract suite can run in: a simulated machine, a real one, a fake one. Linking picks it.
#pragma once

#include <functional>

#include "protocols/core/measured_rank.hpp"

namespace twinlink::contract {

/// Runs `body` on every rank of the world at once and returns when all have ended. An exception of `body` and a failed
/// expectation on any rank fail the test that called.
void on_every_rank(const std::function<void(MeasuredRank&)>& body);

}  // namespace twinlink::contract
