// GPUs by their model, and what their links carry by their data sheets: nominal rates, before headers and protocols.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "platforms/import/gpu_table.hpp"
#include "platforms/import/node_description.hpp"

namespace twinlink::platforms {

/// nullptr for those that are not known here, or of which several have that id.
const GpuModel* model_of_device(std::string_view device_id);
/// By a driver's name, "Tesla V100-SXM2-16GB", or the part of one that tells it from the others: "a100-sxm4-40". An
/// InputError that lists the names if none or several have it.
const GpuModel& model_named(std::string_view name);
/// The one that is known here, by its PCI device, or else its name, its gfx, its capability: what all that it may be
/// have in common. A name with words of its own, as "Laptop", may stand for another memory, which is left out then.
GpuModel model_of(const GpuFacts& gpu);
/// What all of NVIDIA's of that capability have in common; of one that is newer than all, links and PCIe of the newest.
GpuModel model_of_capability(const std::pair<int, int>& capability);
/// The first of that capability in the table, or of the next lower one.
const GpuModel& example_of(const std::pair<int, int>& capability);
/// Fills in what `gpu` does not say and its model does, and returns that.
GpuModel complete(GpuFacts& gpu);
/// Makes it one of that model, whatever its source says.
void set_model(GpuFacts& gpu, const GpuModel& model);

/// Is this vendor and device a GPU that computes, by its PCI class "0302"? AMD's graphics of a processor and consoles
/// of servers are none.
bool computes(std::string_view device_id, unsigned pci_class);

/// PCI Express of generation 1 to 6 with 1 to 32 lanes; nothing for others. `said_by` goes into the source.
std::optional<Sourced<Rate>> pcie_rate(int generation, int lanes, const std::string& said_by);
/// The same by transfers per second and lane, in 10^9.
std::optional<Sourced<Rate>> pcie_rate_of_transfers(double transfers, int lanes, const std::string& said_by);
/// By what the system reads from a link's status, in 10^9 bytes per second: which generations and widths have it.
/// Nothing for 0.
std::optional<Sourced<Rate>> pcie_rate_of_status(double gigabytes_per_second);
/// By its PCI device.
bool is_of_amd(std::string_view device_id);

/// One NVLink by what the driver reports in MB/s, its coding included: its version numbers name no rate, and differ
/// from driver to driver.
Sourced<Rate> nvlink_rate_of_speed(unsigned reported, const std::pair<int, int>& capability);
/// One link of a GPU whose source tells no rate; assumed where its model does not, either.
Sourced<Rate> link_rate(const GpuModel& model, GpuLinks::Kind kind);

}  // namespace twinlink::platforms
