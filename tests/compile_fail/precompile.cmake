# SPDX-License-Identifier: Apache-2.0

# cmake -DCOMPILER=... -DCOMPILER_ID=... -DINCLUDE=... -DPRECOMPILED=... -P precompile.cmake
#
# Makes the precompiled header that the other scripts compile with.

cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/compile.cmake")

file(MAKE_DIRECTORY "${PRECOMPILED}")
file(WRITE "${PRECOMPILED}/umbrella.hpp" "#include <typeflow/typeflow.hpp>\n")
# clang instantiates in it what its functions need, instead of in each file that includes it.
if(COMPILER_ID STREQUAL "Clang")
  list(APPEND flags -fpch-instantiate-templates)
endif()
execute_process(COMMAND "${COMPILER}" ${flags} -x c++-header ${header} -o "${precompiled}"
  COMMAND_ERROR_IS_FATAL ANY)
