# SPDX-License-Identifier: Apache-2.0

# cmake -DINCLUDE=include -P check_namespaces.cmake
#
# Asserts that all headers and .ipp files open the namespace with the instruction set in it, but those of the types that
# units for different instruction sets exchange.

cmake_minimum_required(VERSION 3.25)

set(exchanged core/dtype_value.hpp core/exception.hpp core/shape.hpp runner.hpp runner/interface.hpp
    runner/tensors.hpp runtime/containers.hpp runtime/device_copies.hpp runtime/variables.hpp)
file(GLOB_RECURSE headers RELATIVE "${INCLUDE}/typeflow" "${INCLUDE}/typeflow/*.[hi]pp")
set(plain "")
foreach(header IN LISTS headers)
  file(STRINGS "${INCLUDE}/typeflow/${header}" lines REGEX "^namespace typeflow[ :]")
  list(FILTER lines EXCLUDE REGEX "^namespace typeflow::inline TYPEFLOW_ISA[ :]")
  if(lines)
    list(APPEND plain "${header}")
  endif()
endforeach()
list(SORT plain)
if(NOT plain STREQUAL exchanged)
  message(FATAL_ERROR "namespace typeflow without TYPEFLOW_ISA in: ${plain}\n"
    "expected: ${exchanged}")
endif()
