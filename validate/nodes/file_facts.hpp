// What one file says beside its times: whose they are, and of what.
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "protocols/bench/probe/probe.hpp"
#include "validate/import/import.hpp"
#include "validate/nodes/node_files.hpp"

namespace twinlink::validate {

/// All tables of a file, ours or another tool's. `name` is how remarks call it. An InputError or UsageError of the
/// importers, or for a file that is of neither. By any thread: bench::note_input() is the caller's.
std::vector<Imported> read_tables(const std::filesystem::path& file, const std::string& name,
                                  const FleetWishes& wishes);

/// A table as a file of a node: times that are none are left out, with a note.
NodeFile file_of(const Imported& table, const std::string& name);

}  // namespace twinlink::validate
