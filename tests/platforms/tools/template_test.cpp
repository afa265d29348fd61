// What a template says, to the letter, and which parts a word means.
#include "platforms/tools/template.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TemplateWishes wishes(const std::string& gpu, int gpus = 4) {
  return {.gpu = gpu, .cpu = "2-rome", .mpi = "openmpi", .gpus = gpus, .nodes = 3, .name = "mine"};
}

/// Or why there is none.
std::string made(const TemplateWishes& wishes) {
  try {
    return template_text(wishes, "platforms/parts");
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(Template, IncludesPartsAndJoinsThem) {
  TemplateWishes one = wishes("a100-sxm");
  one.nic = "cx6";
  one.adapters = 1;
  EXPECT_EQ(
      made(one),
      "# A template: each GPU, and each adapter, on a socket by a link of its own. Put the switches and the links of "
      "the machine in\n"
      "# their place, and say of each number where it comes from: platforms/SCHEMA.md, and 'twinlink-sim check'.\n"
      "schema: 2\n"
      "name: mine\n"
      "description: \"4 x NVIDIA A100-SXM4-80GB\"\n"
      "include:\n"
      "  - parts/gpu/a100-sxm.yaml\n"
      "  - parts/cpu/2-rome.yaml\n"
      "  - parts/nic/cx6-hdr.yaml\n"
      "  - parts/mpi/openmpi.yaml\n"
      "  - parts/driver/cuda12.yaml\n"
      "nodes:\n"
      "  count: 3\n"
      "  nics:\n"
      "    hca0: {}\n"
      "  gpus:\n"
      "    gpu[0-3]: {type: a100-sxm, nic: \"hca0\"}\n"
      "  links:\n"
      "    gpu-pcie[0-3]:\n"
      "      from: \"gpu[0-3]\"\n"
      "      to: \"socket[0-1]\"\n"
      "      bandwidth: {value: 28.8 GB/s, derived: pcie4-x16}\n"
      "      latency: {value: 0.15 us, derived: pcie-hop}\n"
      "    hca-pcie0:\n"
      "      from: \"hca0\"\n"
      "      to: \"socket0\"\n"
      "      bandwidth: {value: 28.8 GB/s, derived: pcie4-x16}\n"
      "      latency: {value: 0.15 us, derived: pcie-hop}\n");
  TemplateWishes none = wishes("l40s");
  none.cpu = "1-milan";
  none.gpus = 1;
  EXPECT_EQ(made(none).substr(made(none).find("include:")),
            "include:\n"
            "  - parts/gpu/l40s.yaml\n"
            "  - parts/cpu/1-milan.yaml\n"
            "  - parts/mpi/openmpi.yaml\n"
            "  - parts/driver/cuda12.yaml\n"
            "nodes:\n"
            "  count: 1\n"
            "  gpus:\n"
            "    gpu0: {type: l40s}\n"
            "  links:\n"
            "    gpu-pcie0:\n"
            "      from: \"gpu0\"\n"
            "      to: \"socket0\"\n"
            "      bandwidth: {value: 28.8 GB/s, derived: pcie4-x16}\n"
            "      latency: {value: 0.15 us, derived: pcie-hop}\n");
  EXPECT_THAT(made(none), HasSubstr("each GPU on a socket"));
  none.nic = "cx7";
  EXPECT_THAT(made(none), AllOf(HasSubstr("each GPU and its adapter on a socket"), HasSubstr("count: 3")));
}

TEST(Template, SlotsAreThoseOfTheGpusGeneration) {
  for (const auto& [gpu, slot] : {std::pair("c2050", "7.31 GB/s, derived: pcie2-x16"),
                                  {"k20", "14.4 GB/s, derived: pcie3-x16"},
                                  {"v100-sxm2", "14.4 GB/s, derived: pcie3-x16"},
                                  {"l40s", "28.8 GB/s, derived: pcie4-x16"},
                                  {"h100-pcie", "57.6 GB/s, derived: pcie5-x16"},
                                  {"gb200", "57.6 GB/s, derived: pcie5-x16"}}) {
    EXPECT_THAT(made(wishes(gpu)), HasSubstr(slot)) << gpu;
  }
}

TEST(Template, SwitchesDriverAndRootsFollowFromTheParts) {
  EXPECT_THAT(made(wishes("a100-sxm", 8)), HasSubstr("  - parts/switch/nvswitch-8-a100.yaml\n"));
  EXPECT_THAT(made(wishes("h100", 8)), HasSubstr("  - parts/switch/nvswitch-8-h100.yaml\n")) << "on a board";
  EXPECT_THAT(made(wishes("2030", 8)), HasSubstr("  - parts/switch/nvswitch-8-2030.yaml\n"));
  for (const auto& [gpu, gpus] : {std::pair("a100-pcie", 8), {"a100-sxm", 4}}) {
    EXPECT_THAT(made(wishes(gpu, gpus)), Not(HasSubstr("parts/switch/"))) << gpu;
  }
  TemplateWishes other = wishes("a100-sxm", 8);
  other.switches = "none";
  EXPECT_THAT(made(other), Not(HasSubstr("parts/switch/")));
  other.switches = "nvlink3";
  other.driver = "cuda8";
  EXPECT_THAT(made(other), AllOf(HasSubstr("parts/switch/mesh-4-nvlink3.yaml"), HasSubstr("parts/driver/cuda8.yaml")));
  EXPECT_THAT(made(wishes("mi300x", 8)), HasSubstr("parts/driver/rocm6.yaml"));
  other = wishes("c2050");
  other.cpu = "westmere";
  EXPECT_THAT(made(other), HasSubstr("to: \"ioh[0-1]\"")) << "where there are hubs, GPUs are on them";
}

TEST(Template, SaysWhatItCannotTake) {
  EXPECT_THAT(made(wishes("a100-sxn")),
              AllOf(HasSubstr("--gpu a100-sxn: there is no such part; did you mean 'a100-sxm'?"),
                    HasSubstr("; there is: 2030, a100-pcie, ")));
  EXPECT_EQ(made(wishes("v100")), "--gpu v100 may be v100-nvlink-host or v100-pcie or v100-sxm2: say which");
  EXPECT_EQ(made(wishes("l40s", 3)), "--gpus 3: the 2 sockets of this CPU cannot share them evenly");
  TemplateWishes odd = wishes("l40s", 4);
  odd.adapters = 2;
  EXPECT_EQ(made(odd), "--adapters needs --nic: which adapters");
  odd.nic = "cx6-hdr";
  EXPECT_THAT(made(odd), HasSubstr("    hca-pcie[0-1]:\n      from: \"hca[0-1]\"\n      to: \"socket[0-1]\"\n"));
  odd.adapters = 3;
  EXPECT_EQ(made(odd), "--adapters 3: 4 GPUs cannot share them evenly");
}

}  // namespace
}  // namespace twinlink::platforms
