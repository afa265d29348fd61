// The settings of a protocol in words.
#pragma once

#include <optional>
#include <string>

#include "protocols/bench/results/run_facts.hpp"
#include "protocols/core/protocol.hpp"

namespace twinlink::bench {

/// "256K", "whole message", "not set".
std::string chunk_text(const std::optional<Bytes>& chunk);
/// "2", "not set".
std::string depth_text(const std::optional<int>& depth);

/// "chunk whole message, depth 2, engine=kernel-push".
std::string settings_text(const Settings& settings, const RunFacts& facts = {});

}  // namespace twinlink::bench
