# How tests are declared:
#
#   twinlink_add_test(NAME <name> SOURCES <file>... LIBRARIES <target>... [LABELS <label>])
#     builds the GoogleTest program <name> and makes every TEST in it a CTest test "<name>.<suite>.<test>", each in a
#     process of its own: SimGrid runs one simulation per process.
#
#   twinlink_add_mpi_test(NAME <name> TARGET <executable> RANKS <number>... [ARGS <argument>...] [LABELS <label>...])
#     runs <executable> under mpirun, as test "<name>.ranks<number>" for each number of ranks. Label: mpi.
#
# A program that ends with exit code 77 cannot run here; its test counts as skipped.
include_guard()
include(GoogleTest)
find_package(GTest REQUIRED)

set(twinlink_unit_timeout 60)
set(twinlink_mpi_timeout 120)
set(twinlink_gpu_timeout 480)  # ranks that share one GPU take turns on it, a millisecond each
if(TWINLINK_SANITIZE)
  set(twinlink_unit_timeout 240)
  set(twinlink_mpi_timeout 480)
endif()

# Open MPI leaks at exit and, in containers, may not copy between processes by itself. A waiting rank yields, for there
# may be more ranks than cores. The CUDA driver needs the addresses that the address sanitizer guards.
set(twinlink_mpi_environment
  OMPI_ALLOW_RUN_AS_ROOT=1
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  OMPI_MCA_mpi_yield_when_idle=1
  OMPI_MCA_btl_vader_single_copy_mechanism=none
  ASAN_OPTIONS=detect_leaks=0:protect_shadow_gap=0)

# GoogleTest's headers, which most tests take longer to read than to compile, are read once.
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/test_headers.cpp CONTENT "")
add_library(test_headers OBJECT ${CMAKE_CURRENT_BINARY_DIR}/test_headers.cpp)
target_link_libraries(test_headers PRIVATE twinlink_common GTest::gmock)
target_precompile_headers(test_headers PRIVATE
  <gmock/gmock.h> <gtest/gtest.h> <algorithm> <functional> <map> <optional> <string> <vector>)

function(twinlink_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 test "" "NAME;LABELS" "SOURCES;LIBRARIES")
  add_executable(${test_NAME} ${test_SOURCES})
  target_link_libraries(${test_NAME} PRIVATE ${test_LIBRARIES} twinlink_common GTest::gmock_main)
  target_precompile_headers(${test_NAME} REUSE_FROM test_headers)
  set(properties TIMEOUT ${twinlink_unit_timeout})
  if(test_LABELS)
    list(PREPEND properties LABELS ${test_LABELS})
  endif()
  if("gpu" IN_LIST test_LABELS)  # they look at how much of the device's memory is free
    list(APPEND properties RUN_SERIAL TRUE)
  endif()
  # The tests are listed when ctest starts, not while two cores are busy compiling.
  gtest_discover_tests(${test_NAME}
    TEST_PREFIX "${test_NAME}."
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES ${properties})
endfunction()

function(twinlink_add_mpi_test)
  cmake_parse_arguments(PARSE_ARGV 0 test "" "NAME;TARGET" "RANKS;ARGS;LABELS")
  if(NOT MPIEXEC_EXECUTABLE)
    find_package(MPI REQUIRED COMPONENTS CXX)
  endif()
  foreach(ranks IN LISTS test_RANKS)
    set(name ${test_NAME}.ranks${ranks})
    # Unbound: otherwise two jobs at the same time are both bound to the first cores.
    add_test(NAME ${name}
      COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none -n ${ranks}
              $<TARGET_FILE:${test_TARGET}> ${test_ARGS}
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set(timeout ${twinlink_mpi_timeout})
    if("gpu" IN_LIST test_LABELS)
      set(timeout ${twinlink_gpu_timeout})
    endif()
    set_tests_properties(${name} PROPERTIES
      ENVIRONMENT "${twinlink_mpi_environment}"
      LABELS "mpi;${test_LABELS}"
      PROCESSORS ${ranks}
      SKIP_RETURN_CODE 77
      TIMEOUT ${timeout})
  endforeach()
endfunction()
