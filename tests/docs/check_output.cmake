# SPDX-License-Identifier: Apache-2.0

# cmake -DPROGRAM=... [-DARGUMENT=...] -DEXPECTED=... [-DHINT=...] -P check_output.cmake
#
# Asserts that a document's program prints what the document says. The hint is for whom it does not.

execute_process(COMMAND "${PROGRAM}" ${ARGUMENT}
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE error)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${result}:\n${output}\n${error}")
endif()
file(READ "${EXPECTED}" expected)
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "the document says:\n${expected}\nthe program prints:\n${output}\n${HINT}")
endif()
