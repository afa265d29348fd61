#include "platforms/import/gpu_models.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace twinlink::model {
namespace {

struct KnownGpu {
  std::string_view id;
  std::string_view model;
  int major;
  int minor;
  std::uint64_t gigabytes;
};

// From the PCI ID repository and NVIDIA's data sheets.
constexpr std::array<KnownGpu, 15> kKnown{{{"15f9", "Tesla P100-SXM2-16GB", 6, 0, 16},
                                           {"15f8", "Tesla P100-PCIE-16GB", 6, 0, 16},
                                           {"1db1", "Tesla V100-SXM2-16GB", 7, 0, 16},
                                           {"1db5", "Tesla V100-SXM2-32GB", 7, 0, 32},
                                           {"1db4", "Tesla V100-PCIE-16GB", 7, 0, 16},
                                           {"20b0", "NVIDIA A100-SXM4-40GB", 8, 0, 40},
                                           {"20b2", "NVIDIA A100-SXM4-80GB", 8, 0, 80},
                                           {"20b5", "NVIDIA A100 80GB PCIe", 8, 0, 80},
                                           {"20f1", "NVIDIA A100-PCIE-40GB", 8, 0, 40},
                                           {"26b9", "NVIDIA L40S", 8, 9, 48},
                                           {"2330", "NVIDIA H100 80GB HBM3", 9, 0, 80},
                                           {"2331", "NVIDIA H100 PCIe", 9, 0, 80},
                                           {"2335", "NVIDIA H200", 9, 0, 141},
                                           {"2342", "NVIDIA GH200 480GB", 9, 0, 96},
                                           {"2901", "NVIDIA B200", 10, 0, 180}}};

}  // namespace

SketchedGpu gpu_of_device_id(std::string_view id) {
  const auto* const found = std::ranges::find(kKnown, id, &KnownGpu::id);
  if (found == kKnown.end()) return {};
  constexpr std::uint64_t kGigabyte = 1'000'000'000;
  return {.model = std::string(found->model),
          .capability = {{found->major, found->minor}},
          .memory = Sourced<Bytes>{Bytes{found->gigabytes * kGigabyte},
                                   {Quality::datasheet, "NVIDIA's data sheet of this model"}}};
}

}  // namespace twinlink::model
