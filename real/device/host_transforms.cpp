#include "real/device/host_transforms.hpp"

#include "protocols/core/errors.hpp"

#ifdef TWINLINK_HAS_FFTW

#include <fftw3.h>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace twinlink::real {
namespace {

fftw_iodim64 dimension(std::uint64_t length, std::uint64_t in, std::uint64_t out) {
  return {static_cast<std::ptrdiff_t>(length), static_cast<std::ptrdiff_t>(in), static_cast<std::ptrdiff_t>(out)};
}

/// Strides of real numbers are twice those of complex ones, but for the last length's.
fftw_plan make_plan(const Transform& t) {
  const bool to_half = t.kind == Transform::Kind::to_half;
  const bool from_half = t.kind == Transform::Kind::from_half;
  const std::uint64_t in = to_half ? 2 : 1;
  const std::uint64_t out = from_half ? 2 : 1;
  const auto lengths = std::span(t.lengths).first(static_cast<std::size_t>(t.dimensions));
  std::vector<fftw_iodim64> dims;
  std::uint64_t stride = t.stride;
  for (std::size_t i = lengths.size(); i-- > 0;) {
    const bool last = i + 1 == lengths.size();
    dims.insert(dims.begin(),
                last ? dimension(lengths[i], stride, stride) : dimension(lengths[i], in * stride, out * stride));
    stride *= last && (to_half || from_half) ? lengths[i] / 2 + 1 : lengths[i];
  }
  const std::vector<fftw_iodim64> many{dimension(t.batch, in * t.distance, out * t.distance),
                                       dimension(t.groups, in * t.group_distance, out * t.group_distance)};
  // The plan is made without looking at memory, and used with any.
  constexpr unsigned kFlags = FFTW_ESTIMATE | FFTW_UNALIGNED;
  fftw_complex* const data = fftw_alloc_complex(t.extent());
  const std::unique_ptr<fftw_complex, decltype(&fftw_free)> room(data, &fftw_free);
  if (data == nullptr) throw EnvironmentError("fftw_alloc_complex", "out of memory");
  auto* const reals = static_cast<double*>(static_cast<void*>(data));
  const int rank = static_cast<int>(dims.size());
  constexpr int kMany = 2;
  fftw_plan plan = nullptr;
  if (to_half) {
    plan = fftw_plan_guru64_dft_r2c(rank, dims.data(), kMany, many.data(), reals, data, kFlags);
  } else if (from_half) {
    plan = fftw_plan_guru64_dft_c2r(rank, dims.data(), kMany, many.data(), data, reals, kFlags | FFTW_DESTROY_INPUT);
  } else {
    const int sign = t.kind == Transform::Kind::forward ? FFTW_FORWARD : FFTW_BACKWARD;
    plan = fftw_plan_guru64_dft(rank, dims.data(), kMany, many.data(), data, data, sign, kFlags);
  }
  if (plan == nullptr) throw EnvironmentError("fftw_plan_guru64", "FFTW knows no plan for " + describe(t));
  return plan;
}

}  // namespace

struct HostTransforms::Plans {
  std::vector<std::pair<Transform, fftw_plan>> known{};

  Plans() = default;
  ~Plans() {
    for (const auto& [transform, plan] : known) fftw_destroy_plan(plan);
  }
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;

  fftw_plan of(const Transform& transform) {
    for (const auto& [made, plan] : known) {
      if (made == transform) return plan;
    }
    known.emplace_back(transform, make_plan(transform));
    return known.back().second;
  }
};

HostTransforms::HostTransforms() : plans_(std::make_unique<Plans>()) {}
HostTransforms::~HostTransforms() = default;

Answer HostTransforms::available() { return Answer::granted(); }

void HostTransforms::prepare(const Transform& transform) { static_cast<void>(plans_->of(transform)); }

void HostTransforms::run(const Transform& transform, std::byte* data) {
  auto* const reals = static_cast<double*>(static_cast<void*>(data));
  auto* const complex = static_cast<fftw_complex*>(static_cast<void*>(data));
  const fftw_plan plan = plans_->of(transform);
  if (transform.kind == Transform::Kind::to_half) {
    fftw_execute_dft_r2c(plan, reals, complex);
  } else if (transform.kind == Transform::Kind::from_half) {
    fftw_execute_dft_c2r(plan, complex, reals);
  } else {
    fftw_execute_dft(plan, complex, complex);
  }
}

}  // namespace twinlink::real

#else

namespace twinlink::real {

struct HostTransforms::Plans {};

HostTransforms::HostTransforms() = default;
HostTransforms::~HostTransforms() = default;

Answer HostTransforms::available() {
  return Answer::refused("this program was built without FFTW (Debian's libfftw3-dev)");
}

void HostTransforms::prepare(const Transform&) { throw UnavailableError(available().reason); }

void HostTransforms::run(const Transform&, std::byte*) { throw UnavailableError(available().reason); }

}  // namespace twinlink::real

#endif
