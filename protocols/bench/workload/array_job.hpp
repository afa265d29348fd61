// Work on an array that is shared out among ranks: `reshape` and `fft`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocols/core/units.hpp"
#include "protocols/workloads/arrays/boxes.hpp"
#include "protocols/workloads/arrays/fourier.hpp"
#include "protocols/workloads/arrays/mover.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace twinlink::bench {

/// As the command line has it.
struct ArrayOptions {
  std::string global{};
  std::string from{};
  std::string to{};
  Bytes element{16};
  bool in_place = false;
  std::string pack{};  ///< empty: the fastest
  std::string kind = "c2c";
  std::string decomposition = "slab";
  int parts = 1;
  std::string shares{};  ///< empty: equal
};

/// `options` must live until the command line has been parsed.
void add_array_options(CLI::App& app, ArrayOptions& options);

/// The name of a workload on an array.
bool is_array_job(const std::string& workload);

struct ArrayJob {
  std::string name{};  ///< "reshape" or "fft"
  workloads::Global global{};
  Bytes element{};
  bool in_place = false;
  /// Several: the fastest is taken, but of `each` all have a row.
  std::vector<workloads::RowPacking> packings{};
  bool each_packing = false;
  std::uint64_t parts = 1;  ///< that a transform and the reshape behind it take one after the other
  workloads::FftKind kind = workloads::FftKind::c2c;
  workloads::Decomposition decomposition = workloads::Decomposition::slab;
  std::string from{};  ///< names of distributions, or of files
  std::string to{};
  std::string shares{};  ///< "equal", "machine", or numbers

  // Once the ranks are known.
  workloads::Distribution before{};
  workloads::Distribution after{};
  std::optional<workloads::FftPlan> fft{};
};

/// What does not depend on the ranks. A UsageError for what does not go together, or is missing.
std::shared_ptr<const ArrayJob> make_array_job(const std::string& workload, const ArrayOptions& options);

/// The job with each rank's boxes. `machine` gives what a rank should have in proportion to what it can do; empty: the
/// program cannot tell. A UsageError or InputError for boxes that do not share the array out.
std::shared_ptr<const ArrayJob> share_out(const ArrayJob& job, int ranks,
                                          const std::function<std::vector<double>()>& machine);

}  // namespace twinlink::bench
