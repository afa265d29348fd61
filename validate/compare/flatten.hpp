// An environment block as lines, whatever it holds: it differs by world and machine.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace twinlink::validate {

/// One line per value, named by its path: {"mpi": {"version": "4.1"}} gives "mpi.version", "4.1". Arrays of plain
/// values are one line; the elements of other arrays are counted from 0: "devices.0.uuid".
std::vector<std::pair<std::string, std::string>> flatten(const nlohmann::json& value);

}  // namespace twinlink::validate
