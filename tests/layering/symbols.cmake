# cmake -D NM=<nm> -D LIBRARY=<static library> -D SOURCES=<folder> [-D OWN_ONLY=ON] [-D EXCEPT=<variable>] -P
#
# Fails if the library holds mutable static state: all simulated ranks share one address space. Fails if it calls a
# clock, a thread, a random number generator, a file or a socket. OWN_ONLY looks at the state of namespace twinlink
# alone, and allows files. EXCEPT is a variable that may be mutable; one that is not there is a failure too.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${NM} --demangle --format=sysv ${LIBRARY} OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE ";" "," table "${table}")
string(REPLACE "[" "(" table "${table}")
string(REPLACE "]" ")" table "${table}")
string(REPLACE "\n" ";" table "${table}")

# Constants of headers stand in every library that includes them.
file(GLOB files ${SOURCES}/*.cpp ${SOURCES}/*.hpp ${CMAKE_CURRENT_LIST_DIR}/../../protocols/*/*.hpp)
set(source "")
foreach(file IN LISTS files)
  file(READ ${file} text)
  string(APPEND source "${text}")
endforeach()

set(calls "clock|clock_gettime|gettimeofday|time|nanosleep|usleep|std::chrono::.*::now|pthread_.*|std::thread::.*"
          "|std::mutex::.*|rand|srand|random|std::random_device::.*")
if(NOT OWN_ONLY)
  list(APPEND calls "|fopen|fopen64|open|open64|socket|connect|printf|puts|stdout|stderr|std::cout|std::cerr"
                    "|std::basic_(i|o)?fstream.*|std::filesystem::.*|getenv|system")
endif()
string(REPLACE ";" "" calls "${calls}")

set(findings "")
foreach(row IN LISTS table)
  if(NOT row MATCHES "^([^|]*[^| ]) *\\|[^|]*\\| *([A-Za-z]) *\\|.*\\|([^|]*)$")
    continue()
  endif()
  set(symbol "${CMAKE_MATCH_1}")
  set(kind "${CMAKE_MATCH_2}")
  set(section "${CMAKE_MATCH_3}")
  if(kind STREQUAL "U" AND symbol MATCHES "^(${calls})(\\(.*)?(@.*)?$")
    list(APPEND findings "uses ${symbol}")
  elseif(section MATCHES "^\\.(bss|data|tbss|tdata)" AND NOT section MATCHES "^\\.data\\.rel\\.ro"
         AND NOT symbol MATCHES "^(guard variable for |std::__ioinit|DW\\.ref\\.|__|\\.L|std::)")
    if(OWN_ONLY AND NOT symbol MATCHES "^twinlink::")
      continue()
    endif()
    # The compiler keeps constants that have a constructor in these sections too; only the source says that they are.
    string(REGEX MATCH "[A-Za-z0-9_]+$" name "${symbol}")
    if(DEFINED EXCEPT AND name STREQUAL EXCEPT)
      set(excepted TRUE)
    elseif(NOT source MATCHES "(constexpr|static const) [^=;{]*[ >*&]${name}[ ;({=]")
      list(APPEND findings "mutable static state: ${symbol}")
    endif()
  endif()
endforeach()

if(DEFINED EXCEPT AND NOT excepted)
  list(APPEND findings "has no ${EXCEPT}, which the rules make an exception for")
endif()
if(findings)
  list(REMOVE_DUPLICATES findings)
  cmake_path(GET LIBRARY FILENAME library)
  foreach(finding IN LISTS findings)
    message(NOTICE "${library}: ${finding}")
  endforeach()
  message(FATAL_ERROR "${library} breaks the rules for code that all simulated ranks share")
endif()
