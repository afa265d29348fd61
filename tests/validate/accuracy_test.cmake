# validate/scripts/accuracy simulates the curves that are there with the settings of their files, prints the table, and names the
# curves that are not there.
#   cmake -D FOLDER=<scratch folder> -D SOURCE=<the project> -D SIM=<twinlink-sim> -D VALIDATE=<twinlink-validate>
#     -P accuracy_test.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER}/bin)
file(CREATE_LINK ${SIM} ${FOLDER}/bin/twinlink-sim SYMBOLIC)
file(CREATE_LINK ${VALIDATE} ${FOLDER}/bin/twinlink-validate SYMBOLIC)
foreach(curve gpudirect-v2 cuda-ipc host-bandwidth)
  file(COPY ${SOURCE}/validate/data/h200-nvlink-${curve}.json DESTINATION ${FOLDER}/data)
endforeach()
execute_process(COMMAND ${SOURCE}/validate/scripts/accuracy bin data ${SOURCE}/platforms/h200-nvlink.yaml h200-nvlink out
  WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE code OUTPUT_VARIABLE table ERROR_VARIABLE said)
foreach(row "gpudirect-v2 | pingpong" "cuda-ipc | pingpong" "host | bandwidth, window 16" "all")
  string(REPLACE "|" "[|]" row "${row}")
  if(NOT table MATCHES "\n[|] ${row} [|]")
    message(FATAL_ERROR "no row '${row}' in\n${table}\n${said}")
  endif()
endforeach()
if(NOT code EQUAL 1 OR NOT said MATCHES "\nnot compared: gpudirect-v1 .* host " OR said MATCHES "not compared:.* gpudirect-v2[ \n]")
  message(FATAL_ERROR "validate/scripts/accuracy ends with ${code} and says\n${said}")
endif()
if(NOT table MATCHES "\n[0-3] of 3 curves were simulated before they were measured[^\n]*\n$")
  message(FATAL_ERROR "the table does not end with the number of curves that were expected\n${table}")
endif()
file(GLOB simulated RELATIVE ${FOLDER}/out ${FOLDER}/out/*)
if(NOT simulated STREQUAL "h200-nvlink-cuda-ipc.json;h200-nvlink-gpudirect-v2.json;h200-nvlink-host-bandwidth.json")
  message(FATAL_ERROR "validate/scripts/accuracy wrote ${simulated}")
endif()

# With EXPECTED, the curve that was simulated there in the same way is taken from there, and one of other sizes or of
# another platform is not.
file(COPY ${FOLDER}/out/h200-nvlink-gpudirect-v2.json DESTINATION ${FOLDER}/expected)
file(READ ${FOLDER}/out/h200-nvlink-host-bandwidth.json foreign)
string(REPLACE "\"platform\": \"h200-nvlink\"" "\"platform\": \"another\"" foreign "${foreign}")
file(WRITE ${FOLDER}/expected/h200-nvlink-host-bandwidth.json "${foreign}")
execute_process(COMMAND bin/twinlink-sim run --platform ${SOURCE}/platforms/h200-nvlink.yaml --protocol cuda-ipc -e 1K
    --json expected/h200-nvlink-cuda-ipc.json
  WORKING_DIRECTORY ${FOLDER} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E env EXPECTED=expected
    ${SOURCE}/validate/scripts/accuracy bin data ${SOURCE}/platforms/h200-nvlink.yaml h200-nvlink again
  WORKING_DIRECTORY ${FOLDER} OUTPUT_VARIABLE same ERROR_VARIABLE said)
file(GLOB simulated RELATIVE ${FOLDER}/again ${FOLDER}/again/*)
if(NOT simulated STREQUAL "h200-nvlink-cuda-ipc.json;h200-nvlink-host-bandwidth.json")
  message(FATAL_ERROR "validate/scripts/accuracy simulated ${simulated} although it had expectations")
endif()
if(NOT said MATCHES "simulated on platform 'another' of h200-nvlink.yaml, and not on 'h200-nvlink' of h200-nvlink.yaml")
  message(FATAL_ERROR "validate/scripts/accuracy does not say why it does not take the curve of another platform\n${said}")
endif()
if(NOT same STREQUAL table)
  message(FATAL_ERROR "the table with an expectation\n${same}\ndiffers from the one without\n${table}")
endif()
