#include "protocols/bench/workload/array_job.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "protocols/bench/results/files.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::bench {
namespace {

using workloads::RowPacking;

constexpr const char* kReshape = "reshape";
constexpr const char* kFft = "fft";

/// "1,2.5,2.5", one for each rank.
std::vector<double> read_shares(const std::string& text, int ranks) {
  std::vector<double> shares;
  for (const char* at = text.data(); at < text.data() + text.size(); ++at) {
    double share = 0;
    const auto [end, wrong] = std::from_chars(at, text.data() + text.size(), share);
    if (wrong != std::errc{} || !(share > 0) || !std::isfinite(share) || (*end != ',' && *end != '\0')) {
      throw UsageError(fmt::format("--shares {}: numbers above zero with commas between, equal, or machine", text));
    }
    shares.push_back(share);
    at = end;
  }
  if (static_cast<int>(shares.size()) == ranks) return shares;
  throw UsageError(fmt::format("--shares {}: {} shares for {} ranks", text, shares.size(), ranks));
}

std::vector<double> shares_of(const ArrayJob& job, int ranks, const std::function<std::vector<double>()>& machine) {
  std::vector<double> equal(static_cast<std::size_t>(ranks), 1);
  if (job.shares.empty() || job.shares == "equal") return equal;
  if (job.shares != "machine") return read_shares(job.shares, ranks);
  if (machine) return machine();
  throw UsageError("--shares machine: nobody tells here what each GPU can do; twinlink-sim does, or give numbers");
}

bool is_file(const std::string& name) {
  return name.find('/') != std::string::npos || name.find('.') != std::string::npos;
}

workloads::Distribution distribution_of(const std::string& name, const ArrayJob& job, int ranks,
                                        const std::vector<double>& shares) {
  if (!is_file(name)) return workloads::named_distribution(name, job.global, shares);
  workloads::Distribution boxes = workloads::read_boxes(read_file(name), name, job.global, ranks);
  workloads::require_cover(boxes, job.global);
  return boxes;
}

void choose_packings(ArrayJob& job, const std::string& pack) {
  if (!pack.empty() && pack != "all") {
    job.packings = {workloads::find_row_packing(pack)};
  } else {
    job.packings = {RowPacking::kernel, RowPacking::copies};
    if (!job.in_place) job.packings.push_back(RowPacking::none);
    job.each_packing = pack == "all";
  }
  if (job.in_place && pack == "none") throw UsageError("--in-place: rows are packed, for they would be overwritten");
}

}  // namespace

bool is_array_job(const std::string& workload) { return workload == kReshape || workload == kFft; }

std::shared_ptr<const ArrayJob> make_array_job(const std::string& workload, const ArrayOptions& options) {
  const bool reshapes = workload == kReshape;
  ArrayJob job{.name = workload};
  if (options.global.empty()) throw UsageError(workload + " needs --global, the size of the array: 512x512x512");
  job.global = workloads::parse_global(options.global);
  job.in_place = options.in_place;
  job.shares = options.shares;
  if (reshapes) {
    if (options.from.empty() || options.to.empty()) {
      throw UsageError("reshape needs --from and --to: slab-x, pencil-z, or a file with a box for each rank");
    }
    job.from = options.from;
    job.to = options.to;
    job.element = options.element;
    constexpr std::array<std::uint64_t, 3> kElements{4, 8, 16};
    if (std::ranges::find(kElements, job.element.count()) == kElements.end()) {
      throw UsageError(fmt::format("--element {}: elements have 4, 8 or 16 B", job.element.count()));
    }
  } else {
    job.element = kComplex;
    job.kind = workloads::find_fft_kind(options.kind);
    job.decomposition = workloads::find_decomposition(options.decomposition);
    job.parts = static_cast<std::uint64_t>(options.parts);
  }
  choose_packings(job, options.pack);
  return std::make_shared<const ArrayJob>(std::move(job));
}

std::shared_ptr<const ArrayJob> share_out(const ArrayJob& job, int ranks,
                                          const std::function<std::vector<double>()>& machine) {
  ArrayJob shared = job;
  const std::vector<double> shares = shares_of(job, ranks, machine);
  if (job.name == kReshape) {
    if (!job.shares.empty() && is_file(job.from) && is_file(job.to)) {
      throw UsageError("--shares: files say themselves what each rank has");
    }
    shared.before = distribution_of(job.from, job, ranks, shares);
    shared.after = distribution_of(job.to, job, ranks, shares);
  } else {
    shared.fft.emplace(job.global, job.kind, job.decomposition, shares);
  }
  return std::make_shared<const ArrayJob>(std::move(shared));
}

}  // namespace twinlink::bench
