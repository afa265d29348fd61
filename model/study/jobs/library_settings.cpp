#include "model/study/jobs/library_settings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "model/study/advice.hpp"
#include "model/study/message_times.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/cli/settings_options.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

using Word = std::string_view;

enum class KnobHolds : std::uint8_t { gpus_of_a_node, nodes, nodes_by_rdma, any };
enum class KnobDoes : std::uint8_t {
  cuts,        ///< the size of a pipeline's pieces
  limits,      ///< an option of the protocol: another way up to this size, or from it on
  rendezvous,  ///< UCX's: from this size on; its three limits at once
  off,         ///< an option is switched off
  no_rdma      ///< adapters leave device memory alone
};

/// A setting whose effect the model has. Names: MVAPICH2 2.3.7's user guide and MVAPICH2-GDR 2.3's; `ucx_info -cf`.
struct LibraryKnob {
  Word library;
  Word name;
  Word before;  ///< the value
  KnobHolds where;
  KnobDoes does;
  Word option;
  Word only{};
};
constexpr std::array<LibraryKnob, 8> kKnobs{
    {{"mvapich2", "MV2_GPUDIRECT_LIMIT", "", KnobHolds::nodes_by_rdma, KnobDoes::limits, "send_limit"},
     {"mvapich2", "MV2_USE_GPUDIRECT_RECEIVE_LIMIT", "", KnobHolds::nodes_by_rdma, KnobDoes::limits, "receive_limit"},
     {"mvapich2", "MV2_CUDA_IPC", "", KnobHolds::gpus_of_a_node, KnobDoes::off, "ipc"},
     {"mvapich2", "MV2_CUDA_IPC_THRESHOLD", "", KnobHolds::gpus_of_a_node, KnobDoes::limits, "ipc_from"},
     {"mvapich2", "MV2_CUDA_BLOCK_SIZE", "", KnobHolds::any, KnobDoes::cuts, ""},
     {"ucx", "UCX_IB_GPU_DIRECT_RDMA", "", KnobHolds::nodes_by_rdma, KnobDoes::no_rdma, ""},
     {"ucx", "UCX_RNDV_THRESH", "intra:", KnobHolds::gpus_of_a_node, KnobDoes::rendezvous, "",
      "Only for programs without small messages of host memory in a node, for it holds for these as well:"},
     {"ucx", "UCX_RNDV_FRAG_SIZE", "host:", KnobHolds::nodes, KnobDoes::cuts, ""}}};

/// UCX's eager messages are modelled up to here; so is a rendezvous of smaller ones.
constexpr Bytes kLongestEager = 8_KiB;
constexpr Bytes kLeastPiece = 16_KiB;
constexpr Bytes kLargestPiece = 4_MiB;

/// What is simulated: a protocol's settings, on the platform or on one whose adapters leave device memory alone.
struct LibraryTrial {
  std::string value{};
  Settings settings{};
  bool rdma = true;
};

class LibrarySearch {
 public:
  LibrarySearch(const Platform& platform, const SettingsSearch& search)
      : platform_(platform), without_rdma_(platform), search_(search) {
    if (without_rdma_.fabric) without_rdma_.fabric->rdma.reset();
    const Path path = Topology(platform).path(search.places[0], search.places[1]);
    one_node_ = path.same_node;
    rdma_ = !path.same_node && path.device_memory_on_network.yes;
    preset_ = search.library;
    if (platform.library.starts_with(search.library)) preset_ = platform.library;
    // MVAPICH2's limits are options of the protocol that it takes between nodes.
    protocol_ = &find_protocol(search.library == "mvapich2" && rdma_ ? "gpudirect-v3" : "cuda-aware");
    // MVAPICH2-GDR's smallest messages go another way there.
    sizes_ = search.sizes;
    if (preset_ == "mvapich2-gdr" && rdma_) std::erase_if(sizes_, [](Bytes size) { return size <= kLongestEager; });
    if (sizes_.empty())
      throw UsageError("--for mvapich2: messages of this platform's library up to 8K have no settings");
    best_.settings = bench::make_settings(*protocol_, {.preset = preset_, .options = {}, .library = {}});
  }

