// Pace: the machine of --pace, whose GPUs the emulated devices of this job play.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "real/pace/paced_runtime.hpp"
#include "real/rank/neighbours.hpp"
#include "real/rank/within_node.hpp"
#include "real/system/mpi.hpp"

namespace twinlink::real {

struct PaceOptions {
  std::filesystem::path platform{};      ///< the platform's file; empty: devices take the time that this host needs
  std::vector<std::string> overrides{};  ///< "PATH=VALUE", as for read_platform()
  std::string places{};                  ///< "0/1,0/2": the GPU of every rank; empty: ranks fill the nodes in order
};

/// The file that the platform is read from; empty: there is none. A UsageError for a name that is none.
std::filesystem::path platform_file(const PaceOptions& options);

class Pace {
 public:
  /// `self` is this process's rank. An InputError for a file that is wrong, a UsageError for places that are, and for
  /// loopback where the platform has no adapter.
  Pace(const PaceOptions& options, WithinNode within_node, RankId self);
  Pace(const Pace&) = delete;  // the topology points to the platform
  Pace& operator=(const Pace&) = delete;

  /// The emulated device of this process, at the platform's pace. This object must outlive it.
  [[nodiscard]] std::unique_ptr<PacedRuntime> make_runtime(const std::string& host) const;

  /// A UsageError if ranks have read different platforms, which a file of one name may be on another host or in another
  /// folder; if the places are of another number of ranks than `neighbours`; or if ranks of one node of the platform
  /// run on different hosts, which share no memory. Collective.
  void require(const Mpi& mpi, const Neighbours& neighbours) const;
  /// Gives every rank its place, and every path the platform's answers.
  void apply(Neighbours& neighbours) const;
  [[nodiscard]] int numa_domains() const { return static_cast<int>(platform_.node.memories.size()); }

  /// For the environment block: the platform, and how many copies this host did not move in its time. Rank 0 prints a
  /// note if those were most of a size. Collective.
  [[nodiscard]] nlohmann::json conclude(const Mpi& mpi, const PacedRuntime& runtime) const;

 private:
  [[nodiscard]] Place place_of(RankId rank) const;
  [[nodiscard]] int device_number(const Place& place) const;

  PaceOptions options_;
  platforms::Platform platform_;
  platforms::Topology topology_;
  std::vector<Place> places_;  ///< those of --places
  RankId self_;
  Place place_;
  std::unique_ptr<PaceClock> clock_;
};

}  // namespace twinlink::real
