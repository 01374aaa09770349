# SPDX-License-Identifier: Apache-2.0

# cmake -DNM=nm -DFIRST=a.o -DSECOND=b.o -P check_symbols.cmake
#
# Asserts that two object files define no kernel under one symbol: simd::Code<...>::run of one
# instruction set could otherwise be linked in place of the other's.

cmake_minimum_required(VERSION 3.25)

function(kernel_symbols object result)
  execute_process(COMMAND "${NM}" --defined-only "${object}" OUTPUT_VARIABLE output
    COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^ \n]*typeflow4simd[^ \n]*" symbols "${output}")
  list(FILTER symbols INCLUDE REGEX "(4Code|12product_tile|10pack_panel|5Lanes)")
  set(${result} "${symbols}" PARENT_SCOPE)
endfunction()

kernel_symbols("${FIRST}" first)
kernel_symbols("${SECOND}" second)
list(LENGTH first count)
if(count LESS 5)
  message(FATAL_ERROR "${FIRST} has ${count} symbols of kernels; the test looks for wrong names")
endif()
foreach(symbol IN LISTS first)
  list(FIND second "${symbol}" place)
  if(NOT place EQUAL -1)
    message(FATAL_ERROR "both units define ${symbol}")
  endif()
endforeach()
