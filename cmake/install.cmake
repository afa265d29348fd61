# cmake --install, and cpack's .deb: the programs that were built, the platforms, the scripts of validate/, the Python
# package, completions, and, where help2man is found, man pages of their --help. Apart from these, as component and
# package twinlink-dev, what protocols outside of this project are built with.
include(GNUInstallDirs)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME twinlink)
foreach(program twinlink-sim twinlink-real twinlink-validate)
  if(NOT TARGET ${program})
    continue()
  endif()
  install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  list(APPEND twinlink_programs ${program})
endforeach()
if(TARGET nccl-tuner-twinlink)  # where the loader looks, for NCCL_TUNER_PLUGIN and NCCL_PROFILER_PLUGIN name them
  install(TARGETS nccl-profiler-twinlink nccl-tuner-twinlink LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET twinlink-record)  # which twinlink-real puts before programs
  install(TARGETS twinlink-record LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
set(twinlink_share ${CMAKE_INSTALL_DATADIR}/twinlink)  # where the programs look for platforms
file(GLOB twinlink_platforms CONFIGURE_DEPENDS platforms/*.yaml platforms/*.json)
install(FILES ${twinlink_platforms} DESTINATION ${twinlink_share}/platforms)
install(DIRECTORY platforms/parts DESTINATION ${twinlink_share}/platforms FILES_MATCHING PATTERN *.yaml)
install(PROGRAMS validate/node validate/fleet validate/expect DESTINATION ${twinlink_share}/validate)
install(FILES validate/MACHINES.md DESTINATION ${twinlink_share}/validate)  # the errors that validate/expect tells
install(DIRECTORY validate/studies DESTINATION ${twinlink_share}/validate)
install(DIRECTORY validate/scripts DESTINATION ${twinlink_share}/validate USE_SOURCE_PERMISSIONS)
install(DIRECTORY validate/python/twinlink DESTINATION lib/python3/dist-packages
        FILES_MATCHING PATTERN *.py PATTERN *.json PATTERN py.typed)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES cmake/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME twinlink-sim)
configure_file(cmake/completion.zsh completion.zsh @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/completion.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _twinlink)
foreach(program twinlink-real twinlink-validate)  # bash looks for a file of the command's name
  install(FILES cmake/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${program})
endforeach()

find_program(HELP2MAN help2man)
if(HELP2MAN)
  foreach(program IN LISTS twinlink_programs)
    set(page ${PROJECT_BINARY_DIR}/man/${program}.1)
    add_custom_command(OUTPUT ${page} DEPENDS ${program}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man
      COMMAND ${HELP2MAN} --no-info --version-string=${PROJECT_VERSION} --output=${page} $<TARGET_FILE:${program}>)
    list(APPEND twinlink_pages ${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
  endforeach()
  add_custom_target(man DEPENDS ${twinlink_pages})  # cmake --build build --target man, before --install or cpack
endif()

include(cmake/install_library.cmake)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL twinlink twinlink-dev)
set(CPACK_PACKAGE_CONTACT "The Twinlink developers")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TWINLINK_PACKAGE_NAME twinlink)
set(CPACK_DEBIAN_TWINLINK_PACKAGE_RECOMMENDS "openmpi-bin, graphviz")
set(CPACK_DEBIAN_TWINLINK_PACKAGE_SUGGESTS "python3-pandas, python3-matplotlib, python3-tqdm")  # of the Python package
set(CPACK_DEBIAN_TWINLINK-DEV_PACKAGE_NAME twinlink-dev)
set(CPACK_DEBIAN_TWINLINK-DEV_PACKAGE_SECTION libdevel)
list(JOIN twinlink_dev_packages ", " twinlink_dev_packages)
set(CPACK_DEBIAN_TWINLINK-DEV_PACKAGE_DEPENDS "twinlink (= ${PROJECT_VERSION}), ${twinlink_dev_packages}")
set(CPACK_STRIP_FILES ON)
include(CPack)
