// The beginning of a platform file for a machine of known parts.
#pragma once

#include <filesystem>
#include <string>

namespace twinlink::platforms {

/// Parts by their names in platforms/parts/, or as much of them as tells them apart.
struct TemplateWishes {
  std::string gpu{};
  std::string cpu{};
  std::string nic{};  ///< empty: no network, and a single node
  std::string mpi{};
  std::string driver{};    ///< empty: by the GPU
  std::string switches{};  ///< what joins the GPUs beside PCIe; empty: the NVSwitches of such GPUs, if there is a part
  int gpus = 0;
  int adapters = 0;  ///< which divides `gpus`; 0: as many as these
  int nodes = 0;
  std::string name{};
};

/// The text of a file that includes parts below `parts`, as "parts/..." wherever it will lie: every GPU, and the
/// adapters, on the sockets in turn. A UsageError for a part that there is not, or that could be several, and for GPUs
/// that the sockets or the adapters cannot share evenly.
std::string template_text(const TemplateWishes& wishes, const std::filesystem::path& parts);

}  // namespace twinlink::platforms
