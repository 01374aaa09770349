# SPDX-License-Identifier: Apache-2.0

# cmake -DUNIT=... "-DSOURCES=a.cpp|b.cpp" -P unit.cmake
#
# Writes the file UNIT, which compiles the SOURCES as one: all their headers, and then each source in a
# namespace of its own, where its includes find their headers read.

string(REPLACE "|" ";" SOURCES "${SOURCES}")
set(headers "")
set(bodies "")
foreach(source IN LISTS SOURCES)
  cmake_path(GET source PARENT_PATH folder)
  cmake_path(GET source STEM name)
  file(STRINGS "${source}" includes REGEX "^#include ")
  foreach(include IN LISTS includes)
    # From the folder of the source.
    string(REGEX REPLACE "#include \"(.+)\"" "${folder}/\\1" file "${include}")
    if(EXISTS "${file}")
      set(include "#include \"${file}\"")
    endif()
    list(APPEND headers "${include}")
  endforeach()
  string(APPEND bodies "\nnamespace ${name} {\n#include \"${source}\"\n}\n")
endforeach()
list(REMOVE_DUPLICATES headers)
list(JOIN headers "\n" headers)
file(WRITE "${UNIT}" "${headers}\n${bodies}")
