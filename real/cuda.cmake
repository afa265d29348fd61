# Enables CUDA and sets twinlink_cuda: where the toolkit is found, by TWINLINK_CUDA=ON as a must.
set(twinlink_cuda FALSE)
if(TWINLINK_CUDA STREQUAL "OFF")
  return()
endif()
find_package(CUDAToolkit QUIET)
if(CUDAToolkit_FOUND AND NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})  # nvcc is seldom in the PATH
endif()
if(NOT CMAKE_CUDA_COMPILER)
  if(TWINLINK_CUDA STREQUAL "ON")
    message(FATAL_ERROR "TWINLINK_CUDA=ON, but the CUDA Toolkit was not found. Install it, name it with "
                        "-DCUDAToolkit_ROOT=DIR, or set TWINLINK_CUDA to OFF or AUTO.")
  endif()
  message(STATUS "CUDA Toolkit not found: twinlink-real has emulated devices only")
  return()
endif()

# Code for the oldest generation that CUDA 13 knows and for the newest measured one; PTX for all that follow.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 75-real 90)
endif()
enable_language(CUDA)
set(twinlink_cuda TRUE)
