# SPDX-License-Identifier: Apache-2.0

# cmake -DPART=... -DPARTS=... -DCOMPILER=... -DCOMPILER_ID=... -DINCLUDE=... -DPRECOMPILED=...
#       -P corrected.cmake
#
# Asserts that the programs of this folder compile without their mistakes, with -DCORRECTED: a
# refusal has no other reason. The programs of a part are compiled together, each in a namespace of
# its own. Their headers come first, so that none is read inside a namespace. Of PARTS parts, part
# PART has every PARTS-th program. The program of docs/adding_an_operation.md specialises templates
# of typeflow, and so stands outside of namespaces, at the end of the first part.

cmake_minimum_required(VERSION 3.25)

include("${CMAKE_CURRENT_LIST_DIR}/compile.cmake")

file(GLOB sources "${CMAKE_CURRENT_LIST_DIR}/*.cpp" "${CMAKE_CURRENT_LIST_DIR}/operations/*.cpp")
set(headers "#include \"typeflow/typeflow.hpp\"")
set(programs "")
set(count 0)
foreach(source IN LISTS sources)
  math(EXPR part "${count} % ${PARTS}")
  math(EXPR count "${count} + 1")
  if(NOT part EQUAL PART)
    continue()
  endif()
  file(STRINGS "${source}" includes REGEX "^#include ")
  list(APPEND headers ${includes})
  string(APPEND programs "namespace program_${count} {\n#include \"${source}\"\n}\n")
endforeach()
if(PART EQUAL 0)
  cmake_path(SET own NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../docs/adding_an_operation.cpp")
  file(STRINGS "${own}" includes REGEX "^#include ")
  list(FILTER includes EXCLUDE REGEX "adding_an_operation")  # stands beside it
  list(APPEND headers ${includes})
  string(APPEND programs "#include \"${own}\"\n")
endif()
list(REMOVE_DUPLICATES headers)
list(JOIN headers "\n" headers)

set(SOURCE "${PRECOMPILED}/corrected_${PART}.cpp")
file(WRITE "${SOURCE}" "${headers}\n${programs}")
compile(result output -DCORRECTED)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the corrected programs must compile:\n${output}")
endif()
