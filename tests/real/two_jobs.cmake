# cmake -D MPIEXEC=... -D PROGRAM=... -D ARGUMENTS="a|b" -P: two jobs of two ranks at once on one node, which must not
# meet: both deliver and verify all messages. (The commands of one execute_process() run side by side.)
string(REPLACE "|" ";" arguments "${ARGUMENTS}")
set(job ${MPIEXEC} --oversubscribe --bind-to none -n 2 ${PROGRAM} ${arguments})
execute_process(COMMAND ${job} COMMAND ${job}
  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULTS_VARIABLE codes TIMEOUT 60)
if(codes STREQUAL "77;77" AND errors MATCHES "(there is no CUDA device|built without CUDA)[^\n]*")
  message("SKIPPED: ${CMAKE_MATCH_0}")
  return()
endif()
if(NOT codes STREQUAL "0;0")
  message(FATAL_ERROR "the jobs ended with ${codes}\n${output}\n${errors}")
endif()