  LibrarySettings run() {
    LibrarySettings all{.preset = preset_, .simulated = one_node_ ? Simulated::within_node : Simulated::between_nodes};
    const std::vector<MessageTimes> own = times_of({best_});
    if (!own.front().refused.empty()) throw UnavailableError(own.front().refused);
    times_ = own.front().us;
    const double error = model_error(all.simulated).share;
    std::string names;
    for (const LibraryKnob& knob : kKnobs) {
      if (knob.library != search_.library) continue;
      names += (names.empty() ? "" : ", ") + std::string(knob.name);
      if (holds_here(knob.where)) try_knob(knob, error, all);
    }
    if (all.tried.empty()) {
      throw UnavailableError(
          fmt::format("--for {}: no message between {} and {} depends on any setting that is modelled "
                      "({})",
                      search_.library, to_string(search_.places[0]), to_string(search_.places[1]), names));
    }
    return all;
  }

 private:
  [[nodiscard]] bool holds_here(KnobHolds where) const {
    switch (where) {
      case KnobHolds::gpus_of_a_node:
        return one_node_;
      case KnobHolds::nodes:
        return !one_node_;
      case KnobHolds::nodes_by_rdma:
        return rdma_;
      case KnobHolds::any:
        return true;
    }
    return false;
  }

  [[nodiscard]] std::vector<LibraryTrial> trials_of(const LibraryKnob& knob) const {
    std::vector<LibraryTrial> trials;
    const auto add = [&](std::string value) -> LibraryTrial& {
      trials.push_back(best_);
      trials.back().value = std::move(value);
      return trials.back();
    };
    const auto bytes = [](Bytes size) { return std::to_string(size.count()); };
    switch (knob.does) {
      case KnobDoes::cuts:
        for (Bytes piece = kLeastPiece; piece <= kLargestPiece; piece = piece * 2) {
          if (piece != best_.settings.chunk) add(bytes(piece)).settings.chunk = piece;
        }
        break;
      case KnobDoes::limits:
        for (const Bytes size : sizes_) add(bytes(size)).settings.options[std::string(knob.option)] = bytes(size);
        break;
      case KnobDoes::rendezvous:
        for (const Bytes size : sizes_) {
          if (size >= kLongestEager) break;
          auto& options = add(bytes(size)).settings.options;
          options["ipc_from"] = bytes(size);
          options["whole_to"] = options["cpu_to"] = bytes(size - Bytes{1});
        }
        break;
      case KnobDoes::off:
        add("0").settings.options[std::string(knob.option)] = "0";
        break;
      case KnobDoes::no_rdma:
        add("n").rdma = false;
        break;
    }
    return trials;
  }

  [[nodiscard]] std::vector<MessageTimes> times_of(const std::vector<LibraryTrial>& trials) const {
    std::vector<Timed> all;
    for (const LibraryTrial& trial : trials) {
      Timed one = timed(TimesPlan{.protocol = protocol_,
                                  .settings = trial.settings,
                                  .places = search_.places,
                                  .sizes = sizes_,
                                  .pattern = search_.pattern,
                                  .window = search_.window});
      if (!trial.rdma) {
        one.simulate = [this, simulate = one.simulate](const Platform&) { return simulate(without_rdma_); };
      }
      all.push_back(std::move(one));
    }
    return times_on(platform_, all, search_.at_once, search_.on_progress);
  }

