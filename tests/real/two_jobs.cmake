# cmake -D MPIEXEC=... -D PROGRAM=... -D ARGUMENTS="a|b" -P: two jobs of two ranks at once on one node, which must not
# meet: both deliver and verify all messages. (The commands of one execute_process() run side by side.)
string(REPLACE "|" ";" arguments "${ARGUMENTS}")
set(job ${MPIEXEC} --oversubscribe --bind-to none -n 2 ${PROGRAM} ${arguments})
execute_process(COMMAND ${job} COMMAND ${job}
  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULTS_VARIABLE codes TIMEOUT 60)
if(NOT codes STREQUAL "0;0")
  message(FATAL_ERROR "the jobs ended with ${codes}\n${output}\n${errors}")
endif()
