# Records recorded_program, converts what there is, and checks what it says and the messages of the job.
#   cmake -D MPIEXEC=... -D REAL=twinlink-real -D SIM=twinlink-sim -D PROGRAM=... -D ARGUMENTS="a|b" -D FOLDER=...
#         -D CODE=0 -D SHOWS="text" [-D EXPECTED=FILE] -P record_job.cmake
# CODE: how the job ends; "fails": not with 0. SHOWS: a regular expression that the words of `convert` must match.
# EXPECTED: all groups, messages and collectives of the job, in order; times and what waits for what are left out.
string(REPLACE "|" ";" arguments "${ARGUMENTS}")
file(REMOVE_RECURSE ${FOLDER})
execute_process(COMMAND ${MPIEXEC} --oversubscribe --bind-to none -n 4 ${REAL} record --out ${FOLDER}/job -- ${PROGRAM} ${arguments}
  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE code TIMEOUT 120)
if(code EQUAL 77)
  message("SKIPPED: MPI has no threads here")
  return()
endif()
if(code MATCHES "timeout" OR (CODE STREQUAL "fails" AND code EQUAL 0) OR (NOT CODE STREQUAL "fails" AND NOT code EQUAL CODE))
  message(FATAL_ERROR "the job should have ended with ${CODE}, not ${code}\n${output}\n${errors}")
endif()
execute_process(COMMAND ${SIM} convert ${FOLDER}/job --out ${FOLDER}/job.goal
  OUTPUT_VARIABLE said ERROR_VARIABLE errors RESULT_VARIABLE code TIMEOUT 60)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "convert ended with ${code}\n${said}\n${errors}")
endif()
if(NOT said MATCHES "${SHOWS}")
  message(FATAL_ERROR "'${SHOWS}' is missing in\n${said}")
endif()
if(DEFINED EXPECTED)
  file(STRINGS ${FOLDER}/job.goal lines REGEX "send|recv|_|broadcast|gather|reduce|barrier|scatter|rank|group")
  list(FILTER lines EXCLUDE REGEX "^//")
  list(TRANSFORM lines REPLACE "^ *t[0-9]+: " "  ")
  list(JOIN lines "\n" messages)
  file(WRITE ${FOLDER}/messages.txt "${messages}\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${FOLDER}/messages.txt ${EXPECTED} RESULT_VARIABLE differs)
  if(differs)
    message(FATAL_ERROR "${FOLDER}/messages.txt is not ${EXPECTED}")
  endif()
endif()
