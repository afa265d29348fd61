# Installs this build, builds another project's protocol with it, and runs that in both worlds.
#   cmake -D FOLDER=<scratch folder> -D BUILD=<build folder> -D SOURCE=<the project> -D CXX=<compiler>
#         -D GENERATOR=Ninja -D CONFIG=Debug -D SIMULATED=ON -D LAUNCHER="mpirun|-n|2" -P outside_test.cmake
# Without LAUNCHER there is no real world.
cmake_minimum_required(VERSION 3.25)  # for IN_LIST, in a script
string(REPLACE "|" ";" LAUNCHER "${LAUNCHER}")
set(ENV{TWINLINK_PLATFORMS})
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
set(prefix ${FOLDER}/prefix)

# run(<exit code> COMMAND...): what it printed is ${said}.
function(run code)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${FOLDER}
                  RESULT_VARIABLE ended OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT ended EQUAL code)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${ended}, not ${code}:\n${out}")
  endif()
  set(said "${out}" PARENT_SCOPE)
endfunction()

function(must_say)
  foreach(text IN LISTS ARGN)
    string(FIND "${said}" "${text}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "'${text}' is not in:\n${said}")
    endif()
  endforeach()
endfunction()

# configure(<exit code> <project> <build folder> ARGUMENT...)
macro(configure code project build)
  run(${code} ${CMAKE_COMMAND} -S ${SOURCE}/tests/package/${project} -B ${FOLDER}/${build} -G ${GENERATOR}
      -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_BUILD_TYPE=${CONFIG} -D CMAKE_PREFIX_PATH=${prefix} ${ARGN})
endmacro()

# times(<variable> ARGUMENT...): the simulated medians of the sizes, in whole ns.
function(times result)
  run(0 outside/outside-simulated run --platform keeneland-kids --from 0/0 --to 0/1 --format csv ${ARGN})
  string(REPEAT "[^,\n]*," 12 before)
  string(REGEX MATCHALL "\n${before}[0-9]+[.][0-9][0-9][0-9]" rows "${said}")
  list(TRANSFORM rows REPLACE ".*,([0-9]+)[.]([0-9]+)$" "\\1\\2")
  set(${result} ${rows} PARENT_SCOPE)
endfunction()

# The shell completes the protocol's name for that program.
function(must_complete program)
  run(0 bash -c "source prefix/share/bash-completion/completions/twinlink-sim && COMP_WORDS=(${program} run -p ker) &&
                 COMP_CWORD=3 && _twinlink && echo completed: \${COMPREPLY[*]}")
  must_say("completed: kernel-staging")
endfunction()

run(0 ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

# All that the headers include is installed.
file(GLOB_RECURSE headers RELATIVE ${prefix}/include/twinlink ${prefix}/include/twinlink/*.hpp)
list(TRANSFORM headers REPLACE "(.+)" "#include \"\\1\"\n")
file(WRITE ${FOLDER}/headers.cpp ${headers})
run(0 ${CXX} -std=c++20 -fsyntax-only -I${prefix}/include/twinlink headers.cpp)

configure(0 outside outside)
run(0 ${CMAKE_COMMAND} --build outside)
configure(0 wrong wrong)
run(0 ${CMAKE_COMMAND} --build wrong)
set(taken "two protocols have the name 'host': \"host memory to host memory, without a GPU\" and \"a second one\"")

if(SIMULATED)
  run(0 outside/outside-simulated list protocols)
  must_say("\nhost " "\nkernel-staging " "kernel_limit=SIZE [32K]")
  must_complete(outside/outside-simulated)
  run(2 prefix/bin/twinlink-sim run --platform keeneland-kids -p kernel-staging)
  must_say("unknown protocol 'kernel-staging'")
  run(0 outside/outside-simulated list platforms)
  must_say("prefix/share/twinlink/platforms/keeneland-kids.yaml")

  # By the copy engine alone it is GPUDirect v1. By kernels, 4 B come out 2.37 us earlier, and in 1.40 us.
  set(sizes -b 4 -e 1M -f 262144)
  times(v1 -p gpudirect-v1 ${sizes})
  times(by_engine -p kernel-staging -o kernel_limit=0 ${sizes})
  times(by_size -p kernel-staging ${sizes})
  list(GET v1 0 small)
  list(GET v1 1 large)
  list(GET by_size 0 small_by_kernel)
  math(EXPR saved "${small} - ${small_by_kernel}")
  if(NOT by_engine STREQUAL v1 OR NOT by_size STREQUAL "${small_by_kernel};${large}"
     OR saved LESS 3768 OR saved GREATER 3772)
    message(FATAL_ERROR "ns of gpudirect-v1: ${v1}, by the copy engine: ${by_engine}, by size: ${by_size}")
  endif()

  foreach(arguments IN ITEMS list --help)
    run(2 wrong/taken-simulated ${arguments})
    must_say("twinlink-sim: error: ${taken}")
  endforeach()
endif()

if(LAUNCHER)
  run(0 outside/outside-real list)
  must_say("\nhost " "\nkernel-staging ")
  must_complete(outside/outside-real)
  run(0 ${LAUNCHER} outside/outside-real run --device host -p kernel-staging -b 4 -e 256K -f 65536 -i 20 -x 2
      --json real.json)
  file(READ ${FOLDER}/real.json json)
  string(JSON points LENGTH "${json}" points)
  foreach(point RANGE 1)
    string(JSON verified GET "${json}" points ${point} verified)
    string(JSON path GET "${json}" points ${point} path)
    if(NOT points EQUAL 2 OR NOT verified OR NOT path MATCHES "by kernels up to 32768 B$")
      message(FATAL_ERROR "${json}")
    endif()
  endforeach()

  run(2 ${LAUNCHER} wrong/taken-real run -p host)
  must_say("twinlink-real: error: ${taken}")
endif()

if(LAUNCHER AND SIMULATED)
  # Both worlds do the same, step by step, and what compares them need not know the protocol.
  list(GET LAUNCHER 0 mpiexec)
  run(0 ${CMAKE_COMMAND} -D FOLDER=${FOLDER}/traces -D PLATFORM=${prefix}/share/twinlink/platforms/keeneland-kids.yaml
      -D SIM=${FOLDER}/outside/outside-simulated -D FROM=0/1 -D TO=0/2 -D MPIEXEC=${mpiexec}
      -D REAL=${FOLDER}/outside/outside-real "-DARGUMENTS=-b|150000|-e|150000|--chunk|16K|--depth|3"
      -D COMPARED=kernel-staging -D ONLY=TRUE -P ${SOURCE}/tests/golden/same_trace.cmake)
  must_say("kernel-staging: the same")
  run(0 outside/outside-simulated run --platform h200-nvlink -p kernel-staging -b 4 -e 256K -f 65536
      --json simulated.json)
  run(0 prefix/bin/twinlink-validate compare real.json simulated.json)
  must_say("\nkernel-staging " "Verdict: none")

  configure(1 wrong both -D BOTH=ON)
  must_say("The INTERFACE_TWINLINK_WORLD property of \"Twinlink::real\"")
endif()

# What is missing is named: a world, and what a world needs.
configure(1 wrong missing -D WORLD=no-such-world -D CMAKE_DISABLE_FIND_PACKAGE_fmt=ON)
must_say("There is no no-such-world in this installation" " needs: fmt.")
