#include "real/device/cuda/program_block.cuh"

namespace twinlink::real {

void launch_ll128_program(const ProgramArguments& arguments, cudaStream_t stream) {
  launch_in<gpu::LineFormat::ll128>(arguments, stream);
}

}  // namespace twinlink::real
