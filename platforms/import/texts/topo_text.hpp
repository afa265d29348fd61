// What nvidia-smi topo -m prints, as rows and cells, with what stands around it: names of GPUs, the legend of adapters,
// tables of topo -p2p.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/import/texts/adapter_states.hpp"

namespace twinlink::platforms {

/// A row of the matrix: a GPU or an adapter.
struct TopoRow {
  std::string name{};
  int line = 0;
  std::vector<std::string> cells{};
  std::string cpus{};           ///< what the row says of CPUs; empty: nothing
  std::optional<int> domain{};  ///< and of its NUMA domain
  bool coherent = false;        ///< a GPU's memory is a NUMA domain, too

  [[nodiscard]] bool is_gpu() const { return name.starts_with("GPU"); }
};

struct TopoText {
  std::string origin = "nvidia-smi topo -m";
  bool names_nvlinks = true;
  std::vector<TopoRow> rows{};
  std::map<int, std::string> models{};           ///< of GPUs, by number
  std::map<std::string, std::string> legend{};   ///< of adapters
  std::map<std::string, AdapterState> states{};  ///< by their names
  /// By GPU and GPU, as in NodeDescription; no rows: no table says it.
  std::vector<std::vector<std::string>> peer_access{};
  std::vector<std::string> notes{};  ///< what the user must know
};

/// An InputError that names `file` and the line for what is not understood.
TopoText read_topo_text(const std::string& text, const std::string& file);

/// "NV12" joins by twelve NVLinks; 0: by none.
int nvlinks(std::string_view cell);

}  // namespace twinlink::platforms
