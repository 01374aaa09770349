# SPDX-License-Identifier: Apache-2.0

# cmake -DSOURCE=... -DCOMPILER=... -DCOMPILER_ID=... -DINCLUDE=... -DPRECOMPILED=...
#       -P check.cmake
#
# Asserts that a program does not compile, and that its user is told why in the first six lines of
# the compiler's output:
#
#   // expect: text        stands there, once for each such comment (without `typeflow::`, which
#                          one compiler prints and the other does not)
#   ...  // error here     this file and this line stand there
#   // never: text         stands in no error: no second sentence that misleads
#
# A sentence that is in the arguments of because<...> begins soon after the compiler's "error:".
#
# With -DCORRECTED the same file is the program without the mistake: see corrected.cmake.

cmake_minimum_required(VERSION 3.25)

include("${CMAKE_CURRENT_LIST_DIR}/compile.cmake")

compile(result output)
if(result EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiles, and must not")
endif()

lines_of("${output}" lines)
list(SUBLIST lines 0 6 first_lines)
list(JOIN first_lines "\n" first_lines)

file(READ "${SOURCE}" program)
lines_of("${program}" program)
cmake_path(GET SOURCE FILENAME file)
set(expected "")
set(misleading "")
set(number 0)
foreach(line IN LISTS program)
  math(EXPR number "${number} + 1")
  if(line MATCHES "^ *// expect: (.+)$")
    list(APPEND expected "${CMAKE_MATCH_1}")
  elseif(line MATCHES "// error here$")
    list(APPEND expected "${file}:${number}:")
  elseif(line MATCHES "^ *// never: (.+)$")
    list(APPEND misleading "${CMAKE_MATCH_1}")
  endif()
endforeach()
list(LENGTH expected count)
if(count LESS 2)
  message(FATAL_ERROR "${SOURCE} must say what it expects, and where")
endif()

foreach(text IN LISTS expected)
  string(FIND "${first_lines}" "${text}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "'${text}' does not stand in the first six lines of:\n${output}")
  endif()
endforeach()

foreach(line IN LISTS lines)
  if(line MATCHES " error: (.*)because<.+>::ok")
    string(LENGTH "${CMAKE_MATCH_1}" length)
    if(length GREATER 80)
      message(FATAL_ERROR "${length} characters stand before the sentence of:\n${line}")
    endif()
  endif()
endforeach()

list(FILTER lines INCLUDE REGEX " error: |because<")
list(JOIN lines "\n" errors)
foreach(text IN LISTS misleading)
  string(FIND "${errors}" "${text}" place)
  if(NOT place EQUAL -1)
    message(FATAL_ERROR "'${text}' must not stand in:\n${output}")
  endif()
endforeach()
