# validate/scripts/expect simulates every curve of validate/scripts/curves into files that validate/scripts/measure looks for, and goes on when
# one fails: a stand-in for twinlink-sim writes down what it is told and refuses one curve.
#   cmake -D FOLDER=<scratch folder> -D SOURCE=<the project> -P expect_test.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${FOLDER})
file(WRITE ${FOLDER}/bin/twinlink-sim [=[
#!/bin/sh
echo "$*" >> commands
case "$*" in *-staging.json) exit 3 ;; esac
]=])
file(CHMOD ${FOLDER}/bin/twinlink-sim PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
execute_process(COMMAND ${SOURCE}/validate/scripts/expect bin expected some/machine.yaml
  WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE code ERROR_VARIABLE said)
if(NOT code EQUAL 1 OR NOT said MATCHES "^not simulated: staging\n$")
  message(FATAL_ERROR "validate/scripts/expect ends with ${code} and says '${said}' when the curve 'staging' fails")
endif()

# commands_of(LIST PLACES): every curve of validate/scripts/LIST was asked for between these places, and nothing else.
function(commands_of list places)
  set(wanted)
  file(STRINGS ${SOURCE}/validate/scripts/${list} curves REGEX "^[^#]")
  foreach(curve IN LISTS curves)
    string(REGEX MATCH "^([^ ]+) +(.*)$" curve "${curve}")
    list(APPEND wanted "run --platform some/machine.yaml ${places} ${CMAKE_MATCH_2} --json expected/machine-${CMAKE_MATCH_1}.json")
  endforeach()
  file(STRINGS ${FOLDER}/commands commands)
  file(REMOVE ${FOLDER}/commands)
  if(NOT commands STREQUAL wanted)
    message(FATAL_ERROR "validate/scripts/expect runs\n${commands}\ninstead of\n${wanted}")
  endif()
endfunction()

commands_of(curves "--from 0/0 --to 0/1")

# Another list of curves; one that is not there is no empty one.
execute_process(COMMAND ${CMAKE_COMMAND} -E env CURVES=${SOURCE}/validate/scripts/curves-one-gpu "PLACES=0/0 0/0"
    ${SOURCE}/validate/scripts/expect bin expected some/machine.yaml
  WORKING_DIRECTORY ${FOLDER} ERROR_QUIET)
commands_of(curves-one-gpu "--from 0/0 --to 0/0")
# refused(LIST SAYING): each script that reads the list of curves ends at once and says so.
function(refused list saying)
  foreach(script expect measure accuracy)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env CURVES=${list}
        ${SOURCE}/validate/scripts/${script} bin data some/machine.yaml
      WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE code ERROR_VARIABLE said)
    if(NOT code EQUAL 1 OR NOT said STREQUAL "${saying}\n")
      message(FATAL_ERROR "validate/scripts/${script} ends with ${code} and says '${said}' for the curves of ${list}")
    endif()
  endforeach()
endfunction()
refused(nowhere "nowhere, the list of curves, cannot be read")
file(WRITE ${FOLDER}/none "# nothing yet\n\n")
refused(none "none names no curve")
