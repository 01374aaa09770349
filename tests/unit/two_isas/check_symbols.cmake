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
set(code 0)
foreach(symbol IN LISTS baseline)
  if(NOT DEFINED "wide${symbol}" OR NOT symbol MATCHES "^ [Ww] (.*)$")
    continue()
  endif()
  set(name "${CMAKE_MATCH_1}")
  math(EXPR code "${code} + 1")
  # Two kinds of destructors are one code in g++, which objdump knows by one of its names.
  string(REGEX REPLACE "D2Ev$" "D1Ev" alias "${name}")
  set(names "${name}" "${alias}")
  list(REMOVE_DUPLICATES names)
  set(text "")
  foreach(symbol IN LISTS names)
    execute_process(COMMAND "${OBJDUMP}" --no-show-raw-insn "--disassemble=${symbol}" "${WIDE}"
      OUTPUT_VARIABLE part COMMAND_ERROR_IS_FATAL ANY)
    string(APPEND text "${part}")
  endforeach()
  if(NOT text MATCHES ":\t[a-z]")
    message(FATAL_ERROR "no disassembly of ${name}")
  endif()
  # AVX and all after it, and the new instructions for integers.
  if(text MATCHES "\t(v[a-z0-9]+|[^\n]*%[yz]mm|andn|bextr|bls[a-z]+|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx|tzcnt|lzcnt|popcnt|movbe)[ \n]")
    message(FATAL_ERROR "both units define ${name}, with '${CMAKE_MATCH_1}' in one")
  endif()
endforeach()
# Not of the library alone: the destructor of Error is in its table of virtual functions.
if(code LESS 1 OR code GREATER 20)
  message(FATAL_ERROR "the units share ${code} functions, not the few of the exchanged types")
endif()
message(STATUS "${code} functions are shared, all for the baseline")
