# cmake -D MPIEXEC=... -D PROGRAM=... -D ARGUMENTS="a|b" -P: two jobs of two ranks at once on one node, which must not
# meet: both deliver and verify all messages. By a shell: the commands of one execute_process() are a pipeline, and whoever
# writes to one that has ended gets a signal.
string(REPLACE "|" ";" arguments "${ARGUMENTS}")
set(job ${MPIEXEC} --oversubscribe --bind-to none -n 2 ${PROGRAM} ${arguments})
execute_process(COMMAND bash -c [["$@" </dev/null & "$@" </dev/null; second=$?; wait $!; exit $(($? > second ? $? : second))]]
  two_jobs ${job} OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE code TIMEOUT 60)
if(code EQUAL 77 AND errors MATCHES "(there is no CUDA device|built without CUDA)[^\n]*")
  message("SKIPPED: ${CMAKE_MATCH_0}")
  return()
endif()
if(NOT code EQUAL 0)
  message(FATAL_ERROR "the jobs ended with ${code}\n${output}\n${errors}")
endif()
