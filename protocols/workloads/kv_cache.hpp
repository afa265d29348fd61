// Keys and values of a prompt, from the ranks that have read it to those that go on with it: many blocks, as a server
// of language models keeps them.
#pragma once

#include <string>

#include "protocols/workloads/schedule.hpp"

namespace twinlink::workloads {

/// How many ranks have read the prompt: those that the cache names, or half of all.
int prefill_ranks(const Shape& shape);

/// Why the ranks of a shape cannot have this cache; empty: they can.
std::string refuse_kv_cache(const Shape& shape);

/// `elements` is what a rank that has read the prompt sends: its heads' keys and values. The first ranks have read it,
/// the others go on; both have all heads in even parts, in their order, so that a rank sends to those whose heads are
/// among its own. Each part is cut into blocks, which lie one behind the other at the sender and in the opposite order
/// at the receiver, so that no two could be one message.
Schedule listed_kv_cache(const Shape& shape, int rank, std::uint64_t elements);
/// The same by one message for each two ranks: blocks are gathered before it and shared out behind it, by copies.
Schedule packed_kv_cache(const Shape& shape, int rank, std::uint64_t elements);

}  // namespace twinlink::workloads
