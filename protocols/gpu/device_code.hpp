// What stands before functions that GPUs run, too. The only word of CUDA in this folder.
#pragma once

#ifdef __CUDACC__
#define TWINLINK_GPU __host__ __device__
#define TWINLINK_GPU_ONLY __device__
#else
#define TWINLINK_GPU
#define TWINLINK_GPU_ONLY
#endif
