# SPDX-License-Identifier: Apache-2.0

# Runs PROGRAM with ARGUMENTS (separated by @). It must end with CODE, and print EXPECTED: to stderr in
# one line if CODE is not 0.

string(REPLACE "@" ";" arguments "${ARGUMENTS}")
execute_process(COMMAND "${PROGRAM}" ${arguments} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE error)
if(NOT code STREQUAL CODE)
  message(FATAL_ERROR "ended with ${code}, not ${CODE}:\n${output}${error}")
endif()
set(text "${output}")
if(NOT CODE EQUAL 0)
  set(text "${error}")
  string(REGEX MATCHALL "\n" lines "${error}")
  list(LENGTH lines count)
  if(NOT count EQUAL 1 OR output)
    message(FATAL_ERROR "printed more than one line:\n${output}${error}")
  endif()
endif()
if(NOT text MATCHES "${EXPECTED}")
  message(FATAL_ERROR "printed\n${text}\nwhich does not match\n${EXPECTED}")
endif()
