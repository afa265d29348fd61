// The list of all protocols: those of this folder, and behind them what a program adds. Explicit: nothing registers
// itself behind the reader's back.
#pragma once

#include <span>
#include <string_view>

#include "protocols/core/path.hpp"
#include "protocols/core/protocol.hpp"

namespace twinlink {

/// Adds a protocol that is kept outside of this folder. For a constant of the source file that has the protocol, for it
/// must be there before the program begins:
///   const AddedProtocol kAdded(my_protocol);
/// The protocol must outlive the program. Its name is looked at by check_names(), for nobody could catch an exception
/// here. A UsageError once all_protocols() has been called: it would be in some lists and not in others.
class AddedProtocol {
 public:
  explicit AddedProtocol(const Protocol& protocol);
};

/// All protocols, in the order in which explanations and choices prefer them: the shortest way first, then those that
/// were added.
std::span<const Protocol* const> all_protocols();

/// What a program does first with all_protocols(). A UsageError for a name that two have, or that no command line
/// takes.
void check_names(std::span<const Protocol* const> protocols);

/// The protocol of that name. A UsageError names the closest existing name and lists all.
const Protocol& find_protocol(std::string_view name);

/// Does it move device memory over each of the paths, without a fallback?
bool serves_all(const Protocol& protocol, std::span<const Path> paths);

/// The first protocol that serves all. An UnavailableError if there is none.
const Protocol& shortest_way(std::span<const Path> paths);

}  // namespace twinlink
