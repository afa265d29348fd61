# Runs a job under mpirun and checks how it ends.
#   cmake -D MPIEXEC=... -D RANKS=2 -D PROGRAM=... -D ARGUMENTS="a|b" -D CODE=2 -D ONCE="text" -P run_job.cmake
# CODE: the exit code; "fails": any but 0. ONCE: text that standard error must hold exactly once. RANKS=0: without
# mpirun. SHOWS: text that standard output must hold. The job must end by itself in SECONDS (60: a job of 1 s
# takes 20 where other work holds both cores).
#
# Of jobs that a fault ends:
# SAYS: a regular expression that standard error must match. SILENT: standard output must hold nothing. ABSENT: a result
# file that must not be there afterwards. MARK: a file that is made when the fault happens, which it must: from then on
# all ranks must end in 10 s. SEGMENTS: a folder for what Open MPI shares; nothing must be left in it. LAUNCHER="a|b": a
# command that starts mpirun.
#
# A job that needs GPUs and finds none, or whose LAUNCHER cannot run here, is skipped: "SKIPPED: why".
if(NOT DEFINED SECONDS)
  set(SECONDS 60)
endif()
string(REPLACE "|" ";" arguments "${ARGUMENTS}")
string(REPLACE "|" ";" launcher "${LAUNCHER}")
if(RANKS GREATER 0)
  list(APPEND launcher ${MPIEXEC} --oversubscribe --bind-to none -n ${RANKS})
endif()
if(DEFINED SEGMENTS)
  file(REMOVE_RECURSE ${SEGMENTS})
  file(MAKE_DIRECTORY ${SEGMENTS})
  set(ENV{OMPI_MCA_btl_vader_backing_directory} ${SEGMENTS})
endif()
if(DEFINED ABSENT)
  file(REMOVE ${ABSENT})
endif()
if(DEFINED MARK)
  file(REMOVE ${MARK})
endif()

execute_process(COMMAND ${launcher} ${PROGRAM} ${arguments}
  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE code TIMEOUT ${SECONDS})
string(TIMESTAMP ended "%s" UTC)
set(story "standard output:\n${output}\nstandard error:\n${errors}\nended with: ${code}")

if(code EQUAL 77 AND errors MATCHES "(there is no CUDA device|built without CUDA|with_small_shm: )[^\n]*")
  message("SKIPPED: ${CMAKE_MATCH_0}")
  return()
endif()
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
if(DEFINED SAYS AND NOT errors MATCHES "${SAYS}")
  message(FATAL_ERROR "standard error should match: ${SAYS}\n${story}")
endif()
if(DEFINED SHOWS)
  string(FIND "${output}" "${SHOWS}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "standard output should hold: ${SHOWS}\n${story}")
  endif()
endif()
if(SILENT AND NOT output STREQUAL "")
  message(FATAL_ERROR "standard output should hold nothing\n${story}")
endif()
if(DEFINED ABSENT)
  file(GLOB results ${ABSENT}*)  # with what was written in part
  if(results)
    message(FATAL_ERROR "there should be no result: ${results}\n${story}")
  endif()
endif()
if(DEFINED MARK)
  if(NOT EXISTS ${MARK})
    message(FATAL_ERROR "the fault did not happen\n${story}")
  endif()
  file(TIMESTAMP ${MARK} happened "%s" UTC)
  math(EXPR took "${ended} - ${happened}")
  if(took GREATER 10)
    message(FATAL_ERROR "the job ended ${took} s after the fault\n${story}")
  endif()
endif()
if(DEFINED SEGMENTS)
  file(GLOB left ${SEGMENTS}/*)
  if(left)
    message(FATAL_ERROR "the job has left behind: ${left}\n${story}")
  endif()
endif()
