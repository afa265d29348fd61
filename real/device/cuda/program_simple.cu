#include "real/device/cuda/program_block.cuh"

namespace twinlink::real {

void launch_simple_program(const ProgramArguments& arguments, cudaStream_t stream) {
  launch_in<gpu::LineFormat::simple>(arguments, stream);
}

}  // namespace twinlink::real
