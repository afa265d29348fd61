# validate/node goes on where it was interrupted, ends with 1 where a step fails, and says what the slow part is:
# stand-ins for the programs write down what they are told.
#   cmake -D FOLDER=<scratch folder> -D SOURCE=<the project> -P node_test.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${FOLDER})
function(program name text)
  file(WRITE ${FOLDER}/bin/${name} "#!/bin/sh\necho \"${name} $1\" >> commands\n${text}")
  file(CHMOD ${FOLDER}/bin/${name} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()
# The last argument is the file to write, if there is one.
set(write "for file; do :; done\n")
program(mpirun "while [ \"\${1#*twinlink-real}\" = \"$1\" ]; do shift; done\nexec \"$@\"\n")
program(twinlink-real "${write}[ ! -e broken ] || exit 1\necho \"$*\" > \"$file\"\n")
program(twinlink-sim "${write}echo simulated > \"$file\"\n")
program(twinlink-validate "${write}case $1 in
calibrate) while [ \"$1\" != --out ]; do shift; done; echo made > \"$2\" ;;
settings) echo \"$*\" ;;
table) echo '| all | 3 |' ;;
suspect) echo 'Verdict: as fast' ;;
compare) [ ! -e torn ] || exit 1; [ ! -e plain ] || exit 77 ;;
esac\n")
file(WRITE ${FOLDER}/curves "one -p host\n")

# node(CODE ARGUMENT...): `said` and the `commands` that were run.
macro(node code)
  file(REMOVE ${FOLDER}/commands)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env CURVES=curves PATH=${FOLDER}/bin:$ENV{PATH} ${SOURCE}/validate/node ${ARGN}
    WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE ended OUTPUT_VARIABLE said ERROR_VARIABLE complained)
  if(NOT ended STREQUAL "${code}")
    message(FATAL_ERROR "validate/node ${ARGN} ends with ${ended} instead of ${code}\n${said}${complained}")
  endif()
  set(commands)
  if(EXISTS ${FOLDER}/commands)
    file(STRINGS ${FOLDER}/commands commands)
  endif()
endmacro()

node(2)
node(2 "Bad Name" --bin bin)
node(2 mine --bin nowhere)
file(WRITE ${FOLDER}/broken "")
node(1 mine --bin bin --out out)
if(NOT complained MATCHES "all that was said is in out/log.txt" OR EXISTS ${FOLDER}/out/topology.yaml)
  message(FATAL_ERROR "a failed discovery is not said, or left a file: ${complained}")
endif()
file(REMOVE ${FOLDER}/broken)
node(0 mine --bin bin --out out)
if(NOT said MATCHES "Verdict: none of its parts can be called slow" OR NOT commands MATCHES "twinlink-real discover")
  message(FATAL_ERROR "validate/node says ${said} and runs ${commands}")
endif()
file(READ ${FOLDER}/out/report.md report)
if(NOT report MATCHES "all . 3.*Verdict: none" OR commands MATCHES "suspect")
  message(FATAL_ERROR "the report is ${report}")
endif()
file(REMOVE ${FOLDER}/out/measured/mine-one.json)
node(0 mine --bin bin --out out)
if(commands MATCHES "discover|probe|calibrate" OR NOT commands MATCHES "twinlink-real run")
  message(FATAL_ERROR "validate/node does again what is there: ${commands}")
endif()
node(2 mine --bin bin --out out --base other.yaml)
node(2 mine --bin bin --out out --device cuda)
# What it should be says how fast its parts are; a page that cannot be made says nothing of the node.
file(WRITE ${FOLDER}/plain "")
node(0 mine --bin bin --out based --base other.yaml)
if(NOT said MATCHES "without based/report.html.*Verdict: as fast" OR commands MATCHES "discover")
  message(FATAL_ERROR "with a base it says ${said} and runs ${commands}")
endif()
file(REMOVE ${FOLDER}/plain)
# What fails late is in the exit code, and the rest is done.
file(WRITE ${FOLDER}/torn "")
node(1 mine --bin bin --out out)
file(REMOVE ${FOLDER}/torn ${FOLDER}/out/measured/mine-one.json)
file(WRITE ${FOLDER}/broken "")
node(1 mine --bin bin --out out)
if(NOT said MATCHES "Verdict: none")
  message(FATAL_ERROR "a curve that fails takes the verdict away: ${said}")
endif()
