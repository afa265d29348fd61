# Where ccache is installed, it compiles what was compiled before. GCC's precompiled headers need what follows: ccache
# otherwise passes every file on that reads one, which is every file here. Trees in several folders share what they have.
find_program(TWINLINK_CCACHE ccache)
if(TWINLINK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${TWINLINK_CCACHE})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()
