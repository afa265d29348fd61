// Fourier transforms of CUDA devices, by cuFFT, which is opened at run time.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "protocols/core/path.hpp"
#include "protocols/core/transform.hpp"

namespace twinlink::real {

class CudaTransforms {
 public:
  /// An UnavailableError where there is no cuFFT.
  CudaTransforms();
  ~CudaTransforms();
  CudaTransforms(const CudaTransforms&) = delete;
  CudaTransforms& operator=(const CudaTransforms&) = delete;

  static Answer available();
  /// In place, behind what is in the queue. Makes the plan where there is none yet, and waits for that.
  void run(const Transform& transform, std::byte* data, cudaStream_t queue);

 private:
  struct Plans;
  std::unique_ptr<Plans> plans_;
};

}  // namespace twinlink::real
