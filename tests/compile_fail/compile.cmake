# SPDX-License-Identifier: Apache-2.0

# What the scripts of this folder share: -DCOMPILER=... -DCOMPILER_ID=... -DINCLUDE=... and
# -DPRECOMPILED=..., the folder of the precompiled header that precompile.cmake makes.

set(flags -std=c++20 -ffp-contract=off "-I${INCLUDE}")
if(COMPILER_ID STREQUAL "Clang")
  list(APPEND flags -fconstexpr-steps=2000000000 -ferror-limit=0)
  # Of the header itself: clang counts a file that includes it as a line of each message.
  set(header "${INCLUDE}/typeflow/typeflow.hpp" -Wno-pragma-once-outside-header)
  set(precompiled "${PRECOMPILED}/umbrella.hpp.pch")
  set(use_precompiled -include-pch "${precompiled}")
else()
  list(APPEND flags -fconstexpr-ops-limit=4000000000 -fconstexpr-loop-limit=100000000
       --param ggc-min-heapsize=1000000)  # less garbage collection
  set(header "${PRECOMPILED}/umbrella.hpp")
  set(precompiled "${PRECOMPILED}/umbrella.hpp.gch")
  set(use_precompiled -Winvalid-pch -include "${PRECOMPILED}/umbrella.hpp")
endif()
set(ENV{LC_ALL} C)

# Compiles SOURCE, with further flags: the exit status and what the compiler says.
function(compile result output)
  file(STRINGS "${SOURCE}" umbrella REGEX "^#include .typeflow/(typeflow|graph).hpp" LIMIT_COUNT 1)
  if(NOT umbrella)
    set(use_precompiled "")
  endif()
  execute_process(COMMAND "${COMPILER}" ${flags} -fsyntax-only ${use_precompiled} ${ARGN} "${SOURCE}"
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
