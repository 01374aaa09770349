# SPDX-License-Identifier: Apache-2.0

# cmake -DNM=... "-DCOMPILED=a.o|b.o" "-DOBJECTS=c.o|d.o" -P check_compiled_once.cmake
#
# Asserts that OBJECTS, of a program that links typeflow::compiled, have none of the large functions that
# its files kernels.cpp and convolutions.cpp define. A member that a header defines in its class is
# compiled everywhere in spite of an `extern template`, with all that it calls.

cmake_minimum_required(VERSION 3.25)

# The functions of 2 KB and more in these objects.
function(large_functions result)
  execute_process(COMMAND "${NM}" --defined-only --print-size ${ARGN}
    OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  set(size "0*([89a-f][0-9a-f][0-9a-f]|[1-9a-f][0-9a-f][0-9a-f][0-9a-f]+)")
  string(REGEX MATCHALL "\n[0-9a-f]+ ${size} [TWtw] [^\n]+" lines "${symbols}")
  list(TRANSFORM lines REPLACE ".* " "")
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()

string(REPLACE "|" ";" COMPILED "${COMPILED}")
string(REPLACE "|" ";" OBJECTS "${OBJECTS}")
list(FILTER COMPILED INCLUDE REGEX "/(kernels|convolutions)\\.cpp\\.o(bj)?$")
large_functions(once ${COMPILED})
list(LENGTH once count)
if(count LESS 30)
  message(FATAL_ERROR "only ${count} large functions in ${COMPILED}")
endif()
large_functions(others ${OBJECTS})
foreach(function IN LISTS others)
  if(function IN_LIST once)
    message(SEND_ERROR "compiled again: ${function}")
  endif()
endforeach()
