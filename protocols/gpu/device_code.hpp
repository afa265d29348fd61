// What stands before functions that GPUs run, too. The only words of CUDA in this folder.
#pragma once

#ifdef __CUDACC__
#define TWINLINK_GPU __host__ __device__
#define TWINLINK_GPU_ONLY __device__
// Its text at every place, for a kernel that runs once waits for each piece of its text: a jump takes as long as what
// it jumps to, and straight on is fetched ahead.
#define TWINLINK_GPU_INLINE __device__ __forceinline__
#else
#define TWINLINK_GPU
#define TWINLINK_GPU_ONLY
#define TWINLINK_GPU_INLINE
#endif