  /// The value with the least geometric mean, of those that make no size slower and one faster than the model errs.
  void try_knob(const LibraryKnob& knob, double error, LibrarySettings& all) {
    const std::vector<LibraryTrial> trials = trials_of(knob);
    const std::vector<MessageTimes> times = times_of(trials);
    std::optional<std::size_t> best;
    double least = 0;
    bool changes = false;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const std::vector<double>& us = times[i].us;
      if (!times[i].refused.empty()) continue;
      double sum = 0;
      double most = 0;
      bool loses = false;
      // A limit takes in no size that gains nothing, for it is another way then.
      const bool is_limit = knob.does == KnobDoes::limits || knob.does == KnobDoes::rendezvous;
      for (std::size_t s = 0; s < us.size(); ++s) {
        const double gain = 1 - us[s] / times_[s];
        const bool is_other = std::abs(gain) > kTieMargin;
        changes = changes || is_other;
        sum += std::log(us[s] / times_[s]);
        most = std::max(most, gain);
        loses = loses || gain < -kTieMargin || (is_limit && is_other && gain <= error);
      }
      if (loses || most <= error || sum >= least) continue;
      best = i;
      least = sum;
    }
    if (changes) all.tried.emplace_back(knob.name);
    if (!best) return;
    const std::vector<double>& us = times[*best].us;
    std::size_t where = 0;
    for (std::size_t s = 0; s < us.size(); ++s) {
      if (us[s] / times_[s] < us[where] / times_[where]) where = s;
    }
    const double gain = 1 - us[where] / times_[where];
    all.lines.push_back({fmt::format("{}={}{}", knob.name, knob.before, trials[*best].value),
                         fmt::format("{}: {:.2f} us, {:.2f} us without this line: {:.0f} % less",
                                     format_size(sizes_[where]), us[where], times_[where], 100 * gain),
                         gain, std::string(knob.only)});
    best_ = trials[*best];
    times_ = us;
  }

  const Platform& platform_;
  Platform without_rdma_;
  const SettingsSearch& search_;
  bool one_node_ = false;
  bool rdma_ = false;
  std::string preset_{};
  const Protocol* protocol_ = nullptr;
  std::vector<Bytes> sizes_{};
  LibraryTrial best_{};          ///< with all lines so far
  std::vector<double> times_{};  ///< of it, us
};

}  // namespace

LibrarySettings library_settings(const Platform& platform, const SettingsSearch& search) {
  return LibrarySearch(platform, search).run();
}

std::string to_text(const LibrarySettings& settings, const SettingsSearch& search, std::string_view platform,
                    std::string_view command) {
  const ModelError& error = model_error(settings.simulated);
  const bool ucx = search.library == "ucx";
  std::string text = fmt::format(
      "# {}\n# {}\n# Messages of GPUs from {} to {} of {}, {} to {}, against '{}' of twinlink-sim: its own values.\n"
      "# A line makes one size faster by more than the {:.0f} % by which {} are off in the mean\n"
      "# ({}), and none slower by more than {:.0f} %. Other pairs and host memory were not simulated.\n",
      command,
      ucx ? "etc/ucx/ucx.conf below UCX's prefix; a variable of the environment has precedence. UCX 1.17 or newer, "
            "which\n# may choose by itself what is gained here: try."
          : "The environment of all ranks, beside MV2_USE_CUDA=1: set -a; . this file; set +a; mpiexec ...",
      to_string(search.places[0]), to_string(search.places[1]), platform, format_size(search.sizes.front()),
      format_size(search.sizes.back()), settings.preset, 100 * error.share, error.of, error.source, 100 * kTieMargin);
  std::string tried;
  for (const std::string& name : settings.tried) tried += (tried.empty() ? "" : ", ") + name;
  text += fmt::format("# Tried: {}\n", tried);
  if (settings.lines.empty()) text += "# Nothing gains so much.\n";
  for (const LibrarySetting& setting : settings.lines) {
    text += fmt::format("# {}\n", setting.why);
    text += setting.only.empty() ? fmt::format("{}\n", setting.line)
                                 : fmt::format("# {}\n# {}\n", setting.only, setting.line);
  }
  return text;
}

}  // namespace twinlink::model
