#include "real/device/cuda/cuda_transforms.hpp"

#include <cufft.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "protocols/core/errors.hpp"
#include "real/device/cuda/cuda_runtime.hpp"

namespace twinlink::real {
namespace {

/// The functions of cuFFT, once for the process.
struct Cufft {
  void* library = nullptr;
  std::string missing{};
  decltype(&cufftCreate) create = nullptr;
  decltype(&cufftDestroy) destroy = nullptr;
  decltype(&cufftMakePlanMany64) make_plan = nullptr;
  decltype(&cufftSetStream) set_stream = nullptr;
  decltype(&cufftExecZ2Z) complex = nullptr;
  decltype(&cufftExecD2Z) to_half = nullptr;
  decltype(&cufftExecZ2D) from_half = nullptr;

  Cufft() {
    const std::string name = fmt::format("libcufft.so.{}", CUFFT_VER_MAJOR);
    for (const std::string& file :
         {name, std::string(TWINLINK_CUFFT_FOLDER) + "/" + name, std::string("libcufft.so")}) {
      library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr) break;
    }
    if (library == nullptr) {
      missing = fmt::format("{} of the CUDA Toolkit cannot be opened", name);
      return;
    }
    find(create, "cufftCreate");
    find(destroy, "cufftDestroy");
    find(make_plan, "cufftMakePlanMany64");
    find(set_stream, "cufftSetStream");
    find(complex, "cufftExecZ2Z");
    find(to_half, "cufftExecD2Z");
    find(from_half, "cufftExecZ2D");
  }

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) missing = fmt::format("cuFFT has no {}", name);
  }
};

const Cufft& cufft() {
  static const Cufft functions;
  return functions;
}

void check(cufftResult code, const char* call) {
  if (code == CUFFT_SUCCESS) return;
  throw EnvironmentError(call, fmt::format("cuFFT's error {}", static_cast<int>(code)));
}

/// One transform's plan, for all of a batch.
cufftHandle make_plan(const Transform& t) {
  cufftHandle plan = 0;
  check(cufft().create(&plan), "cufftCreate");
  const bool to_half = t.kind == Transform::Kind::to_half;
  const bool from_half = t.kind == Transform::Kind::from_half;
  const auto dimensions = static_cast<std::size_t>(t.dimensions);
  std::array<long long, Transform::kMostLengths> lengths{};
  std::array<long long, Transform::kMostLengths> complex{};
  std::array<long long, Transform::kMostLengths> real{};
  for (std::size_t i = 0; i < dimensions; ++i) {
    lengths[i] = complex[i] = real[i] = static_cast<long long>(t.lengths[i]);
  }
  if (to_half || from_half) {
    complex[dimensions - 1] = lengths[dimensions - 1] / 2 + 1;
    real[dimensions - 1] = 2 * complex[dimensions - 1];
  }
  const auto stride = static_cast<long long>(t.stride);
  const auto distance = static_cast<long long>(t.distance);
  std::size_t work = 0;
  const cufftType type = to_half ? CUFFT_D2Z : from_half ? CUFFT_Z2D : CUFFT_Z2Z;
  const cufftResult made =
      cufft().make_plan(plan, t.dimensions, lengths.data(), to_half ? real.data() : complex.data(), stride,
                        to_half ? 2 * distance : distance, from_half ? real.data() : complex.data(), stride,
                        from_half ? 2 * distance : distance, type, static_cast<long long>(t.batch), &work);
  if (made != CUFFT_SUCCESS) cufft().destroy(plan);
  check(made, "cufftMakePlanMany64");
  return plan;
}

}  // namespace

struct CudaTransforms::Plans {
  std::vector<std::pair<Transform, cufftHandle>> known{};

  cufftHandle of(Transform transform) {
    transform.groups = 1;  // one behind the other
    transform.group_distance = 0;
    for (const auto& [made, plan] : known) {
      if (made == transform) return plan;
    }
    known.emplace_back(transform, make_plan(transform));
    return known.back().second;
  }
};

CudaTransforms::CudaTransforms() {
  if (const Answer there = available(); !there) throw UnavailableError(there.reason);
  plans_ = std::make_unique<Plans>();
}

CudaTransforms::~CudaTransforms() {
  if (!plans_) return;
  for (const auto& [transform, plan] : plans_->known) cufft().destroy(plan);
}

Answer CudaTransforms::available() {
  return cufft().missing.empty() ? Answer::granted() : Answer::refused(cufft().missing);
}

void CudaTransforms::run(const Transform& transform, std::byte* data, cudaStream_t queue) {
  const cufftHandle plan = plans_->of(transform);
  check(cufft().set_stream(plan, queue), "cufftSetStream");
  for (std::uint64_t group = 0; group < transform.groups; ++group) {
    void* const at = data + kComplex.count() * group * transform.group_distance;
    auto* const numbers = static_cast<cufftDoubleComplex*>(at);
    auto* const reals = static_cast<cufftDoubleReal*>(at);
    if (transform.kind == Transform::Kind::to_half) {
      check(cufft().to_half(plan, reals, numbers), "cufftExecD2Z");
    } else if (transform.kind == Transform::Kind::from_half) {
      check(cufft().from_half(plan, numbers, reals), "cufftExecZ2D");
    } else {
      const int sign = transform.kind == Transform::Kind::forward ? CUFFT_FORWARD : CUFFT_INVERSE;
      check(cufft().complex(plan, numbers, numbers, sign), "cufftExecZ2Z");
    }
  }
}

Event CudaRuntime::transform(std::byte* data, const Transform& transform, Stream stream) {
  const cudaStream_t queue = queue_of(stream);
  rest();
  if (!transforms_) transforms_.emplace();
  transforms_->run(transform, data, queue);
  return mark(stream);
}

}  // namespace twinlink::real
