#include "protocols/bench/workload/array_job.hpp"

#include <CLI/CLI.hpp>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/options.hpp"

namespace twinlink::bench {

void add_array_options(CLI::App& app, ArrayOptions& options) {
  const OptionGroup group(app, "Arrays");
  app.add_option("--global", options.global, "Of reshape and fft: the array, its last dimension fastest in memory")
      ->type_name("NxMxK");
  constexpr const char* kDistribution = "slab-x|slab-y|slab-z|pencil-x|pencil-y|pencil-z|FILE";
  app.add_option(
         "--from", options.from,
         "Of reshape: how it is shared out; a file has a box for each rank on a line: its lower corner, and the "
         "upper one, which is not within, as 0,0,0 256,512,512")
      ->type_name(kDistribution);
  app.add_option("--to", options.to, "Of reshape: how it is shared out then")->type_name(kDistribution);
  add_read_option(app, "--element", "SIZE", "16", "Of reshape: 4, 8 or 16 B",
                  [&options](const std::string& text) { options.element = parse_size(text); });
  app.add_flag("--in-place", options.in_place, "Of reshape: both have the same memory");
  app.add_option(
         "--pack", options.pack,
         "How rows are gathered: by one kernel, by copies of the copy engine, not at all, or a row of results for "
         "each of these; else the fastest is taken")
      ->type_name("kernel|copies|none|all");
  app.add_option(
         "--shares", options.shares,
         "How many planes of its slabs each rank has: as many, in proportion to what its GPU and adapter can do, "
         "or to numbers with commas between")
      ->type_name("equal|machine|LIST")
      ->default_str("equal");
  app.add_option("--kind", options.kind, "Of fft: from complex or real numbers to such, of 64 bits each")
      ->type_name("c2c|r2c|c2r")
      ->default_str("c2c");
  app.add_option("--decomposition", options.decomposition, "Of fft: what a rank has whole, two dimensions or one")
      ->type_name("slab|pencil")
      ->default_str("slab");
  constexpr int kMostParts = 64;
  add_count_option(app, "--parts", 1, kMostParts, "1",
                   "Of fft: so many parts of a rank's numbers, of which one is exchanged while the next is transformed",
                   [&options](int parts) { options.parts = parts; });
}

}  // namespace twinlink::bench
