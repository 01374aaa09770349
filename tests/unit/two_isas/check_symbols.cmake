# SPDX-License-Identifier: Apache-2.0

# cmake -DNM=nm -DOBJDUMP=objdump -DBASELINE=a.o -DWIDE=b.o -DLEAST=100 -P check_symbols.cmake
#
# Asserts that two object files or libraries, the second built for AVX2, share no code of typeflow
# but what the baseline can run: of two weak symbols with one name the linker takes either. Walks all
# weak symbols that have the namespace in their name, at least so many, and disassembles those that
# both define.

cmake_minimum_required(VERSION 3.25)

function(weak_symbols object result)
  execute_process(COMMAND "${NM}" --defined-only "${object}" OUTPUT_VARIABLE output
    COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL " [WVuw] [^\n]*8typeflow[^\n]*" symbols "${output}")
  list(REMOVE_DUPLICATES symbols)  # a library's files have some in common
  list(LENGTH symbols count)
  if(count LESS LEAST)
    message(FATAL_ERROR "${object} has ${count} weak symbols; the test looks for wrong names")
  endif()
  set(${result} "${symbols}" PARENT_SCOPE)
endfunction()

weak_symbols("${BASELINE}" baseline)
weak_symbols("${WIDE}" wide)
foreach(symbol IN LISTS wide)
  set("wide${symbol}" TRUE)  # a look-up in a list would compare it with all
endforeach()
set(names "")
foreach(symbol IN LISTS baseline)
  if(DEFINED "wide${symbol}" AND symbol MATCHES "^ [Ww] (.*)$")
    list(APPEND names "${CMAKE_MATCH_1}")
  endif()
endforeach()
list(LENGTH names code)
# Not of the library alone: the destructor of Error is in its table of virtual functions.
if(code LESS 1 OR code GREATER 20)
  message(FATAL_ERROR "the units share ${code} functions, not the few of the exchanged types")
endif()

# objdump reads a library in a second, so it does that once. A weak function has a section of its own, in each
# file of a library that defines it. Two kinds of constructors or destructors are one code, in the section of
# the second kind.
set(sections "")
set(arguments "")
foreach(name IN LISTS names)
  string(REGEX REPLACE "D1Ev$" "D2Ev" section ".text.${name}")
  string(REGEX REPLACE "C1E" "C2E" section "${section}")
  list(APPEND sections "${section}")
  list(APPEND arguments -j "${section}")
endforeach()
execute_process(COMMAND "${OBJDUMP}" --no-show-raw-insn --disassemble ${arguments} "${WIDE}"
  OUTPUT_VARIABLE rest COMMAND_ERROR_IS_FATAL ANY)
set(title "Disassembly of section ")
string(LENGTH "${title}" title_length)
string(FIND "${rest}" "${title}" begin)
while(NOT begin EQUAL -1)
  math(EXPR begin "${begin} + ${title_length}")
  string(SUBSTRING "${rest}" ${begin} -1 rest)
  string(FIND "${rest}" "${title}" begin)
  string(SUBSTRING "${rest}" 0 ${begin} text)
  string(REGEX MATCH "^[^:\n]+" section "${text}")
  if(text MATCHES ":\t[a-z]")
    set("disassembled_${section}" TRUE)
  endif()
  # AVX and all after it, and the new instructions for integers.
  if(text MATCHES "\t(v[a-z0-9]+|[^\n]*%[yz]mm|andn|bextr|bls[a-z]+|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx|tzcnt|lzcnt|popcnt|movbe)[ \n]")
    message(FATAL_ERROR "both units define what is in ${section}, with '${CMAKE_MATCH_1}' in one")
  endif()
endwhile()
foreach(section IN LISTS sections)
  if(NOT DEFINED "disassembled_${section}")
    message(FATAL_ERROR "no disassembly of ${section}")
  endif()
endforeach()
message(STATUS "${code} functions are shared, all for the baseline")
