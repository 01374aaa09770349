# SPDX-License-Identifier: Apache-2.0

# What typeflow::compiled stands for, here and in the installed package.
#
# A part of the library that can be compiled once is a list of source files, which a target gets
# with the part's own target: typeflow::compiled brings the runtime, typeflow::saving the wing of
# that name if typeflow::compiled is linked, too. So sources are compiled with the flags of the
# target that links them. The properties of targets behind it are
#
#   TYPEFLOW_COMPILED        typeflow::compiled is linked
#   TYPEFLOW_HAS_<PART>      a library that typeflow_add_compiled has made brings the part

# The parts that some libraries bring, and those that they link.
function(typeflow_wings_of result)
  set(libraries ${ARGN})
  set(seen "")
  set(parts "")
  while(libraries)
    list(POP_FRONT libraries library)
    if(NOT TARGET "${library}" OR library IN_LIST seen)
      continue()
    endif()
    list(APPEND seen "${library}")
    if(library MATCHES "^typeflow(::|_)(testing|data|image|jpeg|npz|profiler|records|saving)$")
      string(TOUPPER "${CMAKE_MATCH_2}" part)
      list(APPEND parts "${part}")
    endif()
    get_target_property(linked "${library}" INTERFACE_LINK_LIBRARIES)
    if(linked)
      list(APPEND libraries ${linked})
    endif()
  endwhile()
  list(REMOVE_DUPLICATES parts)
  set(${result} "${parts}" PARENT_SCOPE)
endfunction()

# typeflow_add_compiled(NAME LINK_LIBRARIES LIBRARY...)
#
# Makes the static library NAME of all that can be compiled of the LIBRARIES and of what these link,
# with their flags. What links NAME links these, too, and compiles none of it: for several programs
# with the same flags.
function(typeflow_add_compiled name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK_LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "typeflow_add_compiled(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_library(${name} STATIC)
  target_link_libraries(${name} PUBLIC ${arg_LINK_LIBRARIES} typeflow::compiled)
  typeflow_wings_of(parts ${arg_LINK_LIBRARIES})
  foreach(part IN LISTS parts ITEMS COMPILED)
    set_property(TARGET ${name} PROPERTY INTERFACE_TYPEFLOW_HAS_${part} ON)
    set_property(TARGET ${name} APPEND PROPERTY COMPATIBLE_INTERFACE_BOOL TYPEFLOW_HAS_${part})
  endforeach()
endfunction()
