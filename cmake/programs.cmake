# twinlink_add_program(<program> <library>): the program whose main() is in that library.
function(twinlink_add_program program library)
  add_executable(${program} $<TARGET_OBJECTS:${library}>)
  target_link_libraries(${program} PRIVATE ${library})
  set_target_properties(${program} PROPERTIES LINKER_LANGUAGE CXX)
endfunction()

# twinlink_set_world(<library> simulated|real): CMake refuses a target that links libraries of both, here and in other
# projects, for this is exported. Either's main() would win, and either's MPI.
function(twinlink_set_world library world)
  set_property(TARGET ${library} PROPERTY INTERFACE_TWINLINK_WORLD ${world})
  set_property(TARGET ${library} APPEND PROPERTY COMPATIBLE_INTERFACE_STRING TWINLINK_WORLD)
endfunction()
