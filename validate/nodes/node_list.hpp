// Which nodes there should be.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "validate/nodes/node_files.hpp"

namespace twinlink::validate {

/// "login,node[01-03,7]" as Slurm writes it: login, node01, node02, node03, node7. A UsageError that says what is wrong
/// with it, and for more than a million nodes.
std::vector<std::string> expand_hostlist(std::string_view text);

/// The nodes of a file, a name or such a list in each line, by name and each once; what follows a '#' is a comment. An
/// InputError for a file that cannot be read or names none, and for a line that is no list.
std::vector<std::string> read_node_list(const std::filesystem::path& file);

/// A node of each of these names that has no folder, with a remark, which has no result then. Nodes that are not on the
/// list get a remark.
void expect_nodes(FleetFiles& files, const std::vector<std::string>& names);

}  // namespace twinlink::validate
