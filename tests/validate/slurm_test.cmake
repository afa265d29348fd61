# validate/scripts/slurm-health-check drains a slow node with the part as the reason, and no other: stand-ins for
# Slurm and the programs write down what they are told.
#   cmake -D FOLDER=<scratch folder> -D SOURCE=<the project> -P slurm_test.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${FOLDER})
function(program name text)
  file(WRITE ${FOLDER}/bin/${name} "#!/bin/sh\necho \"${name} $*\" >> ${FOLDER}/commands\n${text}")
  file(CHMOD ${FOLDER}/bin/${name} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()
program(nvidia-smi "echo 'GPU 0: one'\n")
program(mpirun "while [ \"\${1#*twinlink-real}\" = \"$1\" ]; do shift; done\nexec \"$@\"\n")
program(twinlink-real "for file; do :; done\n[ ! -e ${FOLDER}/blind ] || exit 77
[ ! -e ${FOLDER}/torn ] || { echo 'no such library' >&2; exit 1; }
[ \"$(id -u)\" -ne 0 ] || [ \"$OMPI_ALLOW_RUN_AS_ROOT$OMPI_ALLOW_RUN_AS_ROOT_CONFIRM\" = 11 ] || exit 1
[ ! -e ${FOLDER}/loaded ] || sleep 30\necho probes > \"$file\"\n")
program(twinlink-sim "")
program(logger "")
program(scontrol "")
program(squeue "[ ! -e ${FOLDER}/busy ] || echo 17\n")
program(twinlink-validate "case $1 in
suspect) if [ -e ${FOLDER}/sick ]; then echo \"Verdict: link 'pcie3' at 50 % of its bandwidth explains it.\"; exit 1; fi
  echo 'Verdict: as fast as the platform says' ;;
fleet) for file; do :; done
  if [ -e ${FOLDER}/slower ]; then echo '{\"since\": \"2026-11-20\"}' > \"$file\"; exit 1; fi
  echo '{}' > \"$file\"; exit 1 ;;
esac\n")

# check(CODE ARGUMENT...): `commands` that were run.
macro(check code)
  file(REMOVE ${FOLDER}/commands)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PATH=${FOLDER}/bin:$ENV{PATH} BIN=${FOLDER}/bin SLURMD_NODENAME=Node_7
      SLURM_JOB_ID=18 ${SOURCE}/validate/scripts/slurm-health-check ${ARGN}
    WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE ended OUTPUT_VARIABLE said ERROR_VARIABLE complained)
  if(NOT ended STREQUAL "${code}")
    message(FATAL_ERROR "the check ends with ${ended} instead of ${code}\n${said}${complained}")
  endif()
  set(commands)
  if(EXISTS ${FOLDER}/commands)
    file(STRINGS ${FOLDER}/commands commands)
  endif()
endmacro()

check(2 hgx-h100)
check(0 hgx-h100 ${FOLDER}/health ${FOLDER}/h.sqlite)
if(NOT commands MATCHES "fleet [^;]*--history ${FOLDER}/h.sqlite" OR commands MATCHES "scontrol")
  message(FATAL_ERROR "of a healthy node it runs ${commands}")
endif()
file(WRITE ${FOLDER}/slower "")
check(1 hgx-h100 ${FOLDER}/health ${FOLDER}/h.sqlite)
if(NOT commands MATCHES "scontrol update NodeName=Node_7 State=DRAIN Reason=twinlink: slower than before")
  message(FATAL_ERROR "of a node that was faster it runs ${commands}")
endif()
file(REMOVE ${FOLDER}/slower)
file(WRITE ${FOLDER}/sick "")
check(1 hgx-h100 ${FOLDER}/health)
if(NOT commands MATCHES "scontrol update NodeName=Node_7 State=DRAIN Reason=twinlink: Verdict: link 'pcie3' at 50 %")
  message(FATAL_ERROR "of a slow node it runs ${commands}")
endif()
# Where a job runs, or no GPU is seen, nothing is said of the node.
file(WRITE ${FOLDER}/busy "")
check(0 hgx-h100 ${FOLDER}/health)
if(commands MATCHES "twinlink-real|scontrol")
  message(FATAL_ERROR "beside a job it runs ${commands}")
endif()
file(REMOVE ${FOLDER}/busy)
# The prolog's own job is none that runs.
program(squeue "echo 18\n")
check(1 hgx-h100 ${FOLDER}/health)
if(NOT commands MATCHES "twinlink-real")
  message(FATAL_ERROR "for its own job it runs ${commands}")
endif()
file(WRITE ${FOLDER}/blind "")
check(0 hgx-h100 ${FOLDER}/health)
if(NOT said MATCHES "could not be judged" OR commands MATCHES "scontrol")
  message(FATAL_ERROR "of a node without a GPU it says ${said} and runs ${commands}")
endif()
file(REMOVE ${FOLDER}/blind)
# Nor where the installation does not work, or a busy node takes too long: nothing was measured.
file(WRITE ${FOLDER}/torn "")
check(0 hgx-h100 ${FOLDER}/health)
if(NOT said MATCHES "could not be judged" OR commands MATCHES "scontrol")
  message(FATAL_ERROR "of a broken installation it says ${said} and runs ${commands}")
endif()
file(REMOVE ${FOLDER}/torn)
file(WRITE ${FOLDER}/loaded "")
set(ENV{TWINLINK_QUICK} 1)
check(0 hgx-h100 ${FOLDER}/health)
if(NOT said MATCHES "could not be judged" OR commands MATCHES "scontrol")
  message(FATAL_ERROR "of a busy node it says ${said} and runs ${commands}")
endif()
