# SPDX-License-Identifier: Apache-2.0

# cmake -DDOCUMENT=... -DPROGRAM=... -P check_snippets.cmake
#
# Asserts that every ```cpp block of a document is a part of a program, or of one of several.

cmake_minimum_required(VERSION 3.25)

file(READ "${DOCUMENT}" rest)
set(program "")
foreach(file IN LISTS PROGRAM)
  file(READ "${file}" text)
  string(APPEND program "${text}")
endforeach()
set(count 0)
while(TRUE)
  string(FIND "${rest}" "```cpp\n" begin)
  if(begin EQUAL -1)
    break()
  endif()
  math(EXPR begin "${begin} + 7")
  string(SUBSTRING "${rest}" ${begin} -1 rest)
  string(FIND "${rest}" "```\n" length)
  string(SUBSTRING "${rest}" 0 ${length} snippet)
  string(SUBSTRING "${rest}" ${length} -1 rest)
  string(FIND "${program}" "${snippet}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "${DOCUMENT} shows what is no part of ${PROGRAM}:\n${snippet}")
  endif()
  math(EXPR count "${count} + 1")
endwhile()
if(count EQUAL 0)
  message(FATAL_ERROR "${DOCUMENT} has no ```cpp block")
endif()
message(STATUS "${count} snippets are parts of the program")
