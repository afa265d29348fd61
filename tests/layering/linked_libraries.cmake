# cmake -D PROGRAM=<file> -D FORBIDDEN=<name>|<name>... -P: fails if the program loads one of those libraries.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ldd ${PROGRAM} OUTPUT_VARIABLE loaded COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[ \t/](${FORBIDDEN})[^ \n/]*\\.so[^ \n]*" found "${loaded}")
foreach(library IN LISTS found)
  message(NOTICE "${PROGRAM}: loads ${library}")
endforeach()
if(found)
  message(FATAL_ERROR "two worlds in one process")
endif()
