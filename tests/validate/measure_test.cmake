# validate/scripts/measure names its files as the stored results are named, and goes on when a curve fails: a stand-in for mpirun
# writes down what it is told and refuses one curve.
#   cmake -D FOLDER=<scratch folder> -D SOURCE=<the project> -P measure_test.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${FOLDER})
file(WRITE ${FOLDER}/mpirun [=[
#!/bin/sh
echo "$*" >> commands
case "$*" in *-staging.json) exit 3 ;; esac
]=])
file(CHMOD ${FOLDER}/mpirun PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
execute_process(COMMAND ${CMAKE_COMMAND} -E env "PATH=${FOLDER}:$ENV{PATH}"
    ${SOURCE}/validate/scripts/measure build-real/bin measured h200-nvlink --device cuda
  WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE code ERROR_VARIABLE said)
if(NOT code EQUAL 1 OR NOT said MATCHES "^not measured: staging\n$")
  message(FATAL_ERROR "validate/scripts/measure ends with ${code} and says '${said}' when the curve 'staging' fails")
endif()

file(STRINGS ${FOLDER}/commands commands)
set(measured)
foreach(command IN LISTS commands)
  if(NOT command MATCHES "build-real/bin/twinlink-real (probe|run) --device cuda .*--json measured/(.*)$")
    message(FATAL_ERROR "validate/scripts/measure runs '${command}'")
  endif()
  list(APPEND measured "${CMAKE_MATCH_2}")
endforeach()

# With EXPECTED, the curves that are simulated there are measured with what is expected of them, and no others are.
file(REMOVE ${FOLDER}/commands)
file(WRITE ${FOLDER}/expected/h200-nvlink-host.json "")
execute_process(COMMAND ${CMAKE_COMMAND} -E env "PATH=${FOLDER}:$ENV{PATH}" EXPECTED=expected
    ${SOURCE}/validate/scripts/measure build-real/bin measured h200-nvlink --device cuda
  WORKING_DIRECTORY ${FOLDER} ERROR_QUIET)
file(STRINGS ${FOLDER}/commands predicted REGEX " --expect ")
if(NOT predicted MATCHES " -p host --expect expected/h200-nvlink-host.json --passes 2 --json measured/h200-nvlink-host.json$"
   OR predicted MATCHES ";")
  message(FATAL_ERROR "validate/scripts/measure expects something of '${predicted}'")
endif()

file(GLOB stored RELATIVE ${SOURCE}/validate/data ${SOURCE}/validate/data/h200-nvlink-*.json)
foreach(file IN LISTS stored)
  if(NOT file IN_LIST measured)
    message(FATAL_ERROR "validate/scripts/measure does not measure the stored ${file}")
  endif()
endforeach()
