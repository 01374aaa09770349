# SPDX-License-Identifier: Apache-2.0

# What check.cmake and check_lines.cmake share.

set(flags -std=c++20 -fsyntax-only -ffp-contract=off "-I${INCLUDE}")
if(COMPILER_ID STREQUAL "Clang")
  list(APPEND flags -fconstexpr-steps=2000000000 -ferror-limit=0)
else()
  list(APPEND flags -fconstexpr-ops-limit=4000000000 -fconstexpr-loop-limit=100000000)
endif()
set(ENV{LC_ALL} C)

# Compiles SOURCE, with further flags: the exit status and what the compiler says.
function(compile result output)
  execute_process(COMMAND "${COMPILER}" ${flags} ${ARGN} "${SOURCE}"
    RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  set(${result} "${status}" PARENT_SCOPE)
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

# A text's lines as a list, without `typeflow::` and the name of the target in it, which one compiler
# prints and the other does not.
# Lists split at semicolons that no backslash precedes, and swallow them in square brackets.
function(lines_of text result)
  string(REGEX REPLACE "typeflow::((x86|aarch64)_[a-z0-9_]+::|one_target::)?" "" text "${text}")
  string(REPLACE "\\" "/" text "${text}")
  string(REPLACE ";" "," text "${text}")
  string(REPLACE "[" "(" text "${text}")
  string(REPLACE "]" ")" text "${text}")
  string(REPLACE "\n" ";" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()
