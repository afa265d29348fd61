# Runs every protocol on simulated and on emulated devices, and compares the traces, byte for byte.
#   cmake -D FOLDER=<scratch folder> -D SIM=twinlink-sim -D PLATFORM=FILE -D FROM=0/1 -D TO=0/2 -D MPIEXEC=mpirun
#         -D REAL=twinlink-real -D ARGUMENTS="a|b" -D COMPARED="p|q" -D SIMULATED_ONLY="r" -P same_trace.cmake
# ARGUMENTS are for both; a protocol that does not take them must be refused by both. The emulated devices keep the pace of the platform, and so have its paths: a protocol that
# cannot run on one of the two machines must be refused by the other one too, but for those in SIMULATED_ONLY, which
# emulated devices refuse. COMPARED are the protocols that must run on both: no more and no fewer. With -D ONLY=TRUE the others are left out.
cmake_minimum_required(VERSION 3.25)  # for IN_LIST, in a script
foreach(list ARGUMENTS COMPARED SIMULATED_ONLY)
  string(REPLACE "|" ";" ${list} "${${list}}")
endforeach()
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})

execute_process(COMMAND ${SIM} list protocols OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)[a-z][a-z0-9-]*" protocols "${listed}")
list(TRANSFORM protocols STRIP)
if(ONLY)
  set(protocols ${COMPARED} ${SIMULATED_ONLY})
endif()
set(compared)
foreach(protocol IN LISTS protocols)
  set(arguments run --protocol ${protocol} -x 0 -i 1 ${ARGUMENTS} --trace)
  execute_process(COMMAND ${SIM} ${arguments} ${FOLDER}/${protocol}.simulated
      --platform ${PLATFORM} --from ${FROM} --to ${TO}
    OUTPUT_VARIABLE story ERROR_VARIABLE story RESULT_VARIABLE simulated)
  execute_process(COMMAND ${MPIEXEC} --oversubscribe --bind-to none -n 2
      ${REAL} ${arguments} ${FOLDER}/${protocol}.real --device host --pace ${PLATFORM} --places ${FROM},${TO}
    OUTPUT_VARIABLE story ERROR_VARIABLE story RESULT_VARIABLE real TIMEOUT 60)
  if(simulated MATCHES "^(77|2)$" AND real EQUAL simulated)
    message(STATUS "${protocol}: cannot run here, or not with these arguments")
    continue()
  endif()
  # 77 where the path refuses it, 1 where only opening the peer's memory does.
  if(protocol IN_LIST SIMULATED_ONLY AND simulated EQUAL 0 AND real MATCHES "^(1|77)$")
    message(STATUS "${protocol}: emulated devices refuse it")
    continue()
  endif()
  if(NOT simulated EQUAL 0 OR NOT real EQUAL 0)
    message(FATAL_ERROR "${protocol}: simulated ended with ${simulated}, real with ${real}\n${story}")
  endif()
  file(READ ${FOLDER}/${protocol}.simulated simulated_trace)
  file(READ ${FOLDER}/${protocol}.real real_trace)
  if(NOT simulated_trace MATCHES "# rank 1, warm message from rank 0\n[^#]|# rank 0, warm copies\n[^#]")
    message(FATAL_ERROR "${protocol}: nothing was traced\n${simulated_trace}")
  endif()
  if(NOT simulated_trace STREQUAL real_trace)
    message(FATAL_ERROR "diff ${FOLDER}/${protocol}.simulated ${FOLDER}/${protocol}.real\n"
                        "simulated:\n${simulated_trace}\nreal:\n${real_trace}")
  endif()
  message(STATUS "${protocol}: the same")
  list(APPEND compared ${protocol})
endforeach()
list(SORT compared)
list(SORT COMPARED)
if(NOT compared STREQUAL COMPARED)
  message(FATAL_ERROR "compared: ${compared}\nexpected: ${COMPARED}")
endif()
