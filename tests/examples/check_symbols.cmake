# SPDX-License-Identifier: Apache-2.0

# cmake -DNM=nm -DPROGRAM=... -P check_symbols.cmake
#
# Asserts that a program holds kernels, tables and the engine, and nothing of what only the compiler
# needs: graphs, and the rules of operations. A table that points to an operation's record would
# bring in all of them.

cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND "${NM}" --demangle --defined-only "${PROGRAM}" OUTPUT_VARIABLE symbols
  COMMAND_ERROR_IS_FATAL ANY)
if(NOT symbols MATCHES "typeflow::[a-z0-9_]+::Engine::")
  message(FATAL_ERROR "${PROGRAM} has no engine; the test looks for wrong names")
endif()
if(symbols MATCHES "[^\n]*(typeflow::[a-z0-9_]+::Graph::|infer_of|gradient_of|expand_of|interpret_of)[^\n]*")
  message(FATAL_ERROR "${PROGRAM} holds ${CMAKE_MATCH_0}")
endif()
