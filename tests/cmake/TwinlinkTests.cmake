# How tests are declared:
#
#   twinlink_add_test(NAME <name> SOURCES <file>... LIBRARIES <target>... [LABELS <label>...] [SHARDS <number>]
#                     [LONG <filter>])
#     builds the GoogleTest program <name> and makes it the CTest test <name>, or <name>.0, <name>.1 ... that share out
#     its TESTs. Each TEST runs in a process of its own (support/separate_main.cpp). Those that LONG names are the test
#     <name>.long with the label long, which ./check leaves to ./check --all. The label is unit, or program where LABELS
#     says so: for a test that starts our programs, or takes more than about a second a TEST. One TEST by hand:
#     build-dev/bin/<name> --gtest_filter=Suite.Test
#
#   twinlink_add_mpi_test(NAME <name> TARGET <executable> RANKS <number>... [ARGS <argument>...] [LABELS <label>...])
#     runs <executable> under mpirun, as test "<name>.ranks<number>" for each number of ranks. Label: mpi.
#
# A program that ends with exit code 77 cannot run here; its test counts as skipped. A GoogleTest program ends so if all
# of its TESTs are skipped; if some are, it names them in the file TWINLINK_SKIPS, for ./check to list.
include_guard()
find_package(GTest REQUIRED)

set(twinlink_unit_timeout 60)      # of one test
set(twinlink_program_timeout 600)  # of all tests of one program
set(twinlink_mpi_timeout 240)
set(twinlink_gpu_timeout 480)  # ranks that share one GPU take turns on it, a millisecond each
if(TWINLINK_SANITIZE)
  set(twinlink_unit_timeout 240)
  set(twinlink_program_timeout 2400)
  set(twinlink_mpi_timeout 480)
endif()

# Open MPI leaks at exit. A waiting rank yields, for there may be more ranks than cores. The CUDA driver needs the
# addresses that the address sanitizer guards. Nothing here about single copies between processes: the programs
# themselves have to switch them off.
set(twinlink_mpi_environment
  OMPI_ALLOW_RUN_AS_ROOT=1
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  OMPI_MCA_mpi_yield_when_idle=1
  ASAN_OPTIONS=detect_leaks=0:protect_shadow_gap=0)

# GoogleTest's headers, which most tests take longer to read than to compile, are read once.
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/test_headers.cpp CONTENT "")
add_library(test_headers OBJECT ${CMAKE_CURRENT_BINARY_DIR}/test_headers.cpp)
target_link_libraries(test_headers PRIVATE twinlink_common GTest::gmock)
target_precompile_headers(test_headers PRIVATE
  <gmock/gmock.h> <gtest/gtest.h> <algorithm> <functional> <map> <optional> <string> <vector>)

# The programs' main(), which gives each test a process.
add_library(test_main OBJECT ${CMAKE_CURRENT_SOURCE_DIR}/support/separate_main.cpp)
target_link_libraries(test_main PUBLIC twinlink_common GTest::gmock)
target_compile_definitions(test_main PRIVATE TWINLINK_TEST_SECONDS=${twinlink_unit_timeout})
target_precompile_headers(test_main REUSE_FROM test_headers)

# twinlink_run_test(<name> <program> [LABELS <label>...] [SHARDS <number>] [ENVIRONMENT <variable>...] [FILTER <filter>])
function(twinlink_run_test name program)
  cmake_parse_arguments(PARSE_ARGV 2 test "" "SHARDS;FILTER" "LABELS;ENVIRONMENT")
  if(NOT test_SHARDS)
    set(test_SHARDS 1)
  endif()
  if(NOT "program" IN_LIST test_LABELS)
    list(APPEND test_LABELS unit)
  endif()
  math(EXPR last "${test_SHARDS} - 1")
  foreach(shard RANGE ${last})
    set(test ${name})
    if(last GREATER 0)
      string(APPEND test .${shard})
    endif()
    add_test(NAME ${test} COMMAND ${program} --gtest_filter=${test_FILTER} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set(environment GTEST_TOTAL_SHARDS=${test_SHARDS} GTEST_SHARD_INDEX=${shard} ${test_ENVIRONMENT})
    # They compute, while jobs under mpirun mostly wait: ctest runs four of those on two cores, and two of these.
    set_tests_properties(${test} PROPERTIES LABELS "${test_LABELS}" ENVIRONMENT "${environment}" PROCESSORS 2
      SKIP_RETURN_CODE 77 TIMEOUT ${twinlink_program_timeout})
    if("gpu" IN_LIST test_LABELS)  # they look at how much of the device's memory is free
      set_tests_properties(${test} PROPERTIES RUN_SERIAL TRUE)
    endif()
  endforeach()
endfunction()

# Where SHARDS is given, that many tests share out the program's; a LONG filter names those that only --all runs.
function(twinlink_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 test "" "NAME;SHARDS;LONG" "SOURCES;LIBRARIES;LABELS")
  add_executable(${test_NAME} ${test_SOURCES})
  target_link_libraries(${test_NAME} PRIVATE ${test_LIBRARIES} twinlink_common test_main GTest::gmock)
  target_precompile_headers(${test_NAME} REUSE_FROM test_headers)
  set(filter "*")
  if(test_LONG)
    set(filter "-${test_LONG}")
    twinlink_run_test(${test_NAME}.long ${test_NAME} LABELS long ${test_LABELS} FILTER ${test_LONG})
  endif()
  twinlink_run_test(${test_NAME} ${test_NAME} SHARDS ${test_SHARDS} LABELS ${test_LABELS} FILTER ${filter})
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
      SKIP_RETURN_CODE 77
      TIMEOUT ${timeout})
  endforeach()
endfunction()
