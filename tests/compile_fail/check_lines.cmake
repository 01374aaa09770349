# SPDX-License-Identifier: Apache-2.0

# cmake -DSOURCE=... -DCOMPILER=... -DCOMPILER_ID=... -DINCLUDE=... -DPRECOMPILED=...
#       -P check_lines.cmake
#
# Like check.cmake, for a program with many mistakes, a line each:
#
#   sum<7>(x);  // error: sum<axes...>(x): x has no such axis
#
# Asserts that the compiler gives an error with this text that names this line of this file, as the
# place of the error or as the place from where the template was instantiated. (Two lines that
# instantiate the same function with the same types get one message, for the first.)

cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/compile.cmake")

compile(result output)
if(result EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiles, and must not")
endif()

cmake_path(GET SOURCE FILENAME file)
string(REPLACE "." "\\." file_pattern "${file}")

# errors: "LINE:the compiler's message", once for each line of the file that a message is about.
# g++ says first from where templates were instantiated ("required from here") and then what is
# wrong there; clang the other way round ("requested here").
set(errors "")
set(places "")
set(error "")
lines_of("${output}" lines)
foreach(line IN LISTS lines)
  set(place "")
  if(line MATCHES "(^|/)${file_pattern}:([0-9]+):")
    set(place "${CMAKE_MATCH_2}")
  endif()
  if(line MATCHES "[:,] In |^In file included from")
    set(places "")
  elseif(line MATCHES " error: ")
    set(error "${line}")
    foreach(from IN LISTS places place)
      list(APPEND errors "${from}:${error}")
    endforeach()
  elseif(NOT place STREQUAL "")
    if(line MATCHES "required from")
      list(APPEND places ${place})
    elseif(line MATCHES "requested here")
      list(APPEND errors "${place}:${error}")
    endif()
  endif()
endforeach()

file(READ "${SOURCE}" program)
lines_of("${program}" program)
set(number 0)
set(annotated 0)
set(missing "")
foreach(line IN LISTS program)
  math(EXPR number "${number} + 1")
  if(NOT line MATCHES "// error: (.+)$")
    continue()
  endif()
  string(STRIP "${CMAKE_MATCH_1}" sentence)
  math(EXPR annotated "${annotated} + 1")
  set(found FALSE)
  set(others "")
  foreach(error IN LISTS errors)
    if(error MATCHES "^${number}:(.*)$")
      string(FIND "${CMAKE_MATCH_1}" "${sentence}" at)
      if(NOT at EQUAL -1)
        set(found TRUE)
        break()
      endif()
      string(APPEND others "\n    it says:  ${CMAKE_MATCH_1}")
    endif()
  endforeach()
  if(NOT found)
    if(others STREQUAL "")
      set(others "\n    it says nothing about this line")
    endif()
    string(APPEND missing "\n  ${file}:${number}\n    expected: ${sentence}${others}")
  endif()
endforeach()
if(annotated EQUAL 0)
  message(FATAL_ERROR "${SOURCE} must say which lines are wrong, and how")
endif()
if(NOT missing STREQUAL "")
  message(FATAL_ERROR "the compiler must name these mistakes:${missing}")
endif()
message(STATUS "${annotated} mistakes are named")
