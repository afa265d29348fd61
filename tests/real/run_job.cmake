# Runs a job under mpirun and checks how it ends.
#   cmake -D MPIEXEC=... -D RANKS=2 -D PROGRAM=... -D ARGUMENTS="a|b" -D CODE=2 -D ONCE="text" -P run_job.cmake
# CODE: the exit code; "fails": any but 0. ONCE: text that standard error must hold exactly once. RANKS=0: without
# mpirun. SHOWS: text that standard output must hold. The job must end by itself in SECONDS (20).
if(NOT DEFINED SECONDS)
  set(SECONDS 20)
endif()
string(REPLACE "|" ";" arguments "${ARGUMENTS}")
set(launcher "")
if(RANKS GREATER 0)
  set(launcher ${MPIEXEC} --oversubscribe --bind-to none -n ${RANKS})
endif()

execute_process(COMMAND ${launcher} ${PROGRAM} ${arguments}
  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE code TIMEOUT ${SECONDS})
set(story "standard output:\n${output}\nstandard error:\n${errors}\nended with: ${code}")

if(code MATCHES "timeout")
  message(FATAL_ERROR "the job hung\n${story}")
endif()
if(CODE STREQUAL "fails")
  if(code EQUAL 0)
    message(FATAL_ERROR "the job should have failed\n${story}")
  endif()
elseif(NOT code EQUAL CODE)
  message(FATAL_ERROR "the exit code should have been ${CODE}\n${story}")
endif()

if(DEFINED ONCE)
  string(FIND "${errors}" "${ONCE}" first)
  string(FIND "${errors}" "${ONCE}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "standard error should hold once: ${ONCE}\n${story}")
  endif()
endif()
if(DEFINED SHOWS)
  string(FIND "${output}" "${SHOWS}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "standard output should hold: ${SHOWS}\n${story}")
  endif()
endif()
