# validate/measure runs the commands that the stored results were measured with, and gives their files the same names:
# a stand-in for mpirun writes down what it is told.
#   cmake -D FOLDER=<scratch folder> -D SOURCE=<the project> -P measure_test.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${FOLDER})
file(WRITE ${FOLDER}/mpirun "#!/bin/sh\necho \"$*\" >> ${FOLDER}/commands\n")
file(CHMOD ${FOLDER}/mpirun PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
execute_process(COMMAND ${CMAKE_COMMAND} -E env "PATH=${FOLDER}:$ENV{PATH}"
    ${SOURCE}/validate/measure build-real/bin measured h200-nvlink --device cuda
  WORKING_DIRECTORY ${FOLDER} COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${FOLDER}/commands commands)
list(TRANSFORM commands REPLACE "^.* (build-real/bin/twinlink-real .*)$" "\\1")

file(GLOB files ${SOURCE}/validate/data/h200-nvlink-*.json)
# Of another job than the other probes; today one file has both.
list(REMOVE_ITEM files ${SOURCE}/validate/data/h200-nvlink-probes-kernels.json)
set(stored)
foreach(file IN LISTS files)
  file(READ ${file} content)
  string(JSON command GET "${content}" command)
  list(APPEND stored "${command}")
endforeach()

list(SORT commands)
list(SORT stored)
if(NOT commands STREQUAL stored)
  string(REPLACE ";" "\n" commands "${commands}")
  string(REPLACE ";" "\n" stored "${stored}")
  message(FATAL_ERROR "validate/measure runs\n${commands}\nbut the stored results come from\n${stored}")
endif()
