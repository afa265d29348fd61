// Fourier transforms of emulated devices: by FFTW, where the program was built with it.
#pragma once

#include <memory>

#include "protocols/core/path.hpp"
#include "protocols/core/transform.hpp"

namespace twinlink::real {

/// Keeps the plans that it has made: the first transform of a shape takes longer.
class HostTransforms {
 public:
  HostTransforms();
  ~HostTransforms();
  HostTransforms(const HostTransforms&) = delete;
  HostTransforms& operator=(const HostTransforms&) = delete;

  /// Is FFTW there?
  static Answer available();
  /// Makes the plan of a transform, unless there is one. An UnavailableError without FFTW.
  void prepare(const Transform& transform);
  /// In place, by the calling CPU, all of it.
  void run(const Transform& transform, std::byte* data);

 private:
  struct Plans;
  std::unique_ptr<Plans> plans_;
};

}  // namespace twinlink::real
