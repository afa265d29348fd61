#include "tests/protocols/bench/samples.hpp"

#include <nlohmann/json.hpp>

namespace twinlink::bench {

Result sample_result() {
  return {
      .world = "measured",
      .program = "twinlink-real 0.1.0",
      .command = "twinlink-real run --protocol gpudirect-v1",
      .environment = nlohmann::json{{"host", "node-a"}, {"ranks", 2}},
      .series = {
          .label = "GPU to GPU, \"pipelined\"",
          .protocol = "gpudirect-v1",
          .pattern = Pattern::bandwidth,
          .settings = {.chunk = 256_KiB, .depth = 8, .timeout = Seconds{30}},
          .window = 64,
          .from = "0/1",
          .to = "1/2",
          .clock = "host",
          .cold_us = 181.5,
          .points = {
              {.size = 4_B,
               .time_us = {.n = 3, .median = 2.5, .min = 2.25, .max = 9.125, .p5 = 2.3, .p95 = 8.5, .unstable = true},
               .bandwidth_MBps = 1.6,
               .path = "staged through pinned host memory",
               .verified = true,
               .samples_us = {2.25, 2.5, 9.125}},
              {.size = 64_KiB,
               .time_us = {.n = 2, .median = 20.25, .min = 20, .max = 20.5, .p5 = 20.1, .p95 = 20.4},
               .bandwidth_MBps = 3236.346,
               .path = "peer copy, directly",
               .verified = true}}}};
}

ProbeFile sample_probes() {
  return {.world = "simulated",
          .program = "twinlink-sim 0.1.0",
          .command = "twinlink-sim probe",
          .environment = nlohmann::json{{"platform", "sample"}},
          .findings = {.notes = {"0/0: no far copies: there is one NUMA domain"},
                       .lines = {{.name = "copy pinned-to-device near",
                                  .gpu = "0/1",
                                  .size = 1_MiB,
                                  .time_us = {.n = 2, .median = 180, .min = 170, .max = 190, .p5 = 171, .p95 = 189},
                                  .bandwidth_MBps = 5825.422},
                                 {.name = "handle open",
                                  .gpu = "0/1",
                                  .peer = "0/2",
                                  .size = 2_MiB,
                                  .time_us = {.n = 5, .median = 80, .min = 70, .max = 90, .p5 = 71, .p95 = 89}}}}};
}

Result imported_result() {
  return {.world = "measured",
          .program = "osu_bw 7.5",
          .environment = nlohmann::json{{"origin", {{"tool", "osu"}}}},
          .notes = {"means"},
          .series = {.label = "osu_bw",
                     .pattern = Pattern::bandwidth,
                     .clock = "host",
                     .points = {{.size = 1_KiB, .time_us = {.median = 2}, .bandwidth_MBps = 512}},
                     .told = {.settings = false, .window = false, .cold_us = false}}};
}

}  // namespace twinlink::bench
