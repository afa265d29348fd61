// Patterns as bytes: what Rank::fill() writes and Rank::check() compares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "protocols/core/payload.hpp"

namespace twinlink::real {

/// Writes the bytes of `pattern` from number `first` on, a multiple of 8.
void write_pattern(std::span<std::byte> bytes, Payload pattern, std::uint64_t first);

/// Byte `index` of `pattern`.
std::byte pattern_byte(Payload pattern, std::uint64_t index);

/// The number of the first byte of `bytes` that differs from byte `first` and following of `pattern`; `first` is a
/// multiple of 8.
std::optional<std::size_t> find_difference(std::span<const std::byte> bytes, Payload pattern, std::uint64_t first);

}  // namespace twinlink::real
